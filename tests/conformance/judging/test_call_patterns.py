"""What wrong calls of a ring have in common: claimed only if it is so of every one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import msgspec
import pytest

from conformance.judging.call_patterns import Hashing, MappedCall, rule_of, trait_of
from conformance.judging.observations import Call
from conformance.spec.oracles.request_hash import HashPolicy, HeaderPolicy, request_hash, xxh64
from conformance.spec.oracles.ring.building import build
from conformance.spec.oracles.ring.search import SPACE, Ring
from conformance.spec.oracles.ring.sizes import RingConfig
from conformance.spec.oracles.ring.weights import WeightedEndpoint
from tests.conformance.judging.sample_calls import PLACES, VALUES, A

ENDPOINTS = tuple(WeightedEndpoint(address=address, weight=1) for address in PLACES)
RING = build(ENDPOINTS, RingConfig(minimum=64))
SMALL = build(ENDPOINTS, RingConfig(minimum=4, maximum=4))
SESSION: tuple[HashPolicy, ...] = (HeaderPolicy(name="session"),)
SWAPPED: tuple[HashPolicy, ...] = (
    HeaderPolicy(name="session", regex=r"^(\w+)\.(\w+)$", substitution=r"\2/\1"),
)
TWO: tuple[HashPolicy, ...] = (HeaderPolicy(name="a"), HeaderPolicy(name="b"))


def mapped(
    rows: Sequence[Sequence[tuple[str, str]]],
    reached: Callable[[int, Call, int], str],
    policies: tuple[HashPolicy, ...] = SESSION,
    ring: Ring = RING,
    failed: Sequence[str] = (),
) -> list[MappedCall]:
    """Return calls with these headers, each where `reached` says (by number, call and hash)."""
    calls = []
    for number, row in enumerate(rows):
        call = Call(id=f"call-{number}", channel="c", path="/s/m", metadata=tuple(row), status="OK")
        value = request_hash(policies, call.metadata, terminal="A42")
        assert value is not None
        calls.append(
            MappedCall(
                call=call,
                hash=value,
                expected=ring.pick(value, failed),
                observed=reached(number, call, value),
            )
        )
    return calls


def sessions(values: Sequence[str]) -> list[list[tuple[str, str]]]:
    return [[("session", value)] for value in values]


def owner(ring: Ring, index: int) -> str:
    return ring.addresses[ring.owners[index % len(ring)]]


def of(policies: tuple[HashPolicy, ...] = SESSION) -> Hashing:
    return Hashing(policies=policies, terminal="A42")


FORTY = sessions(VALUES[:40])
DOTTED = sessions([f"{value}.y" for value in VALUES[:24]] + list(VALUES[24:48]))
PAIRS = [
    [("a", first), ("b", second)] for first, second in itertools.product(VALUES[:6], VALUES[6:12])
]


@pytest.mark.parametrize(
    ("rows", "policies", "reached", "text"),
    [
        pytest.param(
            FORTY,
            SESSION,
            lambda _number, _call, value: owner(RING, RING.index(value) - 1),
            "all 40 calls reached the endpoint of the entry before the expected entry",
            id="before",
        ),
        pytest.param(
            FORTY,
            SESSION,
            lambda _number, _call, value: owner(RING, RING.index(value) + 1),
            "all 40 calls reached the endpoint of the entry after the expected entry",
            id="after",
        ),
        pytest.param(
            DOTTED,
            SWAPPED,
            lambda _number, call, _value: RING.pick(xxh64(call.metadata[0][1])),
            "all 48 calls reached the endpoint for the hash of the header value as sent, without "
            "the rewrite",
            id="no-rewrite",
        ),
        pytest.param(
            DOTTED,
            SWAPPED,
            lambda number, call, _value: RING.pick(
                xxh64(r"\2/\1" if number < 24 else call.metadata[0][1])
            ),
            r"all 48 calls reached the endpoint for the hash of the value with '\2/\1' inserted "
            "as literal text",
            id="literal",
        ),
        pytest.param(
            DOTTED,
            SWAPPED,
            lambda number, call, _value: RING.pick(
                xxh64("2/1" if number < 24 else call.metadata[0][1])
            ),
            "all 48 calls reached the endpoint for the hash of the value with '2/1' inserted, "
            "without backslashes",
            id="no-backslash",
        ),
        pytest.param(
            PAIRS,
            TWO,
            lambda _number, call, _value: RING.pick(xxh64(call.metadata[0][1])),
            "all 36 calls reached the endpoint for the hash of the first policy that has a "
            "result, alone",
            id="first-policy",
        ),
        pytest.param(
            PAIRS,
            TWO,
            lambda _number, call, _value: RING.pick(xxh64(call.metadata[1][1])),
            "all 36 calls reached the endpoint for the hash of the last policy that has a "
            "result, alone",
            id="last-policy",
        ),
        pytest.param(
            FORTY, SESSION, lambda _number, _call, value: RING.pick(value), "", id="right"
        ),
        pytest.param(
            FORTY, SESSION, lambda number, _call, _value: PLACES[number % 4], "", id="in-turn"
        ),
    ],
)
def test_a_rule_explains_every_call(
    rows: list[list[tuple[str, str]]],
    policies: tuple[HashPolicy, ...],
    reached: Callable[[int, Call, int], str],
    text: str,
) -> None:
    calls = mapped(rows, reached, policies)
    assert rule_of(calls, RING, of(policies)) == text
    if text:  # one other call, and it explains every call no more
        other = next(
            place for place in PLACES if place not in {calls[0].observed, calls[0].expected}
        )
        moved = mapped(
            rows,
            lambda number, call, value: other if not number else reached(number, call, value),
            policies,
        )
        assert rule_of(moved, RING, of(policies)) == ""


BEYOND = [
    value
    for value in (f"beyond-{number}" for number in range(10_000))
    if xxh64(value) > SMALL.positions[-1]
][:20]
MIXED = sessions(
    [*BEYOND, *[value for value in VALUES if xxh64(value) <= SMALL.positions[-1]][:40]]
)


@pytest.mark.parametrize(("name", "index"), [("second", 1), ("last", -1)])
def test_only_calls_beyond_the_last_entry_are_wrong(name: str, index: int) -> None:
    def reached(number: int, _call: Call, value: int) -> str:
        return owner(SMALL, index) if number < 20 else SMALL.pick(value)

    calls = mapped(MIXED, reached, ring=SMALL)
    assert rule_of(calls, SMALL, of()) == (
        f"all 20 calls whose hash lies beyond the last entry reached the endpoint of the {name} "
        "entry instead of the first entry; the other 40 calls are right"
    )
    # A wrong call that is not beyond the last entry, or one beyond it that went somewhere else.
    for moved in (20, 0):
        spoiled = [*calls]
        there = {calls[moved].observed, calls[moved].expected}
        other = next(place for place in PLACES if place not in there)
        spoiled[moved] = msgspec.structs.replace(calls[moved], observed=other)
        assert "beyond the last entry reached" not in rule_of(spoiled, SMALL, of())


def next_to(place: str) -> str:
    return PLACES[(PLACES.index(place) + 1) % len(PLACES)]


LONG = sessions([value * 4 if number % 3 == 0 else value for number, value in enumerate(VALUES)])


def wrong_if(is_wrong: Callable[[str, int], bool]) -> Callable[[int, Call, int], str]:
    """Return where calls go: those with a wrong value or hash one place too far."""

    def reached(_number: int, call: Call, value: int) -> str:
        right = RING.pick(value)
        return next_to(right) if is_wrong(call.metadata[0][1], value) else right

    return reached


@pytest.mark.parametrize(
    ("is_wrong", "text"),
    [
        pytest.param(
            lambda value, _hash: len(value) > 32,
            "all 100 wrong calls have a value of 32 bytes or more; no right call has it",
            id="long",
        ),
        pytest.param(
            lambda _value, hash_: hash_ >= SPACE // 2,
            " wrong calls have a hash of 2^63 or more; no right call has it",
            id="signed",
        ),
        pytest.param(
            lambda value, _hash: len(value) > 32 and value[0] in "01234567",
            " right calls have it, too",
            id="some-are-right",
        ),
        pytest.param(
            lambda _value, hash_: RING.pick(hash_) == A,
            f" wrong calls were expected at {A} and reached {PLACES[1]}; no call reached {A}",
            id="of-one-endpoint",
        ),
        pytest.param(lambda value, _hash: value[0] in "0123", "", id="nothing-known"),
        pytest.param(lambda value, _hash: value in VALUES[1:3], "", id="few"),
    ],
)
def test_a_trait_is_that_of_all_wrong_calls(
    is_wrong: Callable[[str, int], bool], text: str
) -> None:
    def reached(number: int, call: Call, value: int) -> str:
        where = wrong_if(is_wrong)(number, call, value)
        # Nobody reaches A where all that belongs there is wrong.
        return PLACES[1] if text.endswith(f"no call reached {A}") and where == A else where

    calls = mapped(LONG, reached)
    found = trait_of(calls, RING, of())
    assert text in found if text else not found


def test_all_wrong_calls_at_one_endpoint() -> None:
    rows = sessions(VALUES[:100])
    calls = mapped(rows, lambda number, _call, value: A if number % 3 else RING.pick(value))
    wrong = sum(not call.is_right for call in calls)
    assert trait_of(calls, RING, of()) == f"all {wrong} wrong calls reached {A}"


def test_all_rewritten_values_at_one_endpoint() -> None:
    calls = mapped(
        DOTTED, lambda number, _call, value: A if number < 24 else RING.pick(value), SWAPPED
    )
    wrong = sum(not call.is_right for call in calls)
    assert trait_of(calls, RING, of(SWAPPED)) == (
        f"all {wrong} wrong calls have a value that the rewrite changes; all 24 calls with it "
        f"reached {A}"
    )


def test_all_wrong_calls_have_a_first_endpoint_that_failed() -> None:
    def reached(_number: int, _call: Call, value: int) -> str:
        right = RING.pick(value, [A])
        others = [place for place in PLACES if place not in {A, right}]
        return others[0] if RING.pick(value) == A else right

    calls = mapped(sessions(VALUES), reached, failed=[A])
    wrong = sum(not call.is_right for call in calls)
    assert trait_of(calls, RING, of(), failed=[A]) == (
        f"all {wrong} wrong calls have a hash whose first endpoint on the ring has failed; no "
        "right call has it"
    )


def test_few_wrong_calls_are_explained_by_no_rule() -> None:
    """With three wrong calls and many rings, some rule fits by chance."""

    def before(_number: int, _call: Call, value: int) -> str:
        return owner(RING, RING.index(value) - 1)

    calls = mapped(FORTY, before)
    wrong = [call for call in calls if not call.is_right]
    assert rule_of(wrong[:3], RING, of()) == ""
    assert rule_of(wrong[:9], RING, of()) != ""
    assert rule_of(wrong[:9], RING, of(), rings=360) == ""


def test_a_hash_equal_to_an_entry_is_no_chance() -> None:
    keys = [key for key in RING.keys if RING.pick(xxh64(key)) != next_of(xxh64(key))][:3]
    calls = mapped(sessions(keys), lambda _number, _call, value: next_of(value))
    assert rule_of(calls, RING, of(), rings=360) == (
        "all 3 calls reached the endpoint of the first entry whose hash is greater than the "
        "request's, not equal to it"
    )


def next_of(value: int) -> str:
    return owner(RING, RING.index(value) + 1)
