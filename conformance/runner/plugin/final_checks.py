"""Check a world as a whole at the end of its scenario, while its processes still run."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from client_under_test.contract.exceptions import (
    ClientHung,
    ClockWrong,
    ConversationFailed,
    DoneMissing,
)
from conformance.judging import causes
from conformance.judging.aborts import NeverConnected, ReportContradicted
from conformance.judging.evidence import Trouble
from conformance.judging.verdicts import Reason, Verdict
from conformance.world import World
from fake_control_plane import ControlPlane
from test_servers import Fleet

VOID: Final = ReportContradicted | ClockWrong | NeverConnected
"""Errors that void all observations, for and against the client: its report is known to be false,
or it never connected to the control plane."""


class FinalChecks(NamedTuple):
    """What was found."""

    error: BaseException | None
    """What ended the scenario early, or would have: of several the one that says most."""
    trouble: Trouble | None
    """The verdict on all clauses of the scenario that the error, or a failed server, leads to."""
    starved: float
    """For how many seconds the client waited for a processor, if there was an error."""
    is_void: bool
    """True if no observation counts for or against the client."""


async def final_checks(made: World, error: BaseException | None) -> FinalChecks:
    """Ask the client, the backends and the control plane whether their stories are one.

    Args:
        made: the world, in which everything still runs.
        error: what ended its scenario early, if anything did.
    """
    error = made.process.failure or error
    trouble, waited = None, 0.0
    if made.process.failure is None:
        try:
            made.preconditions.a_stream()
            if not isinstance(error, ClientHung):
                await made.preconditions.a_steady_clock()
            await made.preconditions.one_story()
        except NeverConnected as worse:
            # A client whose adapter breaks the contract may never have had a reason to connect.
            error = error if isinstance(error, DoneMissing) else worse
        except (ReportContradicted, ConversationFailed) as worse:
            error = worse
    if error is not None:
        waited = round(made.channels.starved(made.process), 3)
        trouble = causes.of(
            error,
            lateness=made.clock.lateness.worst,
            starved=waited,
            seconds=made.now,
            nothing_seen=not (made.checks.checks or made.calls.made or made.calls.unsettled()),
        )
        if not isinstance(error, VOID):
            trouble = msgspec.structs.replace(trouble, at=made.checks.at)
    is_void = isinstance(error, VOID)
    if failed := await _failed_servers(made):
        # A client that a server of the suite has left alone is not to be judged by what it did.
        trouble = Trouble(verdict=Verdict.ERROR, reason=Reason.SUITE, what="; ".join(failed))
        is_void = True
    return FinalChecks(error, trouble, waited, is_void)


async def _failed_servers(made: World) -> list[str]:
    """Return the failures of the suite's servers, each as a sentence that names the server."""
    servers: dict[str, ControlPlane | Fleet] = {"control plane": made.plane, "backends": made.fleet}
    await made.plane.probe()
    return [
        f"{whose}: {trouble}" for whose, server in servers.items() for trouble in server.troubles
    ]
