"""Which endpoints outlier_detection ejects, and for how long, as rules (A50, A61, A75)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

HUNDRED: Final = 100
THOUSAND: Final = 1000


class SuccessRate(msgspec.Struct, frozen=True, kw_only=True):
    """The config success_rate_ejection, with its defaults."""

    stdev_factor: int = 1900
    enforcement_percentage: int = 100
    minimum_hosts: int = 5
    request_volume: int = 100


class FailurePercentage(msgspec.Struct, frozen=True, kw_only=True):
    """The config failure_percentage_ejection, with its defaults."""

    threshold: int = 85
    enforcement_percentage: int = 100
    minimum_hosts: int = 5
    request_volume: int = 50


class OutlierSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The config of outlier_detection; times are in seconds. Without algorithms it does nothing."""

    interval: float = 10.0
    base_ejection_time: float = 30.0
    max_ejection_time: float = 300.0
    max_ejection_percent: int = 10
    success_rate: SuccessRate | None = None
    failure_percentage: FailurePercentage | None = None

    @property
    def is_on(self) -> bool:
        """True if at least one algorithm is set."""
        return self.success_rate is not None or self.failure_percentage is not None


class Bucket(msgspec.Struct, frozen=True):
    """How many calls succeeded and failed in an interval."""

    successes: int = 0
    failures: int = 0

    @property
    def total(self) -> int:
        """The request volume."""
        return self.successes + self.failures


class Ejection(msgspec.Struct, frozen=True):
    """When an endpoint was ejected, None: it is not; and the ejection time multiplier."""

    since: float | None = None
    multiplier: int = 0


def call_counted(bucket: Bucket, status: str) -> Bucket:
    """Count a call that has ended: any status but OK is a failure (A50-COUNT-02)."""
    if status == "OK":
        return Bucket(bucket.successes + 1, bucket.failures)
    return Bucket(bucket.successes, bucket.failures + 1)


def counts_after_sweep(_bucket: Bucket) -> Bucket:
    """Return the counts with which an interval begins (A50-COUNT-01)."""
    return Bucket()


def has_volume(total: int, request_volume: int) -> bool:
    """Return whether an endpoint had enough requests.

    Clauses: A50-RATE-03, A50-RATE-04, A50-FAIL-03, A50-FAIL-04.
    """
    return total >= request_volume


def hosts_are_enough(hosts: int, minimum_hosts: int) -> bool:
    """Return whether enough endpoints had enough requests.

    Clauses: A50-RATE-02, A50-FAIL-02.
    """
    return hosts >= minimum_hosts


def hosts_with_volume(totals: Sequence[int], request_volume: int) -> int:
    """Count the endpoints for minimum_hosts: those with enough requests.

    Clauses: A50-RATE-02, A50-FAIL-02.
    """
    return sum(has_volume(total, request_volume) for total in totals)


def rate_threshold(rates: Sequence[float], factor: int) -> float:
    """Return the success rate below which an endpoint is an outlier.

    Clauses: A50-RATE-01, A50-RATE-05.
    """
    mean = math.fsum(rates) / len(rates)
    variance = math.fsum((rate - mean) ** 2 for rate in rates) / len(rates)
    return mean - math.sqrt(variance) * factor / THOUSAND


def rate_is_outlier(rate: float, threshold: float) -> bool:
    """Return whether a success rate is that of an outlier (A50-RATE-01, A50-RATE-06)."""
    return rate < threshold


def failures_are_outlier(percentage: float, threshold: int) -> bool:
    """Return whether a failure percentage is that of an outlier.

    Clauses: A50-FAIL-01, A50-FAIL-05 (our choice: not at the threshold).
    """
    return percentage > threshold


def may_eject(ejected: int, total: int, max_ejection_percent: int) -> bool:
    """Return whether one more endpoint may be ejected.

    Clauses: A50-EJECT-03, A50-EJECT-04, A50-MAX-01, A50-MAX-02, A50-MAX-03 (our choice: none at 0).
    """
    return ejected * HUNDRED < max_ejection_percent * total


def is_enforced(percentage: int, rng: random.Random) -> bool:
    """Return whether an outlier is ejected.

    Clauses: A50-ENFORCE-01, A50-ENFORCE-02.
    """
    return rng.randrange(HUNDRED) < percentage


def ejected_again(ejection: Ejection, now: float) -> Ejection:
    """Eject an endpoint, unless it is ejected.

    Clauses: A50-EJECT-07 (our choice: an outlier by both algorithms is ejected once).
    """
    return Ejection(now, ejection.multiplier + 1) if ejection.since is None else ejection


def ejection_seconds(settings: OutlierSettings, multiplier: int) -> float:
    """Return for how long an endpoint is ejected.

    Clauses: A50-TIME-01, A50-TIME-02, A50-TIME-03, A50-TIME-04.
    """
    longest = max(settings.base_ejection_time, settings.max_ejection_time)
    return min(settings.base_ejection_time * multiplier, longest)


