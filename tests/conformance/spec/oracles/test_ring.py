"""Rings against a naive rebuilding, hand-made figures, and what holds of every ring."""

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.building import assembled, build, build_for, fit, fits_otherwise
from conformance.spec.oracles.ring.keys import KeyFormat
from conformance.spec.oracles.ring.search import Ring, Search
from conformance.spec.oracles.ring.sizes import RingConfig, dealings, entry_counts
from conformance.spec.oracles.ring.values import (
    NoSuchValueError,
    value_hitting,
    value_preferring,
    values_telling_sizes,
)
from conformance.spec.oracles.ring.variants import CANDIDATES, VARIANTS, Candidate, RingVariant
from conformance.spec.oracles.ring.weights import RingEndpoint, RingLocality, WeightedEndpoint
from tests.conformance.spec.oracles.ring_inputs import (
    configs,
    endpoint,
    endpoint_lists,
    equal,
    locality,
)

SPACE = 2**64


# The ring


def rebuilt(
    listed: Sequence[WeightedEndpoint], config: RingConfig, key_format: KeyFormat
) -> list[tuple[int, str]]:
    """The same ring by counting up one entry at a time, for IPv4 addresses without hash keys."""
    minimum, maximum = config.sizes()
    total = sum(each.weight for each in listed)
    lightest = min(each.weight / total for each in listed)
    scale = min(math.ceil(lightest * minimum) / lightest, float(maximum))
    entries: list[tuple[int, str]] = []
    current = target = 0.0
    for each in listed:
        target += scale * (each.weight / total)
        number = 0
        while current < target:
            key = key_format.format(address=each.address, i=number, n=len(entries))
            entries.append((xxh64(key), each.address))
            number += 1
            current += 1
    return entries


def in_java(each: WeightedEndpoint) -> int:
    """The bucket of sixteen for an endpoint on 127.0.0.1, whose number is 0x7f000001."""
    code = 31 + 0x7F000001 + int(each.address.rpartition(":")[2])
    return (code ^ code >> 16) % 16


def scanned(entries: Sequence[tuple[int, str]], value: int, search: str) -> str:
    """The pick by looking at every entry."""

    def order(number: int) -> int:
        return number if search != "signed" or number < SPACE // 2 else number - SPACE

    reached = [entry for entry in entries if order(entry[0]) >= order(value)]
    if reached:
        return min(reached, key=lambda entry: order(entry[0]))[1]
    past = min if search == "wrap" else max
    return past(entries, key=lambda entry: order(entry[0]))[1]


