"""Each expectation: when it holds, when not, and that it says why; nothing runs here."""

from __future__ import annotations

import itertools
import random
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil

import msgspec
import pytest
import xxhash
from msgspec.structs import replace

from client_under_test.manifests.clients import BUILT_IN
from conformance.judging.expectations import (
    AckedOrNacked,
    AllEndpointsServe,
    AnswerVersion,
    ChannelsDiffer,
    EachServesSome,
    EndsWith,
    EqualShares,
    Expectation,
    MatchesRing,
    NackHasDetail,
    NoneServedBy,
    OneEndpoint,
    OnlyTheseMoved,
    Proportions,
    RandomOverRing,
    SeveralEndpoints,
    WrongKind,
)
from conformance.judging.observations import Answer, Call, Calls, Contrast, Observation
from conformance.judging.ring_keys import RingKeys
from conformance.judging.verdicts import Check
from conformance.reporting import baseline
from conformance.spec.catalogue import load
from conformance.spec.oracles.distinguishing import SEVERAL
from conformance.spec.oracles.request_hash import ChannelIdPolicy, xxh64
from conformance.spec.oracles.ring.values import NoSuchValueError
from conformance.xds_config.config import XdsConfig, one_cluster, single_locality, weighted_locality
from conformance.xds_config.distinguishing import STEPS, TO_CHOOSE_FROM, first_distinguished
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash

A, B, C, D = (f"127.0.0.1:{port}" for port in (34101, 34102, 34103, 34104))
PLACES = (A, B, C, D)
RNG = random.Random("expectations")
VALUES = tuple(f"{RNG.getrandbits(48):012x}" for _ in range(300))


def at(*endpoints: str, channel: str = "channel-1", path: str = "/s/m") -> Calls:
    """Calls that succeeded, each with a session of its own, at these endpoints."""
    return Calls(
        tuple(
            Call(
                id=f"call-{number}",
                channel=channel,
                path=path,
                metadata=(("session", VALUES[number % len(VALUES)]),),
                status="OK",
                endpoint=endpoint,
            )
            for number, endpoint in enumerate(endpoints)
        )
    )


def joined(*several: Calls) -> Calls:
    return Calls(tuple(itertools.chain.from_iterable(several)))


FAILED = Call(
    id="call-9",
    channel="channel-1",
    path="/s/m",
    metadata=(("session", "x"),),
    status="UNAVAILABLE",
    details="no ready endpoint",
)
NONE = Calls(())
ACK = Answer(kind="CDS", version="2", acked=True)
NACK = Answer(kind="CDS", version="2", acked=False, error_detail="minimum too large")

PLAIN = single_locality(PLACES)
LOCALITIES, CONFIG = PLAIN.ring_localities(), PLAIN.config()


