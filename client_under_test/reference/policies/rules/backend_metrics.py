"""Which metrics of backends are in the load report, and how they are summed (A64, A85)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from client_under_test.reference.policies.interface import Account
from client_under_test.reference.values import BackendMetrics

_NAMED: Final = "named_metrics."


class Metric(msgspec.Struct, frozen=True, order=True):
    """The place of a metric in load reports: a name, or the field of that name if one exists."""

    name: str
    is_field: bool = False


class MetricSum(msgspec.Struct, frozen=True):
    """Over how many requests, and what the values add up to."""

    requests: int = 0
    value: float = 0.0

    def __add__(self, other: MetricSum) -> MetricSum:
        """Both together."""
        return MetricSum(self.requests + other.requests, self.value + other.value)


MetricSums = Mapping[Metric, MetricSum]


def reported_metrics(_metrics: BackendMetrics, _listed: Sequence[str]) -> Mapping[Metric, float]:
    """Before A64, the load report contains no backend metrics."""
    return {}


def reported_metrics_a64(metrics: BackendMetrics, _listed: Sequence[str]) -> Mapping[Metric, float]:
    """A64: all named metrics, whatever the Cluster lists, and nothing else.

    Clauses: A64-METRIC-01, A64-METRIC-02.
    """
    return {Metric(name): value for name, value in metrics.named.items()}


def metrics_by_list_a85(metrics: BackendMetrics, listed: Sequence[str]) -> Mapping[Metric, float]:
    """A85: what the Cluster lists, named metrics behind a prefix, the others in their own fields.

    Clauses: A64-METRIC-01, A64-METRIC-02, A85-LIST-01, A85-LIST-02, A85-LIST-03, A85-LIST-04,
    A85-LIST-05.
    """
    wanted = {*listed}
    fields = {
        "cpu_utilization": metrics.cpu_utilization,
        "mem_utilization": metrics.mem_utilization,
        "application_utilization": metrics.application_utilization,
    }
    told = {
        Metric(_NAMED + name): value
        for name, value in metrics.named.items()
        if wanted & {_NAMED + name, _NAMED + "*"}
    }
    return told | {
        Metric(name, is_field=True): value
        for name, value in fields.items()
        if name in wanted and value
    }


def add_metrics(sums: MetricSums, told: Mapping[Metric, float]) -> MetricSums:
    """One more request has told these, however it has ended.

    Clauses: A64-METRIC-01, A64-METRIC-04.
    """
    more = {name: MetricSum(1, value) for name, value in told.items()}
    return {**sums, **{name: sums.get(name, MetricSum()) + each for name, each in more.items()}}


def metrics_after_report(_sums: MetricSums) -> MetricSums:
    """A64: each load report contains only metrics that no earlier report contains.

    Clauses: A64-METRIC-03.
    """
    return {}


def metrics_listed(account: Account) -> Sequence[str]:
    """A85: what the Cluster listed when the request was picked, wherever it went.

    Clauses: A85-LIST-05, A85-LIST-06 (our choice).
    """
    return account.metrics


def metrics_count(_ok: bool) -> bool:  # noqa: FBT001 - how it ended
    """A64: what comes with a request that has failed counts as well.

    Clauses: A64-METRIC-04.
    """
    return True


@dataclass(frozen=True, kw_only=True)
class BackendMetricRules:
    """What of backends' own is reported."""

    reported_metrics: Callable[[BackendMetrics, Sequence[str]], Mapping[Metric, float]] = (
        reported_metrics
    )
    """Takes the metrics that came with a request, and the names that the Cluster lists."""
    metrics_by_list: Callable[[BackendMetrics, Sequence[str]], Mapping[Metric, float]] | None = None
    """A85: what takes the place of that, if it is there."""
    metrics_listed: Callable[[Account], Sequence[str]] = metrics_listed
    metrics_count: Callable[[bool], bool] = metrics_count
    add_metrics: Callable[[MetricSums, Mapping[Metric, float]], MetricSums] = add_metrics
    metrics_after_report: Callable[[MetricSums], MetricSums] = metrics_after_report
