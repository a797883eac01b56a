"""Expectations of attempts, states, times and picks: when each holds, and in what words."""

from __future__ import annotations

import msgspec
import pytest

from conformance.judging.expectations import (
    AttemptCount,
    AttemptOrder,
    AttemptSpacing,
    Connects,
    Duration,
    EndsInState,
    ErrorNamesFirst,
    Expectation,
    FailuresExplained,
    KeepsConnection,
    LoadMatches,
    NeverInState,
    OnlyListedServe,
    Picks,
    WrongKind,
)
from conformance.judging.observations import (
    Attempt,
    Attempts,
    Call,
    Calls,
    Elapsed,
    Loads,
    Observation,
    Reported,
    ReportedLoad,
    SoakCourse,
    States,
)
from conformance.judging.verdicts import Check, Reason, Verdict, decide
from conformance.spec.catalogue import load
from conformance.spec.oracles.backoff import Backoff
from conformance.spec.oracles.load import Dropped, Load, LoadKey, Received
from conformance.spec.oracles.picker import State
from conformance.spec.oracles.soak import Fault, Listing, Request

A, B, C = (f"127.0.0.1:{port}" for port in (34101, 34102, 34103))


def attempts(*rows: tuple[str, float]) -> Attempts:
    return Attempts(tuple(Attempt(address, at) for address, at in rows))


def apart(gaps: int, *, compounds: bool = True, needed: int | None = None) -> AttemptSpacing:
    backoff = Backoff(compounds=compounds)
    return AttemptSpacing(backoff=backoff, gaps=gaps, needed=needed or gaps, allowance=0.1)


def told(*states: str) -> States:
    return States(tuple(Reported(state, float(at)) for at, state in enumerate(states)))


def ended(status: str, endpoint: str | None = None) -> Calls:
    call = Call(id="1", channel="c", path="/s/m", metadata=(), status=status, endpoint=endpoint)
    return Calls((call, call))


def told_of(*details: str, status: str = "UNAVAILABLE") -> Calls:
    return Calls(
        tuple(
            Call(id="1", channel="c", path="/s/m", metadata=(), status=status, details=text)
            for text in details
        )
    )


def took(seconds: float, *, lateness: float = 0.0) -> Elapsed:
    return Elapsed(since="this", until="that", seconds=seconds, lateness=lateness)


HERE, THERE = (LoadKey("c", "s", name) for name in ("here", "there"))


def loads(place: LoadKey, *, received: int = 2, reported: int = 2, lost: int = 0) -> Loads:
    failed = max(reported - received, 0)
    load = Load(issued=reported, succeeded=reported - failed, errors=failed)
    return Loads(
        received=(Received(address=A, succeeded=received),),
        reported=(ReportedLoad(place, load),),
        clusters=(place.cluster,),
        lost=lost,
    )


def dropping(drops: int, **categories: int) -> Loads:
    """Three requests failed without being received; so many were reported as dropped."""
    dropped = (Dropped(cluster="c", total=drops, by_category=categories),)
    return msgspec.structs.replace(loads(HERE, lost=3), dropped=dropped)


def dropping_in_both(here: int, there: int) -> Loads:
    """The same, where two clusters tell of drops by one category each."""
    dropped = (
        Dropped(cluster="c", total=here, by_category={"half": here}),
        Dropped(cluster="d", total=there, by_category={"half": there}),
    )
    return msgspec.structs.replace(loads(HERE, lost=3), dropped=dropped)


def course(
    *statuses: str, endpoint: str | None = A, lateness: float = 0.0, fault: bool = False
) -> SoakCourse:
    """Requests long after a list with A and B was served, and maybe a fault at B."""
    return SoakCourse(
        requests=tuple(
            Request(id="1", began=5, ended=6, status=status, endpoint=endpoint)
            for status in statuses
        ),
        listings=(Listing(addresses=(A, B), began=0, ended=9),),
        faults=(Fault(address=B, began=4, ended=5),) if fault else (),
        lateness=lateness,
    )


