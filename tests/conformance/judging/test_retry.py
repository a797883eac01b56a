"""What a second try overrules, by what was seen the first time."""

from typing import Any

import msgspec
import pytest

from client_under_test.contract.exceptions import ClientCrashed, ClientHung
from conformance import timing
from conformance.judging import causes
from conformance.judging.aborts import (
    NoAckOrNack,
    PreconditionTimeout,
    ReportContradicted,
    ResourceRejected,
    WrongOutcome,
)
from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    AttemptCount,
    EndsWith,
    Expectation,
    LoadMatches,
    MatchesRing,
    OneEndpoint,
    OnlyTheseMoved,
    fits,
)
from conformance.judging.observations import (
    Answer,
    Attempts,
    Call,
    Calls,
    Contrast,
    Loads,
    Observation,
    ReportedLoad,
)
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.runner.retry import is_doubtful, with_what_stands
from conformance.spec.oracles.load import Load, LoadKey, Received
from conformance.spec.oracles.request_hash import HeaderPolicy
from conformance.spec.oracles.ring.sizes import RingConfig
from conformance.spec.oracles.ring.weights import RingEndpoint, RingLocality

ADDRESSES = tuple(f"127.0.0.1:{port}" for port in (1001, 1002, 1003, 1004))
VALUES = tuple(f"value-{number}" for number in range(40))


def ring(minimum: int) -> MatchesRing:
    endpoints = tuple(RingEndpoint(address) for address in ADDRESSES)
    return MatchesRing(
        localities=(RingLocality(name="one", weight=1, endpoints=endpoints),),
        config=RingConfig(minimum=minimum),
        policies=(HeaderPolicy(name="session"),),
        key_format="{address}_{i}",
        weights="raw",
        allotment="list",
        search="wrap",
        sizing="at least",
    )


SMALL, LARGE, THIRD = ring(16), ring(1024), ring(77)


def calls(*endpoints: str, status: str = "OK", overdue: bool = False) -> Calls:
    return Calls(
        tuple(
            Call(
                id=f"call-{number}",
                channel="channel-1",
                path="/",
                metadata=(("session", VALUES[number]),),
                status=status,
                endpoint=where or None,
            )
            for number, where in enumerate(endpoints)
        ),
        overdue=overdue,
    )


def as_by(mapping: MatchesRing) -> tuple[str, ...]:
    (way,) = mapping.ways([{"session": value} for value in VALUES])
    return way


def half_and_half() -> tuple[str, ...]:
    return (*as_by(LARGE)[:20], *as_by(SMALL)[20:])


def nack() -> Answer:
    return Answer(kind="CDS", version="1", acked=False)


def loads(issued: int) -> Loads:
    place = LoadKey("cluster")
    load = Load(issued=issued, succeeded=issued)
    received = (Received(address=ADDRESSES[0], succeeded=3),)
    return Loads(received=received, reported=(ReportedLoad(place, load),), clusters=("cluster",))


BALANCED = LoadMatches(places={ADDRESSES[0]: LoadKey("cluster")})
HERE, THERE = ADDRESSES[:2]


@pytest.mark.parametrize(
    ("expectation", "seen", "before", "is_excusable"),
    [
        # A ring: calls that all succeeded, on wrong arcs.
        (LARGE, calls(*as_by(THIRD)), None, False),
        (LARGE, calls(*as_by(SMALL)), None, False),
        # After an update: by the ring of before, by either, by neither.
        (LARGE, calls(*as_by(SMALL), overdue=True), SMALL, True),
        (LARGE, calls(*half_and_half(), overdue=True), SMALL, True),
        (LARGE, calls(*as_by(THIRD), overdue=True), SMALL, False),
        (LARGE, calls(*as_by(THIRD), overdue=True), None, True),
        # Elsewhere: at a list of before, or at another priority. Or not at all.
        (LARGE, calls("127.0.0.1:9"), None, True),
        (LARGE, calls("", status="UNAVAILABLE"), None, True),
        (LARGE, calls("", status="INTERNAL"), None, False),
        # Keys that moved.
        (OnlyTheseMoved(()), Contrast(calls(HERE), calls(THERE)), None, False),
        (OnlyTheseMoved(()), Contrast(calls(HERE), calls("", status="UNAVAILABLE")), None, True),
        (OneEndpoint(), calls(HERE, THERE), None, False),
        (OneEndpoint(), calls(HERE, THERE, overdue=True), None, True),
        # Which endpoint is READY is a matter of time, and so is how a call ends.
        (AllServedBy((HERE,)), calls(THERE), None, True),
        (EndsWith("OK"), calls("", status="DEADLINE_EXCEEDED"), None, True),
        (EndsWith("OK"), calls("", status="PERMISSION_DENIED"), None, False),
        (AttemptCount(total=1), Attempts(()), None, True),
        # An answer is given when it is given. What was reported once is never taken back.
        (AckedOrNacked(acked=True), nack(), None, False),
        (BALANCED, loads(2), None, True),
        (BALANCED, loads(4), None, False),
    ],
)
def test_whether_lateness_alone_can_have_it_missed(
    expectation: Expectation, seen: Observation, before: MatchesRing | None, *, is_excusable: bool
) -> None:
    assert not fits(expectation, seen)
    assert expectation.is_timing_sensitive(seen, before) is is_excusable


