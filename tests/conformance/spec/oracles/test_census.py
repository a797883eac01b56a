"""The arc census: its figures, its false alarms, and what it refuses."""

import random
from bisect import bisect_left

import pytest
import xxhash

from conformance.spec.oracles.census import (
    Census,
    bounds_of,
    census,
    changes_interval,
    expected_changes,
)
from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.building import build, fit
from conformance.spec.oracles.ring.sizes import RingConfig, dealings, entry_counts
from conformance.spec.oracles.ring.variants import RingVariant
from conformance.spec.oracles.ring.weights import RingEndpoint, RingLocality, WeightedEndpoint
from conformance.spec.oracles.statistics import Interval

SPACE = 2**64


def endpoints(*weights: int, port: int = 40001) -> tuple[WeightedEndpoint, ...]:
    return tuple(
        WeightedEndpoint(address=f"127.0.0.1:{port + index}", weight=weight)
        for index, weight in enumerate(weights)
    )


def scattered(
    counts: list[int], hashes: list[int], rng: random.Random, *, wraps: bool = True
) -> list[tuple[int, str]]:
    """Who answers on a ring whose entries are thrown at random."""
    colours = [str(index) for index, count in enumerate(counts) for _ in range(count)]
    entries = sorted((rng.randrange(SPACE), colour) for colour in colours)
    past = entries[0 if wraps else -1][1]
    found = (bisect_left(entries, (value, "")) for value in hashes)
    return [
        (value, entries[index][1] if index < len(entries) else past)
        for value, index in zip(hashes, found, strict=True)
    ]


def test_census_counts_changes_between_neighbours_by_hash() -> None:
    taken = census([(9, "b"), (1, "a"), (5, "a"), (7, "b"), (8, "a"), (1, "a")])
    assert taken == Census(5, 3, {"a": 3, "b": 2})


def test_a_hash_with_two_answers_has_no_census() -> None:
    with pytest.raises(ValueError, match="Two addresses"):
        census([(1, "a"), (2, "a"), (1, "b")])


def sets_of_hashes(values: int, sets: int = 6) -> list[list[int]]:
    return [[xxh64(f"{number}-{index}") for index in range(values)] for number in range(sets)]