PLACED = OnlyListedServe(moments=1, allowance=0.5)
REASONED = FailuresExplained(moments=1, allowance=0.5)


def meets(*states: State) -> tuple[tuple[str, State], ...]:
    return tuple(zip((A, B, C), states, strict=True))


WALK = meets("TRANSIENT_FAILURE", "TRANSIENT_FAILURE", "CONNECTING")
OLD, NEW = Picks(walk=WALK, edition="A42"), Picks(walk=WALK, edition="A61")
READY = Picks(walk=meets("TRANSIENT_FAILURE", "READY", "READY"), edition="A61")
CONNECTS = Connects(walk=meets("TRANSIENT_FAILURE", "IDLE", "IDLE"), edition="A61")
CLOSED = Attempts((Attempt(A, 0, ended_at=1),))
BALANCED, LOSSY = (LoadMatches(places={A: HERE, B: THERE}, lossy=lossy) for lossy in (False, True))
DROPPED = LoadMatches(places={A: HERE}, drops={"c": ("half",)})
BY_TWO = LoadMatches(places={A: HERE}, drops={"c": ("half", "")})
IN_BOTH = LoadMatches(places={A: HERE, B: LoadKey("d")}, drops={"c": ("half",), "d": ("half",)})
ITS_FIRST, NOBODY = (
    ErrorNamesFirst(firsts=(A, B), whom=whom) for whom in ("its first endpoint", "no endpoint")
)


