"""Choose which version to run next, to find the last change in few runs. Pure.

Versions are numbered in order, from 0. The result of a version is known, unknown, or cannot be
determined. The search is for the last change: two adjacent versions of which the later behaves like
the last version and the earlier does not. Each run halves the versions between them. A version that
was not run is assumed to behave like the versions around it. This is wrong for a version in which a
change appeared and was reverted.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import msgspec


class Untold(msgspec.Struct, frozen=True):
    """The behavior of this version cannot be determined."""

    why: str


class Flip(msgspec.Struct, frozen=True):
    """Two versions that differ, with none between them of which it is known what it does."""

    before: int
    after: int


class Bisection(msgspec.Struct, frozen=True):
    """What is known so far."""

    count: int
    """The number of versions."""
    known: Mapping[int, str | Untold] = {}
    """By version: what it does, in words that are equal where that is the same."""

    @property
    def flips(self) -> tuple[Flip, ...]:
        """Each change that is known of, in the order of versions; the last one is bisected."""
        known = [each for each in range(self.count) if isinstance(self.known.get(each), str)]
        return tuple(
            Flip(before, after)
            for before, after in pairwise(known)
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
        """Return the last or first version, if it ran without a usable result."""
        ends = (self.count - 1, 0)
        return next((index for index in ends if isinstance(self.known.get(index), Untold)), None)

    @property
    def next(self) -> int | None:
        """Return the version to run next; None if no run can narrow down the last change.

        The last and the first version come first. If one of them has no usable result, the other
        versions have nothing to be compared with.
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
