"""Circuit breaking: the limit that thresholds give, and how many requests get through."""

from __future__ import annotations

import pytest

from conformance.spec.oracles.circuit_breaking import (
    UNLIMITED,
    USUAL_LIMIT,
    Threshold,
    admitted,
    limit,
)


def default(most: int | None) -> Threshold:
    return Threshold(is_default=True, max_requests=most)


def high(most: int | None) -> Threshold:
    return Threshold(is_default=False, max_requests=most)


@pytest.mark.parametrize(
    ("thresholds", "most"),
    [
        ([], USUAL_LIMIT),
        ([high(3)], USUAL_LIMIT),
        ([default(None), default(3)], USUAL_LIMIT),
        ([high(0), default(5), default(2)], 5),
        ([default(0)], 0),
        ([default(UNLIMITED)], UNLIMITED),
    ],
)
def test_limit(thresholds: list[Threshold], most: int) -> None:
    assert limit(thresholds) == most


@pytest.mark.parametrize(
    ("most", "in_flight", "asked", "through"),
    [(3, 0, 5, 3), (3, 0, 2, 2), (3, 2, 5, 1), (3, 3, 5, 0), (3, 9, 5, 0), (0, 0, 5, 0)],
)
def test_admitted(most: int, in_flight: int, asked: int, through: int) -> None:
    assert admitted([default(most)], in_flight=in_flight, asked=asked) == through


def test_without_a_limit_all_get_through() -> None:
    assert admitted([default(UNLIMITED)], in_flight=UNLIMITED, asked=7) == 7