def unejected(ejection: Ejection) -> Ejection:
    """End an ejection; the multiplier stays.

    Clauses: A50-EJECT-05, A50-TIME-02.
    """
    return Ejection(None, ejection.multiplier)


def calmed_multiplier(multiplier: int) -> int:
    """Return the multiplier after a sweep in which an endpoint was not ejected (A50-TIME-05)."""
    return max(multiplier - 1, 0)


def seconds_to_sweep(interval: float, since_start: float | None) -> float:
    """Return after which time the timer fires when a config is received.

    Clauses: A50-CONFIG-03, A50-CONFIG-04.

    Args:
        interval: of the new config.
        since_start: the time since the timer was started last; None: it is not running.
    """
    return interval if since_start is None else max(interval - since_start, 0.0)


def resets_counts(since_start: float | None) -> bool:
    """Return whether the calls that were counted so far are forgotten with a new config.

    Clauses: A50-CONFIG-04, A50-CONFIG-05.
    """
    return since_start is None


def after_noop(_ejection: Ejection) -> Ejection:
    """Return the ejection of an endpoint once no algorithm is set.

    Clauses: A50-CONFIG-01, A50-CONFIG-02.
    """
    return Ejection()


def entries_listed(
    before: Mapping[frozenset[str], Ejection], listed: Sequence[frozenset[str]]
) -> dict[frozenset[str], Ejection]:
    """Return the map of endpoints after an update of the list.

    Clauses: A50-MAP-01, A50-MAP-02, A50-MAP-03.
    """
    return {addresses: before.get(addresses, Ejection()) for addresses in listed}


def outlier_keys(addresses: Sequence[str]) -> tuple[frozenset[str], ...]:
    """Return the keys of an endpoint's entries in the map: one, of all its addresses (A61).

    Clauses: A50-MAP-03.
    """
    return (frozenset(addresses),)


def health_counts(*, is_petiole: bool) -> bool:
    """Return whether pick_first takes the ejection of an endpoint into account."""
    return is_petiole


def tells_health(is_ejected: bool) -> bool:  # noqa: FBT001 - a state
    """Return whether the child policy treats an endpoint as ejected.

    Clauses: A50-EJECT-01, A50-EJECT-02, A50-EJECT-03, A50-EJECT-04.
    """
    return is_ejected


@dataclass(frozen=True, kw_only=True)
class OutlierDetectionRules:
    """The rules of outlier_detection."""

    call_counted: Callable[[Bucket, str], Bucket] = call_counted
    """Takes the name of the status with which a call has ended."""
    counts_after_sweep: Callable[[Bucket], Bucket] = counts_after_sweep
    has_volume: Callable[[int, int], bool] = has_volume
    hosts_with_volume: Callable[[Sequence[int], int], int] = hosts_with_volume
    hosts_are_enough: Callable[[int, int], bool] = hosts_are_enough
    rate_threshold: Callable[[Sequence[float], int], float] = rate_threshold
    rate_is_outlier: Callable[[float, float], bool] = rate_is_outlier
    failures_are_outlier: Callable[[float, int], bool] = failures_are_outlier
    """Takes the failure percentage of an endpoint, and the threshold."""
    may_eject: Callable[[int, int, int], bool] = may_eject
    """Takes the numbers of ejected and of all endpoints, and max_ejection_percent."""
    is_enforced: Callable[[int, random.Random], bool] = is_enforced
    ejected_again: Callable[[Ejection, float], Ejection] = ejected_again
    ejection_seconds: Callable[[OutlierSettings, int], float] = ejection_seconds
    unejected: Callable[[Ejection], Ejection] = unejected
    calmed_multiplier: Callable[[int], int] = calmed_multiplier
    seconds_to_sweep: Callable[[float, float | None], float] = seconds_to_sweep
    after_noop: Callable[[Ejection], Ejection] = after_noop
    entries_listed: Callable[
        [Mapping[frozenset[str], Ejection], Sequence[frozenset[str]]],
        dict[frozenset[str], Ejection],
    ] = entries_listed
    outlier_keys: Callable[[Sequence[str]], tuple[frozenset[str], ...]] = outlier_keys
    health_counts: Callable[..., bool] = health_counts
    """Takes whether pick_first is the child of a petiole policy."""
    tells_health: Callable[[bool], bool] = tells_health
    """Takes whether an endpoint is ejected; returns whether the child policy treats it so."""
    resets_counts: Callable[[float | None], bool] = resets_counts
    """Takes the time since the timer was started last, None if it is not running."""
    takes_new_settings: bool = True
    """A50-CONFIG-06: whether an update can set the first algorithm."""
    reconnects_ejected: bool = False
    """A50-EJECT-06: whether an ejected endpoint loses its connection."""