@pytest.mark.parametrize(
    ("expectation", "seen", "holds"),
    [
        (EndsWith("OK"), at(A, B), True),
        (EndsWith("UNAVAILABLE"), Calls((FAILED,)), True),
        (EndsWith("OK"), joined(at(A, B), Calls((FAILED,))), False),
        (EndsWith("OK"), NONE, False),
        (OneEndpoint(), at(A, A, A), True),
        (OneEndpoint(), at(A, A, B), False),
        (OneEndpoint(), joined(at(A, A), at(B, B, channel="channel-2")), False),
        (OneEndpoint(each_channel=True), joined(at(A, A), at(B, B, channel="channel-2")), True),
        (OneEndpoint(each_channel=True), joined(at(A, A), at(A, B, channel="channel-2")), False),
        (SeveralEndpoints(), at(A, A, B), True),
        (SeveralEndpoints(), at(A, A, A), False),
        (ChannelsDiffer("session", most=1), joined(at(A, A, B), at(A, B, B, channel="2")), True),
        (ChannelsDiffer("session", most=1), joined(at(A, A, B), at(A, A, B, channel="2")), False),
        (ChannelsDiffer("session", most=2), joined(at(A, A, B), at(A, A, B, channel="2")), True),
        (ChannelsDiffer("session", most=1), at(A, A, B), True),
        (NoneServedBy((C, D)), at(A, B), True),
        (NoneServedBy((C, D)), at(A, D), False),
        (EachServesSome((A, B)), at(A, B, C), True),
        (EachServesSome((A, B)), at(A, A, C), False),
        (EqualShares((A, B, C)), at(A, B, C, A, B), True),
        (EqualShares((A, B, C)), at(A, B, C, A, A), False),
        (EqualShares((A, B, C)), at(A, B, A, B), False),
        (EqualShares((A, B)), at(A, B, C), False),
        (Proportions({A: (1, 4), B: (3, 4)}), at(*[A] * 100, *[B] * 300), True),
        (Proportions({A: (1, 4), B: (3, 4)}), at(*[A] * 300, *[B] * 100), False),
        (Proportions({A: (1, 4), B: (3, 4)}), at(*[A] * 100, *[B] * 299, C), False),
        (Proportions({A: (1, 4)}, rest=(B, C)), at(*[A] * 100, *[B] * 299, C), True),
        (Proportions({A: (1, 4)}, rest=(B, C)), at(*[A] * 300, *[B] * 99, C), False),
        (Proportions({A: (1, 4)}, rest=(B,)), at(*[A] * 100, *[B] * 299, C), False),
        (RandomOverRing(LOCALITIES, CONFIG), at(*PLACES * 75), True),
        (RandomOverRing(LOCALITIES, CONFIG), at(*[A] * 200, B, C, D), False),
        (RandomOverRing(LOCALITIES, CONFIG), at(*PLACES * 75, "127.0.0.1:1"), False),
        (AllEndpointsServe(LOCALITIES, CONFIG), at(*PLACES * 75), True),
        (AllEndpointsServe(LOCALITIES, CONFIG), at(*(A, B, C) * 100), False),
        (AllEndpointsServe(LOCALITIES, CONFIG), at(*PLACES * 75, "127.0.0.1:1"), False),
        (AckedOrNacked(acked=True), ACK, True),
        (AckedOrNacked(acked=True), NACK, False),
        (AckedOrNacked(acked=False), NACK, True),
        (AckedOrNacked(acked=False), ACK, False),
        (AnswerVersion(), replace(ACK, told="2", accepted="1"), True),
        (AnswerVersion(), replace(ACK, told="1", accepted="1"), False),
        (AnswerVersion(), replace(NACK, told="1", accepted="1"), True),
        (AnswerVersion(), replace(NACK, told="2", accepted="1"), False),
        (AnswerVersion(), NACK, True),
        (NackHasDetail(), NACK, True),
        (NackHasDetail(), replace(NACK, error_detail=""), False),
        (NackHasDetail(), ACK, False),
        (OnlyTheseMoved((C,)), Contrast(at(A, B, C, C), at(A, B, A, B)), True),
        (OnlyTheseMoved((C,)), Contrast(at(A, B, C), at(A, C, C)), True),
        (OnlyTheseMoved((C,)), Contrast(at(A, B, C), at(B, B, C)), False),
        (OnlyTheseMoved(()), Contrast(at(A, B), at(A, B)), True),
        (OnlyTheseMoved(()), Contrast(at(A, B), at(A, C)), False),
    ],
)
def test_table(expectation: Expectation, seen: Observation, *, holds: bool) -> None:
    finding = expectation.finding(seen)
    assert finding.holds is holds
    assert finding.wanted


BY_ENDPOINT: tuple[Expectation, ...] = (
    OneEndpoint(),
    SeveralEndpoints(),
    ChannelsDiffer("session", most=1),
    NoneServedBy((D,)),
    EachServesSome((A,)),
    EqualShares((A, B, C, D)),
    Proportions({A: (1, 1)}),
    RandomOverRing(LOCALITIES, CONFIG),
    AllEndpointsServe(LOCALITIES, CONFIG),
    PLAIN.matches_ring(),
)


@pytest.mark.parametrize("expectation", BY_ENDPOINT)
def test_failed_calls_spoil_every_judgement_by_endpoints(expectation: Expectation) -> None:
    finding = expectation.finding(joined(at(*PLACES * 75), Calls((FAILED,))))
    assert not finding.holds
    assert "1 of 301 calls did not succeed" in finding.saw
    assert "call-9 UNAVAILABLE (no ready endpoint)" in finding.saw


