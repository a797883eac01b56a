"""Decide what a change of a client breaks and mends, from its run and the run of its base. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Literal

import msgspec

from conformance.judging.verdicts import BAD, PRECEDENCE, ClauseResult, Reason, Verdict
from conformance.reporting.clause_summary import ClauseSummary, Kind, by_scenario
from conformance.reporting.diff import ClauseDifference, clause_differences
from conformance.reporting.outcome import counted
from conformance.reporting.rates import BY_CHANCE, Rate, p_value
from conformance.reporting.report import Exit, Run, is_fatal
from conformance.spec.catalogue import Catalogue, Strength

ALONE: Final = 10
"""Runs of each side, once a scenario has not shown again alone what it showed before."""

REPEATED: Final = 12
"""Scenarios that are repeated at most: a defect that breaks more breaks these as well."""

NAMED: Final = 12
"""Clauses and scenarios that a line names."""

PLURAL: Final = 2

Shown = Mapping[str, Mapping[str, ClauseSummary]]
"""What one run showed, by scenario and clause."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A clause of which the change and its base show something else."""

    clause: str
    title: str
    strength: Strength
    kind: Kind
    was: ClauseSummary | None
    now: ClauseSummary | None
    scenarios: tuple[str, ...]
    """Those that differ, that which was repeated first."""
    head: Rate = Rate(0, 0)
    """How often the change showed the difference in runs alone; 0 of 0 if none was repeated."""
    base: Rate = Rate(0, 0)
    """How often the base did."""
    chance: float | None = None
    """How likely such counts are if both sides are alike; None if each side was always the same."""
    varies: bool = False
    """True if one run showed several choices of the client, and the other run some of them."""
    is_fatal: bool = False
    """True if this change alone closes the gate."""

    @property
    def is_luck(self) -> bool:
        """Return whether chance may explain it."""
        if self.chance is None:
            return self.varies
        return self.chance > BY_CHANCE

    def __str__(self) -> str:
        words = f"{self.was or 'not judged'} → {self.now or 'not judged'}"
        if not self.head.runs:
            return words
        words += f"; repeated alone: in {self.head}"
        if self.base.runs:
            words += f", on the base in {self.base}"
        return words if self.chance is None else f"{words} (p = {self.chance:.2g})"


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What ``xdspec gate --json`` writes."""

    schema: Literal[1] = 1
    head: str
    """What was judged."""
    base: str
    changes: tuple[Change, ...]
    mended: tuple[str, ...]
    """Baseline entries whose failure is not seen any more."""
    unchanged: dict[Verdict, int]
    """Clauses of which both sides show the same, by verdict."""
    known: int
    """How many of the unchanged failures the baseline lists."""
    left_out: tuple[str, ...] = ()
    """Clauses that were selected, but left out by ``--quick``."""

    def of(self, *kinds: Kind) -> tuple[Change, ...]:
        """Return the changes of these kinds that luck does not explain."""
        return tuple(
            change for change in self.changes if change.kind in kinds and not change.is_luck
        )

    @property
    def broken(self) -> tuple[Change, ...]:
        """Return what the change breaks."""
        return tuple(
            change
            for change in self.of(Kind.BROKEN, Kind.GONE, Kind.NEW)
            if change.kind is Kind.BROKEN or change.is_fatal
        )

    @property
    def exit(self) -> Exit:
        """Return the exit code."""
        if not self.changes and not any(self.unchanged.values()):
            return Exit.NOTHING_RAN
        return Exit.DEVIATES if any(change.is_fatal for change in self.broken) else Exit.CONFORMS

    @property
    def last_word(self) -> str:
        """Return the conclusion."""
        words = self._conclusion
        if not self.left_out:
            return words
        return f"{words} (--quick left {counted(len(self.left_out), 'clause')} out)"

    @property
    def _conclusion(self) -> str:
        fatal = sum(change.is_fatal for change in self.broken)
        if self.exit is Exit.NOTHING_RAN:
            return "no clause was judged"
        if not self.broken:
            return "this change breaks nothing"
        words = f"this change breaks {counted(len(self.broken), 'clause')}"
        if fatal == len(self.broken):
            return words
        return (
            f"{words}, of which {fatal or 'none'} {'fails' if fatal < PLURAL else 'fail'} the gate"
        )


def wanted_of_base(head: Run, known: AbstractSet[str] = frozenset()) -> tuple[str, ...]:
    """Return the scenarios that the base has to run to be compared; the shortest, if none is.

    A change cannot break a clause that it passes. So the base runs all scenarios of the other
    clauses, and of those that the change may mend.

    Args:
        head: the run of the change.
        known: clauses whose failures the baseline lists.
    """
    differ = {
        name
        for name, result in head.clauses.items()
        if result.verdict is not Verdict.PASS or name in known
    }
    names = [scenario.id for scenario in head.scenarios if differ.intersection(scenario.clauses)]
    if not names and head.scenarios:
        names = [min(head.scenarios, key=lambda scenario: (scenario.seconds, scenario.id)).id]
    return tuple(names)


def completed(base: Run, head: Run) -> Run:
    """Return the run of a base that ran in part: as if the rest showed what the change shows.

    Args:
        base: with all scenarios that `wanted_of_base` names.
        head: the run of the change.
    """
    there = {scenario.id: scenario for scenario in base.scenarios}
    whole = {
        name for scenario in head.scenarios if scenario.id in there for name in scenario.clauses
    }
    for scenario in head.scenarios:
        if scenario.id not in there:
            whole.difference_update(scenario.clauses)
    clauses = {}
    for name, result in head.clauses.items():
        old = base.clauses.get(name)
        is_used = name in whole or (old is not None and old.verdict in BAD)
        clauses[name] = old if old is not None and is_used else result
    return msgspec.structs.replace(
        base,
        clauses=clauses,
        scenarios=tuple(there.get(scenario.id, scenario) for scenario in head.scenarios),
    )


def suspects(base: Run, head: Run) -> tuple[str, ...]:
    """Return the scenarios to run again alone: for each clause that differs the shortest.

    Failures come first, and no more than `REPEATED` are chosen. If one run shows several choices of
    a client, and the other run shows some of them, another run would not tell more.
    """
    return tuple(
        dict.fromkeys(
            names[0]
            for differs in _differences(base, head)
            if not _varies(differs) and (names := _of(differs, head))
        )
    )[:REPEATED]


def _varies(differs: ClauseDifference) -> bool:
    """Return whether each scenario that differs showed some choice on both sides."""
    return bool(differs.scenarios) and all(
        told.old and told.new and {*told.old.choices} & {*told.new.choices}
        for told in differs.scenarios.values()
    )


def unclear(
    base: Run, head: Run, on_base: Sequence[Shown], on_head: Sequence[Shown]
) -> tuple[str, ...]:
    """Return the scenarios whose failures did not show again alone, or showed on the base as well.

    What else differs is only reported, so one run alone is enough for it.

    Args:
        base: the run of the base.
        head: the run of the change.
        on_base: what scenarios of the base showed, in each run of them alone.
        on_head: the same of the change.
    """
    found = []
    for difference in _differences(base, head):
        names = _of(difference, head)
        rates = (
            _rates(difference, names, on_base, on_head) if difference.kind is Kind.BROKEN else None
        )
        if rates and not _is_plain(*rates):
            found.append(names[0])
    return tuple(dict.fromkeys(found))


def gate(
    base: Run,
    head: Run,
    catalogue: Catalogue,
    *,
    on_base: Sequence[Shown],
    on_head: Sequence[Shown],
    strict: bool = False,
    left_out: tuple[str, ...] = (),
) -> Gate:
    """Return what the change breaks, mends and leaves.

    Args:
        base: the run of the base.
        head: the run of the change.
        catalogue: the clauses.
        on_base: what scenarios of the base showed, in each run of them alone.
        on_head: the same of the change.
        strict: whether a failed SHOULD clause counts.
        left_out: clauses that were selected, but left out by ``--quick``.
    """
    differ = _differences(base, head)
    changes = tuple(
        _change(difference, head, catalogue, on_base, on_head, strict=strict)
        for difference in differ
    )
    rest = {name: clause for name, clause in head.clauses.items() if name not in _clauses(differ)}
    counts = Counter(result.verdict for result in rest.values())
    return Gate(
        head=head.title,
        base=base.title,
        changes=changes,
        mended=head.mended,
        unchanged={verdict: counts[verdict] for verdict in PRECEDENCE},
        known=sum(result.verdict is Verdict.FAIL and result.expected for result in rest.values()),
        left_out=left_out,
    )


def _clauses(differ: Sequence[ClauseDifference]) -> set[str]:
    return {difference.clause for difference in differ}


def _differences(base: Run, head: Run) -> Sequence[ClauseDifference]:
    """Return the clauses that differ, what is broken first.

    A failure that only one baseline lists is no difference, since the client did the same. Neither
    is a clause that could not be judged because of another failure.
    """
    order = [*Kind]
    found = [
        difference
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


def _of(difference: ClauseDifference, head: Run) -> tuple[str, ...]:
    """Return the scenarios in which a clause differs as in the whole run, the shortest first."""
    seconds = {scenario.id: scenario.seconds for scenario in head.scenarios}
    alike = [name for name, said in difference.scenarios.items() if said.kind is difference.kind]
    return tuple(
        sorted(alike or difference.scenarios, key=lambda name: seconds.get(name, math.inf))
    )


def _shows(difference: ClauseDifference, scenario: str) -> Callable[[ClauseSummary], bool]:
    """Return whether a run of a scenario shows what the change showed, and its base did not."""
    if difference.kind is Kind.BROKEN:
        return _is_bad
    if difference.kind is Kind.FIXED:
        return lambda told: not _is_bad(told)
    now = difference.scenarios[scenario].new
    return lambda told: told == now


def _is_bad(told: ClauseSummary) -> bool:
    """Return whether a scenario, alone, showed a failure.

    If one cause ends several scenarios, such as a crash of the client, one clause fails and the
    others are blocked. In another run another clause may be the one that fails.
    """
    return told.verdict in BAD or told.reason is Reason.BLOCKED


def _rates(
    difference: ClauseDifference,
    names: Sequence[str],
    on_base: Sequence[Shown],
    on_head: Sequence[Shown],
) -> tuple[Rate, Rate] | None:
    """Return how often the change and the base showed a difference alone; None if neither ran."""
    if not names:
        return None
    scenario, shows = names[0], _shows(difference, names[0])

    def rate(runs: Sequence[Shown]) -> Rate:
        told = [
            run[scenario][difference.clause]
            for run in runs
            if difference.clause in run.get(scenario, {})
        ]
        return Rate(sum(map(shows, told)), len(told))

    head, base = rate(on_head), rate(on_base)
    return (head, base) if head.runs or base.runs else None


def _is_plain(head: Rate, base: Rate) -> bool:
    """Return whether each side always showed the same, as it had before."""
    return head.count == head.runs and base.count == 0


def _change(
    difference: ClauseDifference,
    head: Run,
    catalogue: Catalogue,
    on_base: Sequence[Shown],
    on_head: Sequence[Shown],
    *,
    strict: bool,
) -> Change:
    names = _of(difference, head)
    rates = _rates(difference, names, on_base, on_head)
    clause = catalogue[difference.clause]
    return Change(
        clause=difference.clause,
        title=clause.title,
        strength=clause.strength,
        kind=difference.kind,
        was=difference.old,
        now=difference.new,
        scenarios=names,
        head=rates[0] if rates else Rate(0, 0),
        base=rates[1] if rates else Rate(0, 0),
        varies=_varies(difference),
        chance=None if rates is None or _is_plain(*rates) else p_value(*rates),
        is_fatal=_closes(difference, head.clauses.get(difference.clause), strict=strict),
    )


def _closes(difference: ClauseDifference, result: ClauseResult | None, *, strict: bool) -> bool:
    """Return whether a difference closes the gate: a new failure, or a clause not judged any more.

    A client whose sources state fewer editions is not judged by their clauses, and not worse.
    """
    if difference.kind is Kind.GONE:
        return result is None or result.reason is not Reason.EDITION
    is_bad = difference.kind is Kind.BROKEN or (
        difference.kind is Kind.NEW and not (result and result.expected)
    )
    if not (is_bad and result):
        return False
    return result.verdict is Verdict.ERROR or is_fatal(result, strict=strict, even_known=True)


def shown(run: Run) -> Shown:
    """Return what a run showed, by scenario and clause."""
    found: dict[str, dict[str, ClauseSummary]] = {}
    for clause, scenarios in by_scenario(without_baseline(run).scenarios).items():
        for scenario, told in scenarios.items():
            found.setdefault(scenario, {})[clause] = told
    return found
