"""Compute which endpoints outlier_detection ejects, and for how long (A50).

Rates are fractions and are compared without a square root, so no rounding is involved.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from statistics import fmean, pstdev, pvariance, stdev
from typing import Final

from msgspec import Struct

HUNDRED: Final = 100
THOUSAND: Final = 1000
NARROW: Final = Fraction(1, 1000)
"""The least distance of a rate from a threshold at which every rounding gives the same result."""


class SuccessRate(Struct, frozen=True, kw_only=True):
    """The config of the success rate algorithm."""

    stdev_factor: int = 1900
    enforcement_percentage: int = 100
    minimum_hosts: int = 5
    request_volume: int = 100


class FailurePercentage(Struct, frozen=True, kw_only=True):
    """The config of the failure percentage algorithm."""

    threshold: int = 85
    enforcement_percentage: int = 100
    minimum_hosts: int = 5
    request_volume: int = 50


class Detection(Struct, frozen=True, kw_only=True):
    """The config of outlier_detection; times are in seconds."""

    interval: float = 10.0
    base_ejection_time: float = 30.0
    max_ejection_time: float = 300.0
    max_ejection_percent: int = 10
    success_rate: SuccessRate | None = None
    failure_percentage: FailurePercentage | None = None


class Results(Struct, frozen=True):
    """How many calls to an endpoint succeeded and failed in an interval."""

    successes: int
    failures: int

    @property
    def volume(self) -> int:
        """The number of calls."""
        return self.successes + self.failures

    @property
    def success_rate(self) -> Fraction:
        """The fraction of calls that succeeded."""
        return Fraction(self.successes, self.volume)


class Ejections(Struct, frozen=True):
    """The endpoints of which a sweep ejects some, and how many of them."""

    outliers: frozenset[str]
    count: int


class Ambiguous(ValueError):
    """A rate is so near to its threshold that rounding decides."""


def success_rate_outliers(config: SuccessRate, results: Mapping[str, Results]) -> frozenset[str]:
    """Return the outliers by the success rate algorithm, whatever its enforcement.

    Clauses: A50-RATE-01, A50-RATE-02, A50-RATE-03, A50-RATE-04, A50-RATE-05, A50-RATE-06.

    Raises:
        Ambiguous: a rate is at the threshold.
    """
    rates = _with_volume(config.request_volume, config.minimum_hosts, results)
    if not rates:
        return frozenset()
    mean = sum(rates.values(), start=Fraction(0)) / len(rates)
    variance = sum(((rate - mean) ** 2 for rate in rates.values()), start=Fraction(0)) / len(rates)
    factor = Fraction(config.stdev_factor, THOUSAND)
    outliers = set[str]()
    for address, rate in rates.items():
        below, deviation = mean - rate, variance * factor**2
        if variance and below > 0 and abs(below**2 - deviation) < NARROW**2:
            raise Ambiguous(f"{address} has a success rate of {rate}, at the threshold")
        if below > 0 and below**2 > deviation:
            outliers.add(address)
    return frozenset(outliers)


def mistaken_outliers(
    config: SuccessRate, results: Mapping[str, Results]
) -> tuple[frozenset[str], ...]:
    """Return the outliers by success rate as four mistakes make them (A50-RATE-01).

    The mistakes are no deviation, the variance, the deviation of a sample, and the default factor.
    """
    rates = {address: float(each.success_rate) for address, each in results.items()}
    mean, factor = fmean(rates.values()), config.stdev_factor / THOUSAND
    thresholds = (
        mean,
        mean - pvariance(rates.values()) * factor,
        mean - stdev(rates.values()) * factor,
        mean - pstdev(rates.values()) * SuccessRate().stdev_factor / THOUSAND,
    )
    return tuple(
        frozenset(address for address, rate in rates.items() if rate < threshold)
        for threshold in thresholds
    )


def failure_percentage_outliers(
    config: FailurePercentage, results: Mapping[str, Results]
) -> frozenset[str]:
    """Return the outliers by the failure percentage algorithm, whatever its enforcement.

    Clauses: A50-FAIL-01, A50-FAIL-02, A50-FAIL-03, A50-FAIL-04, A50-FAIL-05.
    """
    rates = _with_volume(config.request_volume, config.minimum_hosts, results)
    threshold = Fraction(config.threshold, HUNDRED)
    return frozenset(address for address, rate in rates.items() if 1 - rate > threshold)


def most_ejections(endpoints: int, max_ejection_percent: int) -> int:
    """Return how many endpoints can be ejected at once: until the percentage is reached.

    Clauses: A50-MAX-01, A50-MAX-02, A50-MAX-03.
    """
    return -(-endpoints * max_ejection_percent // HUNDRED)


def ejections(detection: Detection, results: Mapping[str, Results]) -> Ejections:
    """Return which endpoints a sweep ejects if none is ejected, and each algorithm is enforced.

    Args:
        detection: the config.
        results: the calls of an interval, by endpoint; each endpoint of the cluster is there.
    """
    outliers = frozenset[str]()
    if detection.success_rate is not None:
        outliers |= success_rate_outliers(detection.success_rate, results)
    if detection.failure_percentage is not None:
        outliers |= failure_percentage_outliers(detection.failure_percentage, results)
    most = most_ejections(len(results), detection.max_ejection_percent)
    return Ejections(outliers, min(len(outliers), most))


def ejection_seconds(detection: Detection, times: int) -> float:
    """Return for how long an endpoint is ejected if its multiplier is `times`.

    Clauses: A50-TIME-01, A50-TIME-02, A50-TIME-03, A50-TIME-04.
    """
    longest = max(detection.base_ejection_time, detection.max_ejection_time)
    return min(detection.base_ejection_time * times, longest)


def _with_volume(
    request_volume: int, minimum_hosts: int, results: Mapping[str, Results]
) -> dict[str, Fraction]:
    """Return the success rates of endpoints with enough calls; none if they are too few."""
    rates = {
        address: each.success_rate
        for address, each in results.items()
        if each.volume and each.volume >= request_volume
    }
    return rates if len(rates) >= minimum_hosts else {}
