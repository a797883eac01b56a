"""Choose the scenarios of a quick run: as many clauses as fit into a time budget. Pure.

The choice depends on recorded durations alone, not on this machine: a change and its base run the
same scenarios wherever they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from conformance import timing
from conformance.judging.declaration import Declaration
from conformance.judging.former_ids import function_of
from conformance.runner.scheduling import MOST_WAITING

WORKERS: Final = 4
"""Scenarios that run at once on two cores, beside those that wait for a timer."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """What was selected, but is no part of a quick run."""

    clauses: tuple[str, ...] = ()
    """Clauses that no chosen scenario decides."""
    in_part: tuple[str, ...] = ()
    """Clauses that some chosen scenarios decide, and some that were left out."""
    scenarios: tuple[str, ...] = ()


class Quick(msgspec.Struct, frozen=True, kw_only=True):
    """The scenarios of a quick run, and what it lacks of the whole run."""

    scenarios: tuple[str, ...]
    left_out: LeftOut


def quick(
    scenarios: Mapping[str, Declaration],
    seconds: Mapping[str, float],
    clauses: AbstractSet[str],
    *,
    budget: float = timing.QUICK,
) -> Quick:
    """Choose scenarios that decide as many clauses as possible within a budget.

    Each step takes the scenario that decides the most undecided clauses per second: first of the
    given clauses, then of the others. Then the shortest scenario of each function follows, since
    another function shows another situation. At last the shortest scenarios fill the budget.

    Args:
        scenarios: those that are selected, with what they declare.
        seconds: how long they take; for one that is missing, what it declares.
        clauses: those to decide first.
        budget: seconds on two cores.
    """
    choice = _Choice(scenarios, seconds, budget)
    choice.take_what_decides(clauses)
    choice.take_what_decides(_decided(scenarios, scenarios))
    choice.take_shortest(is_other_function=True)
    choice.take_shortest()
    decided, rest = _decided(scenarios, choice.chosen), _decided(scenarios, choice.left)
    return Quick(
        scenarios=tuple(sorted(choice.chosen)),
        left_out=LeftOut(
            clauses=tuple(sorted(rest - decided)),
            in_part=tuple(sorted(rest & decided)),
            scenarios=tuple(sorted(choice.left)),
        ),
    )


class _Choice:
    """The scenarios that were chosen so far."""

    def __init__(
        self, scenarios: Mapping[str, Declaration], seconds: Mapping[str, float], budget: float
    ) -> None:
        self._scenarios = scenarios
        self._budget = budget
        self._takes = {
            name: seconds.get(name, claims.seconds) for name, claims in scenarios.items()
        }
        # Scenarios that wait for a timer run beside those that work, so each kind has its own
        # budget. Both use the processors.
        self._room = {False: budget * WORKERS, True: budget * MOST_WAITING}
        self.left = {*scenarios}
        self.chosen: list[str] = []

    def take_what_decides(self, clauses: AbstractSet[str]) -> None:
        """Take the scenarios that decide the most of these clauses per second."""
        undecided = {*clauses} - _decided(self._scenarios, self.chosen)

        def worth(name: str) -> tuple[float, float, str]:
            decided = len(undecided.intersection(self._scenarios[name].clauses))
            return decided / self._cost(name), -self._takes[name], name

        while best := max(
            (
                name
                for name in self.left
                if self._fits(name) and undecided.intersection(self._scenarios[name].clauses)
            ),
            key=worth,
            default=None,
        ):
            self._take(best)
            undecided -= {*self._scenarios[best].clauses}

    def take_shortest(self, *, is_other_function: bool = False) -> None:
        """Take the shortest scenarios; if asked for, only one of each function not chosen yet."""
        functions = {function_of(name) for name in self.chosen} if is_other_function else set[str]()
        for name in sorted(self.left, key=lambda name: (self._takes[name], name)):
            if self._fits(name) and function_of(name) not in functions:
                self._take(name)
                if is_other_function:
                    functions.add(function_of(name))

    def _fits(self, name: str) -> bool:
        room = min(self._budget, self._room[self._scenarios[name].waits])
        return self._takes[name] <= room and (len(self.chosen) + 1) * timing.EACH <= self._budget

    def _cost(self, name: str) -> float:
        beside = MOST_WAITING if self._scenarios[name].waits else WORKERS
        return max(self._takes[name] / beside, timing.EACH)

    def _take(self, name: str) -> None:
        self.left.remove(name)
        self.chosen.append(name)
        self._room[self._scenarios[name].waits] -= self._takes[name]


def _decided(scenarios: Mapping[str, Declaration], names: Iterable[str]) -> set[str]:
    return {clause for name in names for clause in scenarios[name].clauses}
