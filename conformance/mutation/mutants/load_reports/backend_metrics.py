"""Mutants of the clauses in backend_metrics.toml."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant, for_good
from client_under_test.reference.policies.interface import Account
from client_under_test.reference.policies.rules.admission import LoadKey, load_key
from client_under_test.reference.policies.rules.backend_metrics import (
    Metric,
    MetricSum,
    MetricSums,
    add_metrics,
    metrics_by_list_a85,
    metrics_listed,
    reported_metrics,
    reported_metrics_a64,
)
from client_under_test.reference.values import BackendMetrics


def newest_of_each(sums: MetricSums, told: Mapping[Metric, float]) -> MetricSums:
    """Keep the newest value of each metric instead of the sum."""
    return {
        metric: MetricSum(each.requests, told.get(metric, each.value))
        for metric, each in add_metrics(sums, told).items()
    }


nothing_told = Mutant(
    clause="A64-METRIC-01",
    broken="reports have no backend metrics",
    rules={"metrics_by_list": reported_metrics},
)


bare_names_told = Mutant(
    clause="A64-METRIC-01",
    broken="named metrics are reported by their bare names, as before A85",
    rules={"metrics_by_list": reported_metrics_a64},
)


names_behind_a_prefix = Mutant(
    clause="A64-METRIC-01",
    broken="named metrics are reported with a prefix, as since A85",
    rules={"reported_metrics": metrics_by_list_a85},
    variant="2023",
)


newest_value_told = Mutant(
    clause="A64-METRIC-01",
    broken="the newest value of a metric is reported, not the sum",
    rules={"add_metrics": newest_of_each},
)


two_names_at_most = Mutant(
    clause="A64-METRIC-01",
    broken="only the first two metrics of a response are reported",
    rules={"add_metrics": lambda sums, told: add_metrics(sums, dict([*told.items()][:2]))},
)


class OfAllLocalities:
    """The sums of all localities together."""

    def __init__(self) -> None:
        self._sums: MetricSums = {}

    def add(self, _sums: MetricSums, told: Mapping[Metric, float]) -> MetricSums:
        """Return the sums of all localities after one more response."""
        self._sums = add_metrics(self._sums, told)
        return self._sums


localities_together = Mutant(
    clause="A64-METRIC-01",
    broken="each locality reports the metrics of all localities",
    rules={"add_metrics": OfAllLocalities().add},
)


processors_told = Mutant(
    clause="A64-METRIC-02",
    broken="cpu_utilization is reported as a named metric, whatever the Cluster lists",
    rules={
        "metrics_by_list": lambda metrics, listed: {
            **metrics_by_list_a85(metrics, listed),
            **({Metric("cpu_utilization"): cpu} if (cpu := metrics.cpu_utilization) else {}),
        }
    },
)


told_again = Mutant(
    clause="A64-METRIC-03",
    broken="each report has the metrics since the start",
    rules={"metrics_after_report": lambda sums: sums},
)


failed_ones_tell_nothing = Mutant(
    clause="A64-METRIC-04",
    broken="the metrics of failed requests are not reported",
    rules={"metrics_count": lambda ok: ok},
)


ALL_NAMED = "named_metrics.*"


def as_when_it_came() -> Callable[[Account], Sequence[str]]:
    """Keep the list of each endpoint from its first request."""
    known: dict[object, Sequence[str]] = {}
    return lambda account: known.setdefault(account.subchannel, account.metrics)


def as_named_ones(metrics: BackendMetrics, listed: Sequence[str]) -> Mapping[Metric, float]:
    """Report metrics that have a field as named metrics."""
    return {
        replace(metric, is_field=False): value
        for metric, value in metrics_by_list_a85(metrics, listed).items()
    }


all_names_told = Mutant(
    clause="A85-LIST-01",
    broken="all named metrics are reported if one is listed",
    rules={"metrics_by_list": lambda metrics, _: metrics_by_list_a85(metrics, (ALL_NAMED,))},
)


fields_not_used = Mutant(
    clause="A85-LIST-02",
    broken="utilizations are reported as named metrics, not in their fields",
    rules={"metrics_by_list": as_named_ones},
)


application_left_out = Mutant(
    clause="A85-LIST-02",
    broken="application_utilization is not reported",
    rules={
        "metrics_by_list": lambda metrics, listed: metrics_by_list_a85(
            replace(metrics, application_utilization=0.0), listed
        )
    },
)


bare_names_known = Mutant(
    clause="A85-LIST-03",
    broken="an entry without a dot selects all named metrics",
    rules={
        "metrics_by_list": lambda metrics, listed: metrics_by_list_a85(
            metrics, (*listed, ALL_NAMED) if "named_metrics" in listed else listed
        )
    },
)


all_without_a_list = Mutant(
    clause="A85-LIST-04",
    broken="all named metrics are reported if the Cluster lists nothing, as before A85",
    rules={
        "metrics_by_list": lambda metrics, listed: (
            metrics_by_list_a85(metrics, listed)
            if listed
            else reported_metrics_a64(metrics, listed)
        )
    },
)


def as_when_its_locality_came() -> Callable[[Account], Sequence[str]]:
    """Return a rule that keeps the list with which each locality came."""
    known: dict[LoadKey | None, Sequence[str]] = {}
    return lambda account: known.setdefault(load_key(account), metrics_listed(account))


list_read_once = Mutant(
    clause="A85-LIST-05",
    broken="the first list of the Cluster is used forever",
    rules={"metrics_listed": for_good(metrics_listed)},
)


locality_keeps_its_list = Mutant(
    clause="A85-LIST-05",
    broken="endpoints that come to a known locality use the list from when it was added",
    rules={"metrics_listed": as_when_its_locality_came()},
)


endpoints_keep_their_list = Mutant(
    clause="A85-LIST-06",
    broken="existing endpoints keep using the list from when they were added",
    rules={"metrics_listed": as_when_it_came()},
    reports="at endpoints that are new",
)
