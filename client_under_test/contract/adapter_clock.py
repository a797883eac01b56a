"""The adapter's clock in terms of the suite's: pure arithmetic on what both said and when."""

from __future__ import annotations

import math
from typing import Final

_MICRO: Final = 1e-6

DOUBT: Final = 0.05
"""Seconds by which a time may be beyond what is possible before it is said to be. None of a clock
that runs as the suite's is: it was read before the suite heard of it, and after the suite asked."""

DRIFT: Final = 1e-3
"""What is added to that for each second since the first hello, for a clock that runs by another
oscillator, or is being adjusted: twice what kernels adjust a clock by at most."""


class Impossible(Exception):
    """The reported times cannot come from one monotonic clock; the text is a sentence."""


class Clock:
    """Narrows, from one hello to the next, when the adapter's microsecond 0 was.

    An `at` was read between the suite's asking and its hearing: each answer gives an interval for
    the zero, and the zero is in all of them.
    """

    def __init__(self) -> None:
        self._earliest = -math.inf
        self._latest = math.inf
        self._first_asked_at = math.inf
        self._first_heard_at = math.inf

    def heard(self, at: int, *, asked_at: float, heard_at: float) -> None:
        """Take in one answer: `at` by the adapter's clock, the others by the suite's.

        Raises:
            Impossible: the zero is not where it was: the clock has jumped, or stands still.
        """
        earliest, latest = asked_at - at * _MICRO, heard_at - at * _MICRO
        ahead, back = self._earliest - latest, earliest - self._latest
        if max(ahead, back) > self._doubt(heard_at):
            how = (
                f"ahead by {ahead:.3f} s" if ahead > 0 else f"back by {back:.3f} s, or stood still"
            )
            raise Impossible(f"the adapter's clock went {how}")
        self._first_asked_at = min(self._first_asked_at, asked_at)
        self._first_heard_at = min(self._first_heard_at, heard_at)
        self._earliest = max(self._earliest, earliest)
        self._latest = min(self._latest, latest)

    def check(self, what: str, at: int, *, asked_at: float, heard_at: float) -> None:
        """Check that an adapter's `at` lies between the suite's request and the adapter's report.

        Args:
            what: the event, such as "that call-3 ended".
            at: the time of the event, by the adapter's clock.
            asked_at: when the suite asked for it.
            heard_at: when the suite heard of it.

        Raises:
            Impossible: it does not.
        """
        doubt = self._doubt(heard_at)
        if (early := asked_at - self._latest - at * _MICRO) > doubt:
            raise Impossible(
                f"the adapter says {what} {early:.3f} s before it was asked for "
                f"({at:,} us; the request was at about {self.of_adapter(asked_at):,} us)"
            )
        if (late := self._earliest + at * _MICRO - heard_at) > doubt:
            raise Impossible(
                f"the adapter says {what} {late:.3f} s after it said so "
                f"({at:,} us; the report came at about {self.of_adapter(heard_at):,} us)"
            )

    def check_span(self, what: str, started_at: int, ended_at: int) -> None:
        """Check that the start of an event is not later than its end.

        Raises:
            Impossible: it does not.
        """
        if ended_at < started_at:
            early = (started_at - ended_at) * _MICRO
            raise Impossible(f"the adapter says that {what} ended {early:.6f} s before it started")

    @property
    def error(self) -> float:
        """Seconds by which a converted time can be wrong, either way."""
        return max(0.0, self._latest - self._earliest) / 2

    @property
    def seconds_before_hello(self) -> float:
        """By how many seconds, at least, the clock started before the first hello was requested."""
        return max(0.0, self._first_asked_at - self._latest)

    def of_adapter(self, at: float) -> int:
        """Convert a time of the suite's monotonic clock to microseconds of the adapter's."""
        return round((at - self.to_suite(0)) / _MICRO)

    def to_suite(self, at: int) -> float:
        """Convert an adapter's `at` to seconds of the suite's monotonic clock."""
        return (self._earliest + self._latest) / 2 + at * _MICRO

    def _doubt(self, heard_at: float) -> float:
        return DOUBT + DRIFT * max(0.0, heard_at - self._first_heard_at)
