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

from conformance.expectations import (
    Answered,
    Avoids,
    Evenly,
    Everywhere,
    Expectation,
    MapsLike,
    MovesOnly,
    OneEndpoint,
    Outcome,
    Reaches,
    SeveralEndpoints,
    Shares,
    Spread,
    WrongKind,
    told_apart,
)
from conformance.oracles.request_hash import ChannelIdPolicy
from conformance.seen import Answer, Call, Calls, Contrast, Seen
from conformance.serving import Endpoint, Locality, RingHash, Served, plain, weighted
from conformance.verdicts import Check

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

PLAIN = plain(PLACES)
LOCALITIES, CONFIG = PLAIN.ring_localities(), PLAIN.config()


@pytest.mark.parametrize(
    ("expectation", "seen", "holds"),
    [
        (Outcome("OK"), at(A, B), True),
        (Outcome("UNAVAILABLE"), Calls((FAILED,)), True),
        (Outcome("OK"), joined(at(A, B), Calls((FAILED,))), False),
        (Outcome("OK"), NONE, False),
        (OneEndpoint(), at(A, A, A), True),
        (OneEndpoint(), at(A, A, B), False),
        (OneEndpoint(), joined(at(A, A), at(B, B, channel="channel-2")), False),
        (OneEndpoint(each_channel=True), joined(at(A, A), at(B, B, channel="channel-2")), True),
        (OneEndpoint(each_channel=True), joined(at(A, A), at(A, B, channel="channel-2")), False),
        (SeveralEndpoints(), at(A, A, B), True),
        (SeveralEndpoints(), at(A, A, A), False),
        (Avoids((C, D)), at(A, B), True),
        (Avoids((C, D)), at(A, D), False),
        (Reaches((A, B)), at(A, B, C), True),
        (Reaches((A, B)), at(A, A, C), False),
        (Evenly((A, B, C)), at(A, B, C, A, B), True),
        (Evenly((A, B, C)), at(A, B, C, A, A), False),
        (Evenly((A, B, C)), at(A, B, A, B), False),
        (Evenly((A, B)), at(A, B, C), False),
        (Shares({A: (1, 4), B: (3, 4)}), at(*[A] * 100, *[B] * 300), True),
        (Shares({A: (1, 4), B: (3, 4)}), at(*[A] * 300, *[B] * 100), False),
        (Shares({A: (1, 4), B: (3, 4)}), at(*[A] * 100, *[B] * 299, C), False),
        (Spread(LOCALITIES, CONFIG), at(*PLACES * 75), True),
        (Spread(LOCALITIES, CONFIG), at(*[A] * 200, B, C, D), False),
        (Spread(LOCALITIES, CONFIG), at(*PLACES * 75, "127.0.0.1:1"), False),
        (Everywhere(LOCALITIES, CONFIG), at(*PLACES * 75), True),
        (Everywhere(LOCALITIES, CONFIG), at(*(A, B, C) * 100), False),
        (Everywhere(LOCALITIES, CONFIG), at(*PLACES * 75, "127.0.0.1:1"), False),
        (Answered(acked=True), ACK, True),
        (Answered(acked=True), NACK, False),
        (Answered(acked=False), NACK, True),
        (Answered(acked=False), ACK, False),
        (MovesOnly((C,)), Contrast(at(A, B, C, C), at(A, B, A, B)), True),
        (MovesOnly((C,)), Contrast(at(A, B, C), at(A, C, C)), True),
        (MovesOnly((C,)), Contrast(at(A, B, C), at(B, B, C)), False),
        (MovesOnly(()), Contrast(at(A, B), at(A, B)), True),
        (MovesOnly(()), Contrast(at(A, B), at(A, C)), False),
    ],
)
def test_table(expectation: Expectation, seen: Seen, *, holds: bool) -> None:
    finding = expectation.finding(seen)
    assert finding.holds is holds
    assert finding.wanted


