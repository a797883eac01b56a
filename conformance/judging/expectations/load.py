"""Expect reported load."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import msgspec

from conformance.judging.expectations.circuit_breaking import DRAWN
from conformance.judging.expectations.finding import BINOMIAL_BOUNDS, Finding, WrongKind
from conformance.judging.expectations.timing_sensitivity import Ring, TimeDependent
from conformance.judging.observations import Loads, Observation
from conformance.spec.oracles import statistics
from conformance.spec.oracles.load import Dropped, Load, LoadKey, balances, drops_balance, due


class LoadMatches(TimeDependent, frozen=True, tag="balances", kw_only=True):
    """All reports together say exactly what the backends counted, and name no other cluster.

    What is due is computed by ``load.due``.

    Clauses: A42-LOAD-01, A42-LOAD-02, A42-LOAD-03, A42-LOAD-04, A42-LOAD-05, A42-LOAD-06,
    A42-LOAD-07, A42-LOAD-08, A42-LOAD-11, A42-LOAD-12, A37-LOAD-01, A37-LOAD-02, A37-LOAD-03,
    A37-LOAD-04, A37-LOAD-05, A37-LOAD-08, A37-DNS-03, A27-LRS-02, A27-LRS-03, A27-LRS-04,
    A27-LRS-10, A27-LRS-11, A27-LRS-15, A27-LRS-21, A62-LOAD-01.
    """

    places: dict[str, LoadKey]
    """Where each address belongs; those of clusters that are not to be reported are left out."""
    lossy: bool = False
    """True if connections were lost while requests were on their way."""
    drops: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """The categories by which each cluster drops requests, and ``""`` for drops without one, as
    circuit breaking makes them: whatever fails without being received was dropped."""
    ends_alike: bool = False
    """True if only the number of ended requests counts, not their statuses."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh loads."""
        if not isinstance(seen, Loads):
            raise WrongKind(f"loads are expected here, not {type(seen).__name__}")
        lost = seen.lost if self.lossy else 0
        counted = due(seen.received, self.places)
        reported = {report.place: report.load for report in seen.reported}
        if self.ends_alike:
            counted, reported = (
                {place: load.however_they_ended() for place, load in of.items()}
                for of in (counted, reported)
            )
        strangers = set(seen.clusters) - {place.cluster for place in self.places.values()}
        wanted = f"reports of exactly {_told(counted)}"
        if lost:
            wanted += f"; and of {lost} more failed ones, or fewer"
        if self.drops:
            wanted += f"; and of {seen.lost} drops by {_listed(self.drops)}"
        saw = _told(reported)
        total = sum(drop.total for drop in seen.dropped)
        if self.drops or total:
            saw += f"; {total} drops, {_categories(seen.dropped) or 'of no category'}"
        if strangers:
            saw += f"; reports that name {', '.join(sorted(strangers))}"
        return Finding(
            bool(counted)
            and not strangers
            and drops_balance(self.drops, seen.dropped, lost=seen.lost)
            and balances(counted, reported, lost=lost),
            wanted,
            saw,
            "the RPCs that the backends counted",
            differs=_differing(counted, reported),
        )

    def is_timing_sensitive(self, seen: Observation, _before: Ring | None = None) -> bool:
        """Return whether a later report can still correct the difference."""
        return not self.is_exceeded(seen)

    def is_exceeded(self, seen: Observation) -> bool:
        """Return whether more was reported than the backends counted: no later report corrects it.

        Raises:
            WrongKind: these are no loads.
        """
        if not isinstance(seen, Loads):
            raise WrongKind(f"loads are expected here, not {type(seen).__name__}")
        counted = due(seen.received, self.places)
        most = {place: load.issued for place, load in counted.items()}
        more = sum(
            max(0, report.load.issued - most.get(report.place, 0)) for report in seen.reported
        )
        strangers = set(seen.clusters) - {place.cluster for place in self.places.values()}
        return bool(strangers) or more > seen.lost


