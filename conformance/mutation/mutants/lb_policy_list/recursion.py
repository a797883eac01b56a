"""Mutants of the clauses in recursion.toml."""

from __future__ import annotations

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.values import Locality
from client_under_test.reference.xds.policy_list_rules import list_is_too_deep

MOST = 16


fewer_levels = Mutant(
    clause="A52-DEPTH-01",
    broken="the limit is 15 levels",
    xds={"list_is_too_deep": lambda level: level >= MOST},
)


any_level = Mutant(
    clause="A52-DEPTH-02",
    broken="there is no depth limit",
    xds={"list_is_too_deep": lambda _level: False},
)


two_more_levels = Mutant(
    clause="A52-DEPTH-02",
    broken="the limit is 18 levels",
    xds={"list_is_too_deep": lambda level: level > MOST + 2},
)


levels_below_the_first = Mutant(
    clause="A52-DEPTH-03",
    broken="the Cluster's own list does not count",
    xds={"list_is_too_deep": lambda level: level - 1 > MOST},
    reports="accepted",
)


class LostWithin:
    """Endpoints of a deep list are lost, because each level gives their locality another name."""

    def __init__(self) -> None:
        self._deepest = 0
        self._asked = 0

    def is_too_deep(self, level: int) -> bool:
        """Note the depth of the list."""
        self._deepest = level
        return list_is_too_deep(level)

    def name(self, locality: Locality) -> str:
        """Return the locality's name, and another one each time below many lists."""
        self._asked += 1
        return f"{locality} {self._asked if self._deepest >= MOST else 0}"


LOST = LostWithin()


lost_within = Mutant(
    clause="A52-DEPTH-04",
    broken="a locality below 15 nested lists has no endpoints",
    rules={"locality_target": LOST.name},
    xds={"list_is_too_deep": LOST.is_too_deep},
    reports="16 levels: fail",
)
