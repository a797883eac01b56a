"""The adapter's clock in terms of the suite's: pure arithmetic on what both said and when."""

from __future__ import annotations

import math
from typing import Final

_MICRO: Final = 1e-6


class Clock:
    """Narrows, from one hello to the next, when the adapter's microsecond 0 was.

    An `at` was read between the suite's asking and its hearing: each answer gives an interval for
    the zero, and the zero is in all of them.
    """

    def __init__(self) -> None:
        self._earliest = -math.inf
        self._latest = math.inf

    def heard(self, at: int, *, asked_at: float, heard_at: float) -> None:
        """Take in one answer: `at` by the adapter's clock, the others by the suite's."""
        self._earliest = max(self._earliest, asked_at - at * _MICRO)
        self._latest = min(self._latest, heard_at - at * _MICRO)

    @property
    def error(self) -> float:
        """Seconds by which a converted time can be wrong, either way."""
        return max(0.0, self._latest - self._earliest) / 2

    def to_suite(self, at: int) -> float:
        """An adapter's `at` in seconds of the suite's monotonic clock."""
        return (self._earliest + self._latest) / 2 + at * _MICRO
