"""How likely a difference between two rates is by chance."""

from __future__ import annotations

import pytest

from conformance.reporting.rates import Rate, p_value


@pytest.mark.parametrize(
    ("more", "less", "probability"),
    [
        # Of 1,140 ways to choose 3 of 20 runs, 120 choose all from the first ten.
        (Rate(3, 10), Rate(0, 10), 120 / 1140),
        (Rate(10, 10), Rate(0, 10), 1 / 184756),
        (Rate(5, 10), Rate(5, 10), 0.6718591),
        (Rate(0, 10), Rate(0, 10), 1.0),
        # Samples of unequal size. The one failure falls to the ten runs in 10 of 40 cases.
        (Rate(0, 10), Rate(1, 30), 1.0),
        (Rate(1, 10), Rate(1, 30), 1 - (30 * 29) / (40 * 39)),
        (Rate(2, 2), Rate(0, 2), 1 / 6),
    ],
)
def test_p_value(more: Rate, less: Rate, probability: float) -> None:
    assert p_value(more, less) == pytest.approx(probability)


def test_a_rate_reads_as_a_rate() -> None:
    assert f"{Rate(3, 10)}" == "3 of 10"
