"""What an exception in a scenario says: of the client, of its adapter, or of this suite. Pure."""

from __future__ import annotations

from client_under_test.contract.exceptions import (
    ClientCrashed,
    ClientExited,
    ClientFlooded,
    ClientHung,
    ConversationFailed,
    ConversationOver,
    DoneMissing,
    NoOwnHosts,
)
from conformance import timing
from conformance.judging import blocking
from conformance.judging.aborts import (
    CauseIsKnown,
    HostNamesIgnored,
    NeverConnected,
    NoAckOrNack,
    PreconditionTimeout,
    ReportContradicted,
    ResourceRejected,
    RingUnknown,
    ScenarioAbandoned,
    SuiteTimeout,
    Unsupported,
    WrongOutcome,
)
from conformance.judging.evidence import Trouble
from conformance.judging.verdicts import Reason, Verdict
from conformance.spec.oracles.ring.values import NoSuchValueError
from test_servers import NoSuchAddress, PortForbidden

KNOWN: tuple[tuple[type[BaseException], Verdict, Reason], ...] = (
    (ConversationOver, Verdict.ERROR, Reason.SUITE),
    (ClientCrashed, Verdict.FAIL, Reason.CRASHED),
    (ClientExited, Verdict.FAIL, Reason.EXITED),
    (ClientHung, Verdict.FAIL, Reason.HUNG),
    (ClientFlooded, Verdict.FAIL, Reason.FLOODED),
    (NoAckOrNack, Verdict.FAIL, Reason.HUNG),
    (ReportContradicted, Verdict.FAIL, Reason.LIED),
    (PreconditionTimeout, Verdict.FAIL, Reason.DEVIATES),
    (WrongOutcome, Verdict.FAIL, Reason.DEVIATES),
    (ResourceRejected, Verdict.FAIL, Reason.DEVIATES),
    (CauseIsKnown, Verdict.FAIL, Reason.DEVIATES),
    (SuiteTimeout, Verdict.ERROR, Reason.TIMING),
    (NoSuchValueError, Verdict.ERROR, Reason.SUITE),
    (ConversationFailed, Verdict.ERROR, Reason.ADAPTER),
    (NeverConnected, Verdict.ERROR, Reason.ADAPTER),
    (RingUnknown, Verdict.SKIP, Reason.ENVIRONMENT),
    (NoOwnHosts, Verdict.SKIP, Reason.ENVIRONMENT),
    (HostNamesIgnored, Verdict.SKIP, Reason.ENVIRONMENT),
    (PortForbidden, Verdict.SKIP, Reason.ENVIRONMENT),
    (NoSuchAddress, Verdict.SKIP, Reason.ENVIRONMENT),
    (ScenarioAbandoned, Verdict.SKIP, Reason.ENVIRONMENT),
    (Unsupported, Verdict.SKIP, Reason.CAPABILITY),
)
"""The first that fits holds."""

EXPECTED = tuple(kind for kind, _, _ in KNOWN)
"""All others are mistakes of the suite."""

UNSUITABLE = "the ports and values of this run are unsuitable for the scenario"
DRAWN_ANEW = (
    "The client did nothing wrong, and has no verdict here. Run the scenario once more: each run "
    "has other ports. If this happens again, it is a mistake of xdspec."
)

OF_WAITING = (
    NeverConnected,
    ClientHung,
    DoneMissing,
    NoAckOrNack,
    PreconditionTimeout,
    SuiteTimeout,
)
"""Those that say that something did not come in time."""


def of(
    error: BaseException,
    *,
    lateness: float = 0.0,
    starved: float = 0.0,
    seconds: float = 0.0,
    nothing_seen: bool = False,
) -> Trouble:
    """Return the verdict on every clause of a scenario that an exception ended.

    Args:
        error: what ended it.
        lateness: by how many seconds the suite itself was late at worst.
        starved: for how many seconds the client waited for a processor.
        seconds: how long the scenario took; a client that waited for less than half of that had
            time enough.
        nothing_seen: no call had ended and nothing had been judged.
    """
    what = _described(error)
    if isinstance(error, ConversationFailed) and not error.hello_said:
        return Trouble(verdict=Verdict.ERROR, reason=Reason.ADAPTER, what=what)
    if isinstance(error, OF_WAITING):
        excuse = ""
        if lateness > timing.LATE:
            excuse = f"the suite itself was {lateness:.1f} s late"
        elif starved > max(timing.STARVED, seconds / 2):
            excuse = f"the client waited {starved:.1f} s for a processor"
        if excuse:
            late = f"{what}; but {excuse}, so there is no verdict"
            return Trouble(verdict=Verdict.ERROR, reason=Reason.TIMING, what=late)
    cause = error.cause if isinstance(error, ResourceRejected | CauseIsKnown) else None
    if nothing_seen:
        cause = cause or blocking.death(error)
    for kind, verdict, reason in KNOWN:
        if isinstance(error, kind):
            is_late = verdict is Verdict.FAIL and isinstance(error, OF_WAITING)
            return Trouble(
                verdict=verdict,
                reason=reason,
                what=what,
                excusable=is_late,
                cause=cause,
                early=isinstance(error, CauseIsKnown),
                expectation=getattr(error, "expectation", ""),
            )
    what = f"{type(error).__name__}: {error}"
    return Trouble(verdict=Verdict.ERROR, reason=Reason.SUITE, what=what)


def _described(error: BaseException) -> str:
    if isinstance(error, ConversationFailed):
        return error.with_last_words()
    if isinstance(error, NoSuchValueError):
        return f"{UNSUITABLE}: {error} {DRAWN_ANEW}"
    return f"{error}" or type(error).__name__
