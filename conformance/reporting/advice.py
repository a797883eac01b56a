"""Say what to do about failures and errors, if all of a run together tell that. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from conformance.judging.ring_keys import CLAUSE
from conformance.judging.verdicts import Reason, Verdict
from conformance.reporting.failure_groups import listed
from conformance.reporting.failure_texts import fits_another_choice, program_of
from conformance.reporting.report import Run
from conformance.spec.catalogue import load

CLAUSES_SHOWN = 3
"""Clauses that are named for one piece of advice."""


def first_to_read(run: Run) -> Iterator[str]:
    """Return what explains failures on rings, before the failures themselves."""
    keys = [
        finding
        for scenario in run.scenarios
        for finding in scenario.findings
        if finding.clause == CLAUSE and finding.reason is Reason.STATED
    ]
    if keys:
        keys_are = "The client's rings match no known format of ring keys"
        if fits_another_choice(keys):
            keys_are = "The keys of ring entries differ from client.toml (ring-key-formats)"
        yield f"\n{keys_are}. Other failures on rings may follow from that alone"


def advice(run: Run, repeat: str = "") -> Iterator[str]:
    """Return what to do about failures and errors, if all of them together tell that.

    Args:
        run: the run.
        repeat: the command that repeats the run, as the user can paste it; empty: the report's.
    """
    findings = [finding for scenario in run.scenarios for finding in scenario.findings]
    late = sum(
        any(finding.reason is Reason.TIMING for finding in scenario.findings)
        for scenario in run.scenarios
    )
    if late:
        scenarios = "1 scenario has" if late == 1 else f"{late} scenarios have"
        yield (
            f"\n{scenarios} no verdict, since this machine was too slow: run again while it has "
            "less to do, or with fewer --jobs"
        )
    if run.identity.is_adapter and any(
        finding.reason in {Reason.LIED, Reason.EXITED} for finding in findings
    ):
        yield (
            "\nIf the client exits, or reports what did not happen, the adapter usually has a bug: "
            f"`{program_of(repeat or run.repeat)} doctor {shlex.quote(run.identity.source)}`"
        )
    yield from _another_edition(run)


def _another_edition(run: Run) -> Iterator[str]:
    """Return that failures fit another edition, if most of them do."""
    failed = {
        clause: result
        for clause, result in run.clauses.items()
        if result.verdict is Verdict.FAIL and not result.expected
    }
    fit = {
        clause: result
        for clause, result in failed.items()
        if result.reason is Reason.EDITION and result.editions_consistent
    }
    if not fit:
        return
    fitting = {edition for result in fit.values() for edition in result.editions_consistent or ()}
    names = " or ".join(edition for edition in load().editions.ids if edition in fitting)
    what = f"{listed(fit, CLAUSES_SHOWN)} {'shows' if len(fit) == 1 else 'show'}"
    begin = f"\n{what} the behavior of {names}, but client.toml declares another edition. "
    others = len(failed) - len(fit)
    if others > len(fit):
        yield (
            f"{begin}The other {others} newly failed clauses match no wording. So suspect a defect "
            "of the client: it can look like another edition"
        )
    elif run.identity.is_adapter and not run.known:
        yield (
            f"{begin}If the client's documents claim {names}, add it to `follows` in client.toml. "
            "Otherwise it is a failure"
        )
    else:
        yield (
            f"{begin}If a change of the client caused this, it is a regression. Change "
            "client.toml only for a release whose documents claim that edition"
        )