@pytest.mark.parametrize("expectation", BY_ENDPOINT)
def test_no_calls_are_no_success(expectation: Expectation) -> None:
    finding = expectation.finding(NONE)
    assert (finding.holds, finding.saw) == (False, "no call was made")


@pytest.mark.parametrize("spoiled", ["before", "after"])
def test_failed_calls_spoil_a_contrast(spoiled: str) -> None:
    rounds = {"before": at(A), "after": at(A)} | {spoiled: Calls((FAILED,))}
    assert not OnlyTheseMoved(()).finding(Contrast(**rounds)).holds


@pytest.mark.parametrize(
    ("expectation", "seen"),
    [(expectation, ACK) for expectation in BY_ENDPOINT]
    + [(EndsWith("OK"), ACK), (AckedOrNacked(acked=True), at(A)), (OnlyTheseMoved(()), at(A))]
    + [(AnswerVersion(), at(A)), (NackHasDetail(), at(A))],
)
def test_what_cannot_be_weighed_is_the_scenarios_fault(
    expectation: Expectation, seen: Observation
) -> None:
    with pytest.raises(WrongKind):
        expectation.finding(seen)


def test_too_few_calls_to_reach_every_endpoint_are_the_scenarios_fault() -> None:
    with pytest.raises(WrongKind, match="too few"):
        AllEndpointsServe(LOCALITIES, CONFIG).finding(at(A, B, C, D))


def test_calls_without_a_hash_map_to_nothing() -> None:
    unhashed = single_locality(PLACES, policies=(ChannelIdPolicy(),))
    no_header = tuple(msgspec.structs.replace(call, metadata=()) for call in at(A, B))
    with pytest.raises((WrongKind, ValueError)):
        unhashed.matches_ring().finding(at(A, B))
    with pytest.raises(WrongKind, match="call-0"):
        PLAIN.matches_ring().finding(Calls(no_header))


# The ring: clients with faults of every kind, built here by other code than the oracle's.


@dataclass(frozen=True, kw_only=True)
class Client:
    """How a client builds and searches its ring; the defaults are right."""

    seed: int = 0
    key: Callable[[str, int], str] = lambda address, number: f"{address}_{number}"
    default_minimum: int = 1024
    cap: int = 4096
    caps_maximum: bool = True
    a_ring_for_each_locality: bool = False
    weigh: Callable[[int, int], int] = lambda endpoint, locality: endpoint * locality
    more: int = 0
    lightest_has_more: int = 0
    backwards: bool = False
    wraps: bool = True

    def ring(self, weights: list[tuple[str, int]], policy: RingHash) -> list[tuple[int, str]]:
        least = self.default_minimum if policy.minimum is None else policy.minimum
        most = 8 * 1024 * 1024 if policy.maximum is None else policy.maximum
        least = min(least, self.cap)
        most = min(most, self.cap) if self.caps_maximum else most
        total = sum(weight for _, weight in weights)
        lightest = min(weight for _, weight in weights) / total
        whole = ceil(lightest * least) + self.lightest_has_more
        scale = min(whole / lightest, most) + self.more
        entries: list[tuple[int, str]] = []
        running, given = 0.0, 0
        for address, weight in weights:
            running += scale * (weight / total)
            number = 0
            while given < running:
                entries.append((self.hash(self.key(address, number)), address))
                number, given = number + 1, given + 1
        return sorted(entries)

    def hash(self, text: str) -> int:
        return xxhash.xxh64_intdigest(text.encode(), seed=self.seed)

    def rings(self, served: XdsConfig) -> list[list[tuple[int, str]]]:
        policy = served.get_cluster().policy
        assert isinstance(policy, RingHash)
        listed = [
            [(e.address, self.weigh(e.weight or 1, place.weight)) for e in place.endpoints]
            for place in served.get_cluster().localities
            if place.weight
        ]
        if not self.a_ring_for_each_locality:
            listed = [list(itertools.chain.from_iterable(listed))]
        return [self.ring(weights, policy) for weights in listed]

    def pick(self, entries: list[tuple[int, str]], value: str) -> str:
        index = bisect_left(entries, (self.hash(value), ""))
        if self.backwards:
            return entries[index - 1][1]
        if index == len(entries):
            index = 0 if self.wraps else -1
        return entries[index][1]

    def calls(self, served: XdsConfig, count: int = len(VALUES)) -> Calls:
        rings = itertools.cycle(self.rings(served))
        return at(*(self.pick(next(rings), value) for value in VALUES[:count]))


