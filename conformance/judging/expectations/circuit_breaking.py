"""Expect how many requests circuit breaking and drops let through."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from conformance.judging.expectations.finding import (
    BINOMIAL_BOUNDS,
    Finding,
    calls_of,
    counts_text,
    statuses_text,
)
from conformance.judging.expectations.timing_sensitivity import (
    Ring,
    TimeDependent,
    TimeIndependent,
    all_calls,
    is_overdue,
)
from conformance.judging.observations import OPEN, WAITING, Observation
from conformance.spec.oracles import statistics
from conformance.spec.oracles.circuit_breaking import USUAL_LIMIT, Threshold, admitted


class RequestsAdmitted(TimeDependent, frozen=True, tag="admits", kw_only=True):
    """If streams start one after another, the first stay open up to the limit and the others end.

    The others end at once. ``circuit_breaking.admitted`` computes how many streams stay open.
    """

    thresholds: tuple[Threshold, ...]
    in_flight: int = 0
    """How many others were open before."""

    @property
    def room(self) -> int:
        """Return how many more streams the limit admits, at most the default limit."""
        return admitted(self.thresholds, in_flight=self.in_flight, asked=USUAL_LIMIT)

    def finding(self, seen: Observation) -> Finding:
        """Weigh streams."""
        calls = calls_of(seen)
        room = admitted(self.thresholds, in_flight=self.in_flight, asked=len(calls))
        open_ones = [call.status == OPEN for call in calls]
        counts = Counter(call.status for call in calls)
        saw = counts_text(counts, "stream")
        if any(open_ones) and open_ones != sorted(open_ones, reverse=True):
            saw += f", the first that did not open being number {open_ones.index(False) + 1}"
        return Finding(
            open_ones == [number < room for number in range(len(calls))] and not counts[WAITING],
            _wanted(room, len(calls)),
            saw or "no stream",
            "the limits of the cluster's thresholds",
        )

    def is_timing_sensitive(self, seen: Observation, _before: Ring | None = None) -> bool:
        """Return whether an update or the end of a stream may be late; no count can be."""
        return is_overdue(seen) or any(call.status == WAITING for call in all_calls(seen))


def _wanted(room: int, count: int) -> str:
    streams = "1 stream" if count == 1 else f"{count} streams"
    if room == count:
        return f"{streams} to stay open"
    return (
        f"the first {room} of {streams} to stay open, and no other"
        if room
        else (f"{streams} to be refused at the limit")
    )


DRAWN = 8
"""Checks of shares that a run has, at most: they have one false alarm between them."""


class DropRate(TimeIndependent, frozen=True, tag="loses_share", kw_only=True):
    """Each call is dropped by chance, with this share, and ends UNAVAILABLE; any other ends OK.

    The bounds are computed by ``statistics.interval``.

    Clauses: A27-DROP-01, A27-DROP-05, A27-DROP-06, A27-DROP-07, A27-DROP-08, A27-DROP-12.
    """

    share: tuple[int, int]
    """Numerator and denominator."""
    more: bool = False
    """True if more are lost than that."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        numerator, denominator = self.share
        chance = statistics.FALSE_ALARM / DRAWN
        bounds = statistics.interval(len(calls), Fraction(numerator, denominator), chance)
        counts = Counter(call.status for call in calls)
        lost = counts["UNAVAILABLE"]
        return Finding(
            set(counts) <= {"OK", "UNAVAILABLE"}
            and (lost > bounds.high if self.more else lost in bounds),
            f"of {len(calls)} calls "
            + (f"more than {bounds.high}" if self.more else f"{bounds.low} to {bounds.high}")
            + " to end UNAVAILABLE, and the others OK",
            statuses_text(calls),
            BINOMIAL_BOUNDS,
        )
