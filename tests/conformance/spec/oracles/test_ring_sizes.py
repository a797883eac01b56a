"""Ring sizes: weights, minimum and maximum, and the entries of each endpoint."""

import math
from fractions import Fraction

import pytest
from hypothesis import given

from conformance.spec.oracles.ring.building import build, build_for
from conformance.spec.oracles.ring.sizes import RingConfig, entry_counts
from conformance.spec.oracles.ring.variants import Candidate
from conformance.spec.oracles.ring.weights import (
    RingEndpoint,
    RingLocality,
    WeightedEndpoint,
    WeightReading,
    weights,
)
from tests.conformance.spec.oracles.ring_inputs import (
    configs,
    endpoint,
    endpoint_lists,
    equal,
    locality,
)

# Weights


def test_weights_are_multiplied_as_in_the_texts_example() -> None:
    localities = [locality("1", 3, A=2, B=1), locality("2", 2, C=3, D=1)]
    assert [(each.address, each.weight) for each in weights(localities, "raw")] == [
        ("A", 6),
        ("B", 3),
        ("C", 6),
        ("D", 2),
    ]


def test_normalised_weights_are_products_of_truncated_shares() -> None:
    unit = Fraction(2**31)
    localities = [locality("1", 1, A=1, B=2), locality("2", 6, C=5)]
    third, two_thirds = math.floor(unit / 3), math.floor(unit * 2 / 3)
    seventh, six_sevenths = math.floor(unit / 7), math.floor(unit * 6 / 7)
    assert [each.weight for each in weights(localities, "A113")] == [
        math.floor(Fraction(third * seventh) / unit),
        math.floor(Fraction(two_thirds * seventh) / unit),
        six_sevenths,
    ]


def test_envoys_weights_are_shares_in_double_arithmetic() -> None:
    localities = [locality("1", 3, A=2, B=1), locality("2", 2, C=3, D=1)]
    assert [each.weight for each in weights(localities, "envoy")] == [
        2 * 0.6 / 3,
        1 * 0.6 / 3,
        3 * 0.4 / 4,
        1 * 0.4 / 4,
    ]


def test_a_normalised_weight_of_zero_is_raised_to_one() -> None:
    localities = [locality("1", 1, A=1, B=2**20), locality("2", 2**20, C=1)]
    assert weights(localities, "A113")[0].weight == 1


@pytest.mark.parametrize("missing", [None, 0])
def test_a_locality_without_weight_is_left_out(missing: int | None) -> None:
    localities = [locality("1", missing, A=1), locality("2", 5, B=1)]
    assert [each.address for each in weights(localities, "raw")] == ["B"]
    assert [each.weight for each in weights(localities, "A113")] == [2**31]


def test_an_endpoint_weight_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="weight of A is 0"):
        weights([locality("1", 1, A=0)], "raw")


# Sizes


@pytest.mark.parametrize(
    ("config", "sizes"),
    [
        (RingConfig(), (1024, 4096)),
        (RingConfig(2048), (2048, 4096)),
        (RingConfig(5000), (4096, 4096)),
        (RingConfig(None, 2000), (1024, 2000)),
        (RingConfig(5000, 6000, cap=5500), (5000, 5500)),
        (RingConfig(8388608, 8388608), (4096, 4096)),
        (RingConfig(cap=10**7), (1024, 8388608)),
        (RingConfig(cap=100), (100, 100)),
    ],
)
def test_sizes_in_force(config: RingConfig, sizes: tuple[int, int]) -> None:
    assert config.sizes() == sizes


@pytest.mark.parametrize(
    "config",
    [RingConfig(0), RingConfig(10, 9), RingConfig(None, 1023), RingConfig(None, 8388609)],
)
def test_sizes_that_make_no_ring_are_refused(config: RingConfig) -> None:
    with pytest.raises(ValueError, match="No ring has"):
        build(equal(2), config)


def test_a_ring_needs_an_endpoint() -> None:
    with pytest.raises(ValueError, match="at least one endpoint"):
        build((), RingConfig())


