"""Which scenarios run a second time, in a process of their own or alone on the machine. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from conformance import timing
from conformance.judging.blocking import ended_early
from conformance.judging.evidence import Record
from conformance.judging.verdicts import BAD, Cause, Decision, Reason, Verdict
from conformance.runner.progress import Known
from conformance.runner.selection import Ident


def ident(record: Record) -> Ident:
    """Identify a run: a scenario of a mutant, of one side of a comparison, or of the client."""
    return record.mutant or record.side, record.scenario


def is_unconfirmed(record: Record, known: Known) -> bool:
    """Return whether a scenario must run again in a process of its own before it is reported.

    What another scenario has left in the process may be why it failed.
    """
    return (
        record.shared_process
        and not ended_early(record)
        and any(
            decision.verdict in BAD
            and decision.reason not in NOT_ABOUT_THE_CLIENT
            and not known(record.scenario, decision)
            for decision in record.decisions
        )
    )


NOT_ABOUT_THE_CLIENT: Final = frozenset({Reason.TIMING, Reason.SUITE})
"""Reasons of errors that another scenario in the client's process cannot have brought about."""


ONE_IN: Final = 8
"""One in this number of scenarios is repeated, if the client rejected the same resource in each."""


def to_confirm(
    records: Collection[Record],
    known: Known,
    *,
    trusted: AbstractSet[Cause] = frozenset(),
    doubted: AbstractSet[Cause] = frozenset(),
) -> dict[Ident, Record]:
    """Return the records that `is_unconfirmed` names; of those with one NACK, one in ONE_IN.

    A NACK that the baseline knows needs no repetition.

    Args:
        records: all that there are.
        known: tells which failures the baseline knows.
        trusted: NACKs that ended scenarios in processes of their own, too.
        doubted: NACKs that did not: every scenario that one of them has ended is repeated.
    """
    seen = trusted | {
        decision.cause
        for record in records
        for decision in record.decisions
        if decision.cause and known(record.scenario, decision)
    }
    chosen: dict[Ident, Record] = {}
    counts = Counter[Cause]()
    for record in sorted(records, key=lambda record: record.scenario):
        if not is_unconfirmed(record, known):
            continue
        cause = cause_of(record)
        if cause is not None and cause.resource and cause not in doubted:
            counts[cause] += 1
            if cause in seen or (counts[cause] - 1) % ONE_IN:
                continue
        chosen[ident(record)] = record
    return chosen


MORE: Final = 2
"""Further runs of a scenario that failed in a shared process and passed in its own. A failure that
comes in half of all runs is missed with probability 1/2 by one repetition, 1/8 by three."""


def is_at_odds(record: Record) -> bool:
    """Return whether a scenario failed in a shared process, and not in its own."""
    failed = any(decision.verdict in BAD for decision in record.decisions)
    return bool(record.in_shared_process) and not failed


def worse(again: Record, before: Record) -> Record:
    """Return the record of the one repetition that failed, or else the earlier one."""
    failed = any(decision.verdict in BAD for decision in again.decisions)
    return again if failed else before


def cause_of(record: Record) -> Cause | None:
    """Return the cause of all that is wrong in a scenario, if there is only one."""
    causes = {decision.cause for decision in record.decisions if decision.verdict in BAD}
    return next(iter(causes)) if len(causes) == 1 else None


def confirmed(again: Record, first: Record) -> Record:
    """Return what a scenario decides that ran again in a process of its own.

    Args:
        again: its record of that run.
        first: its record of the process that it shared. If that one has another result, the record
            has both.
    """
    if _results(again) == _results(first):
        return again
    return msgspec.structs.replace(
        again,
        earlier=first.earlier,
        in_shared_process=first.decisions,
        evidence=again.evidence or first.evidence,
    )


def _results(record: Record) -> frozenset[tuple[str, Verdict, Reason | None]]:
    return frozenset(
        (decision.clause, decision.verdict, decision.reason) for decision in record.decisions
    )


def is_doubtful(record: Record, known: Known) -> bool:
    """Return whether a slow machine may have caused a result: an error or an unknown failure.

    A failure counts only if the client lacked processor time and lateness alone can cause it. A
    mutant is meant to fail, and uses much processor time while the suite tests which edition fits.
    """
    late = any(decision.reason is Reason.TIMING for decision in record.decisions)
    failed = any(
        decision.verdict is Verdict.FAIL
        and _can_be_late(decision, record)
        and not known(record.scenario, decision)
        for decision in record.decisions
    )
    return late or (failed and _was_starved(record) and not record.mutant)


def _was_starved(record: Record) -> bool:
    if record.timer:
        return max(record.starved, record.lateness) > record.timer
    return record.starved > timing.STARVED


def _can_be_late(decision: Decision, record: Record) -> bool:
    """Return whether lateness can explain a failure.

    Where a short timer decides, it explains every missed expectation, but no crash and no NACK.
    """
    return decision.excusable or bool(record.timer and decision.expectation)


def with_what_stands(again: Record, first: Record) -> Record:
    """Return the record of a repeated scenario, with the failures of the first time that count.

    A second try overrules only what lateness may have brought about.
    """
    stand = tuple(
        decision
        for decision in first.decisions
        if decision.verdict is Verdict.FAIL and not _can_be_late(decision, first)
    )
    return msgspec.structs.replace(
        again,
        decisions=(*again.decisions, *stand),
        beside_others=first.decisions,
        evidence=first.evidence if stand else again.evidence,
    )
