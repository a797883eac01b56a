"""Choose what runs again before a difference counts, and compare how often both sides showed it.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from conformance.judging.verdicts import BAD, Reason
from conformance.reporting.clause_summary import ClauseSummary, Kind, by_scenario
from conformance.reporting.diff import ClauseDifference
from conformance.reporting.failure_groups import groups
from conformance.reporting.gate_differences import (
    differences,
    scenarios_of,
    varies,
    without_baseline,
)
from conformance.reporting.rates import Rate
from conformance.reporting.report import Run
from conformance.spec.catalogue import Catalogue

RUNS: Final = 10
"""Runs of each side, once a scenario has not shown again what it showed before."""

Shown = Mapping[str, Mapping[str, ClauseSummary]]
"""What one run showed, by scenario and clause."""


def shown(run: Run) -> Shown:
    """Return what a run showed, by scenario and clause."""
    found: dict[str, dict[str, ClauseSummary]] = {}
    for clause, scenarios in by_scenario(without_baseline(run).scenarios).items():
        for scenario, summary in scenarios.items():
            found.setdefault(scenario, {})[clause] = summary
    return found


def to_repeat(base: Run, head: Run, catalogue: Catalogue, *, budget: float) -> tuple[str, ...]:
    """Return the scenarios to run again on both sides, so that each difference is seen again.

    One scenario covers all clauses that differ in it. The failure that describes others of its kind
    comes first, so that it is repeated if any is. What does not fit into the budget is left out,
    except for the first scenario.

    Args:
        base: the run of the base.
        head: the run of the change.
        catalogue: the clauses.
        budget: seconds of scenarios on both sides together, as long as they took before.
    """
    takes: dict[str, float] = {}
    for run in (base, head):
        for scenario in run.scenarios:
            takes[scenario.id] = takes.get(scenario.id, 0.0) + scenario.seconds
    chosen: dict[str, None] = {}
    left = budget
    for names in _covering(base, head, catalogue):
        if not chosen.keys().isdisjoint(names):
            continue
        fits = next((name for name in names if not chosen or takes[name] <= left), None)
        if fits is not None:
            chosen[fits] = None
            left -= takes[fits]
    return tuple(chosen)


def _covering(base: Run, head: Run, catalogue: Catalogue) -> Iterator[tuple[str, ...]]:
    """Yield the scenarios that show each difference, the most telling one first.

    Each clause that a group of failures is described by comes first, with the described scenario.
    """
    differ = {
        difference.clause: names
        for difference in differences(base, head)
        if not varies(difference) and (names := scenarios_of(difference, head))
    }
    for group in groups(without_baseline(head), catalogue):
        for scenario, decision in group.places:
            names = differ.get(decision.clause, ())
            if scenario.id in names:
                yield scenario.id, *names
                break
    yield from differ.values()


def unclear(
    base: Run, head: Run, on_base: Sequence[Shown], on_head: Sequence[Shown]
) -> tuple[str, ...]:
    """Return the scenarios whose failures did not show again, or showed on the base as well.

    What else differs is only reported, so one more run is enough for it.

    Args:
        base: the run of the base.
        head: the run of the change.
        on_base: what scenarios of the base showed, in each run of them again.
        on_head: the same of the change.
    """
    found = []
    for difference in differences(base, head):
        if difference.kind is Kind.BROKEN:
            rates = rates_of(difference, head, on_base, on_head)
            if rates and not rates.are_plain:
                found.append(rates.scenario)
    return tuple(dict.fromkeys(found))


class Rates(NamedTuple):
    """How often each side showed a difference in runs of one scenario."""

    scenario: str
    head: Rate
    base: Rate

    @property
    def are_plain(self) -> bool:
        """Return whether each side always showed the same, as it had before."""
        return self.head.count == self.head.runs and self.base.count == 0


def rates_of(
    difference: ClauseDifference, head: Run, on_base: Sequence[Shown], on_head: Sequence[Shown]
) -> Rates | None:
    """Return how often each side showed a difference again; None if it was not repeated.

    If several scenarios that show it were repeated, one counts in which each side showed the same
    as before: a difference that one scenario shows for certain is no chance.
    """
    found = [
        rates
        for name in scenarios_of(difference, head)
        if (rates := _rates_in(name, difference, on_base, on_head))
    ]
    return next((rates for rates in found if rates.are_plain), found[0] if found else None)


def _rates_in(
    scenario: str,
    difference: ClauseDifference,
    on_base: Sequence[Shown],
    on_head: Sequence[Shown],
) -> Rates | None:
    shows = _shows(difference, scenario)

    def rate(runs: Sequence[Shown]) -> Rate:
        found = [
            run[scenario][difference.clause]
            for run in runs
            if difference.clause in run.get(scenario, {})
        ]
        return Rate(sum(map(shows, found)), len(found))

    head, base = rate(on_head), rate(on_base)
    return Rates(scenario, head, base) if head.runs or base.runs else None


def _shows(difference: ClauseDifference, scenario: str) -> Callable[[ClauseSummary], bool]:
    """Return whether a run of a scenario shows what the change showed, and its base did not."""
    if difference.kind is Kind.BROKEN:
        return _is_bad
    if difference.kind is Kind.FIXED:
        return lambda summary: not _is_bad(summary)
    now = difference.scenarios[scenario].new
    return lambda summary: summary == now


def _is_bad(summary: ClauseSummary) -> bool:
    """Return whether a scenario, when it ran again, showed a failure.

    If one cause ends several scenarios, such as a crash of the client, one clause fails and the
    others are blocked. In another run another clause may be the one that fails.
    """
    return summary.verdict in BAD or summary.reason is Reason.BLOCKED
