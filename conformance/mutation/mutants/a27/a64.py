"""Mutants of the clauses in a64.toml."""

from collections.abc import Mapping

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.backend_metrics import (
    Metric,
    MetricSum,
    MetricSums,
    added,
    all_named,
    none_told,
    those_listed,
)


def newest_of_each(sums: MetricSums, told: Mapping[Metric, float]) -> MetricSums:
    """Keep the newest value of each metric instead of the sum."""
    return {
        metric: MetricSum(each.requests, told.get(metric, each.value))
        for metric, each in added(sums, told).items()
    }


nothing_told = Mutant(
    clause="A64-METRIC-01",
    broken="reports have no backend metrics",
    rules={"metrics_by_list": none_told},
)

bare_names_told = Mutant(
    clause="A64-METRIC-01",
    broken="named metrics are reported by their bare names, as before A85",
    rules={"metrics_by_list": all_named},
)

names_behind_a_prefix = Mutant(
    clause="A64-METRIC-01",
    broken="named metrics are reported with a prefix, as since A85",
    rules={"told_metrics": those_listed},
    edition="2023",
)

newest_value_told = Mutant(
    clause="A64-METRIC-01",
    broken="the newest value of a metric is reported, not the sum",
    rules={"add_metrics": newest_of_each},
)

processors_told = Mutant(
    clause="A64-METRIC-02",
    broken="cpu_utilization is reported as a named metric, whatever the Cluster lists",
    rules={
        "metrics_by_list": lambda metrics, listed: {
            **those_listed(metrics, listed),
            **({Metric("cpu_utilization"): cpu} if (cpu := metrics.cpu_utilization) else {}),
        }
    },
)

told_again = Mutant(
    clause="A64-METRIC-03",
    broken="each report has the metrics since the start",
    rules={"metrics_once_reported": lambda sums: sums},
)

failed_ones_tell_nothing = Mutant(
    clause="A64-METRIC-04",
    broken="the metrics of failed requests are not reported",
    rules={"metrics_count": lambda ok: ok},
)