@pytest.mark.parametrize(
    ("expected", "seen", "holds"),
    [
        (AttemptCount(least={A: 2}), attempts((A, 0), (A, 1)), True),
        (AttemptCount(least={A: 2}), attempts((A, 0)), False),
        (AttemptCount(least={A: 1}), attempts((A, 0), (B, 1)), False),
        (AttemptCount(least={A: 1}, others=True), attempts((A, 0), (B, 1)), True),
        (AttemptCount(least={A: 1}, most={B: 1}), attempts((A, 0), (B, 1)), True),
        (AttemptCount(least={A: 1}, most={B: 1}), attempts((A, 0), (B, 1), (B, 2)), False),
        (AttemptCount(), attempts(), True),
        (AttemptCount(), attempts((A, 0)), False),
        (KeepsConnection(A, kept=True), attempts((A, 0)), True),
        (KeepsConnection(A, kept=False), attempts((A, 0)), False),
        (KeepsConnection(A, kept=True), CLOSED, False),
        (KeepsConnection(A, kept=False), CLOSED, True),
        (KeepsConnection(A, kept=False), attempts((B, 0)), False),
        (AttemptOrder((A, B)), attempts((A, 0), (C, 1), (A, 2), (B, 3)), True),
        (AttemptOrder((A, B)), attempts((B, 0), (A, 1)), False),
        (AttemptOrder((A, B)), attempts((A, 0)), False),
        (apart(1), attempts((A, 0), (B, 0.1), (A, 0.75)), True),
        (apart(1), attempts((A, 0), (A, 1), (A, 1.6)), False),
        (apart(1), attempts((A, 0), (B, 1)), False),
        (apart(2), attempts((A, 0), (A, 1)), False),
        (apart(2, needed=1), attempts((A, 0), (A, 1)), True),
        (apart(2, needed=1), attempts((A, 0), (A, 1), (A, 1.7)), False),
        (apart(2, needed=1), attempts((A, 0), (B, 1)), False),
        (apart(3), attempts((A, 0), (A, 0.8), (A, 1.85), (A, 3.2)), True),
        (apart(3), attempts((A, 0), (A, 1.2), (A, 2.4), (A, 3.6)), False),
        (apart(3, compounds=False), attempts((A, 0), (A, 0.8), (A, 1.85), (A, 3.2)), False),
        (apart(3, compounds=False), attempts((A, 0), (A, 0.8), (A, 2.1), (A, 4.2)), True),
        (Duration(least=9.8, most=11, allowance=0.5), took(10), True),
        (Duration(least=9.8, most=11, allowance=0.5), took(9.7), False),
        (Duration(least=9.8, most=11, allowance=0.5), took(11.1), False),
        (EndsInState(("READY",)), told("IDLE", "READY"), True),
        (EndsInState(("READY",)), told("READY", "IDLE"), False),
        (EndsInState(("READY",)), told(), False),
        (NeverInState(("IDLE",)), told("CONNECTING", "READY"), True),
        (NeverInState(("IDLE",)), told("CONNECTING", "IDLE", "READY"), False),
        (NeverInState(("IDLE",)), told(), False),
        (OLD, ended("UNAVAILABLE"), True),
        (OLD, ended("DEADLINE_EXCEEDED"), False),
        (NEW, ended("DEADLINE_EXCEEDED"), True),
        (NEW, ended("UNAVAILABLE"), False),
        (NEW, ended("DEADLINE_EXCEEDED", B), False),
        (NEW, ended("OK", C), False),
        (READY, ended("OK", B), True),
        (READY, ended("OK", C), False),
        (READY, ended("UNAVAILABLE"), False),
        (CONNECTS, attempts((B, 0)), True),
        (CONNECTS, attempts((B, 0), (B, 1)), True),
        (CONNECTS, attempts(), False),
        (CONNECTS, attempts((B, 0), (C, 1)), False),
        (CONNECTS, attempts((C, 0)), False),
        (ITS_FIRST, told_of(f"no {A}", f"no {B}"), True),
        (ITS_FIRST, told_of(f"no {A}", f"no {A}"), False),
        (ITS_FIRST, told_of(f"no {A}", f"no {B}", status="OK"), False),
        (ITS_FIRST, told_of(), False),
        (ITS_FIRST, told_of(f"no {A}, no {B}", f"no {A}, no {B}"), True),
        (ITS_FIRST, told_of(f"no {A}", "no"), False),
        (BALANCED, loads(HERE), True),
        (BALANCED, loads(HERE, reported=1), False),
        (BALANCED, loads(HERE, reported=3, lost=1), False),
        (BALANCED, loads(HERE, received=0, reported=0), False),
        (BALANCED, loads(THERE), False),
        (BALANCED, msgspec.structs.replace(loads(HERE), clusters=("c", "d")), False),
        (LOSSY, loads(HERE, reported=3, lost=1), True),
        (LOSSY, loads(HERE, reported=4, lost=1), False),
        (BALANCED, dropping(1), False),
        (DROPPED, dropping(3, half=3), True),
        (DROPPED, dropping(3, other=3), False),
        (DROPPED, dropping(2, half=2), False),
        (DROPPED, dropping(3), False),
        (DROPPED, loads(HERE, lost=3), False),
        (BY_TWO, dropping(3, half=2), True),
        (BY_TWO, dropping(3, half=3), False),
        (IN_BOTH, dropping_in_both(1, 2), True),
        (IN_BOTH, dropping_in_both(3, 0), False),
        (IN_BOTH, dropping_in_both(2, 2), False),
        (DROPPED, dropping_in_both(1, 2), False),
        (PLACED, course("OK", "UNAVAILABLE"), True),
        (PLACED, course("OK", endpoint=C), False),
        (PLACED, course("UNAVAILABLE"), False),
        (REASONED, course("OK", "UNAVAILABLE"), False),
        (REASONED, course("OK", "UNAVAILABLE", fault=True), True),
        (REASONED, course("OK", "DEADLINE_EXCEEDED", fault=True), False),
        (REASONED, course(), False),
        (NOBODY, told_of("no", ""), True),
        (NOBODY, told_of("no", f"no {B}"), False),
    ],
)
def test_it_holds_or_not(expected: Expectation, seen: Observation, *, holds: bool) -> None:
    finding = expected.finding(seen)
    assert finding.holds is holds
    assert finding.wanted
    assert finding.saw
    check = Check(clause="A42-PICK-16", seen=seen, expected={"A42": expected})
    again = msgspec.json.decode(msgspec.json.encode(check), type=Check)
    assert again == check


