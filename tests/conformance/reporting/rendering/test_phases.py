"""A scenario told briefly: what the suite did, what came of it, and what was judged by that."""

from __future__ import annotations

import json

import msgspec
import pytest

from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.expectations import AllServedBy
from conformance.judging.observations import Call as SeenCall
from conformance.judging.observations import Calls, Contrast, Observation, States
from conformance.judging.verdicts import Check, Decision, Verdict
from conformance.reporting.rendering.folder import (
    Accepted,
    Call,
    EndpointAttempt,
    Event,
    Folder,
    GateAction,
    Mode,
    ReportedCluster,
    Resource,
    State,
)
from conformance.reporting.rendering.phases import GATES, MOST_LINES, Phase, in_words, phases

CLAUSE = "A37-FAILOVER-10"
Z1, Z2, B = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"
SERVE, CLOSE = Mode("SERVE"), Mode("CLOSE")
CLOSING = GATES["CLOSE"]
RECORD = Record(
    scenario="leaf_localities.ring_of_each_leaf",
    client=JudgedClient(name="go", version="1", variant=None, follows=()),
    checks=(),
    seed=1,
    seconds=3.0,
    began=100.0,
    clauses=(CLAUSE,),
)


def leaf(name: str, *addresses: str) -> Resource:
    parts = [address.split(":") for address in addresses]
    endpoints = [{"address": host, "portValue": int(port)} for host, port in parts]
    message = json.dumps({"clusterName": name, "endpoints": endpoints})
    return Resource(name=name, type_url="eds", message=msgspec.Raw(message.encode()))


def response(at: float, version: str, *resources: Resource, fault: str = "") -> Event:
    return Event(
        event="Response",
        at=at,
        kind="endpoints",
        version=version,
        resources=resources,
        fault=fault,
    )


def call(
    number: int, at: float, endpoint: str | None, status: str = "OK", details: str = ""
) -> Call:
    return Call(
        id=f"call-{number}",
        channel="channel-1",
        status=status,
        details=details,
        endpoint=endpoint,
        started_at=at - 0.05,
        ended_at=at if status != "WAITING" else None,
    )


def attempt(at: float, endpoint: str, mode: Mode) -> EndpointAttempt:
    return EndpointAttempt(
        endpoint=endpoint, attempt=Accepted(endpoint="endpoint-0", mode=mode, accepted_at=at)
    )


def calls_of(*numbers: int) -> Calls:
    return Calls(
        tuple(
            SeenCall(
                id=f"call-{number}", channel="channel-1", path="/s/m", metadata=(), status="OK"
            )
            for number in numbers
        )
    )


def decided(verdict: Verdict, seen: Observation | None) -> tuple[Decision, Check | None]:
    decision = Decision(clause=CLAUSE, verdict=verdict)
    check = None
    if seen is not None:
        check = Check(clause=CLAUSE, seen=seen, expected={"A37": AllServedBy((B,))})
    return decision, check


FOLDER = Folder(
    record=RECORD,
    events=(
        response(100.2, "1", leaf("z", Z1, Z2), leaf("b", B)),
        response(100.3, "2", leaf("z", Z1, Z2)),
        response(102.0, "3", leaf("z", Z2), fault="odd"),
        Event(event="Request", at=102.1, kind="endpoints", answer="nack", answered_version="3"),
        Event(event="StreamClosed", at=102.2, stream=1, by="client"),
        Event(event="StreamClosed", at=102.3, stream=2, by="script", code="UNAVAILABLE"),
    ),
    actions=(
        GateAction(at=99.9, endpoint=Z1, mode=SERVE),
        GateAction(at=99.9, endpoint=Z2, mode=SERVE),
        GateAction(at=101.0, endpoint=Z1, mode=CLOSE),
        GateAction(at=101.0, endpoint=Z1, what="kill"),
        GateAction(at=101.0, endpoint=Z2, mode=CLOSE),
        GateAction(at=101.0, endpoint=Z2, what="kill"),
    ),
    attempts=(
        attempt(100.4, Z1, SERVE),
        attempt(101.1, Z1, CLOSE),
        attempt(101.2, Z1, CLOSE),
        attempt(101.3, B, SERVE),
    ),
    states=(State(at=100.4, channel="channel-1", state="READY"),),
    calls=(
        call(0, 100.5, Z1),
        call(1, 100.6, Z2),
        call(2, 100.7, Z1),
        call(3, 101.05, None, "UNAVAILABLE", "reset"),
        call(4, 101.5, B),
        call(5, 101.6, "127.0.0.1:9"),
        call(6, 101.6, None, "WAITING"),
        Call(id="call-7", channel="channel-1", status="OK"),
    ),
)


