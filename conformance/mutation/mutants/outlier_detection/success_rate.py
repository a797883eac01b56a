"""Mutants of the clauses in success_rate.toml."""

from __future__ import annotations

import statistics
from typing import Final

from client_under_test.reference.editions.mutants import Mutant
from conformance.mutation.mutants.outlier_detection import failure_percentage

VARIANT: Final = "outlier-detection"


never_by_rate = Mutant(
    clause="A50-RATE-01",
    broken="no success rate makes an endpoint an outlier",
    rules={"rate_is_outlier": lambda _rate, _threshold: False},
    variant=VARIANT,
)


below_the_mean = Mutant(
    clause="A50-RATE-01",
    broken="each success rate below the mean is that of an outlier",
    rules={"rate_threshold": lambda rates, _factor: statistics.fmean(rates)},
    variant=VARIANT,
)


variance = Mutant(
    clause="A50-RATE-01",
    broken="the threshold is computed from the variance",
    rules={
        "rate_threshold": lambda rates, factor: (
            statistics.fmean(rates) - statistics.pvariance(rates) * factor / 1000
        )
    },
    variant=VARIANT,
)


deviation_of_a_sample = Mutant(
    clause="A50-RATE-01",
    broken="the threshold is computed from the standard deviation of a sample",
    rules={
        "rate_threshold": lambda rates, factor: (
            statistics.fmean(rates) - statistics.stdev(rates) * factor / 1000
        )
    },
    variant=VARIANT,
)


one_host_less = Mutant(
    clause="A50-RATE-02",
    broken="one endpoint less than the minimum is enough",
    rules=failure_percentage.one_host_less.rules,
    variant=VARIANT,
)


one_host_more = Mutant(
    clause="A50-RATE-02",
    broken="one endpoint more than the minimum is needed",
    rules=failure_percentage.one_host_more.rules,
    variant=VARIANT,
)


one_call_less = Mutant(
    clause="A50-RATE-03",
    broken="one call less than the request volume is enough",
    rules=failure_percentage.one_call_less.rules,
    variant=VARIANT,
)


one_call_more = Mutant(
    clause="A50-RATE-04",
    broken="one call more than the request volume is needed",
    rules=failure_percentage.one_call_more.rules,
    variant=VARIANT,
)


factor_undivided = Mutant(
    clause="A50-RATE-05",
    broken="success_rate_stdev_factor is not divided",
    rules={
        "rate_threshold": lambda rates, factor: (
            statistics.fmean(rates) - statistics.pstdev(rates) * factor
        )
    },
    variant=VARIANT,
)


factor_ignored = Mutant(
    clause="A50-RATE-05",
    broken="success_rate_stdev_factor is always 1900",
    rules={
        "rate_threshold": lambda rates, _factor: (
            statistics.fmean(rates) - statistics.pstdev(rates) * 1.9
        )
    },
    variant=VARIANT,
)


mean_is_outlier = Mutant(
    clause="A50-RATE-06",
    broken="a success rate at the threshold is that of an outlier",
    rules={"rate_is_outlier": lambda rate, threshold: rate <= threshold},
    variant=VARIANT,
)
