"""Mutants of the clauses in failure_percentage.toml."""

from __future__ import annotations

from typing import Final

from client_under_test.reference.editions.mutants import Mutant

VARIANT: Final = "outlier-detection"


never_by_failures = Mutant(
    clause="A50-FAIL-01",
    broken="no failure percentage makes an endpoint an outlier",
    rules={"failures_are_outlier": lambda _percentage, _threshold: False},
    variant=VARIANT,
)


threshold_of_successes = Mutant(
    clause="A50-FAIL-01",
    broken="the percentage of successful calls is compared with the threshold",
    rules={"failures_are_outlier": lambda percentage, threshold: percentage > 100 - threshold},
    variant=VARIANT,
)


one_host_less = Mutant(
    clause="A50-FAIL-02",
    broken="one endpoint less than the minimum is enough",
    rules={"hosts_are_enough": lambda hosts, minimum: hosts >= minimum - 1},
    variant=VARIANT,
)


one_host_more = Mutant(
    clause="A50-FAIL-02",
    broken="one endpoint more than the minimum is needed",
    rules={"hosts_are_enough": lambda hosts, minimum: hosts > minimum},
    variant=VARIANT,
)


every_host_counts = Mutant(
    clause="A50-FAIL-02",
    broken="endpoints without enough calls count for the minimum",
    rules={"hosts_with_volume": lambda totals, _volume: len(totals)},
    variant=VARIANT,
)


one_call_less = Mutant(
    clause="A50-FAIL-03",
    broken="one call less than the request volume is enough",
    rules={
        "has_volume": lambda total, volume: total >= volume - 1,
        "hosts_with_volume": lambda totals, volume: sum(total >= volume - 1 for total in totals),
    },
    variant=VARIANT,
)


one_call_more = Mutant(
    clause="A50-FAIL-04",
    broken="one call more than the request volume is needed",
    rules={
        "has_volume": lambda total, volume: total > volume,
        "hosts_with_volume": lambda totals, volume: sum(total > volume for total in totals),
    },
    variant=VARIANT,
)


threshold_is_enough = Mutant(
    clause="A50-FAIL-05",
    broken="a failure percentage at the threshold makes an endpoint an outlier",
    rules={"failures_are_outlier": lambda percentage, threshold: percentage >= threshold},
    variant=VARIANT,
    reports="ejected",
)