@pytest.mark.parametrize(
    ("values", "size", "low", "high"),
    [
        # Measured elsewhere, over 12 rings of four equal endpoints.
        (1000, 512, 239, 266),
        (1000, 1024, 365, 398),
        (1000, 2048, 492, 529),
        (1000, 4096, 578, 626),
        (2000, 512, 281, 310),
        (2000, 1024, 494, 521),
        (2000, 2048, 733, 785),
        (2000, 4096, 978, 1030),
        (4000, 512, 325, 353),
        (4000, 1024, 592, 627),
        (4000, 2048, 995, 1043),
        (4000, 4096, 1490, 1543),
    ],
)
def test_figures_measured_elsewhere(values: int, size: int, low: int, high: int) -> None:
    counts = [size // 4] * 4
    sets = sets_of_hashes(values)
    assert low <= sum(expected_changes(counts, hashes) for hashes in sets) / len(sets) <= high
    accepted = changes_interval(counts, sets[0])
    assert accepted.low <= low <= high <= accepted.high
    if values >= 0.9 * size:
        # The means differ enough to detect half or twice the entries.
        for other in (size // 2, size * 2):
            assert round(expected_changes([other // 4] * 4, sets[0])) not in accepted


@pytest.mark.parametrize("wraps", [True, False])
@pytest.mark.parametrize("counts", [[32] * 4, [10, 20, 90], [1, 1], [3] * 12])
def test_false_alarms_stay_below_the_stated_chance(counts: list[int], wraps: bool) -> None:  # noqa: FBT001
    rng = random.Random(7)
    false_alarm, rounds = 0.2, 200
    outside = 0
    for hashes in ([rng.randrange(SPACE) for _ in range(100)] for _ in range(4)):
        accepted = changes_interval(counts, hashes, false_alarm)
        for _ in range(rounds // 4):
            taken = census(scattered(counts, hashes, rng, wraps=wraps))
            outside += taken.changes not in accepted
    assert outside <= false_alarm * rounds
    # It is no bound that never binds: a much larger ring is refused.
    larger = [count * 30 for count in counts]
    if counts == [32] * 4:
        assert census(scattered(larger, hashes, rng)).changes not in accepted


def test_bound_against_the_exact_distribution_of_a_small_case() -> None:
    # Two hashes at opposite ends, one entry each of a and b: the neighbours differ if exactly
    # one entry lies in [0, half), as then each finds another. Chance 1/2: nothing is refused.
    assert changes_interval([1, 1], [0, SPACE // 2]) == Interval(0, 1)


def test_expected_changes_of_a_small_case_by_hand() -> None:
    # One gap of a half, two entries: hit unless both miss, and the next entry is the other's.
    assert expected_changes([1, 1], [0, SPACE // 2]) == pytest.approx(3 / 4)
    # Of 3 + 1 entries two that follow each other differ with chance 1/2.
    assert expected_changes([3, 1], [0, SPACE // 2]) == pytest.approx((1 - 1 / 16) / 2)
    assert expected_changes([5], range(0, SPACE, SPACE // 8)) == 0


def test_nothing_to_take_a_census_of() -> None:
    for counts, hashes in (([4, 4], [7]), ([0, 0], [1, 2])):
        with pytest.raises(ValueError, match="two hashes or more"):
            changes_interval(counts, hashes)


@pytest.mark.parametrize("weights", [(1, 1, 1, 1), (1, 2, 3), (3, 5, 7, 11)])
def test_an_unknown_key_format_passes_by_its_census(weights: tuple[int, ...]) -> None:
    listed = endpoints(*weights)
    config = RingConfig(512)
    entries = sorted(
        (xxh64(f"<{address}>#{number}"), address)
        for address, count in entry_counts(listed, config).items()
        for number in range(count)
    )
    hashes = sets_of_hashes(2000)[0]
    owners = (entries[bisect_left(entries, (value, "")) % len(entries)][1] for value in hashes)
    seen = list(zip(hashes, owners, strict=True))
    of_locality = tuple(RingEndpoint(each.address, int(each.weight)) for each in listed)
    locality = RingLocality("", of_locality)
    assert fit(seen, [locality], config) == ()
    taken = census(seen)
    bounds = bounds_of([entry_counts(listed, config)], taken, hashes)
    assert bounds.hold(taken)
    accepted = bounds.met
    # Equal weights where others were asked for are seen by who answers.
    if len(set(weights)) > 1:
        flat = build(endpoints(*([1] * len(weights))), config)
        met = census((value, flat.pick(value)) for value in hashes).met
        assert any(count not in accepted[address] for address, count in met.items())


def test_a_census_may_be_that_of_any_of_several_rings() -> None:
    listed = (*endpoints(7, 5, port=50000), *endpoints(300, 2, port=40000))
    config = RingConfig(64, 64)
    hashes = sets_of_hashes(500)[0]
    rings = dealings(listed, config)
    for allotment in ("list", "keys"):
        ring = build(listed, config, RingVariant(allotment=allotment))
        assert ring.counts() in rings
        taken = census((value, ring.pick(value)) for value in hashes)
        assert bounds_of(rings, taken, hashes).hold(taken)
    large = [dict.fromkeys(rings[0], 900)]
    assert not bounds_of(large, taken, hashes).hold(taken)
    assert bounds_of((*large, *rings), taken, hashes).hold(taken)


@pytest.mark.parametrize("size", [512, 1024, 4096])
def test_a_wrong_hash_is_out_of_bounds(size: int) -> None:
    ring = build(endpoints(1, 1, 1, 1), RingConfig(size))
    values = [f"value-{number}" for number in range(2000)]
    right = [(xxh64(value), ring.pick(xxh64(value))) for value in values]
    wrong = [
        (xxh64(value), ring.pick(xxhash.xxh64_intdigest(value.encode(), seed=1)))
        for value in values
    ]
    rings = [ring.counts()]
    hashes = [key for key, _ in right]
    assert not bounds_of(rings, census(wrong), hashes).hold(census(wrong))