@pytest.mark.parametrize(
    ("each", "config", "counts"),
    [
        ([1, 1, 1, 1], RingConfig(4), [1, 1, 1, 1]),
        ([1, 1, 1], RingConfig(4), [2, 2, 2]),
        ([1, 1, 1], RingConfig(), [342, 342, 342]),
        ([1, 2, 3], RingConfig(10), [2, 4, 6]),
        ([3, 3, 4], RingConfig(10), [3, 3, 4]),
        ([1, 2], RingConfig(1), [1, 2]),
        # The size is clamped, so counts are fractional; the earlier ones are rounded up.
        ([1, 1, 1], RingConfig(4096), [1366, 1365, 1365]),
        ([7, 5, 3], RingConfig(9, 9), [5, 3, 1]),
        ([1, 1, 1, 1], RingConfig(2, 2), [1, 0, 1, 0]),
        # The lightest needs 3 of 15 shares: 5/3 and 7/3 as many for the others.
        ([3, 5, 7], RingConfig(5), [1, 2, 2]),
        # Double arithmetic: 1 / (1 / 49) is a little more than 49.
        ([1, 48], RingConfig(1), [1, 49]),
    ],
)
def test_counts_by_hand(each: list[int], config: RingConfig, counts: list[int]) -> None:
    listed = [endpoint(f"e{index}", weight) for index, weight in enumerate(each)]
    assert list(entry_counts(listed, config).values()) == counts


@pytest.mark.parametrize(
    ("each", "config", "counts"),
    [
        ([1, 1, 1, 1], RingConfig(4), [2, 2, 2, 2]),
        ([1, 1, 1, 1], RingConfig(), [257, 257, 257, 257]),
        ([1, 2], RingConfig(3), [2, 4]),
        ([5], RingConfig(1), [2]),
        # No size above the maximum.
        ([1, 1, 1, 1], RingConfig(100, 100), [25, 25, 25, 25]),
        # The size is above the minimum as it is.
        ([1, 1, 1], RingConfig(4), [2, 2, 2]),
        ([1, 2, 3], RingConfig(10), [2, 4, 6]),
        ([1, 2], RingConfig(1), [1, 2]),
    ],
)
def test_counts_if_greater_than_the_minimum_is_read_strictly(
    each: list[int], config: RingConfig, counts: list[int]
) -> None:
    listed = [endpoint(f"e{index}", weight) for index, weight in enumerate(each)]
    assert list(entry_counts(listed, config, sizing="above").values()) == counts


@pytest.mark.parametrize(
    ("localities", "config", "sizes"),
    [
        ([locality("", 1, A=1, B=2, C=3)], RingConfig(10), {"raw": 12, "A113": 13, "envoy": 12}),
        (
            [locality("1", 3, A=2, B=1), locality("2", 2, C=3, D=1)],
            RingConfig(),
            {"raw": 1029, "A113": 1031, "envoy": 1030},
        ),
    ],
)
def test_readings_of_the_weights_give_other_sizes(
    localities: list[RingLocality], config: RingConfig, sizes: dict[WeightReading, int]
) -> None:
    for reading, size in sizes.items():
        assert len(build_for(localities, config, Candidate(weights=reading))) == size


@given(endpoint_lists(), configs())
def test_within_one_locality_envoys_shares_are_raw_weights(
    listed: tuple[WeightedEndpoint, ...], config: RingConfig
) -> None:
    only = [
        RingLocality("", tuple(RingEndpoint(each.address, int(each.weight)) for each in listed))
    ]
    raw, shares = (entry_counts(weights(only, way), config) for way in ("raw", "envoy"))
    assert raw == shares


@given(endpoint_lists(), configs())
def test_size_is_the_least_that_gives_the_lightest_whole_entries(
    listed: tuple[WeightedEndpoint, ...], config: RingConfig
) -> None:
    minimum, maximum = config.sizes()
    raw = [int(each.weight) for each in listed]
    lightest = Fraction(min(raw), sum(raw))
    whole = math.ceil(minimum * lightest)
    size = min(whole / lightest, Fraction(maximum))
    counts = entry_counts(listed, config)
    # Rounding may add an entry, or leave one out: for the whole ring and for each endpoint.
    assert abs(sum(counts.values()) - math.ceil(size)) <= 1
    assert minimum - 1 <= sum(counts.values()) <= maximum + 1
    for each, weight in zip(listed, raw, strict=True):
        share = Fraction(weight, sum(raw))
        assert abs(counts[each.address] - share * size) <= 1 + Fraction(1, 10**6)