def test_a_scenario_in_three_rows() -> None:
    told = phases(
        FOLDER,
        [
            decided(Verdict.PASS, calls_of(0, 1)),
            decided(Verdict.FAIL, Contrast(before=calls_of(2), after=calls_of(4, 5))),
            decided(Verdict.PASS, States(())),
            decided(Verdict.SKIP, None),
        ],
    )
    assert [(round(phase.at or 0, 1), phase.actions, phase.outcome) for phase in told] == [
        (
            0.0,
            ("both endpoints of z: serving", "sends EDS version 1: z, b"),
            (
                f"connected to {Z1} of z",
                f"3 calls OK at z (2 at {Z1}, 1 at {Z2})",
                "channel-1 reports READY",
            ),
        ),
        (
            1.0,
            (
                f"both endpoints of z: {CLOSING}",
                "both endpoints of z: cutting all connections",
            ),
            (
                f"tried {Z1} of z, 2 attempts in all, without success ({CLOSING})",
                f"connected to {B} of b",
                "1 call UNAVAILABLE: reset",
                f"1 call OK at b (1 at {B})",
                "1 call WAITING",
                "1 call OK at an endpoint that no EDS resource names (1 at 127.0.0.1:9)",
            ),
        ),
        (2.0, ("sends EDS version 3 (odd): z",), ("rejected EDS version 3", "ended stream 1")),
        (2.3, ("ends stream 2 with UNAVAILABLE",), ()),
    ]
    judged = [
        [(verdict.verdict, verdict.calls, verdict.of) for verdict in phase.judged] for phase in told
    ]
    assert judged == [
        [(Verdict.FAIL, 1, 3), (Verdict.PASS, 2, 3)],
        [(Verdict.FAIL, 2, 4)],
        [],
        [],
    ]
    assert [phase.is_bad for phase in told] == [True, True, False, False]


def test_what_failed_by_something_else_than_calls_comes_last() -> None:
    on_calls = decided(Verdict.FAIL, calls_of(4))
    assert len(phases(FOLDER, [on_calls, decided(Verdict.FAIL, States(()))])) == 4
    *_, last = phases(FOLDER, [decided(Verdict.ERROR, None), decided(Verdict.PASS, calls_of(4))])
    assert (last.at, last.is_bad, [*map(str, last.judged)]) == (None, True, [""])
    assert [*in_words([last])] == [(f"  overall  judged  ERROR  {CLAUSE}", True)]


def test_a_call_on_which_a_clause_is_decided_twice_is_counted_once() -> None:
    twice = [decided(Verdict.FAIL, calls_of(4)), decided(Verdict.FAIL, calls_of(4))]
    assert [verdict.calls for verdict in phases(FOLDER, twice)[1].judged] == [1]


def test_what_a_response_leaves_out_is_told_where_that_says_something() -> None:
    def pushed(at: float, version: str, *names: str, kind: str = "cluster") -> Event:
        resources = tuple(Resource(name=name, type_url="x") for name in names)
        return Event(event="Response", at=at, kind=kind, version=version, resources=resources)

    events = (
        pushed(100.1, "1", "a", "b"),
        pushed(100.2, "2", "a"),
        pushed(100.3, "3", "a", "b"),
        pushed(100.4, "4", "a", "b"),
        pushed(100.5, "5"),
        pushed(100.6, "6", "a", "b", kind="route"),
        pushed(100.7, "7", "a", kind="route"),
    )
    (told,) = phases(Folder(record=RECORD, events=events), [])
    assert told.actions == (
        "sends CDS version 1: a, b",
        "sends CDS version 2 without b",
        "sends CDS version 3: b",
        "sends CDS version 5 without a, b",
        "sends RDS version 6: a, b",
    )


def test_who_is_held_up_has_not_tried_in_vain() -> None:
    made = Folder(record=RECORD, attempts=(attempt(100.5, Z1, Mode("HOLD")),))
    assert phases(made, [])[0].outcome == (f"tried {Z1} ({GATES['HOLD']})",)


