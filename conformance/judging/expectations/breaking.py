"""Expectations of circuit breaking: how many streams stay open."""

from __future__ import annotations

from collections import Counter

import msgspec

from conformance.judging.expectations.weighing import Finding, calls_of
from conformance.judging.seen import OPEN, Seen
from conformance.oracles.breaking import USUAL_LIMIT, Threshold, admitted


class Admits(msgspec.Struct, frozen=True, tag="admits", kw_only=True):
    """Of streams begun one after another, the first stay open, as many as the limit has room for.

    The others end. How many that are is computed by ``breaking.admitted``.
    """

    thresholds: tuple[Threshold, ...]
    in_flight: int = 0
    """How many others were open before."""

    @property
    def room(self) -> int:
        """How many more may open, of fewer than any limit is that is none."""
        return admitted(self.thresholds, in_flight=self.in_flight, asked=USUAL_LIMIT)

    def finding(self, seen: Seen) -> Finding:
        """Weigh streams."""
        calls = calls_of(seen)
        room = admitted(self.thresholds, in_flight=self.in_flight, asked=len(calls))
        open_ones = [call.status == OPEN for call in calls]
        counts = Counter(call.status for call in calls)
        saw = ", ".join(f"{status}: {count}" for status, count in sorted(counts.items()))
        if any(open_ones) and open_ones != sorted(open_ones, reverse=True):
            saw += f", the first that did not open being number {open_ones.index(False) + 1}"
        return Finding(
            open_ones == [number < room for number in range(len(calls))],
            f"of {len(calls)} streams the first {room} to stay open, and no other",
            saw or "no stream",
            "breaking.admitted",
        )
