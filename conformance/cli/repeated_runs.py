"""``run --times``: run each selected scenario several times, and count how it ended."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from conformance.judging.evidence import Record
from conformance.judging.verdicts import BAD, Verdict, worst
from conformance.reporting.failure_groups import listed
from conformance.reporting.outcome import counted
from conformance.runner.progress import Known, has_new_failure
from conformance.runner.targets import Target

NAMED = 4
"""Clauses that a line names."""


def targets(target: Target, times: int) -> tuple[Target, ...]:
    """Return one target for each time; the single one has no label."""
    if times == 1:
        return (target,)
    return tuple(msgspec.structs.replace(target, side=f"{time + 1}") for time in range(times))


def worst_of(records: Iterable[Record], known: Known) -> tuple[Record, ...]:
    """Return one record for each scenario: the one with the worst verdict, without its label.

    A failure that the baseline knows is better than another one.
    """
    found: dict[str, Record] = {}
    for record in records:
        other = found.get(record.scenario)
        if other is None or _rank(record, known) < _rank(other, known):
            found[record.scenario] = record
    return tuple(msgspec.structs.replace(record, side="") for record in found.values())


def _rank(record: Record, known: Known) -> tuple[bool, int]:
    is_known = not has_new_failure(record, known)
    return is_known, min((decision.rank for decision in record.decisions), default=0)


def rates(records: Iterable[Record]) -> Iterator[str]:
    """Yield how often each scenario had which verdict; one line counts those that always pass."""
    by_scenario: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_scenario[record.scenario].append(record)
    passed = 0
    for scenario, several in sorted(by_scenario.items()):
        verdicts = Counter(worst(record.decisions)[0] for record in several if record.decisions)
        if verdicts.keys() <= {Verdict.PASS, Verdict.SEEN}:
            passed += 1
            continue
        failed = Counter(
            clause
            for record in several
            for clause in {each.clause for each in record.decisions if each.verdict in BAD}
        )
        counts = ", ".join(f"{count} {verdict.value}" for verdict, count in verdicts.most_common())
        clauses = listed([f"{clause}: {count}" for clause, count in failed.most_common()], NAMED)
        yield f"{scenario}  {len(several)} times: {counts}" + (f" ({clauses})" if clauses else "")
    if passed:
        yield f"{counted(passed, 'scenario')} passed each time"
