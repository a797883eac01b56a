"""Choose the scenarios of a quick run: as many clauses as fit into a time budget. Pure.

The choice depends on recorded durations alone, not on this machine: a change and its base run the
same scenarios wherever they run.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from conformance import timing
from conformance.judging.declaration import Declaration
from conformance.runner.scheduling import MOST_WAITING

WORKERS: Final = 4
"""Scenarios that run at once on two cores, beside those that wait for a timer."""


class Quick(msgspec.Struct, frozen=True, kw_only=True):
    """The scenarios of a quick run."""

    scenarios: tuple[str, ...]
    left_out: tuple[str, ...]
    """Clauses that were selected, and that none of these scenarios decides."""


def quick(
    scenarios: Mapping[str, Declaration],
    seconds: Mapping[str, float],
    clauses: AbstractSet[str],
    *,
    budget: float = timing.QUICK,
) -> Quick:
    """Choose scenarios that decide as many clauses as possible within a budget.

    Each step takes the scenario that decides the most undecided clauses per second. Once no clause
    is left that fits, the shortest scenarios fill the rest of the budget.

    Args:
        scenarios: those that are selected, with what they declare.
        seconds: how long they take; for one that is missing, what it declares.
        clauses: those to decide.
        budget: seconds on two cores.
    """
    takes = {name: seconds.get(name, claims.seconds) for name, claims in scenarios.items()}
    # Scenarios that wait for a timer run beside those that work, so each kind has its own budget.
    # Both use the processors.
    room = {False: budget * WORKERS, True: budget * MOST_WAITING}
    left, undecided = {*scenarios}, {*clauses}
    chosen: list[str] = []

    def fits(name: str) -> bool:
        has_time = takes[name] <= min(budget, room[scenarios[name].waits])
        return has_time and (len(chosen) + 1) * timing.EACH <= budget

    def cost(name: str) -> float:
        beside = MOST_WAITING if scenarios[name].waits else WORKERS
        return max(takes[name] / beside, timing.EACH)

    def worth(name: str) -> tuple[float, float, str]:
        decided = len(undecided.intersection(scenarios[name].clauses))
        return decided / cost(name), -takes[name], name

    def take(name: str) -> None:
        left.remove(name)
        chosen.append(name)
        room[scenarios[name].waits] -= takes[name]
        undecided.difference_update(scenarios[name].clauses)

    while best := max(
        (name for name in left if fits(name) and undecided.intersection(scenarios[name].clauses)),
        key=worth,
        default=None,
    ):
        take(best)
    for name in sorted(left, key=lambda name: (takes[name], name)):
        if fits(name):
            take(name)
    return Quick(
        scenarios=tuple(sorted(chosen)),
        left_out=tuple(clause for clause in sorted(clauses) if clause in undecided),
    )
