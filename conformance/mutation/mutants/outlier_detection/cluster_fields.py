"""Mutants of the clauses in cluster_fields.toml."""

from __future__ import annotations

from typing import Any, Final

from envoy.config.cluster.v3 import outlier_detection_pb2

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.outlier_detection import (
    FailurePercentage,
    OutlierSettings,
)
from client_under_test.reference.xds.cluster_rules import outlier_settings

VARIANT: Final = "outlier-detection"


def reading(name: str, value: int, *, when: int | None) -> dict[str, Any]:
    """Return the rules of a client that reads another value of a field in place of one, or none."""

    def settings(message: Any) -> OutlierSettings:
        if (
            message is None
            or (getattr(message, name).value if message.HasField(name) else None) != when
        ):
            return outlier_settings(message)
        copy = outlier_detection_pb2.OutlierDetection()
        copy.CopyFrom(message)
        getattr(copy, name).value = value
        return outlier_settings(copy)

    return {"outlier_settings": settings}


detected_by_default = Mutant(
    clause="A50-XDS-01",
    broken="outliers are ejected without outlier_detection",
    xds={
        "outlier_settings": lambda message: (
            OutlierSettings(interval=0.3, failure_percentage=FailurePercentage(request_volume=5))
            if message is None
            else outlier_settings(message)
        )
    },
    variant=VARIANT,
)


rate_in_spite_of_zero = Mutant(
    clause="A50-XDS-02",
    broken="an enforcing_success_rate of 0 counts as 100",
    xds=reading("enforcing_success_rate", 100, when=0),
    variant=VARIANT,
)


failures_in_spite_of_zero = Mutant(
    clause="A50-XDS-03",
    broken="an enforcing_failure_percentage of 0 counts as 100",
    xds=reading("enforcing_failure_percentage", 100, when=0),
    variant=VARIANT,
)


failures_by_default = Mutant(
    clause="A50-XDS-03",
    broken="an unset enforcing_failure_percentage counts as 100",
    xds=reading("enforcing_failure_percentage", 100, when=None),
    variant=VARIANT,
)


no_rate_by_default = Mutant(
    clause="A50-XDS-04",
    broken="an unset enforcing_success_rate counts as 0",
    xds=reading("enforcing_success_rate", 0, when=None),
    variant=VARIANT,
)


all_by_default = Mutant(
    clause="A50-XDS-05",
    broken="max_ejection_percent is 100 by default",
    xds=reading("max_ejection_percent", 100, when=None),
    variant=VARIANT,
)


low_threshold_by_default = Mutant(
    clause="A50-XDS-05",
    broken="failure_percentage_threshold is 50 by default",
    xds=reading("failure_percentage_threshold", 50, when=None),
    variant=VARIANT,
)


few_failures_by_default = Mutant(
    clause="A50-XDS-06",
    broken="failure_percentage_request_volume is 49 by default",
    xds=reading("failure_percentage_request_volume", 49, when=None),
    variant=VARIANT,
)


four_hosts_by_default = Mutant(
    clause="A50-XDS-06",
    broken="failure_percentage_minimum_hosts is 4 by default",
    xds=reading("failure_percentage_minimum_hosts", 4, when=None),
    variant=VARIANT,
)


many_rates_by_default = Mutant(
    clause="A50-XDS-07",
    broken="success_rate_request_volume is 101 by default",
    xds=reading("success_rate_request_volume", 101, when=None),
    variant=VARIANT,
)


six_hosts_by_default = Mutant(
    clause="A50-XDS-07",
    broken="success_rate_minimum_hosts is 6 by default",
    xds=reading("success_rate_minimum_hosts", 6, when=None),
    variant=VARIANT,
)


low_factor_by_default = Mutant(
    clause="A50-XDS-07",
    broken="success_rate_stdev_factor is 1700 by default",
    xds=reading("success_rate_stdev_factor", 1700, when=None),
    variant=VARIANT,
)


high_factor_by_default = Mutant(
    clause="A50-XDS-07",
    broken="success_rate_stdev_factor is 2000 by default",
    xds=reading("success_rate_stdev_factor", 2000, when=None),
    variant=VARIANT,
)


failures_enforced_always = Mutant(
    clause="A50-ENFORCE-01",
    broken="each outlier is ejected if the enforcement is not 0",
    rules={"is_enforced": lambda percentage, _rng: percentage > 0},
    variant=VARIANT,
)


rate_enforced_always = Mutant(
    clause="A50-ENFORCE-02",
    broken="each outlier is ejected if the enforcement is not 0",
    rules={"is_enforced": lambda percentage, _rng: percentage > 0},
    variant=VARIANT,
)