@pytest.mark.parametrize(
    "expected",
    [
        AttemptCount(),
        AttemptOrder((A,)),
        KeepsConnection(A, kept=True),
        CONNECTS,
        READY,
        ITS_FIRST,
        EndsInState(("READY",)),
        NeverInState(()),
        BALANCED,
        PLACED,
        REASONED,
    ],
)
def test_something_else_cannot_be_weighed(expected: Expectation) -> None:
    with pytest.raises(WrongKind, match="Elapsed"):
        expected.finding(took(1))


@pytest.mark.parametrize("expected", [EndsInState(("READY",)), NeverInState(("IDLE",))])
def test_that_a_channel_reported_nothing_accuses_nobody(expected: Expectation) -> None:
    clause = load()["A42-AGG-10"]
    check = Check(clause=clause.id, seen=told(), expected={"A42": expected})
    decision = decide(check, clause, ["A42"])
    assert (decision.verdict, decision.reason) == (Verdict.ERROR, Reason.TIMING)


def test_only_a_time_that_is_missed_on_a_late_machine_is_doubtful() -> None:
    """It is an error then, and no failure; a time that is kept is believed all the same."""
    clause = load()["A56-TIMER-01"]
    expected: dict[str, Expectation] = {"A56": Duration(least=9.8, most=11, allowance=0.5)}

    def verdict(seen: Elapsed) -> tuple[Verdict, Reason | None]:
        decision = decide(Check(clause=clause.id, seen=seen, expected=expected), clause, ["A56"])
        return decision.verdict, decision.reason

    assert verdict(took(12)) == (Verdict.FAIL, Reason.DEVIATES)
    assert verdict(took(12, lateness=0.6)) == (Verdict.ERROR, Reason.TIMING)
    assert verdict(took(10, lateness=0.6)) == (Verdict.PASS, None)


@pytest.mark.parametrize(("second", "doubtful"), [(0.65, True), (0.3, False)])
def test_a_gap_that_lateness_does_not_explain_is_not_doubtful(
    *, second: float, doubtful: bool
) -> None:
    late = Attempts(attempts((A, 0), (A, second)).attempts, lateness=0.2)
    finding = apart(1).finding(late)
    assert (finding.holds, finding.doubtful) == (False, doubtful)


def test_where_a_request_went_on_a_late_machine_is_doubtful() -> None:
    finding = PLACED.finding(course("OK", endpoint=C, lateness=0.6))
    assert (finding.holds, finding.doubtful) == (False, True)


def test_what_differs_in_load_is_told_without_what_is_alike() -> None:
    assert BALANCED.finding(loads(HERE)).differs == ""
    more = BALANCED.finding(loads(HERE, reported=3)).differs
    assert more == f"{HERE}: {loads(HERE).reported[0].load} wanted, {seen_of(3)} seen"
    elsewhere = BALANCED.finding(loads(THERE)).differs
    assert [row.partition(": ")[2] for row in elsewhere.splitlines()] == [
        f"{seen_of(2)} wanted, nothing seen",
        f"nothing wanted, {seen_of(2)} seen",
    ]


def seen_of(issued: int) -> str:
    return str(loads(HERE, reported=issued).reported[0].load)


def test_endpoints_with_too_few_attempts_are_named() -> None:
    seen = Attempts((Attempt(address="a", at=0.1), Attempt(address="b", at=0.2)))
    expected = AttemptCount(least={"a": 1, "b": 2, "c": 1, "d": 1})
    assert expected.finding(seen).differs == "no attempt at c, d; too few attempts at b"