RIGHT = Client()
KNOWN = RingKeys(format="ip:port_i")
STRANGE = Client(key=lambda address, number: f"{number}@{address}")
FOUR = one_cluster((Locality(tuple(map(Endpoint, PLACES))),), policy=RingHash(minimum=200))
UNEVEN = one_cluster(FOUR.get_cluster().localities, policy=RingHash(minimum=201))
UNSET = one_cluster(FOUR.get_cluster().localities)
SMALL = one_cluster(FOUR.get_cluster().localities, policy=RingHash(minimum=4, maximum=4))
TWO_LOCALITIES = one_cluster(
    (
        Locality((Endpoint(A, 2), Endpoint(B, 1)), name="one", weight=3),
        Locality((Endpoint(C, 3), Endpoint(D, 1)), name="two", weight=2),
    ),
    policy=RingHash(minimum=200),
)
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
    assert finding.oracle.startswith("ring.build")
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


# A key format that nobody knows is no deviation: the arcs are judged.


def by_census(served: XdsConfig) -> Expectation:
    return RingKeys().bind(served.matches_ring())


def test_an_unknown_key_format_is_not_known() -> None:
    assert FOUR.matches_ring().key_formats(RIGHT.calls(FOUR, 100)) == {"{address}_{i}"}
    assert not FOUR.matches_ring().key_formats(STRANGE.calls(FOUR))
    assert not FOUR.matches_ring().finding(STRANGE.calls(FOUR)).holds


@pytest.mark.parametrize("served", [FOUR, TWO_LOCALITIES])
def test_an_unknown_key_format_is_judged_by_its_arcs(served: XdsConfig) -> None:
    finding = by_census(served).finding(STRANGE.calls(served))
    assert finding.holds, finding.saw
    assert finding.oracle == "census.changes_interval, census.met_intervals"


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
    assert "one hash met two" in finding.saw.lower()


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


def test_one_hash_at_two_endpoints_is_told_of_a_known_format_too() -> None:
    """In turn, but by hashes that come again: it may be another rule."""
    call, other = at(A, B)
    twice = msgspec.structs.replace(other, metadata=call.metadata)
    saw = FOUR.matches_ring().finding(Calls((call, twice))).saw
    assert saw.startswith("one hash met two endpoints: ")
    assert "calls went elsewhere" in saw


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


# What is written is what is read.


def everything() -> Iterable[tuple[Expectation, Observation]]:
    yield EndsWith("OK"), at(A)
    yield OneEndpoint(each_channel=True), at(A, B)
    for expectation in BY_ENDPOINT:
        yield expectation, at(*PLACES * 75)
    yield AckedOrNacked(acked=True), NACK
    yield AnswerVersion(), NACK
    yield NackHasDetail(), NACK
    yield OnlyTheseMoved((A,)), Contrast(at(A, B), at(B, C))
    yield by_census(FOUR), STRANGE.calls(FOUR)
    yield KNOWN.bind(FOUR.matches_ring()), RIGHT.calls(FOUR)
    yield TWO_LOCALITIES.matches_ring(weights="A113", terminal="A42-2021", search="wrap"), at(A)


@pytest.mark.parametrize(("expectation", "seen"), list(everything()))
def test_a_check_is_weighed_alike_after_a_round_trip(
    expectation: Expectation, seen: Observation
) -> None:
    written = Check(clause="A42-RING-05", seen=seen, expected={"A42": expectation})
    read = msgspec.json.decode(msgspec.json.encode(written), type=Check)
    assert read == written
    assert read.expected["A42"].finding(read.seen) == expectation.finding(seen)
