"""Find what differs between a change and its base, regardless of what a baseline lists. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from conformance.judging.verdicts import NONE_KNOWN, Reason, Verdict
from conformance.reporting.clause_summary import Kind, choices_in
from conformance.reporting.diff import ClauseDifference, Difference, clause_differences
from conformance.reporting.report import Run


def differences(base: Run, head: Run) -> Sequence[ClauseDifference]:
    """Return the clauses that differ, what is broken first.

    A failure that only one baseline lists is no difference, since the client did the same. Neither
    is a clause that could not be judged because of another failure. A choice that the text leaves
    open is changed, not broken, even if the manifest states another one, as long as the catalogue
    knows the choice. A failure is broken if an error left the base without a verdict: nothing shows
    that the base fails, too.
    """
    order = [*Kind]
    found = [
        _of_free_choice(_of_error(difference), head)
        for difference in clause_differences(without_baseline(base), without_baseline(head))
        if not (_is_blocked(head, difference.clause) or _is_blocked(base, difference.clause))
    ]
    return sorted(found, key=lambda difference: order.index(difference.kind))


def without_baseline(run: Run) -> Run:
    """Return a run in which no failure is expected."""
    clauses = {
        name: msgspec.structs.replace(clause, expected=False)
        for name, clause in run.clauses.items()
    }
    scenarios = tuple(
        msgspec.structs.replace(
            scenario,
            findings=tuple(
                msgspec.structs.replace(finding, expected=False) for finding in scenario.findings
            ),
        )
        for scenario in run.scenarios
    )
    return msgspec.structs.replace(run, clauses=clauses, scenarios=scenarios)


def _is_blocked(run: Run, clause: str) -> bool:
    result = run.clauses.get(clause)
    return result is not None and result.reason is Reason.BLOCKED


def _of_error(difference: ClauseDifference) -> ClauseDifference:
    """Return a difference as broken, if the change fails what had no verdict on the base."""
    scenarios = {
        name: msgspec.structs.replace(each, kind=Kind.BROKEN) if _fails_for_error(each) else each
        for name, each in difference.scenarios.items()
    }
    is_broken = _fails_for_error(difference) or any(map(_fails_for_error, scenarios.values()))
    kind = Kind.BROKEN if is_broken else difference.kind
    return msgspec.structs.replace(difference, kind=kind, scenarios=scenarios)


def _fails_for_error(difference: Difference) -> bool:
    old, new = difference.old, difference.new
    if old is None or new is None:
        return False
    return old.verdict is Verdict.ERROR and new.verdict is Verdict.FAIL


def _of_free_choice(difference: ClauseDifference, head: Run) -> ClauseDifference:
    """Return a difference as a change, if all that broke is a choice that the manifest states."""
    if NONE_KNOWN[0] in choices_made(difference.clause, head):
        return difference
    broken = {name: each for name, each in difference.scenarios.items() if each.kind is Kind.BROKEN}
    if difference.kind is not Kind.BROKEN or not broken or not all(map(is_stated, broken.values())):
        return difference
    changed = {
        name: msgspec.structs.replace(each, kind=Kind.CHANGED) for name, each in broken.items()
    }
    return msgspec.structs.replace(
        difference, kind=Kind.CHANGED, scenarios={**difference.scenarios, **changed}
    )


def choices_made(clause: str, head: Run) -> tuple[str, ...]:
    """Return the choices that a client made where its manifest states another one."""
    return choices_in(
        choice
        for scenario in head.scenarios
        for finding in scenario.findings
        if finding.clause == clause and finding.reason is Reason.STATED
        for choice in finding.choices or NONE_KNOWN
    )


def is_stated(difference: Difference) -> bool:
    """Return whether the client makes another choice now than its manifest states."""
    return difference.new is not None and difference.new.reason is Reason.STATED


def scenarios_of(difference: ClauseDifference, head: Run) -> tuple[str, ...]:
    """Return the scenarios in which a clause differs as in the whole run, the shortest first."""
    seconds = {scenario.id: scenario.seconds for scenario in head.scenarios}
    alike = [name for name, said in difference.scenarios.items() if said.kind is difference.kind]
    return tuple(
        sorted(alike or difference.scenarios, key=lambda name: seconds.get(name, math.inf))
    )


def varies(difference: ClauseDifference) -> bool:
    """Return whether each scenario that differs showed some choice on both sides.

    Then another run would not tell more.
    """
    return bool(difference.scenarios) and all(
        each.old and each.new and {*each.old.choices} & {*each.new.choices}
        for each in difference.scenarios.values()
    )