def test_in_words() -> None:
    lines = [*in_words(phases(FOLDER, [decided(Verdict.FAIL, calls_of(4))]))]
    assert lines[:3] == [
        ("  0.000 s  suite   both endpoints of z: serving", False),
        ("                   sends EDS version 1: z, b", False),
        (f"           client  connected to {Z1} of z", False),
    ]
    assert [words for words, is_bad in lines if is_bad] == [
        f"           judged  FAIL  {CLAUSE}, 1 of 4 calls"
    ]


@pytest.mark.parametrize(
    "folder", [Folder(record=RECORD), Folder(record=RECORD, states=FOLDER.states)]
)
def test_little_is_told_of_little(folder: Folder) -> None:
    assert len(phases(folder, [])) == len(folder.states)


def test_of_many_phases_the_failing_ones_are_told_and_how_many_are_not() -> None:
    count = 40
    folder = Folder(
        record=RECORD,
        actions=tuple(GateAction(at=101.0 + n, endpoint=Z1, what="kill") for n in range(count)),
        calls=tuple(call(n, 101.5 + n, Z1) for n in range(count)),
    )
    told = phases(folder, [decided(Verdict.FAIL, calls_of(20))], 8)
    assert [round(phase.at or 0) - 1 for phase in told] == [0, 1, 19, 20, 38, 39]
    assert [phase.left_out for phase in told] == [0, 0, 17, 0, 17, 0]
    assert sum(phase.left_out for phase in told) + len(told) == count
    assert ("           … 17 more …", False) in [*in_words(told)]


def test_of_many_sentences_the_middle_is_left_out() -> None:
    pushes = (response(100.0 + n, str(n), leaf(f"c{n}", B)) for n in range(100))
    (told,) = phases(Folder(record=RECORD, events=tuple(pushes)), [])
    assert isinstance(told, Phase)
    assert len(told.actions) == MOST_LINES + 1
    assert told.actions[MOST_LINES // 2] == f"… {100 - MOST_LINES} more …"


def test_what_was_asked_until_time_was_up_is_told_with_all_that_was_asked() -> None:
    late = msgspec.structs.replace(calls_of(1, 2), overdue=True)
    told = phases(FOLDER, [decided(Verdict.FAIL, late)])
    assert [str(verdict) for verdict in told[0].judged] == [
        "the last 2 of 3 calls, at the deadline"
    ]


def test_resources_of_one_version_are_told_together() -> None:
    pushes = (
        response(100.1, "1", leaf("z", Z1)),
        response(100.2, "1", leaf("z", Z1), leaf("b", B)),
    )
    (told,) = phases(Folder(record=RECORD, events=pushes), [])
    assert told.actions == ("sends EDS version 1: z, b",)


def test_of_several_modes_with_nothing_between_them_the_last_is_told() -> None:
    actions = (*FOLDER.actions[:2], GateAction(at=99.95, endpoint=Z1, mode=CLOSE))
    (told,) = phases(Folder(record=RECORD, actions=actions), [])
    assert told.actions == (f"{Z2}: {GATES['SERVE']}", f"{Z1}: {CLOSING}")


def test_load_reports_are_counted_by_cluster() -> None:
    cluster = ReportedCluster(cluster="z")
    events = (
        Event(event="LoadRequest", at=100.1, stream=2),
        Event(event="LoadResponse", at=100.2, stream=2, interval=0.5),
        Event(event="LoadRequest", at=100.8, stream=2, clusters=(cluster, cluster)),
        Event(event="LoadResponse", at=101.2, stream=2, interval=2, clusters=("z", "b")),
        Event(event="LoadRequest", at=103.2, stream=2, clusters=(cluster,)),
    )
    made = Folder(record=RECORD, events=events, calls=(call(0, 101.0, Z1),))
    assert [(phase.actions, phase.outcome) for phase in phases(made, [])] == [
        (
            ("asks for load reports of all clusters, every 0.5 s",),
            (
                f"1 call OK at an endpoint that no EDS resource names (1 at {Z1})",
                "load reports: 2 (1 of z)",
            ),
        ),
        (("asks for load reports of z, b, every 2 s",), ("load reports: 1 (1 of z)",)),
    ]
    nothing = Folder(record=RECORD, events=events[:1])
    assert [phase.outcome for phase in phases(nothing, [])] == [
        ("load reports: 1 (of no cluster)",)
    ]
