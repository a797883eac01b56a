"""Bounds against exact fractions."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.spec.oracles.census import met_intervals
from conformance.spec.oracles.statistics import (
    FALSE_ALARM,
    Interval,
    above,
    all_same_chance,
    below,
    draws_needed,
    draws_that_tell,
    draws_to_meet_all,
    interval,
    intervals,
)


def binomial(draws: int, share: Fraction) -> list[Fraction]:
    return [
        math.comb(draws, count) * share**count * (1 - share) ** (draws - count)
        for count in range(draws + 1)
    ]


def beta_binomial(draws: int, hits: int, misses: int) -> list[Fraction]:
    """By placing marks: ways to spread hits and misses of the draws among the entries."""
    ways = math.comb(draws + hits + misses - 1, draws)
    return [
        Fraction(
            math.comb(count + hits - 1, count)
            * math.comb(draws - count + misses - 1, draws - count),
            ways,
        )
        for count in range(draws + 1)
    ]


def assert_narrowest(chances: list[Fraction], found: Interval, false_alarm: float) -> None:
    side = Fraction(false_alarm) / 2
    assert sum(chances[: found.low]) <= side < sum(chances[: found.low + 1])
    assert sum(chances[found.high + 1 :]) <= side < sum(chances[found.high :])


shares = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)


@given(st.integers(1, 200), shares, st.sampled_from([1e-2, 1e-6]))
def test_interval_is_the_narrowest(draws: int, share: Fraction, false_alarm: float) -> None:
    assert_narrowest(binomial(draws, share), interval(draws, share, false_alarm), false_alarm)


@given(st.integers(1, 100), shares, st.integers(-1, 101))
def test_tails(draws: int, share: Fraction, count: int) -> None:
    chances = binomial(draws, share)
    assert below(draws, share, count) == pytest.approx(float(sum(chances[: max(count, 0)])))
    assert above(draws, share, count) == pytest.approx(float(sum(chances[max(count + 1, 0) :])))


@pytest.mark.parametrize(("share", "sure"), [(0, 0), (1, 30), (Fraction(1), 30)])
def test_certain_shares(share: Fraction, sure: int) -> None:
    assert interval(30, share) == Interval(sure, sure)


def test_interval_contains() -> None:
    assert [count in Interval(2, 4) for count in range(1, 6)] == [False, True, True, True, False]


def test_fair_coin_by_hand() -> None:
    # 2^-20 < 1e-6 < 2 * 2^-20, so of 20 throws none are refused, of 21 none and all are.
    assert interval(20, 0.5) == Interval(0, 20)
    assert interval(21, 0.5) == Interval(1, 20)


def test_intervals_share_the_false_alarm() -> None:
    whole = {"a": Fraction(1, 2), "b": Fraction(1, 4), "c": Fraction(1, 4)}
    found = intervals(300, whole, 0.03)
    assert found == {name: interval(300, share, 0.01) for name, share in whole.items()}


def test_draws_needed_keep_the_intervals_apart() -> None:
    needed = draws_needed(0.25, Fraction(1, 2))
    low, high = interval(needed, 0.25), interval(needed, 0.5)
    assert low.high < high.low
    assert interval(needed - 1, 0.25).high >= interval(needed - 1, 0.5).low
    assert draws_needed(Fraction(1, 2), 0.25) == needed
    assert draws_needed(0.25, 0.3) > needed > draws_needed(0.25, 0.5, 1e-2)
    with pytest.raises(ValueError, match="from itself"):
        draws_needed(0.5, 0.5)


@pytest.mark.parametrize(("right", "wrong"), [(0.75, 0.5), (0.786, 0.75), (0.786, 0.816)])
def test_draws_that_tell_seldom_miss_the_wrong_share(right: float, wrong: float) -> None:
    """About so often as asked, whichever of the two is the larger; fewer draws would miss more."""
    missed = 1e-3
    draws = draws_that_tell(right, wrong, missed)
    for count, fits in ((draws, True), (draws * 9 // 10, False)):
        accepted = interval(count, right)
        inside = below(count, wrong, accepted.high + 1) - below(count, wrong, accepted.low)
        assert (inside <= 1.5 * missed) is fits
    with pytest.raises(ValueError, match="from itself"):
        draws_that_tell(right, right, missed)


def test_draws_that_are_all_the_same() -> None:
    quarters = [Fraction(1, 4)] * 4
    assert all_same_chance(quarters, 1) == 1
    assert all_same_chance(quarters, 3) == pytest.approx(1 / 16)
    assert all_same_chance([0.9, 0.1], 2) == pytest.approx(0.82)
    # 4 * 4^-n <= 1e-6 from n = 11 on.
    assert all_same_chance(quarters, 10) > FALSE_ALARM >= all_same_chance(quarters, 11)


def test_draws_that_meet_all() -> None:
    """Two halves are missed by draws that are all the same; a sure one needs a single draw."""
    halves = [Fraction(1, 2)] * 2
    assert draws_to_meet_all(halves) == 21
    assert draws_to_meet_all([1]) == 1
    assert draws_to_meet_all([0.02] * 50) == 878


@pytest.mark.parametrize(
    "check",
    [
        lambda: interval(1_000, 0.25),
        lambda: interval(100_000, 0.25),
    ],
)
def test_wide_draws_are_no_burden(check: Callable[[], Interval]) -> None:
    found = check()
    assert found.low < found.high


@given(st.integers(1, 60), st.integers(1, 40), st.integers(1, 40))
def test_met_intervals_are_the_narrowest(values: int, own: int, others: int) -> None:
    found = met_intervals({"a": own, "b": others}, values, 2e-2)["a"]
    fewest = beta_binomial(values, own, others + 1)
    most = beta_binomial(values, own + 1, others)
    side = Fraction(1e-2) / 2
    assert sum(fewest[: found.low]) <= side < sum(fewest[: found.low + 1])
    assert sum(most[found.high + 1 :]) <= side < sum(most[found.high :])
    # They bound the wrapping ring too.
    wrapping = beta_binomial(values, own, others)
    assert sum(wrapping[: found.low]) <= side
    assert sum(wrapping[found.high + 1 :]) <= side


def test_met_intervals_of_none_and_all() -> None:
    assert met_intervals({"a": 5, "b": 0}, 40) == {"a": Interval(40, 40), "b": Interval(0, 0)}