@given(
    endpoint_lists(most=4),
    configs(),
    st.sampled_from([variant for variant in VARIANTS if variant.sizing == "at least"]),
    st.lists(st.integers(0, SPACE - 1), min_size=1, max_size=10),
)
def test_pick_is_a_linear_scan_of_a_naive_ring(
    listed: tuple[WeightedEndpoint, ...],
    config: RingConfig,
    variant: RingVariant,
    values: list[int],
) -> None:
    order = {
        "list": listed,
        "localities": sorted(listed, key=lambda each: each.locality),
        "keys": sorted(listed, key=lambda each: each.address),
        "buckets": sorted(listed, key=in_java),
    }[variant.allotment]
    entries = rebuilt(order, config, variant.key_format)
    ring = build(listed, config, variant)
    assert len(ring) == len(entries)
    values += [0, 1, SPACE // 2 - 1, SPACE // 2, SPACE - 1]
    for position, _ in entries[:4]:
        values += [position, (position + 1) % SPACE, (position - 1) % SPACE]
    for value in values:
        assert ring.pick(value) == scanned(entries, value, variant.search)
    for each in listed:
        assert ring.entries_of(each.address) == tuple(
            sorted(position for position, owner in entries if owner == each.address)
        )


@given(endpoint_lists(), configs(), st.sampled_from(VARIANTS))
def test_shares_are_exact_and_sum_to_one(
    listed: tuple[WeightedEndpoint, ...], config: RingConfig, variant: RingVariant
) -> None:
    ring = build(listed, config, variant)
    shares = ring.shares()
    assert sum(shares.values()) == 1
    assert set(shares) == {each.address for each in listed}
    assert all((shares[address] > 0) == (count > 0) for address, count in ring.counts().items())


def test_shares_by_hand() -> None:
    quarter = SPACE // 4
    # Entries at 1/4 - 1 (a) and at 3/4 - 1 (b), where the first quarter begins with hash 0.
    wrapping = Ring(("a", "b"), (quarter - 1, 3 * quarter - 1), (0, 1), ("", ""), 0, wraps=True)
    assert wrapping.shares() == {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    # As signed numbers b comes first: it has [2^63, 3/4), and a all the rest.
    half = SPACE // 2
    signed = Ring(("a", "b"), (quarter - 1, 3 * quarter - 1), (1, 0), ("", ""), half, wraps=False)
    assert signed.entries_of("b") == (3 * quarter - 1,)
    assert signed.shares() == {"a": Fraction(3, 4), "b": Fraction(1, 4)}
    assert [signed.pick(value) for value in (0, quarter, half - 1, half, SPACE - 1)] == [
        "a",
        "a",
        "a",
        "b",
        "a",
    ]


@given(endpoint_lists(), configs(), st.sampled_from(VARIANTS), st.integers(0, SPACE - 1))
def test_preference_has_each_endpoint_once_and_begins_with_the_pick(
    listed: tuple[WeightedEndpoint, ...], config: RingConfig, variant: RingVariant, value: int
) -> None:
    ring = build(listed, config, variant)
    preference = ring.preference(value)
    assert preference[0] == ring.pick(value)
    present = [address for address, count in ring.counts().items() if count]
    assert sorted(preference) == sorted(present)


def test_preference_is_what_is_left_when_the_first_are_taken_away() -> None:
    # Every endpoint keeps its entries, as the sizes are one entry per endpoint and shares equal.
    listed = equal(4)
    ring = build(listed, RingConfig(4))
    for number in range(50):
        value = xxh64(f"value-{number}")
        first, second, *_ = ring.preference(value)
        rest = tuple(each for each in listed if each.address != first)
        assert build(rest, RingConfig(3)).pick(value) == second


@given(st.permutations(equal(5)), st.sampled_from(VARIANTS), st.integers(0, SPACE - 1))
def test_the_order_of_the_list_is_nothing_where_counts_are_whole(
    listed: list[WeightedEndpoint], variant: RingVariant, value: int
) -> None:
    if variant.key_format == "{address}{n}" and variant.allotment != "keys":
        return  # numbered over all endpoints: the order of allotment is all
    config = RingConfig(50)
    assert build(tuple(listed), config, variant).preference(value) == build(
        equal(5), config, variant
    ).preference(value)


def test_an_address_listed_twice_has_the_sum_of_its_weights() -> None:
    once = build((endpoint("a", 3), endpoint("b", 2)), RingConfig(50))
    twice = build((endpoint("a", 1), endpoint("b", 2), endpoint("a", 2)), RingConfig(50))
    assert twice.counts() == once.counts() == {"a": 30, "b": 20}
    assert twice.positions == once.positions


@pytest.mark.parametrize(
    ("key_format", "address", "hash_key", "key"),
    [
        ("{address}_{i}", "127.0.0.1:80", None, "127.0.0.1:80_0"),
        ("{address}_{i}", "[::1]:80", None, "[::1]:80_0"),
        ("{address}_{i}", "[::1]:80", "pod-3", "pod-3_0"),
        ("/{address}_{i}", "127.0.0.1:80", None, "/127.0.0.1:80_0"),
        ("/{address}_{i}", "[2001:db8::7]:80", None, "/[2001:db8:0:0:0:0:0:7]:80_0"),
        ("/{address}_{i}", "127.0.0.1:80", "pod-3", "pod-3_0"),
        ("[/{address}]_{i}", "127.0.0.1:80", None, "[/127.0.0.1:80]_0"),
        ("[/{address}]_{i}", "[::1]:80", None, "[/[0:0:0:0:0:0:0:1]:80]_0"),
        ("{address}{n}", "[::1]:80", None, "[::1]:800"),
    ],
)
def test_keys(key_format: KeyFormat, address: str, hash_key: str | None, key: str) -> None:
    listed = (WeightedEndpoint(address=address, hash_key=hash_key),)
    ring = build(listed, RingConfig(1), RingVariant(key_format))
    assert ring.keys == (key,)
    assert ring.entries_of(address) == (xxh64(key),)


@pytest.mark.parametrize(
    ("listed", "order"),
    [
        # As OpenJDK 17 iterated over a HashMap of lists of one InetSocketAddress each.
        (
            """127.0.0.1:22124 127.0.0.1:25022 127.0.0.1:16734 127.0.0.1:24237 127.0.0.1:33138
            127.0.0.1:36340 127.0.0.1:18179 127.0.0.1:29178 127.0.0.1:32793 127.0.0.1:57048
            127.0.0.1:57502 127.0.0.1:36893 127.0.0.1:50961""",
            [6, 0, 3, 12, 4, 5, 9, 8, 7, 11, 1, 2, 10],
        ),
        (
            """[bf59:3bb:58cb:352d:441a:9816:e01c:a09c]:35530
            [cadb:e9f1:9cf6:3a76:4709:89d3:3458:d772]:58345
            [8f46:9db2:2fd7:a8c0:17c2:1b47:41e4:8258]:4452
            [142d:ced6:5468:2038:ce7c:6176:8340:a0eb]:29041""",
            [2, 1, 0, 3],
        ),
    ],
)
def test_allotment_by_the_buckets_of_java(listed: str, order: list[int]) -> None:
    addresses = listed.split()
    counts = entry_counts([endpoint(each) for each in addresses], RingConfig(1), "buckets")
    assert list(counts) == [addresses[index] for index in order]


@pytest.mark.parametrize(
    ("given", "config", "dealt"),
    [
        ((1, 31, 32), RingConfig(1, 16), {(1, 7, 8), (0, 8, 8)}),
        (
            (1, 40, 40, 40),
            RingConfig(8, 12),
            {(1, 4, 4, 3), (1, 4, 3, 4), (1, 3, 4, 4), (0, 4, 4, 4)},
        ),
        ((1, 3, 4), RingConfig(512), {(64, 192, 256)}),
    ],
)
def test_the_odd_entry_is_anybodys(
    given: tuple[int, ...], config: RingConfig, dealt: set[tuple[int, ...]]
) -> None:
    listed = tuple(endpoint(f"127.0.0.1:{8000 + at}", each) for at, each in enumerate(given))
    found = dealings(listed, config)
    assert {
        tuple(each[listed_endpoint.address] for listed_endpoint in listed) for each in found
    } == dealt


@given(endpoint_lists(), configs(), st.randoms(use_true_random=False))
def test_any_order_is_among_the_dealings(
    listed: tuple[WeightedEndpoint, ...], config: RingConfig, rng: random.Random
) -> None:
    few = listed[:5]
    other = rng.sample(few, len(few))
    assert entry_counts(other, config) in dealings(few, config)


def test_a_ring_dealt_out_in_no_known_order_fits_otherwise() -> None:
    locality = RingLocality("", (RingEndpoint("a:1", 1), RingEndpoint("b:1", 31)))
    heaviest = RingLocality("", (*locality.endpoints, RingEndpoint("c:1", 32)))
    config = RingConfig(1, 16)
    entries = (("a:1", "a:1_", 0), ("b:1", "b:1_", 8), ("c:1", "c:1_", 8))
    ring = assembled(entries, "wrap", numbered_together=False)
    seen = [(value, ring.pick(value)) for value in range(0, SPACE, SPACE // 400)]
    assert not fit(seen, [heaviest], config)
    assert fits_otherwise(seen, [heaviest], config, Candidate())
    assert not fits_otherwise([*seen, (0, "none")], [heaviest], config, Candidate())
    together = Candidate(RingVariant("{address}{n}"))
    assert not fits_otherwise(seen, [heaviest], config, together)


# Fitting


@pytest.mark.parametrize("candidate", CANDIDATES)
def test_fit_finds_the_way_a_ring_was_built(candidate: Candidate) -> None:
    # Fractional counts, localities out of order, few entries: most candidates differ.
    localities = [
        RingLocality("b", (RingEndpoint("127.0.0.1:30", 2), RingEndpoint("127.0.0.1:20", 3)), 3),
        RingLocality("a", (RingEndpoint("127.0.0.1:40", 5), RingEndpoint("127.0.0.1:10", 7)), 2),
    ]
    config = RingConfig(7, 13)
    ring = build_for(localities, config, candidate)
    hashes = [xxh64(f"value-{number}") for number in range(400)]
    hashes += [number * SPACE // 400 for number in range(400)]
    found = fit([(value, ring.pick(value)) for value in hashes], localities, config)
    assert candidate in found
    for other in found:  # a twin in all that can be seen
        twin = build_for(localities, config, other)
        assert [twin.pick(value) for value in hashes] == [ring.pick(value) for value in hashes]
    assert {each.variant.key_format for each in found} == {candidate.variant.key_format}


@pytest.mark.parametrize("search", ["wrap", "signed", "clamp"])
def test_fit_tells_the_searches_apart_on_a_tiny_ring(search: Search) -> None:
    localities = [locality("", 1, **dict.fromkeys("ABCDEF", 1))]
    ring = build_for(localities, RingConfig(6), Candidate(RingVariant(search=search)))
    seen = [(value, ring.pick(value)) for value in range(0, SPACE, SPACE // 1000)]
    assert {each.variant.search for each in fit(seen, localities, RingConfig(6))} == {search}


def test_one_wrong_answer_leaves_nothing_that_fits() -> None:
    localities = [locality("", 1, A=1, B=1)]
    ring = build_for(localities, RingConfig(64))
    seen = [(xxh64(str(number)), ring.pick(xxh64(str(number)))) for number in range(150)]
    assert fit(seen, localities, RingConfig(64))
    value, address = seen[-1]
    lie = (value, "A" if address == "B" else "B")
    assert fit([*seen[:-1], lie], localities, RingConfig(64)) == ()


# Past endpoints that have failed


def test_who_comes_next_is_who_would_be_first_if_the_failed_were_not_there() -> None:
    several, config = equal(4), RingConfig(64)
    ring, without = build(several, config), build(several[1:], RingConfig(48))
    failed = several[0].address
    hashes = [xxh64(str(number)) for number in range(400)]
    assert without.counts() == {listed_endpoint.address: 16 for listed_endpoint in several[1:]}
    assert [ring.pick(value, [failed]) for value in hashes] == list(map(without.pick, hashes))
    assert any(ring.pick(value) == failed for value in hashes)


def test_fit_goes_past_the_failed() -> None:
    localities = [locality("", 1, A=1, B=1, C=1)]
    ring = build_for(localities, RingConfig(64))
    seen = [(xxh64(str(n)), ring.pick(xxh64(str(n)), ["A"])) for n in range(150)]
    assert fit(seen, localities, RingConfig(64), failed=["A"])
    assert not fit(seen, localities, RingConfig(64))


def test_nobody_is_left() -> None:
    ring = build(equal(2), RingConfig(8))
    with pytest.raises(ValueError, match="there is none to pick"):
        ring.pick(0, ring.addresses)


# Targets


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_ring_key_hits_its_endpoint(variant: RingVariant) -> None:
    ring = build(equal(4), RingConfig(64), variant)
    for address in ring.addresses:
        assert ring.pick(xxh64(value_hitting(ring, address))) == address


def test_an_endpoint_without_entries_cannot_be_hit() -> None:
    ring = build(equal(4), RingConfig(2, 2))
    with pytest.raises(NoSuchValueError, match="No entry"):
        value_hitting(ring, ring.addresses[1])


@pytest.mark.parametrize("variant", [VARIANTS[0], RingVariant(search="signed")])
def test_every_order_of_three_is_found_on_a_large_ring(variant: RingVariant) -> None:
    ring = build(equal(4), RingConfig(1024), variant)
    first, second, third, fourth = ring.addresses
    for order in ((first, second, third), (fourth, third, first), (second, fourth, third)):
        value = value_preferring(ring, *order, rng=random.Random(1))
        assert ring.preference(xxh64(value))[:3] == order
        assert value == value_preferring(ring, *order, rng=random.Random(1))


def test_an_order_that_no_arc_has_is_an_error() -> None:
    ring = build(equal(4), RingConfig(4))
    orders = {ring.preference(entry) for each in ring.addresses for entry in ring.entries_of(each)}
    assert len(orders) == 4
    missing = ring.addresses if ring.addresses not in orders else ring.addresses[::-1]
    with pytest.raises(NoSuchValueError, match="larger ring"):
        value_preferring(ring, *missing, rng=random.Random(1))


def test_an_order_that_is_hard_to_meet_is_an_error_too() -> None:
    ring = build(equal(4), RingConfig(1024))
    with pytest.raises(NoSuchValueError, match="try more"):
        value_preferring(ring, *ring.addresses, rng=random.Random(1), tries=1)


@pytest.mark.parametrize("key_format", get_args(KeyFormat))
@pytest.mark.parametrize("size", [8, 512])
def test_the_next_sizes_are_told(key_format: KeyFormat, size: int) -> None:
    """Of a ring of any size, beside rings with an entry more or fewer for one endpoint."""
    rng = random.Random(1)
    values = tuple(f"{rng.getrandbits(48):012x}" for _ in range(20_000))
    candidate = Candidate(RingVariant(key_format))
    places = [locality("one", 1, **{f"127.0.0.1:{port}": 1 for port in range(40001, 40005)})]
    config = RingConfig(size, size)
    right = build_for(places, config, candidate)
    telling = [xxh64(value) for value in values_telling_sizes(places, config, values, key_format)]
    assert len(telling) <= 2 * 4
    for next_size in (size - 1, size + 1):
        other = build_for(places, RingConfig(next_size, next_size), candidate)
        can_be_told = any(right.pick(xxh64(each)) != other.pick(xxh64(each)) for each in values)
        assert any(right.pick(each) != other.pick(each) for each in telling) == can_be_told


@pytest.mark.parametrize("more", [27, 64])
def test_rings_that_are_larger_by_far_are_told_too(more: int) -> None:
    """Of endpoints whose next entries change nothing, as each lies before one of their own."""
    values = tuple(f"value-{number}" for number in range(20_000))
    ports = (35183, 35199, 44085, 35753)
    places = [locality("one", 1, **{f"127.0.0.1:{port}": 1 for port in ports})]
    telling = values_telling_sizes(places, RingConfig(1024), values)
    right, larger = (build_for(places, RingConfig(1024 + n), Candidate()) for n in (0, 4 * more))
    assert sum(right.pick(xxh64(value)) != larger.pick(xxh64(value)) for value in telling) >= 3


def test_nothing_tells_the_size_of_a_ring_of_one_endpoint() -> None:
    assert values_telling_sizes([locality("one", 1, a=1)], RingConfig(1), ("x", "y")) == ()


def test_large_rings() -> None:
    ring = build(equal(4), RingConfig(100_000, cap=200_000))
    assert len(ring) == 100_000
    assert all(abs(share - Fraction(1, 4)) < Fraction(1, 50) for share in ring.shares().values())
