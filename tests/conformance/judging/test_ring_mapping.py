"""The expectation of a ring, against clients with faults of every kind."""

from __future__ import annotations

import msgspec
import pytest

from client_under_test.manifests.clients import BUILT_IN
from conformance.judging.expectations import (
    EndsWith,
    MatchesRing,
)
from conformance.judging.observations import Calls
from conformance.reporting import baseline
from conformance.spec.catalogue import load
from conformance.spec.oracles.distinguishing import SEVERAL
from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.values import NoSuchValueError
from conformance.xds_config.config import XdsConfig, one_cluster, weighted_locality
from conformance.xds_config.distinguishing import STEPS, TO_CHOOSE_FROM, first_distinguished
from conformance.xds_config.policies import RingHash
from tests.conformance.judging.sample_calls import (
    FOUR,
    KNOWN,
    PLACES,
    RIGHT,
    STRANGE,
    TWO_LOCALITIES,
    VALUES,
    A,
    B,
    C,
    Client,
    D,
    at,
    by_census,
)

UNEVEN = one_cluster(FOUR.get_cluster().localities, policy=RingHash(minimum=201))
UNSET = one_cluster(FOUR.get_cluster().localities)
SMALL = one_cluster(FOUR.get_cluster().localities, policy=RingHash(minimum=4, maximum=4))
CAPPED = weighted_locality({A: 1, B: 50, C: 50}, policy=RingHash(minimum=1))
CAPPED = CAPPED.with_ring_cap(64)


@pytest.mark.parametrize("served", [FOUR, SMALL, TWO_LOCALITIES, CAPPED])
def test_a_right_client_maps_as_the_ring_does(served: XdsConfig) -> None:
    finding = served.matches_ring().finding(Client(cap=served.cap).calls(served))
    assert finding.holds, finding.saw


def test_a_right_client_maps_as_the_default_ring_does() -> None:
    assert UNSET.matches_ring().finding(RIGHT.calls(UNSET, 100)).holds


WORDS = "calls went elsewhere"
"""By which baselines know such a failure, those of users, too."""


def test_the_built_in_baselines_know_it_by_these_words() -> None:
    files = (path / "expected.toml" for path in BUILT_IN.iterdir())
    known = {
        entry.shows for file in files if file.exists() for entry in baseline.read(file, load())
    }
    assert {reason for reason in known if "elsewhere" in reason} == {WORDS}


@pytest.mark.parametrize(
    ("served", "client"),
    [
        pytest.param(FOUR, Client(seed=1), id="hash"),
        pytest.param(FOUR, Client(more=20), id="size"),
        pytest.param(FOUR, Client(backwards=True), id="direction"),
        pytest.param(SMALL, Client(backwards=True), id="direction-on-few"),
        pytest.param(FOUR, Client(lightest_has_more=2), id="two-more-for-the-lightest"),
        pytest.param(UNEVEN, Client(lightest_has_more=1), id="one-more-for-the-lightest"),
        pytest.param(TWO_LOCALITIES, Client(a_ring_for_each_locality=True), id="per-locality"),
        pytest.param(TWO_LOCALITIES, Client(weigh=lambda e, _: e), id="endpoint-weight-only"),
        pytest.param(TWO_LOCALITIES, Client(weigh=lambda _, loc: loc), id="locality-weight-only"),
        pytest.param(TWO_LOCALITIES, Client(weigh=lambda e, loc: e + loc), id="weights-added"),
        pytest.param(CAPPED, Client(cap=64, caps_maximum=False), id="cap-of-the-minimum-only"),
        pytest.param(CAPPED, Client(cap=128), id="cap"),
    ],
)
def test_a_wrong_ring_is_refused(served: XdsConfig, client: Client) -> None:
    mapping = served.matches_ring()
    finding = mapping.finding(client.calls(served))
    assert not finding.holds
    assert "calls went elsewhere" in finding.saw
    assert WORDS in finding.saw
    assert finding.oracle.startswith("a ring of ")
    # A client whose key format is known is not excused by its arcs.
    bound = KNOWN.bind(mapping)
    assert not bound.finding(client.calls(served)).holds


@pytest.mark.parametrize(
    ("served", "client", "told_as"),
    [
        pytest.param(
            SMALL,
            Client(wraps=False),
            "a hash beyond the last entry goes to the last",
            id="no-wrap",
        ),
        pytest.param(
            FOUR, Client(lightest_has_more=1), "more than the minimum size", id="strictly-greater"
        ),
    ],
)
def test_what_the_text_leaves_open_is_right(
    served: XdsConfig, client: Client, told_as: str
) -> None:
    finding = KNOWN.bind(served.matches_ring()).finding(client.calls(served))
    assert finding.holds
    assert told_as in finding.saw


