"""Records, calls and a folder of evidence for tests of renderings."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from conformance.judging import evidence
from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.expectations import (
    AllServedBy,
    MatchesRing,
)
from conformance.judging.observations import Call, Calls
from conformance.judging.verdicts import Check
from conformance.reporting.rendering.folder import (
    Accepted,
    EndpointAttempt,
    Event,
    Folder,
    GateAction,
    Mode,
    Resource,
    Rpc,
    State,
    Trouble,
)
from conformance.reporting.rendering.folder import Call as Told
from conformance.reporting.rendering.timeline import Mark, Shape
from conformance.spec.catalogue import load
from conformance.spec.oracles.request_hash import HeaderPolicy
from conformance.spec.oracles.ring.sizes import RingConfig
from conformance.spec.oracles.ring.weights import RingEndpoint, RingLocality

CATALOGUE = load()
CLAUSE = "A42-RING-01"
A, B = "127.0.0.1:34101", "127.0.0.1:34102"
JUDGED = JudgedClient(name="go", version="1.2", variant=None, follows=("A42",))


def record(*checks: Check, **more: Any) -> Record:
    given: dict[str, Any] = {"seed": 7, "seconds": 2.0, "began": 100.0, "clauses": (CLAUSE,)} | more
    made = Record(scenario="ring.search", client=JUDGED, checks=checks, **given)
    return msgspec.structs.replace(made, decisions=evidence.decisions_of(made, CATALOGUE))


def call(number: int, endpoint: str | None, status: str = "OK") -> Call:
    metadata = (("session", f"value-{number}"),)
    name, channel = f"call-{number}", "channel-1"
    return Call(
        id=name, channel=channel, path="/s/m", metadata=metadata, status=status, endpoint=endpoint
    )


def calls(*where: str | None) -> Calls:
    return Calls(
        tuple(
            call(n, address, "OK" if address else "UNAVAILABLE") for n, address in enumerate(where)
        )
    )


RING = MatchesRing(
    localities=(RingLocality("l", (RingEndpoint(A), RingEndpoint(B))),),
    config=RingConfig(minimum=64),
    policies=(HeaderPolicy(name="session"),),
    key_format="{address}_{i}",
)


# The timeline.

EDS = {
    "clusterName": "c",
    "endpoints": [{"address": {"socketAddress": {"address": "127.0.0.1", "portValue": 34101}}}],
}
SENT = Resource(name="c", type_url="eds", message=msgspec.Raw(json.dumps(EDS).encode()))
WHOLE = Folder(
    record=record(
        Check(clause=CLAUSE, seen=calls(A), expected={"A42": AllServedBy((B,))}), lateness=0.2
    ),
    events=(
        Event(event="StreamOpened", at=100.1, stream=1, service="ads"),
        Event(event="Request", at=100.2, kind="endpoints", subscribed=("c",)),
        Event(event="Response", at=100.3, kind="endpoints", version="1", resources=(SENT,)),
        Event(event="Request", at=100.4, kind="endpoints", answer="ack", answered_version="1"),
        Event(event="Response", at=100.5, kind="endpoints", version="2", fault="odd"),
        Event(
            event="Request",
            at=100.6,
            kind="endpoints",
            answer="nack",
            answered_version="2",
            error_detail="bad",
        ),
        Event(event="Response", at=100.7, type_url="a.Strange", version="1"),
        Event(event="LoadRequest", at=101.0, stream=2),
        Event(event="StreamClosed", at=101.5, stream=1, service="ads", by="script", code="OK"),
        Event(event="Dropped", at=101.6),
    ),
    calls=(
        Told(id="call-0", channel="channel-1", status="OK", started_at=100.5, ended_at=100.6),
        Told(id="call-1", channel="channel-1", status="WAITING", started_at=100.5),
        Told(id="call-2", channel="channel-1", status="OK"),
    ),
    states=(
        State(at=100.1, channel="channel-1", state="CONNECTING"),
        State(at=100.2, channel="channel-1", state="READY"),
    ),
    attempts=(
        EndpointAttempt(
            endpoint=A,
            attempt=Accepted(endpoint="endpoint-0", mode=Mode("SERVE"), accepted_at=100.4),
        ),
    ),
    rpcs=(
        Rpc(at=100.55, endpoint="endpoint-0", status="OK"),
        Rpc(at=100.55, endpoint="endpoint-9"),
    ),
    actions=(
        GateAction(at=99.9, endpoint=A, mode=Mode("SERVE")),
        GateAction(at=101.0, endpoint=A, mode=Mode("STALL")),
        GateAction(at=101.1, endpoint=A, what="kill"),
    ),
    troubles=(
        Trouble(at=100.5, until=100.7, kind="late"),
        Trouble(at=101.0, until=101.9, kind="deadline", what="an attempt"),
    ),
)


def at(moment: float, until: float | None = None) -> Mark:
    shape = Shape.TICK if until is None else Shape.SPAN
    return Mark(at=moment, until=until, shape=shape, what="x")