class DropsReported(TimeDependent, frozen=True, tag="tells_drops", kw_only=True):
    """All reports together contain exactly these numbers of dropped requests.

    Clauses: A32-CB-23, A32-CB-24, A37-LOAD-06, A37-LOAD-07.
    """

    drops: dict[str, dict[str, int]]
    """By cluster and category, which is ``""`` for those without one."""
    totals: bool = False
    """True if only the total of each cluster counts."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh loads."""
        if not isinstance(seen, Loads):
            raise WrongKind(f"loads are expected here, not {type(seen).__name__}")
        wanted = self._weighed(self.drops)
        saw = self._weighed({drop.cluster: drop.counts() for drop in seen.dropped})
        return Finding(
            wanted == saw,
            f"reports of drops: {_by_cluster(wanted)}",
            _by_cluster(saw),
        )

    def _weighed(self, drops: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
        """Those that there are; of any kind, if only the total counts."""
        if self.totals:
            drops = {cluster: {"of any kind": sum(of.values())} for cluster, of in drops.items()}
        there = {cluster: {name: n for name, n in of.items() if n} for cluster, of in drops.items()}
        return {cluster: of for cluster, of in there.items() if of}


class DropProportions(TimeDependent, frozen=True, tag="drops_by_share", kw_only=True):
    """Each category's share of a cluster's reported drops is within the bounds of chance.

    All together are those requests that failed, which no backend received. The bounds are computed
    by ``statistics.intervals``.

    Clauses: A27-DROP-08.
    """

    cluster: str
    shares: dict[str, tuple[int, int]]
    """Numerator and denominator, by category."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh loads."""
        if not isinstance(seen, Loads):
            raise WrongKind(f"loads are expected here, not {type(seen).__name__}")
        counts = {drop.cluster: drop.counts() for drop in seen.dropped}.get(self.cluster, {})
        shares = {name: Fraction(*share) for name, share in self.shares.items()}
        chance = statistics.FALSE_ALARM / DRAWN
        bounds = statistics.intervals(seen.lost, shares, chance)
        listed = ", ".join(f"{bound.low} to {bound.high} {name}" for name, bound in bounds.items())
        return Finding(
            sum(counts.values()) == seen.lost
            and {*counts} <= {*bounds}
            and all(counts.get(name, 0) in bound for name, bound in bounds.items()),
            f"reports of {seen.lost} drops: {listed}",
            _by_cluster({self.cluster: counts}),
            BINOMIAL_BOUNDS,
        )


def _by_cluster(drops: Mapping[str, Mapping[str, int]]) -> str:
    return (
        "; ".join(
            f"{cluster}: {count} {category or 'of no category'}"
            for cluster, of in sorted(drops.items())
            for category, count in sorted(of.items())
        )
        or "none"
    )


def _listed(drops: Mapping[str, tuple[str, ...]]) -> str:
    """Categories by cluster; whose they are is plain where only one cluster drops."""
    return " and ".join(
        " and ".join(category or "no category" for category in categories)
        + (f" in cluster {cluster}" if len(drops) > 1 else "")
        for cluster, categories in drops.items()
    )


def _categories(dropped: tuple[Dropped, ...]) -> str:
    """How many were dropped by which category."""
    several = sum(1 for drop in dropped if drop.total) > 1
    return ", ".join(
        f"{count} by {category}" + (f" in cluster {drop.cluster}" if several else "")
        for drop in dropped
        for category, count in drop.by_category.items()
    )


def _differing(counted: Mapping[LoadKey, Load], reported: Mapping[LoadKey, Load]) -> str:
    """Return the places whose reported load differs from the counted load, as text."""
    places = [
        place
        for place in sorted({*counted, *reported})
        if counted.get(place) != reported.get(place)
    ]
    return "\n".join(
        f"{place}: {counted.get(place, 'nothing')} wanted, {reported.get(place, 'nothing')} seen"
        for place in places
    )


def _told(loads: Mapping[LoadKey, Load]) -> str:
    return "; ".join(f"{place}: {loads[place]}" for place in sorted(loads)) or "nothing"