@pytest.mark.parametrize("size", [512, 2048])
def test_a_wrong_default_size_is_refused(size: int) -> None:
    calls = Client(default_minimum=size).calls(UNSET, 100)
    assert not UNSET.matches_ring().finding(calls).holds


def test_an_example_of_a_wrong_call_is_told() -> None:
    calls = RIGHT.calls(FOUR)
    moved = calls.calls[7]
    wrong = next(place for place in PLACES if place != moved.endpoint)
    spoiled = (*calls.calls[:7], msgspec.structs.replace(moved, endpoint=wrong), *calls.calls[8:])
    finding = FOUR.matches_ring().finding(Calls(spoiled))
    assert not finding.holds
    assert "1 of 300 calls" in finding.saw
    assert f"call-7 (session={VALUES[7]!r}" in finding.saw
    assert f"reached {wrong} instead of {moved.endpoint}" in finding.saw


ONE = 1 << 31
ENDPOINT_SUMS = {3: 3, 2: 4}
"""Of the weights of a locality's endpoints, by the locality's own weight."""


def share(endpoint: int, locality: int) -> int:
    return (endpoint * ONE // ENDPOINT_SUMS[locality]) * (locality * ONE // 5) >> 31


@pytest.mark.parametrize(
    ("client", "fits", "fits_not"),
    [(RIGHT, "raw", "A113"), (Client(weigh=share), "A113", "raw")],
)
def test_raw_weights_and_shares_are_told_apart(client: Client, fits: str, fits_not: str) -> None:
    calls = client.calls(TWO_LOCALITIES)
    assert TWO_LOCALITIES.matches_ring(weights=fits).finding(calls).holds  # type: ignore[arg-type]
    assert not TWO_LOCALITIES.matches_ring(weights=fits_not).finding(calls).holds  # type: ignore[arg-type]
    assert TWO_LOCALITIES.matches_ring().finding(calls).holds


@pytest.mark.parametrize(
    ("restriction", "holds"),
    [
        ({"key_format": "{address}_{i}"}, True),
        ({"key_format": "/{address}_{i}"}, False),
        ({"search": "wrap"}, True),
        ({"search": "signed"}, False),
        ({"search": "clamp"}, False),
        ({"allotment": "list"}, True),
    ],
)
def test_variants_can_be_restricted(restriction: dict[str, str], *, holds: bool) -> None:
    calls = RIGHT.calls(SMALL)
    assert SMALL.matches_ring(**restriction).finding(calls).holds is holds  # type: ignore[arg-type]


ODD = weighted_locality({D: 2, B: 5, A: 2, C: 5}, policy=RingHash(minimum=31, maximum=31))
EVEN = weighted_locality(dict.fromkeys((D, B, A, C), 1), policy=RingHash(minimum=32, maximum=32))


def orders(served: XdsConfig) -> dict[str, MatchesRing]:
    return {order: served.matches_ring(allotment=order) for order in ("list", "keys")}


def test_choices_are_told_by_calls_on_the_first_ring_where_they_can_be() -> None:
    served, headers = first_distinguished([EVEN, ODD], orders)
    assert served == ODD
    assert {header["session"] for header in headers} <= {*TO_CHOOSE_FROM[: STEPS[0]]}
    for listed in orders(ODD)["list"].picks():
        for sorted_ in orders(ODD)["keys"].picks():
            hashes = [xxh64(header["session"]) for header in headers]
            assert sum(listed(hash_) != sorted_(hash_) for hash_ in hashes) >= SEVERAL


def test_choices_that_no_ring_tells_apart_are_an_error() -> None:
    with pytest.raises(NoSuchValueError, match="list from keys"):
        first_distinguished([EVEN], orders)


def test_an_unknown_key_format_is_not_known() -> None:
    assert FOUR.matches_ring().key_formats(RIGHT.calls(FOUR, 100)) == {"{address}_{i}"}
    assert not FOUR.matches_ring().key_formats(STRANGE.calls(FOUR))
    assert not FOUR.matches_ring().finding(STRANGE.calls(FOUR)).holds


@pytest.mark.parametrize("served", [FOUR, TWO_LOCALITIES])
def test_an_unknown_key_format_is_judged_by_its_arcs(served: XdsConfig) -> None:
    finding = by_census(served).finding(STRANGE.calls(served))
    assert finding.holds, finding.saw
    assert finding.oracle.startswith("the arcs of a ring as A42 says")


@pytest.mark.parametrize(
    ("served", "client"),
    [
        pytest.param(FOUR, Client(key=STRANGE.key, seed=1), id="hash"),
        pytest.param(FOUR, Client(key=STRANGE.key, more=3000), id="size"),
        pytest.param(
            TWO_LOCALITIES, Client(key=STRANGE.key, weigh=lambda e, _: e**4), id="weights"
        ),
    ],
)
def test_wrong_arcs_are_refused(served: XdsConfig, client: Client) -> None:
    finding = by_census(served).finding(client.calls(served))
    assert not finding.holds
    assert "changes among 300 hashes" in finding.saw


def test_one_hash_at_two_endpoints_is_no_ring_at_all() -> None:
    call, other = at(A, B)
    twice = msgspec.structs.replace(other, metadata=call.metadata)
    calls = Calls((*STRANGE.calls(FOUR), call, twice))
    finding = by_census(FOUR).finding(calls)
    assert not finding.holds
    assert finding.saw.startswith("calls with one expected hash reached two endpoints: call-0 (")


@pytest.mark.parametrize(
    ("places", "words"),
    [
        pytest.param(
            (A, B, C) * 10, f"calls in turn, whatever their hash ({A}, {B}, {C}", id="turn"
        ),
        pytest.param((A, B, C) * 6, "", id="too few"),
        pytest.param((A, B, B) * 10, "", id="no turns"),
        pytest.param((A,) * 29 + (B,), "", id="hardly any elsewhere"),
        pytest.param((A,) * 30, f"all calls at {A}, whatever their hash", id="one"),
    ],
)
def test_calls_by_another_rule_than_the_hash_are_told_as_such(
    places: tuple[str, ...], words: str
) -> None:
    saw = FOUR.matches_ring().finding(at(*places)).saw
    assert "calls went elsewhere" in saw
    assert saw.startswith(words) if words else saw.split()[1] == "of"


def test_calls_of_one_hash_at_two_endpoints_are_both_named() -> None:
    """In turn, but by hashes that come again: it may be another rule."""
    call, other = at(A, B)
    twice = msgspec.structs.replace(other, metadata=call.metadata)
    saw = FOUR.matches_ring().finding(Calls((call, twice))).saw
    assert "calls went elsewhere" in saw
    hashed = f"session='{VALUES[0]}', expected hash {xxh64(VALUES[0]):#018x}"
    assert saw.splitlines()[-1] == (
        f"calls with one expected hash reached two endpoints: call-0 ({hashed}) reached {A}, "
        f"call-1 ({hashed}) reached {B}, although their headers are equal"
    )


def test_a_rule_that_explains_every_call_is_reported() -> None:
    finding = KNOWN.bind(FOUR.matches_ring()).finding(Client(backwards=True).calls(FOUR))
    first, second = finding.saw.splitlines()
    assert WORDS in first
    assert second == (
        "Pattern: all 300 calls reached the endpoint of the entry before the expected entry"
    )


def test_a_ring_is_called_the_nearest_only_if_it_explains_far_more() -> None:
    saw = KNOWN.bind(FOUR.matches_ring()).finding(Client(seed=1).calls(FOUR)).saw
    assert "nearest known ring" not in saw
    calls = Client(lightest_has_more=1).calls(FOUR).calls
    other = next(place for place in PLACES if place != calls[0].endpoint)
    moved = msgspec.structs.replace(calls[0], endpoint=other)
    saw = KNOWN.bind(FOUR.matches_ring()).finding(Calls((moved, *calls[1:]))).saw
    assert saw.startswith("1 of 300 calls went elsewhere")
    assert "The nearest known ring (299 of 300 calls fit): entry keys {address}_{i}; " in saw


SLASHED = Client(key=lambda address, number: f"/{address}_{number}")


def test_who_is_known_by_one_format_is_judged_by_no_other() -> None:
    """Nor by arcs, which would do, whatever all the others are named by."""
    bound = KNOWN.bind(FOUR.matches_ring())
    assert bound.finding(RIGHT.calls(FOUR)).holds
    for client in (SLASHED, STRANGE):
        assert by_census(FOUR).finding(client.calls(FOUR)).holds
        assert not bound.finding(client.calls(FOUR)).holds


def test_only_rings_are_bound() -> None:
    assert KNOWN.bind(EndsWith("OK")) == EndsWith("OK")
