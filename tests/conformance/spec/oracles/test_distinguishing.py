"""Values that tell: of each wrong way several, and an error where there are not so many."""

from collections.abc import Callable
from typing import get_args

import pytest

from conformance.spec.oracles.distinguishing import (
    SEVERAL,
    Way,
    value_of_an_entry,
    values_telling,
    values_telling_apart,
    wrong_searches,
)
from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.building import build
from conformance.spec.oracles.ring.search import Search
from conformance.spec.oracles.ring.sizes import RingConfig
from conformance.spec.oracles.ring.values import NoSuchValueError
from conformance.spec.oracles.ring.variants import RingVariant
from conformance.spec.oracles.ring.weights import WeightedEndpoint

VALUES = tuple(f"value-{number}" for number in range(2_000))
FOUR = tuple(WeightedEndpoint(address=f"127.0.0.1:{port}") for port in range(40001, 40005))
SEARCHES = tuple(RingVariant(search=search) for search in get_args(Search))


def parity(value: int) -> str:
    return "odd" if value % 2 else "even"


def unless(wrong: Callable[[int], bool]) -> Way:
    """The parity, but "wrong" for these hashes."""
    return lambda value: "wrong" if wrong(value) else parity(value)


@pytest.mark.parametrize("each", [1, SEVERAL, 10])
@pytest.mark.parametrize(
    "wrong",
    [
        {"ever": unless(lambda _: True)},
        {"seldom": unless(lambda value: value % 64 == 0)},
        {"low": unless(lambda value: value < 2**60), "high": unless(lambda value: value > 2**63)},
    ],
    ids=" and ".join,
)
def test_each_wrong_way_shows_in_so_many(wrong: dict[str, Way], each: int) -> None:
    chosen = values_telling([parity], wrong, VALUES, each=each)
    hashes = [xxh64(value) for value in chosen]
    assert all(
        sum(way(hash_) != parity(hash_) for hash_ in hashes) >= each for way in wrong.values()
    )
    assert len(chosen) <= each * len(wrong)


def test_each_wrong_way_is_told_from_each_that_is_right() -> None:
    """Who is wrong for some hashes is right by another way for others."""
    rights = [parity, unless(lambda value: value % 4 == 0)]
    wrong = unless(lambda value: value % 8 == 0)
    hashes = [xxh64(value) for value in values_telling(rights, {"wrong": wrong}, VALUES)]
    assert all(sum(wrong(hash_) != way(hash_) for hash_ in hashes) >= SEVERAL for way in rights)


@pytest.mark.parametrize(
    "wrong",
    [parity, unless(lambda value: value == xxh64("value-7"))],
    ids=["never wrong", "wrong once"],
)
def test_what_cannot_be_told_is_an_error_that_names_it(wrong: Way) -> None:
    with pytest.raises(NoSuchValueError, match="distinguish no way at all"):
        values_telling([parity], {"no way at all": wrong}, VALUES)


def test_choices_are_told_from_one_another_and_not_within() -> None:
    choices = {"right": [parity, unless(lambda value: value % 8 == 0)], "none": [lambda _: "none"]}
    assert len(values_telling_apart(choices, VALUES)) == SEVERAL
    with pytest.raises(NoSuchValueError, match="right from wrong"):
        values_telling_apart({"right": [parity], "wrong": [parity]}, VALUES)


@pytest.mark.parametrize("variant", SEARCHES, ids=lambda variant: variant.search)
def test_wrong_searches_are_told_on_a_ring(variant: RingVariant) -> None:
    ring = build(FOUR, RingConfig(64), variant)
    wrong = wrong_searches(ring)
    chosen = values_telling([ring.pick], wrong, ring.keys)
    assert len(chosen) < len(wrong) * SEVERAL
    greater = {"greater": wrong["the first entry that is greater, not equal"]}
    with pytest.raises(NoSuchValueError, match="greater"):
        values_telling([ring.pick], greater, VALUES)


def test_the_value_of_an_entry_tells_all_wrong_searches() -> None:
    rings = [build(FOUR, RingConfig(256), variant) for variant in SEARCHES]
    for address in rings[0].addresses:
        value = xxh64(value_of_an_entry(rings, address))
        for ring in rings:
            assert ring.pick(value) == address
            assert address not in {way(value) for way in wrong_searches(ring).values()}


def test_no_entry_tells_on_a_ring_of_one_endpoint() -> None:
    with pytest.raises(NoSuchValueError, match="use a larger ring"):
        value_of_an_entry([build(FOUR[:1], RingConfig(64))], FOUR[0].address)
