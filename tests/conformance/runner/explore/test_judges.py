"""Judges: a right record has no finding, and each kind of wrong record has its own."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from conformance.runner.explore import judges
from conformance.runner.explore.courses import Configuration, Listed
from conformance.runner.explore.judges import demands, findings
from conformance.runner.explore.record import (
    GateChange,
    Observed,
    Outage,
    Repetition,
    Response,
    Trouble,
    Version,
)

from .records import (
    CLIENT,
    LISTED,
    arrival,
    calm,
    connection,
    observed,
    request,
    with_more,
)

JUDGES = {value for name, value in vars(demands).items() if name.isupper()}

RIGHT = observed()
LATER = 5.0
"""Long after everything in the right record."""

WITHOUT_E2 = Configuration((Listed(0), Listed(1)))
TURNS = replace(LISTED, policy="round_robin")
ONLY_E2 = Configuration((Listed(2),))


def judged(seen: Observed) -> set[str]:
    return {finding.judge for finding in findings(seen)}


def plus(**more: tuple[Any, ...]) -> Observed:
    return with_more(RIGHT, **more)


def failed_at(*members: int) -> dict[str, tuple[Any, ...]]:
    """Rows of endpoints that lost their connections and then failed."""
    kills = tuple(GateChange(member=m, at=2.0, what="kill") for m in members)
    closing = tuple(GateChange(member=m, at=1.9, mode="close") for m in members)
    tries = tuple(connection(10 + m, m, 2.2, "close") for m in members)
    picks = tuple(
        request(f"f{m}", m, at=2.19, status="CANCELLED", cancelled=True, member=None)
        for m in members
    )
    return {"gates": closing + kills, "connections": tries, "requests": picks}


def lost(seen: Observed, *members: int) -> Observed:
    """End the first connections of these endpoints."""
    rows = tuple(
        replace(row, closed=2.0, closed_by="gate")
        if row.member in members and row.closed is None
        else row
        for row in seen.connections
    )
    return replace(seen, connections=rows)


def answer(**more: Any) -> Response:
    usual: dict[str, Any] = {
        "kind": "CLUSTER",
        "stream": 1,
        "version": "2",
        "nonce": "n",
        "sent": 1.0,
        "answer": "ACK",
        "answered": 1.1,
        "told": "2",
        "accepted": "1",
    }
    return Response(**(usual | more))


RIGHT_RECORDS = {
    "plain": RIGHT,
    "one more request at its endpoint": plus(requests=(request("r", 1, at=LATER),)),
    "an endpoint has failed and the next serves": with_more(
        lost(plus(**failed_at(1)), 1),
        requests=(request("r", 1, 2, at=LATER, member=2),),
        calms=(calm("r", at=LATER, expired=True),),
    ),
    "all have failed": with_more(
        lost(plus(**failed_at(0, 1, 2)), 0, 1, 2),
        requests=(request("r", 0, at=LATER, status="UNAVAILABLE", member=None),),
        calms=(calm("r", at=LATER, expired=True, state="TRANSIENT_FAILURE"),),
    ),
    "the channel keeps TRANSIENT_FAILURE while the one endpoint left is CONNECTING": with_more(
        lost(plus(**failed_at(0, 1)), 0, 1, 2),
        gates=(GateChange(member=2, at=2.1, mode="hold"),),
        connections=(connection(20, 2, 2.3, "hold"),),
        versions=(Version(configuration=ONLY_E2, sent=3.0, acked=3.01),),
        calms=(calm(at=LATER, expired=True, state="TRANSIENT_FAILURE"),),
    ),
    "a request waits for a silent gate": with_more(
        lost(plus(gates=(GateChange(member=0, at=1.9, mode="hold"),)), 0),
        connections=(connection(9, 0, 4.9, "hold"),),
        requests=(request("r", 0, at=4.9, ended=LATER, status="DEADLINE_EXCEEDED", member=None),),
        calms=(calm("r", at=4.95, expired=True),),
    ),
    "a connection is kept from before an empty list": plus(
        versions=(
            Version(configuration=Configuration(()), sent=1.0, acked=1.1),
            Version(configuration=WITHOUT_E2, sent=2.0, acked=2.1),
        ),
        calms=(calm(at=LATER, expired=True),),
    ),
    "a policy from before an empty list goes on trying": with_more(
        lost(plus(**failed_at(2)), 2),
        versions=(
            Version(configuration=Configuration(()), sent=2.3, acked=2.31),
            Version(configuration=WITHOUT_E2, sent=2.4, acked=2.41),
        ),
        connections=(connection(30, 2, 4.0, "close"), connection(31, 2, 4.01, "close")),
    ),
    "a connection stays open for a while": plus(
        versions=(Version(configuration=WITHOUT_E2, sent=1.0, acked=1.1),),
        calms=(calm(at=LATER, expired=True),),
    ),
    "the clock of the client is a little behind": with_more(
        lost(plus(**failed_at(1)), 1),
        requests=(request("r", 1, 2, at=2.1, ended=2.19, member=2),),
    ),
    "the list is about to change": plus(
        versions=(Version(configuration=WITHOUT_E2, sent=LATER - 0.1, acked=LATER),),
        requests=(request("r", 2, at=LATER),),
    ),
    "a request is lost with its connection": plus(
        gates=(GateChange(member=0, at=LATER, what="kill"),),
        requests=(request("r", 0, at=LATER, status="UNAVAILABLE", member=0),),
    ),
    "the control plane was never there": observed(
        **dict.fromkeys(("connections", "arrivals", "calms", "responses"), ()),
        versions=(Version(configuration=LISTED, sent=0.0),),
        outages=(Outage(began=0.0, ended=1.0),),
        requests=(request("r", 0, at=0.5, status="UNAVAILABLE", member=None),),
    ),
    "a NACK names what was accepted": plus(
        responses=(answer(is_valid=False, answer="NACK", told="1", error="bad"),)
    ),
    "the suite was late": replace(
        plus(requests=(request("r", 1, at=LATER, member=0),)), lateness=2.0
    ),
    "a stream was cancelled": plus(
        requests=(request("r", 1, at=LATER, status="CANCELLED", cancelled=True, stays=True),)
    ),
    "a failed endpoint is tried after its backoff": with_more(
        lost(plus(**failed_at(1)), 1), connections=(connection(20, 1, 2.42, "close"),)
    ),
    "a suite that has no verdict": replace(
        RIGHT, trouble=Trouble(verdict="error", reason="suite", what="no port", at=1.0)
    ),
    "a client whose ring keys are unknown": replace(
        plus(requests=(request("r", 1, at=LATER, member=0),)),
        client=replace(CLIENT, key_format=None),
    ),
}

WRONG_RECORDS = {
    "a resource that is not requested at calm": (
        replace(
            RIGHT,
            versions=(Version(configuration=TURNS, sent=0.0, acked=0.1),),
            calms=(calm(at=LATER, subscribed={"CLUSTER": ("cluster",)}, expired=True),),
        ),
        demands.SUBSCRIPTIONS,
    ),
    "a request at another endpoint": (
        plus(requests=(request("r", 1, at=LATER, member=0),)),
        demands.REQUESTS,
    ),
    "a request at an endpoint that left long ago": (
        plus(
            versions=(Version(configuration=WITHOUT_E2, sent=1.0, acked=1.1),),
            requests=(request("r", 2, at=LATER),),
        ),
        demands.REQUESTS,
    ),
    "a request fails though all serve": (
        plus(requests=(request("r", 1, at=LATER, status="UNAVAILABLE", member=None),)),
        demands.REQUESTS,
    ),
    "a request expires though all serve": (
        plus(
            requests=(
                request(
                    "r", 1, at=LATER, ended=LATER + 2.5, status="DEADLINE_EXCEEDED", member=None
                ),
            )
        ),
        demands.REQUESTS,
    ),
    "a status that nothing gives": (
        plus(requests=(request("r", 1, at=LATER, status="INTERNAL", member=None),)),
        demands.REQUESTS,
    ),
    "calm requests at the wrong endpoints": (
        plus(
            requests=(request("r", 1, at=LATER, member=0),),
            calms=(calm("r", at=LATER, expired=True),),
        ),
        demands.CALM,
    ),
    "calm requests fail at the end": (
        plus(
            requests=(request("r", 1, at=LATER, status="UNAVAILABLE", member=None),),
            calms=(calm("r", at=LATER, expired=True, is_last=True),),
        ),
        demands.LIVENESS,
    ),
    "a state that no rule gives": (
        plus(calms=(calm(at=LATER, expired=True, state="IDLE"),)),
        demands.STATE,
    ),
    "TRANSIENT_FAILURE while nothing has failed before": (
        observed(
            versions=(Version(configuration=ONLY_E2, sent=0.0, acked=0.1),),
            gates=(GateChange(member=2, at=0.0, mode="hold"),),
            connections=(connection(1, 2, 0.2, "hold"),),
            arrivals=(),
            requests=(
                request("w", 2, at=0.19, ended=LATER, status="DEADLINE_EXCEEDED", member=None),
            ),
            calms=(calm(at=LATER, expired=True, state="TRANSIENT_FAILURE"),),
        ),
        demands.STATE,
    ),
    "nothing is tried": (
        with_more(
            lost(plus(**failed_at(0, 1, 2)), 0, 1, 2),
            calms=(calm(at=4.0, ended=9.0, expired=True, state="TRANSIENT_FAILURE"),),
        ),
        demands.LIVENESS,
    ),
    "a failed endpoint that serves again is left alone": (
        with_more(
            lost(plus(**failed_at(1)), 1),
            gates=(GateChange(member=1, at=3.0, mode="serve"),),
            requests=(request("r", 1, 2, at=LATER, member=2),),
            calms=(calm("r", at=4.5, ended=LATER + 1, expired=True),),
        ),
        demands.LIVENESS,
    ),
    "an endpoint stays IDLE after all others failed": (
        with_more(
            lost(
                observed(
                    connections=(connection(1, 0, 0.2),),
                    arrivals=(arrival(0, 1, 0.21),),
                    requests=(request("c0", 0, at=0.19),),
                    calms=(),
                ),
                0,
            ),
            **failed_at(0),
            calms=(calm(at=4.0, ended=9.0, expired=True, state="CONNECTING"),),
        ),
        demands.LIVENESS,
    ),
    "a request that waits for ready fails": (
        with_more(
            lost(plus(**failed_at(0, 1, 2)), 0, 1, 2),
            requests=(
                request("r", 0, at=LATER, status="UNAVAILABLE", member=None, wait_for_ready=True),
            ),
        ),
        demands.REQUESTS,
    ),
    "a connection to a stranger": (
        plus(
            versions=(Version(configuration=WITHOUT_E2, sent=1.0, acked=1.1),),
            connections=(connection(9, 2, LATER),),
        ),
        demands.ATTEMPTS,
    ),
    "a connection that no request picked": (
        observed(
            requests=(request("r", 0, at=0.19), request("s", 1, at=0.2)),
            calms=(),
        ),
        demands.ATTEMPTS,
    ),
    "a lost connection is renewed without a request": (
        with_more(
            lost(plus(gates=(GateChange(member=1, at=2.0, what="kill"),)), 1),
            connections=(connection(9, 1, 2.01),),
        ),
        demands.ATTEMPTS,
    ),
    "a failed endpoint is tried at once": (
        with_more(lost(plus(**failed_at(1)), 1), connections=(connection(20, 1, 2.21, "close"),)),
        demands.BACKOFF,
    ),
    "a connection outlives its endpoint": (
        plus(
            versions=(Version(configuration=WITHOUT_E2, sent=1.0, acked=1.1),),
            calms=(calm(at=20.0, expired=True),),
        ),
        demands.CONNECTIONS,
    ),
    "a good resource is rejected": (
        plus(responses=(answer(answer="NACK", told="1"),)),
        demands.ANSWERS,
    ),
    "a bad resource is accepted": (plus(responses=(answer(is_valid=False),)), demands.ANSWERS),
    "an ACK of another version": (plus(responses=(answer(told="1"),)), demands.ANSWERS),
    "a NACK of the rejected version": (
        plus(responses=(answer(is_valid=False, answer="NACK"),)),
        demands.ANSWERS,
    ),
    "a flood of requests": (
        plus(repetitions=(Repetition(kind="CLUSTER", stream=1, count=50, at=LATER),)),
        demands.ANSWERS,
    ),
    "a client that died": (
        replace(RIGHT, trouble=Trouble(verdict="fail", reason="crashed", what="SIGSEGV", at=1.0)),
        demands.LIFE,
    ),
}


@pytest.mark.parametrize("name", RIGHT_RECORDS)
def test_right_record(name: str) -> None:
    assert findings(RIGHT_RECORDS[name]) == ()


@pytest.mark.parametrize("name", WRONG_RECORDS)
def test_wrong_record(name: str) -> None:
    seen, judge = WRONG_RECORDS[name]
    assert judge in judged(seen)


@pytest.mark.parametrize(
    ("late", "gone"),
    [
        ({"lateness": 0.6}, judges.OF_MOMENTS),
        ({"lateness": 1.1}, judges.OF_MOMENTS | judges.OF_DEADLINES),
        ({"starved": 6.0}, judges.OF_MOMENTS | judges.OF_DEADLINES),
        ({"starved": 2.6}, frozenset()),
    ],
)
def test_lateness_excuses(late: dict[str, Any], gone: frozenset[str]) -> None:
    told = {
        judge for seen, judge in WRONG_RECORDS.values() if judge in judged(replace(seen, **late))
    }
    assert told == JUDGES - gone


def test_each_judge_has_a_wrong_record() -> None:
    assert {judge for _, judge in WRONG_RECORDS.values()} == JUDGES


def test_a_finding_says_where_a_request_belongs() -> None:
    (found,) = findings(plus(requests=(request("r", 1, at=LATER, member=0),)))
    assert (found.expected, found.observed) == ("r served at e1", "r reached e0")


def test_findings_name_no_port_and_no_time() -> None:
    titles = [f.title for seen, _ in WRONG_RECORDS.values() for f in findings(seen)]
    assert not [title for title in titles if "127.0.0.1" in title or " s " in title]
