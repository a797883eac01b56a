"""Which version is looked at next, so that few are until it is known where something changed. Pure.

Versions are numbers in their order, from 0. Of each it may be known what it does, or that nobody
can tell. What is sought is the last change: the two neighbours of which the later does what the
last version does, and the earlier does not. Each look halves the versions between them. So whatever
was not looked at is taken to do what those around it do, which may be wrong of a version in which
something came and went again.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import msgspec


class Untold(msgspec.Struct, frozen=True):
    """Nobody can tell what this version does."""

    why: str


class Flip(msgspec.Struct, frozen=True):
    """Two versions that differ, with none between them of which it is known what it does."""

    before: int
    after: int


class Bisection(msgspec.Struct, frozen=True):
    """What is known so far."""

    count: int
    """Of the versions."""
    known: Mapping[int, str | Untold] = {}
    """By version: what it does, in words that are equal where that is the same."""

    @property
    def flips(self) -> tuple[Flip, ...]:
        """Each change that is known of, in the order of versions; the last one is bisected."""
        told = [number for number in range(self.count) if isinstance(self.known.get(number), str)]
        return tuple(
            Flip(before, after)
            for before, after in pairwise(told)
            if self.known[before] != self.known[after]
        )

    @property
    def between(self) -> tuple[int, ...]:
        """The versions that the last change may be in, besides the later one of its two."""
        if not self.flips:
            return ()
        return tuple(range(self.flips[-1].before + 1, self.flips[-1].after))

    @property
    def untold_end(self) -> int | None:
        """The last or first version, if it was looked at and nobody can tell what it does."""
        ends = (self.count - 1, 0)
        return next((index for index in ends if isinstance(self.known.get(index), Untold)), None)

    @property
    def next(self) -> int | None:
        """The version to look at now; None if no look at one tells more of the last change.

        First the last and the first version. If of one of them nobody can tell what it does, there
        is nothing that the others could be held against.
        """
        if self.untold_end is not None:
            return None
        for end in (self.count - 1, 0):
            if end not in self.known:
                return end
        untried = [index for index in self.between if index not in self.known]
        if not untried:
            return None
        flip = self.flips[-1]
        return min(untried, key=lambda index: (abs(2 * index - flip.before - flip.after), index))
