"""The tree of a configuration: the leaves of its aggregate cluster, and the priorities of each."""

from __future__ import annotations

import functools
from typing import Final, Literal

import msgspec

MOST_LOCALITIES: Final = 8
"""The most localities that have a priority."""


class Leaf(msgspec.Struct, frozen=True):
    """A cluster below the aggregate cluster."""

    number: int
    kind: Literal["EDS", "LOGICAL_DNS"] = "EDS"

    @property
    def name(self) -> str:
        """Return the name of the cluster, and of its EDS resource."""
        return f"leaf-{self.number}"

    def __str__(self) -> str:
        return f"c{self.number}{' (LOGICAL_DNS)' if self.kind == 'LOGICAL_DNS' else ''}"


class Tree(msgspec.Struct, frozen=True):
    """The places of localities: by number, each has a priority in a leaf."""

    priorities: tuple[int, ...] = ()
    """The priority of each locality in its leaf; none: all localities are of priority 0. Otherwise
    each of these localities is listed, also without endpoints."""
    leaves: tuple[Leaf, ...] = ()
    """The leaves of an aggregate cluster in its order; none: the route leads to an EDS cluster."""
    leaf_of: tuple[int, ...] = ()
    """The number of the leaf of each locality. A leaf may be absent."""

    def place_of(self, locality: int) -> tuple[int, int] | None:
        """Return the position of a locality's leaf and its priority; None: its leaf is absent."""
        if locality >= len(self.priorities):
            return 0, 0
        if not self.leaves:
            return 0, self.priorities[locality]
        position = _positions(self.leaves).get(self.leaf_of[locality])
        return None if position is None else (position, self.priorities[locality])

    def home_of(self, locality: int) -> tuple[Leaf | None, int]:
        """Return the leaf of a locality, wherever it is, and the locality's priority in it."""
        place = self.place_of(locality)
        if place is None:
            return None, -1
        return self.leaves[place[0]] if self.leaves else None, place[1]

    @property
    def ranks(self) -> tuple[tuple[int, int], ...]:
        """The places of all priorities, from the most preferred on."""
        places = {self.place_of(locality) for locality in range(len(self.priorities))}
        return tuple(sorted(place for place in places if place is not None)) or ((0, 0),)

    def localities_of(self, leaf: int) -> tuple[int, ...]:
        """Return the localities of a leaf."""
        return tuple(place for place, own in enumerate(self.leaf_of) if own == leaf)

    @property
    def flaw(self) -> str:
        """Why it cannot be served; empty if it can."""
        if not self.priorities:
            return "leaves without priorities" if self.leaves else ""
        if len(self.priorities) > MOST_LOCALITIES:
            return f"more than {MOST_LOCALITIES} localities have a priority"
        if not self.leaves:
            return _gap(self.priorities)
        if len(self.leaf_of) != len(self.priorities):
            return "a locality has no leaf"
        numbers = [leaf.number for leaf in self.leaves]
        if len({*numbers}) < len(numbers) or not {*numbers} <= {*self.leaf_of}:
            return "a leaf is listed twice, or has no locality"
        gaps = (
            _gap(tuple(self.priorities[place] for place in self.localities_of(number)))
            for number in numbers
        )
        return next(filter(None, gaps), "")

    def __str__(self) -> str:
        rows = []
        for position, priority in self.ranks if self.priorities else ():
            own = (
                f"l{locality}"
                for locality in range(len(self.priorities))
                if self.place_of(locality) == (position, priority)
            )
            leaf = f"{self.leaves[position]} " if self.leaves else ""
            rows.append(f"; {leaf}priority {priority} of {', '.join(own)}")
        return "".join(rows)


@functools.lru_cache(maxsize=1024)
def _positions(leaves: tuple[Leaf, ...]) -> dict[int, int]:
    return {leaf.number: position for position, leaf in enumerate(leaves)}


def _gap(priorities: tuple[int, ...]) -> str:
    has_gap = sorted({*priorities}) != [*range(max(priorities, default=-1) + 1)]
    return "priorities have gaps" if has_gap else ""
