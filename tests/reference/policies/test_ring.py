"""The ring: its size, its entries, and where a hash belongs."""

from __future__ import annotations

from collections import Counter

import pytest
import xxhash
from hypothesis import example, given, settings
from hypothesis import strategies as st

from client_under_test.reference.clusters import weights
from client_under_test.reference.editions.editions import MODERN, SEED
from client_under_test.reference.policies.rules import ring
from client_under_test.reference.values import Endpoint

from .bench import endpoint


def made(pairs: dict[str, int], minimum: int, maximum: int = 4096) -> ring.Ring:
    endpoints = [endpoint(address, weight=weight) for address, weight in pairs.items()]
    standing = ring.standings(endpoints, SEED.rules)
    return ring.build(standing, ring.Sizes(minimum, maximum), SEED.rules)


@pytest.mark.parametrize(
    ("pairs", "minimum", "maximum", "counts"),
    [
        ({"a": 1}, 10, 4096, [10]),
        ({"a": 1, "b": 1}, 5, 4096, [3, 3]),  # A42-RING-06: whole entries for the lightest
        ({"a": 1, "b": 2, "c": 3}, 10, 4096, [2, 4, 6]),
        ({"a": 1, "b": 4}, 1, 4096, [1, 4]),
        ({"a": 1, "b": 1}, 10, 4, [2, 2]),  # A42-RING-08: clamped
        ({"a": 1, "b": 3}, 10, 6, [2, 4]),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, 1, 2, [1, 0, 1, 0]),  # A42-RING-11
    ],
)
def test_entries(pairs: dict[str, int], minimum: int, maximum: int, counts: list[int]) -> None:
    entries = Counter(made(pairs, minimum, maximum).owners)
    assert [entries[owner] for owner in range(len(pairs))] == counts


def test_places_are_hashes_of_key_and_number() -> None:
    made_ring = made({"10.0.0.1:80": 1}, 3)
    expected = sorted(
        xxhash.xxh64_intdigest(f"10.0.0.1:80_{number}".encode()) for number in range(3)
    )
    assert list(made_ring.hashes) == expected


@pytest.mark.parametrize(
    ("request_hash", "index"), [(0, 0), (10, 0), (11, 1), (20, 1), (25, 2), (30, 2), (31, 0)]
)
def test_first_entry_at_or_after(request_hash: int, index: int) -> None:
    assert ring.find_entry((10, 20, 30), request_hash) == index


def test_walk_meets_each_once_and_wraps() -> None:
    assert list(ring.endpoints_along_ring((0, 1, 1, 2, 0), 3)) == [2, 0, 1]


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.lists(st.integers(1, 1000), min_size=1, max_size=8), st.integers(1, 200))
@example([1, 100, 770, 1000, 198], 1)
def test_shares_fit_weights(listed: list[int], minimum: int) -> None:
    pairs = {f"10.0.0.{number}:80": weight for number, weight in enumerate(listed)}
    made_ring = made(pairs, minimum, 2000)
    assert list(made_ring.hashes) == sorted(made_ring.hashes)
    counts = Counter(made_ring.owners)
    # Targets are sums of doubles: the last one may be more than the maximum by a rounding error.
    assert len(made_ring.owners) <= 2000 + 1
    for owner, weight in enumerate(listed):
        assert abs(counts[owner] - len(made_ring.owners) * weight / sum(listed)) <= 2


def test_order_of_the_list_does_not_matter() -> None:
    pairs = {"a": 1, "b": 2, "c": 1}
    there, back = made(pairs, 8), made(dict(reversed(pairs.items())), 8)
    assert there.hashes == back.hashes
    assert [2 - owner for owner in there.owners] == list(back.owners)


def test_anchored_ring_moves_keys_of_the_removed_only() -> None:
    names = ["light", "x", "y", "z"]
    weight = {name: 1 if name == "light" else 40 for name in names}
    before = made(weight, 1)
    after = made({name: weight[name] for name in names if name != "z"}, 1)
    for number in range(2000):
        hashed = xxhash.xxh64_intdigest(str(number).encode())
        old = names[before.owners[ring.find_entry(before.hashes, hashed)]]
        new = names[after.owners[ring.find_entry(after.hashes, hashed)]]
        assert old in {new, "z"}


@pytest.mark.parametrize(
    ("sizes", "cap", "capped"),
    [
        ((1024, 8_388_608), 4096, (1024, 4096)),
        ((8192, 8_388_608), 4096, (4096, 4096)),
        ((8192, 8_388_608), 16384, (8192, 16384)),
        ((1024, 4096), 256, (256, 256)),
    ],
)
def test_cap(sizes: tuple[int, int], cap: int, capped: tuple[int, int]) -> None:
    assert ring.capped_sizes(ring.Sizes(*sizes), cap) == ring.Sizes(*capped)


def test_repeated_address_counts_with_the_sum() -> None:
    repeated = (endpoint("a", weight=2), endpoint("b"), endpoint("a", weight=3))
    found = ring.standings(repeated, SEED.rules)
    assert [(found_endpoint.identity, found_endpoint.weight) for found_endpoint in found] == [
        ("a", 5),
        ("b", 1),
    ]


def test_weight_zero_has_no_place() -> None:
    assert not ring.standings([endpoint("a", weight=0)], SEED.rules)
    assert ring.build((), ring.Sizes(1, 1), SEED.rules) == ring.Ring((), ())


def test_a61_an_endpoint_is_its_addresses_placed_by_the_first() -> None:
    two = Endpoint(addresses=("b", "a"))
    assert MODERN.rules.endpoint_identity(two) == MODERN.rules.endpoint_identity(
        Endpoint(addresses=("a", "b"), weight=7, hash_key="k")
    )
    assert MODERN.rules.ring_key(two) == "b"


def test_a76_hash_key() -> None:
    keyed = endpoint("a", hash_key="k")
    assert MODERN.rules.ring_key(keyed) == "k"
    assert MODERN.rules.ring_key(endpoint("a", hash_key="")) == "a"
    assert SEED.rules.ring_key(keyed) == "a"


def test_products_and_shares() -> None:
    example = [weights.Weights(3, (2, 1)), weights.Weights(2, (3, 1))]
    assert weights.endpoint_weights(example) == ((6, 3), (6, 2))  # the example of A42
    unit = 1 << 31
    for localities, priority in zip(
        weights.endpoint_weights_a113(example), ((0.4, 0.2), (0.3, 0.1)), strict=True
    ):
        assert [share / unit for share in localities] == pytest.approx(priority, abs=1e-8)


def test_shares_round_down_and_never_to_nothing() -> None:
    assert weights.endpoint_weights_a113([weights.Weights(1, (1, 2**32 - 1))])[0][0] == 1
    third = (1 << 31) // 3
    assert weights.endpoint_weights_a113([weights.Weights(5, (1, 1, 1))]) == ((third,) * 3,)
    assert weights.endpoint_weights_a113([weights.Weights(1, (0,))]) == ((1,),)