@pytest.mark.parametrize(
    ("error", "is_excusable"),
    [
        (PreconditionTimeout("x"), True),
        (NoAckOrNack("x"), True),
        (ClientHung("x", hello_said=True), True),
        (WrongOutcome("x"), False),
        (ResourceRejected("x"), False),
        (ReportContradicted("x"), False),
        (ClientCrashed(11, hello_said=True), False),
    ],
)
def test_trouble_is_overruled_only_if_something_did_not_come(
    error: Exception, *, is_excusable: bool
) -> None:
    trouble = causes.of(error)
    assert (trouble.verdict, trouble.excusable) == (Verdict.FAIL, is_excusable)


def record(*decisions: Decision, **more: Any) -> Record:
    client = JudgedClient(name="python", version="1", variant=None, follows=())
    return Record(
        scenario="ring.size",
        clauses=(),
        client=client,
        seed=1,
        seconds=1,
        decisions=decisions,
        **more,
    )


def test_what_is_no_matter_of_time_stands_although_the_second_try_passes() -> None:
    wrong = Decision(clause="A42-CDS-24", verdict=Verdict.FAIL, reason=Reason.DEVIATES)
    late = msgspec.structs.replace(wrong, clause="A42-CDS-04", excusable=True)
    untold = Decision(clause="A42-CDS-05", verdict=Verdict.ERROR, reason=Reason.TIMING)
    passed = tuple(
        Decision(clause=clause, verdict=Verdict.PASS) for clause in ("A42-CDS-24", "A42-CDS-04")
    )
    first = record(wrong, late, untold, evidence="first")
    stands = with_what_stands(record(*passed), first)
    assert stands.decisions == (*passed, wrong)
    assert stands.beside_others == (wrong, late, untold)
    assert stands.evidence == "first"
    overruled = with_what_stands(record(*passed), record(late, untold, evidence="first"))
    assert overruled.decisions == passed
    assert overruled.evidence is None


@pytest.mark.parametrize(
    ("expectation", "waited", "is_repeated"),
    [
        ("outcome", {"timer": 0.3, "starved": 0.4}, True),
        ("outcome", {"timer": 0.3, "lateness": 0.4}, True),
        ("outcome", {"timer": 0.3, "starved": 0.2, "lateness": 0.2}, False),
        ("outcome", {"starved": timing.STARVED + 1}, False),
        pytest.param("", {"timer": 0.3, "starved": 9.0}, False, id="crash"),
    ],
)
def test_a_scenario_with_a_short_timer_is_repeated_if_the_client_waited_as_long(
    expectation: str, waited: dict[str, float], *, is_repeated: bool
) -> None:
    wrong = Decision(
        clause="A50-EJECT-03",
        verdict=Verdict.FAIL,
        reason=Reason.DEVIATES,
        expectation=expectation,
    )
    first = record(wrong, **waited)
    assert is_doubtful(first, lambda *_: False) == is_repeated
    passed = Decision(clause="A50-EJECT-03", verdict=Verdict.PASS)
    stands = wrong in with_what_stands(record(passed), first).decisions
    assert stands == (not expectation or "timer" not in waited)
