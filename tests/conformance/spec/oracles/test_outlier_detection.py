"""Outlier detection: which endpoints are outliers, how many are ejected, and for how long."""

from __future__ import annotations

import pytest

from conformance.spec.oracles.outlier_detection import (
    Ambiguous,
    Detection,
    Ejections,
    FailurePercentage,
    Results,
    SuccessRate,
    ejection_seconds,
    ejections,
    failure_percentage_outliers,
    mistaken_outliers,
    most_ejections,
    success_rate_outliers,
)
from conformance.spec.oracles.statistics import FALSE_ALARM, above, interval


def results(*pairs: tuple[int, int]) -> dict[str, Results]:
    """Return successes and failures of the endpoints a, b, …"""
    return {chr(ord("a") + number): Results(*pair) for number, pair in enumerate(pairs)}


GOOD, BAD = (100, 0), (0, 100)
ONE_BAD = results(BAD, *[GOOD] * 4)


@pytest.mark.parametrize(
    ("config", "seen", "outliers"),
    [
        (SuccessRate(), ONE_BAD, "a"),
        (SuccessRate(stdev_factor=1999), ONE_BAD, "a"),
        (SuccessRate(stdev_factor=2001), ONE_BAD, ""),
        (SuccessRate(), results(BAD, *[GOOD] * 3), ""),
        (SuccessRate(minimum_hosts=4), results(BAD, *[GOOD] * 3), ""),
        (SuccessRate(minimum_hosts=4, stdev_factor=1700), results(BAD, *[GOOD] * 3), "a"),
        (SuccessRate(request_volume=101), ONE_BAD, ""),
        (SuccessRate(minimum_hosts=4), ONE_BAD | results((0, 99)), ""),
        (SuccessRate(stdev_factor=0), results((4, 6), *[(5, 5)] * 4), ""),
        (SuccessRate(stdev_factor=0, request_volume=10), results((4, 6), *[(5, 5)] * 4), "a"),
        (SuccessRate(stdev_factor=0), results(*[BAD] * 5), ""),
    ],
)
def test_success_rate(config: SuccessRate, seen: dict[str, Results], outliers: str) -> None:
    assert success_rate_outliers(config, seen) == set(outliers)


def test_a_rate_at_the_threshold_is_ambiguous() -> None:
    with pytest.raises(Ambiguous):
        success_rate_outliers(SuccessRate(stdev_factor=2000), ONE_BAD)


def test_mistakes_differ() -> None:
    seen = results((0, 10), (2, 8), (9, 1), (10, 0), (10, 0))
    config = SuccessRate(stdev_factor=1300, request_volume=10)
    assert success_rate_outliers(config, seen) == {"a"}
    mistaken = ["".join(sorted(each)) for each in mistaken_outliers(config, seen)]
    assert mistaken == ["ab", "ab", "", ""]


@pytest.mark.parametrize(
    ("config", "seen", "outliers"),
    [
        (FailurePercentage(), ONE_BAD, "a"),
        (FailurePercentage(threshold=100), ONE_BAD, ""),
        (FailurePercentage(threshold=50), results((50, 50), (49, 51), *[GOOD] * 3), "b"),
        (FailurePercentage(threshold=0), results((99, 1), *[GOOD] * 4), "a"),
        (FailurePercentage(minimum_hosts=6), ONE_BAD, ""),
        (FailurePercentage(), results((0, 49), *[GOOD] * 5), ""),
        (FailurePercentage(), results((0, 50), *[GOOD] * 4), "a"),
        (FailurePercentage(request_volume=0, minimum_hosts=1), results((0, 0)), ""),
        (FailurePercentage(), results(*[BAD] * 5), "abcde"),
    ],
)
def test_failure_percentage(
    config: FailurePercentage, seen: dict[str, Results], outliers: str
) -> None:
    assert failure_percentage_outliers(config, seen) == set(outliers)


@pytest.mark.parametrize(
    ("endpoints", "percent", "most"),
    [(5, 0, 0), (5, 1, 1), (5, 20, 1), (5, 21, 2), (10, 10, 1), (10, 15, 2), (5, 100, 5)],
)
def test_most_ejections(endpoints: int, percent: int, most: int) -> None:
    assert most_ejections(endpoints, percent) == most


def test_both_algorithms_share_the_limit() -> None:
    both = Detection(
        success_rate=SuccessRate(stdev_factor=500),
        failure_percentage=FailurePercentage(threshold=40),
        max_ejection_percent=40,
    )
    seen = results(BAD, (50, 50), (55, 45), GOOD, GOOD)
    assert ejections(both, seen) == Ejections(frozenset("abc"), 2)
    assert ejections(Detection(), seen) == Ejections(frozenset(), 0)


@pytest.mark.parametrize(
    ("base", "longest", "times", "seconds"),
    [(30, 300, 1, 30), (30, 300, 2, 60), (30, 45, 2, 45), (30, 10, 1, 30), (30, 10, 3, 30)],
)
def test_ejection_seconds(base: float, longest: float, times: int, seconds: float) -> None:
    detection = Detection(base_ejection_time=base, max_ejection_time=longest)
    assert ejection_seconds(detection, times) == seconds


def test_bounds_of_enforcement_are_those_that_the_rows_state() -> None:
    assert interval(40, 0.2).high == 22
    assert above(40, 0.2, 22) < FALSE_ALARM / 2
    assert above(40, 0.75, 22) > 0.995
