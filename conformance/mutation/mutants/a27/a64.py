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
    """The value of the newest request stands for all of them."""
    return {
        metric: MetricSum(each.requests, told.get(metric, each.value))
        for metric, each in added(sums, told).items()
    }


nothing_told = Mutant(
    clause="A64-METRIC-01",
    broken="nothing that backends say of themselves is in the report",
    rules={"metrics_by_list": none_told},
)

bare_names_told = Mutant(
    clause="A64-METRIC-01",
    broken="named metrics are told by their bare names, as before A85",
    rules={"metrics_by_list": all_named},
)

names_behind_a_prefix = Mutant(
    clause="A64-METRIC-01",
    broken="named metrics are told behind a prefix, as since A85",
    rules={"told_metrics": those_listed},
    edition="2023",
)

newest_value_told = Mutant(
    clause="A64-METRIC-01",
    broken="of a metric the newest value is told, and not what all of them add up to",
    rules={"add_metrics": newest_of_each},
)

processors_told = Mutant(
    clause="A64-METRIC-02",
    broken="cpu_utilization is told among the named metrics, whatever the Cluster lists",
    rules={
        "metrics_by_list": lambda metrics, listed: {
            **those_listed(metrics, listed),
            **({Metric("cpu_utilization"): cpu} if (cpu := metrics.cpu_utilization) else {}),
        }
    },
)

told_again = Mutant(
    clause="A64-METRIC-03",
    broken="each report tells the metrics since the beginning",
    rules={"metrics_once_reported": lambda sums: sums},
)

failed_ones_tell_nothing = Mutant(
    clause="A64-METRIC-04",
    broken="what backends tell at the end of a request that has failed does not count",
    rules={"metrics_count": lambda ok: ok},
)
