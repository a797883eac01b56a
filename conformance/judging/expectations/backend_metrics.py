"""Expect backend metrics in load reports."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.judging.expectations.finding import Finding, WrongKind
from conformance.judging.expectations.timing_sensitivity import Ring, TimeDependent
from conformance.judging.observations import Metrics, Observation, ReportedMetrics
from conformance.spec.oracles.backend_metrics import Metric, Sum, Sums, metrics_due
from conformance.spec.oracles.load import LoadKey


class MetricsReported(TimeDependent, frozen=True, tag="tells_metrics", kw_only=True):
    """All reports together tell just these metrics, place by place, with their sums.

    What is due is computed by ``backend_metrics.metrics_due``.

    Clauses: A64-METRIC-01, A64-METRIC-02, A64-METRIC-03, A64-METRIC-04, A85-LIST-01, A85-LIST-02,
    A85-LIST-03, A85-LIST-04, A85-LIST-05, A85-LIST-06.
    """

    places: dict[str, LoadKey]
    """The place of each address; reports on other places are ignored."""
    listed: tuple[str, ...] | None = None
    """The metrics that the cluster requests; None if the cluster has no say, as in A64."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh metrics."""
        metrics = _metrics_of(seen)
        wanted = metrics_due(metrics.told, self.places, self.listed)
        saw = {
            report.place: dict(report.sums) for report in self._looked_at(metrics) if report.sums
        }
        return Finding(
            saw == wanted,
            f"reports of exactly {_listed(wanted)}",
            _listed(saw),
            "the metrics that the backends sent",
            differs=_differing(wanted, saw),
        )

    def is_timing_sensitive(self, seen: Observation, _before: Ring | None = None) -> bool:
        """Return whether a later report can still correct the difference."""
        return not self.is_exceeded(seen)

    def is_exceeded(self, seen: Observation) -> bool:
        """Return whether more was reported than is due: no later report can correct that.

        Raises:
            WrongKind: these are no metrics.
        """
        metrics = _metrics_of(seen)
        wanted = metrics_due(metrics.told, self.places, self.listed)
        return any(
            each.requests > wanted.get(report.place, {}).get(metric, Sum()).requests
            for report in self._looked_at(metrics)
            for metric, each in report.sums
        )

    def _looked_at(self, seen: Metrics) -> list[ReportedMetrics]:
        places = {*self.places.values()}
        return [report for report in seen.reported if report.place in places]


def _metrics_of(seen: Observation) -> Metrics:
    if not isinstance(seen, Metrics):
        raise WrongKind(f"metrics of backends are expected here, not {type(seen).__name__}")
    return seen


def _listed(by_place: Mapping[LoadKey, Sums]) -> str:
    told = (f"{place}: {_sums(by_place[place])}" for place in sorted(by_place))
    return "; ".join(told) or "no metrics"


def _sums(sums: Mapping[Metric, Sum]) -> str:
    return ", ".join(f"{metric} {sums[metric]}" for metric in sorted(sums)) or "none"


def _differing(wanted: Mapping[LoadKey, Sums], saw: Mapping[LoadKey, Sums]) -> str:
    """List the places whose reported metrics differ from those that are due."""
    places = [place for place in sorted({*wanted, *saw}) if wanted.get(place) != saw.get(place)]
    return "\n".join(
        f"{place}: {_sums(wanted.get(place, {}))} wanted, {_sums(saw.get(place, {}))} seen"
        for place in places
    )
