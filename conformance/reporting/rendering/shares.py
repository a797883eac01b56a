"""Compare how often something was observed with its bounds. Pure."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import msgspec

from conformance.judging.expectations import (
    DropProportions,
    DropRate,
    EqualShares,
    Expectation,
    Proportions,
    RandomOverRing,
)
from conformance.judging.expectations.circuit_breaking import DRAWN
from conformance.judging.expectations.finding import BINOMIAL_BOUNDS
from conformance.judging.observations import Calls, Loads, Observation
from conformance.spec.oracles import statistics
from conformance.spec.oracles.census import met_intervals
from conformance.spec.oracles.ring.sizes import entry_counts
from conformance.spec.oracles.ring.weights import weights
from conformance.spec.oracles.statistics import Interval


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """One of several things that are counted."""

    name: str
    low: int
    high: int
    count: int

    @property
    def fits(self) -> bool:
        """Return whether the count is within its bounds."""
        return self.low <= self.count <= self.high


class SharesPicture(msgspec.Struct, frozen=True, kw_only=True):
    """Bars of one count."""

    of: str
    """What is counted."""
    total: int
    bars: tuple[Bar, ...]
    bounded_by: str
    """What the bounds follow from."""


def shares_picture(expected: Expectation, seen: Observation) -> SharesPicture | None:
    """Return the bounds of an expectation that has bounds, with the observations."""
    match expected, seen:
        case Proportions(), Calls():
            exact = {where: Fraction(*share) for where, share in expected.shares.items()}
            bounds = statistics.intervals(len(seen), exact)
            return _at_endpoints(seen, bounds, BINOMIAL_BOUNDS)
        case RandomOverRing(), Calls():
            entries = entry_counts(weights(expected.localities, "raw"), expected.config)
            bounds = met_intervals(entries, len(seen))
            return _at_endpoints(seen, bounds, BINOMIAL_BOUNDS)
        case EqualShares(), Calls():
            low, rest = divmod(len(seen), max(1, len(expected.addresses)))
            level = Interval(low, low + bool(rest))
            bounds = dict.fromkeys(expected.addresses, level)
            return _at_endpoints(seen, bounds, "as many at each, give or take one")
        case DropRate(), Calls():
            return _lost(expected, seen)
        case DropProportions(), Loads():
            shares = {name: Fraction(*share) for name, share in expected.shares.items()}
            chance = statistics.FALSE_ALARM / DRAWN
            bounds = statistics.intervals(seen.lost, shares, chance)
            counts = {drop.cluster: drop.counts() for drop in seen.dropped}.get(
                expected.cluster, {}
            )
            return _picture("drops", seen.lost, Counter(counts), bounds, BINOMIAL_BOUNDS)
        case _:
            return None


def _at_endpoints(seen: Calls, bounds: dict[str, Interval], bounded_by: str) -> SharesPicture:
    counts = Counter(call.endpoint or call.status for call in seen)
    return _picture("calls", len(seen), counts, bounds, bounded_by)


def _picture(
    of: str, total: int, counts: Counter[str], bounds: dict[str, Interval], bounded_by: str
) -> SharesPicture:
    """Return a bar for each item with bounds, and for each unexpected item."""
    bars = [
        Bar(name=name, low=bound.low, high=bound.high, count=counts[name])
        for name, bound in bounds.items()
    ]
    strange = sorted(counts.keys() - bounds.keys())
    bars += (Bar(name=name, low=0, high=0, count=counts[name]) for name in strange)
    return SharesPicture(of=of, total=total, bars=tuple(bars), bounded_by=bounded_by)


def _lost(expected: DropRate, seen: Calls) -> SharesPicture:
    chance = statistics.FALSE_ALARM / DRAWN
    bound = statistics.interval(len(seen), Fraction(*expected.share), chance)
    if expected.more:
        bound = Interval(bound.high + 1, len(seen))
    counts = Counter(call.status for call in seen)
    bounds = {
        "UNAVAILABLE": bound,
        "OK": Interval(len(seen) - bound.high, len(seen) - bound.low),
    }
    return _picture("calls", len(seen), counts, bounds, BINOMIAL_BOUNDS)
