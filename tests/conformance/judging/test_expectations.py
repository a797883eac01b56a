"""Each expectation: when it holds, when not, and that it says why; nothing runs here."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import msgspec
import pytest
from msgspec.structs import replace

from conformance.judging.expectations import (
    AckedOrNacked,
    AllEndpointsServe,
    AnswerVersion,
    ChannelsDiffer,
    EachServesSome,
    EndsWith,
    EqualShares,
    Expectation,
    MinimumShare,
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
from conformance.judging.verdicts import Check
from conformance.spec.oracles.request_hash import ChannelIdPolicy
from conformance.xds_config.config import single_locality
from tests.conformance.judging.sample_calls import (
    FOUR,
    KNOWN,
    PLACES,
    RIGHT,
    STRANGE,
    TWO_LOCALITIES,
    A,
    B,
    C,
    D,
    at,
    by_census,
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
        (MinimumShare(A, (1, 2)), at(*[A] * 26, *[B] * 74), True),
        (MinimumShare(A, (1, 2)), at(*[A] * 25, *[B] * 75), False),
        (MinimumShare(A, (1, 2)), at(*[A] * 100), True),
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
    said = "1 of 301 calls did not succeed, such as call-9: UNAVAILABLE (no ready endpoint)"
    assert said in finding.saw


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


def test_of_many_endpoints_those_with_the_most_calls_are_named() -> None:
    many = [f"127.0.0.1:{port}" for port in range(41001, 41021)]
    saw = OneEndpoint().finding(at(*many, many[-1])).saw
    assert saw.startswith(f"21 calls at 20 endpoints: {many[0]} (1 call), ")
    assert f"{many[-1]} (2 calls)" in saw
    assert saw.endswith(" and 8 more (at most 1 each)")
    few = OneEndpoint().finding(at(*many[:12])).saw
    assert few.count("(1 call)") == 12
    assert "more" not in few