BY_ENDPOINT: tuple[Expectation, ...] = (
    OneEndpoint(),
    SeveralEndpoints(),
    Avoids((D,)),
    Reaches((A,)),
    Evenly((A, B, C, D)),
    Shares({A: (1, 1)}),
    Spread(LOCALITIES, CONFIG),
    Everywhere(LOCALITIES, CONFIG),
    PLAIN.mapping(),
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
    assert not MovesOnly(()).finding(Contrast(**rounds)).holds


@pytest.mark.parametrize(
    ("expectation", "seen"),
    [(one, ACK) for one in BY_ENDPOINT]
    + [(Outcome("OK"), ACK), (Answered(acked=True), at(A)), (MovesOnly(()), at(A))],
)
def test_what_cannot_be_weighed_is_the_scenarios_fault(
    expectation: Expectation, seen: Seen
) -> None:
    with pytest.raises(WrongKind):
        expectation.finding(seen)


def test_too_few_calls_to_reach_every_endpoint_are_the_scenarios_fault() -> None:
    with pytest.raises(WrongKind, match="too few"):
        Everywhere(LOCALITIES, CONFIG).finding(at(A, B, C, D))


def test_calls_without_a_hash_map_to_nothing() -> None:
    unhashed = plain(PLACES, policies=(ChannelIdPolicy(),))
    no_header = tuple(msgspec.structs.replace(call, metadata=()) for call in at(A, B))
    with pytest.raises((WrongKind, ValueError)):
        unhashed.mapping().finding(at(A, B))
    with pytest.raises(WrongKind, match="call-0"):
        PLAIN.mapping().finding(Calls(no_header))


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
    backwards: bool = False
    wraps: bool = True

    def ring(self, weights: list[tuple[str, int]], policy: RingHash) -> list[tuple[int, str]]:
        least = self.default_minimum if policy.minimum is None else policy.minimum
        most = 8 * 1024 * 1024 if policy.maximum is None else policy.maximum
        least = min(least, self.cap)
        most = min(most, self.cap) if self.caps_maximum else most
        total = sum(weight for _, weight in weights)
        lightest = min(weight for _, weight in weights) / total
        scale = min(ceil(lightest * least) / lightest, most) + self.more
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

    def rings(self, served: Served) -> list[list[tuple[int, str]]]:
        assert isinstance(served.policy, RingHash)
        listed = [
            [(e.address, self.weigh(e.weight or 1, place.weight)) for e in place.endpoints]
            for place in served.localities
            if place.weight
        ]
        if not self.a_ring_for_each_locality:
            listed = [list(itertools.chain.from_iterable(listed))]
        return [self.ring(weights, served.policy) for weights in listed]

    def pick(self, entries: list[tuple[int, str]], value: str) -> str:
        index = bisect_left(entries, (self.hash(value), ""))
        if self.backwards:
            return entries[index - 1][1]
        if index == len(entries):
            index = 0 if self.wraps else -1
        return entries[index][1]

    def calls(self, served: Served, count: int = len(VALUES)) -> Calls:
        rings = itertools.cycle(self.rings(served))
        return at(*(self.pick(next(rings), value) for value in VALUES[:count]))


RIGHT = Client()
STRANGE = Client(key=lambda address, number: f"{number}@{address}")
FOUR = Served(localities=(Locality(tuple(map(Endpoint, PLACES))),), policy=RingHash(minimum=200))
UNSET = Served(localities=FOUR.localities)
SMALL = Served(localities=FOUR.localities, policy=RingHash(minimum=4, maximum=4))
TWO_LOCALITIES = Served(
    localities=(
        Locality((Endpoint(A, 2), Endpoint(B, 1)), name="one", weight=3),
        Locality((Endpoint(C, 3), Endpoint(D, 1)), name="two", weight=2),
    ),
    policy=RingHash(minimum=200),
)
CAPPED = weighted({A: 1, B: 50, C: 50}, policy=RingHash(minimum=1))
CAPPED = msgspec.structs.replace(CAPPED, cap=64)


@pytest.mark.parametrize("served", [FOUR, SMALL, TWO_LOCALITIES, CAPPED])
def test_a_right_client_maps_as_the_ring_does(served: Served) -> None:
    finding = served.mapping().finding(Client(cap=served.cap).calls(served))
    assert finding.holds, finding.saw


def test_a_right_client_maps_as_the_default_ring_does() -> None:
    assert UNSET.mapping().finding(RIGHT.calls(UNSET, 100)).holds


@pytest.mark.parametrize(
    ("served", "client"),
    [
        pytest.param(FOUR, Client(seed=1), id="hash"),
        pytest.param(FOUR, Client(more=20), id="size"),
        pytest.param(FOUR, Client(backwards=True), id="direction"),
        pytest.param(SMALL, Client(wraps=False), id="no-wrap"),
        pytest.param(TWO_LOCALITIES, Client(a_ring_for_each_locality=True), id="per-locality"),
        pytest.param(TWO_LOCALITIES, Client(weigh=lambda e, _: e), id="endpoint-weight-only"),
        pytest.param(TWO_LOCALITIES, Client(weigh=lambda _, loc: loc), id="locality-weight-only"),
        pytest.param(TWO_LOCALITIES, Client(weigh=lambda e, loc: e + loc), id="weights-added"),
        pytest.param(CAPPED, Client(cap=64, caps_maximum=False), id="cap-of-the-minimum-only"),
        pytest.param(CAPPED, Client(cap=128), id="cap"),
    ],
)
def test_a_wrong_ring_is_refused(served: Served, client: Client) -> None:
    mapping = served.mapping()
    finding = mapping.finding(client.calls(served))
    assert not finding.holds
    assert "elsewhere than by the nearest known way" in finding.saw
    assert finding.oracle.startswith("ring.build")
    # A client whose key format is known is not excused by its arcs.
    calibrated = msgspec.structs.replace(
        mapping, calibration=FOUR.calibration(RIGHT.calls(FOUR, 100))
    )
    assert not calibrated.finding(client.calls(served)).holds


@pytest.mark.parametrize("size", [512, 2048])
def test_a_wrong_default_size_is_refused(size: int) -> None:
    calls = Client(default_minimum=size).calls(UNSET, 100)
    assert not UNSET.mapping().finding(calls).holds


def test_an_example_of_a_wrong_call_is_told() -> None:
    calls = RIGHT.calls(FOUR)
    moved = calls.calls[7]
    wrong = next(place for place in PLACES if place != moved.endpoint)
    spoiled = (*calls.calls[:7], msgspec.structs.replace(moved, endpoint=wrong), *calls.calls[8:])
    finding = FOUR.mapping().finding(Calls(spoiled))
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
    assert TWO_LOCALITIES.mapping(weights=fits).finding(calls).holds  # type: ignore[arg-type]
    assert not TWO_LOCALITIES.mapping(weights=fits_not).finding(calls).holds  # type: ignore[arg-type]
    assert TWO_LOCALITIES.mapping().finding(calls).holds


@pytest.mark.parametrize(
    ("restriction", "holds"),
    [
        ({"key_format": "{address}_{i}"}, True),
        ({"key_format": "/{address}_{i}"}, False),
        ({"search": "wrap"}, True),
        ({"search": "signed"}, False),
        ({"allotment": "list"}, True),
    ],
)
def test_variants_can_be_restricted(restriction: dict[str, str], *, holds: bool) -> None:
    calls = RIGHT.calls(SMALL)
    assert SMALL.mapping(**restriction).finding(calls).holds is holds  # type: ignore[arg-type]


ODD = weighted({D: 2, B: 5, A: 2, C: 5}, policy=RingHash(minimum=31, maximum=31))
EVEN = weighted(dict.fromkeys((D, B, A, C), 1), policy=RingHash(minimum=32, maximum=32))


@pytest.mark.parametrize(
    ("served", "headers", "apart"), [(ODD, 300, True), (ODD, 1, False), (EVEN, 300, False)]
)
def test_choices_are_told_apart_by_calls_that_they_send_elsewhere(
    served: Served, headers: int, *, apart: bool
) -> None:
    choices = [served.mapping(allotment=order) for order in ("list", "keys")]
    assert told_apart(choices, [{"session": value} for value in VALUES[:headers]]) is apart


def test_a_random_hash_tells_no_choices_apart() -> None:
    with pytest.raises(WrongKind, match="has a random hash"):
        told_apart([FOUR.mapping()], [{"no-session": "1"}])


# A key format that nobody knows is no deviation: the arcs are judged.


def by_census(served: Served) -> MapsLike:
    calibration = FOUR.calibration(STRANGE.calls(FOUR, 150))
    assert not calibration.key_formats()
    return msgspec.structs.replace(served.mapping(), calibration=calibration)


def test_an_unknown_key_format_is_not_known() -> None:
    assert FOUR.calibration(RIGHT.calls(FOUR, 100)).key_formats() == {"{address}_{i}"}
    assert not FOUR.mapping().finding(STRANGE.calls(FOUR)).holds


@pytest.mark.parametrize("served", [FOUR, TWO_LOCALITIES])
def test_an_unknown_key_format_is_judged_by_its_arcs(served: Served) -> None:
    finding = by_census(served).finding(STRANGE.calls(served))
    assert finding.holds, finding.saw
    assert finding.oracle == "census.ring_interval, census.met_intervals"


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
def test_wrong_arcs_are_refused(served: Served, client: Client) -> None:
    finding = by_census(served).finding(client.calls(served))
    assert not finding.holds
    assert "changes among 300 hashes" in finding.saw


def test_one_hash_at_two_endpoints_is_no_ring_at_all() -> None:
    one, other = at(A, B)
    twice = msgspec.structs.replace(other, metadata=one.metadata)
    calls = Calls((*STRANGE.calls(FOUR), one, twice))
    finding = by_census(FOUR).finding(calls)
    assert not finding.holds
    assert "one hash met two" in finding.saw.lower()


def test_a_calibration_whose_calls_failed_excuses_nobody() -> None:
    calibration = FOUR.calibration(joined(RIGHT.calls(FOUR, 100), Calls((FAILED,))))
    mapping = msgspec.structs.replace(FOUR.mapping(), calibration=calibration)
    # By its arcs this one would pass: a ring of 220 entries instead of 200.
    assert by_census(FOUR).finding(Client(more=20).calls(FOUR)).holds
    assert not mapping.finding(Client(more=20).calls(FOUR)).holds


# What is written is what is read.


def everything() -> Iterable[tuple[Expectation, Seen]]:
    yield Outcome("OK"), at(A)
    yield OneEndpoint(each_channel=True), at(A, B)
    for one in BY_ENDPOINT:
        yield one, at(*PLACES * 75)
    yield Answered(acked=True), NACK
    yield MovesOnly((A,)), Contrast(at(A, B), at(B, C))
    yield by_census(FOUR), STRANGE.calls(FOUR)
    yield TWO_LOCALITIES.mapping(weights="A113", terminal="A42-2021", search="wrap"), at(A)


@pytest.mark.parametrize(("expectation", "seen"), list(everything()))
def test_a_check_is_weighed_alike_after_a_round_trip(expectation: Expectation, seen: Seen) -> None:
    written = Check(clause="A42-RING-05", seen=seen, expected={"A42": expectation})
    read = msgspec.json.decode(msgspec.json.encode(written), type=Check)
    assert read == written
    assert read.expected["A42"].finding(read.seen) == expectation.finding(seen)
