"""Whose answers are awaited when something else is served; the control plane is a stub."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.judging.aborts import NoAckOrNack, PreconditionTimeout
from conformance.judging.observations import Answer
from conformance.world.control import Control
from conformance.world.discovery_requests import outdated_requests
from conformance.xds_config.config import (
    XdsConfig,
    aggregate,
    logical_dns,
    merge,
    one_cluster,
    single_locality,
)
from conformance.xds_config.policies import RoundRobin
from fake_control_plane import (
    ControlPlane,
    Event,
    Kind,
    Push,
    Request,
    Response,
    Service,
    Side,
    StreamClosed,
    StreamOpened,
)
from fake_control_plane.snapshot import pack

A, B = "127.0.0.1:1", "127.0.0.1:2"


class Plane:
    """Takes in what is set, and has everything ACKed that somebody waits for."""

    def __init__(self) -> None:
        self.awaited: list[Kind] = []
        self.transcript = SimpleNamespace(answered=self.answered, events=())

    async def set(self, *resources: Any) -> Push:
        return Push(versions={pack(resource)[0]: "2" for resource in resources}, since=0)

    async def answered(self, push: Push, kind: Kind, *, deadline: float) -> Any:
        assert push.versions[kind]
        assert deadline
        self.awaited.append(kind)
        return SimpleNamespace(is_ack=True, error_detail="", version="2", nonce="n")


LEAF = single_locality([A], name="leaf")
ABOVE = aggregate(LEAF)
STRAY = one_cluster((), name="stray")
UNROUTED = replace(single_locality([A]), clusters=(*single_locality([A]).clusters, *STRAY.clusters))


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        pytest.param(single_locality([A]), single_locality([A]), [], id="nothing changes"),
        pytest.param(single_locality([A]), single_locality([B]), ["ENDPOINTS"], id="endpoints"),
        pytest.param(
            single_locality([A]),
            single_locality([A]).with_policy(RoundRobin()),
            ["CLUSTER"],
            id="the policy",
        ),
        pytest.param(
            single_locality([A]),
            merge(single_locality([A]), single_locality([B], name="other", path="/s/m")),
            ["ROUTE", "CLUSTER", "ENDPOINTS"],
            id="another cluster, with a route to it",
        ),
        pytest.param(
            single_locality([A]), UNROUTED, [], id="another cluster that no route leads to"
        ),
        pytest.param(ABOVE, ABOVE.with_policy(RoundRobin(), "leaf"), ["CLUSTER"], id="a leaf"),
        pytest.param(
            logical_dns("a.test:1"), logical_dns("b.test:1"), ["CLUSTER"], id="a DNS name"
        ),
        pytest.param(single_locality([A]), logical_dns("a.test:1"), ["CLUSTER"], id="EDS no more"),
    ],
)
async def test_awaited(before: XdsConfig, after: XdsConfig, kinds: list[str]) -> None:
    plane = Plane()
    stub: Any = plane
    control = Control(stub, None)
    await control.serve(before)
    assert plane.awaited == []  # a client need not ask before it has calls to make
    await control.serve(after)
    assert [resource.name for resource in plane.awaited] == kinds
    assert control.history == [str(before), str(after)]


async def test_load_that_is_asked_for_by_name() -> None:
    """Clusters that have gone are named still: requests to them may be in progress."""
    a, b, c = (one_cluster((), name=name, is_reported=name != "c") for name in "abc")
    async with ControlPlane.running() as plane:
        control, loads = Control(plane, None), plane.script.loads
        for served, known in ((c, ()), (a, ("a",)), (c, ("a",)), (merge(c, b), ("a", "b"))):
            await control.serve(served, unheard=True)
            assert loads.known == known
        assert loads.asked_for is not None
        assert loads.asked_for.clusters is None


def asked(
    stream: int, at: float, *names: str, kind: Kind = Kind.CLUSTER, nonce: str = ""
) -> Request:
    return Request(
        at=at,
        stream=stream,
        node="",
        kind=kind,
        type_url=kind.type_url,
        names=names,
        version="",
        nonce=nonce,
    )


def test_first_asked() -> None:
    """What is asked for again counts once, unless it is on another stream that is looked at."""
    plane: Any = Plane()
    plane.transcript.events = (
        asked(1, 1.0, "a"),
        asked(1, 2.0, "b", kind=Kind.ENDPOINTS),
        asked(1, 3.0, "a", "b"),
        asked(2, 4.0, "a", "b", "c"),
    )
    control = Control(plane, None)
    assert control.first_asked(Kind.CLUSTER, "a", "b", "z") == (1.0, 3.0)
    assert control.first_asked(Kind.CLUSTER, "a", beyond=1) == (4.0,)


async def test_renew() -> None:
    """A request on the old stream that comes after its end was told is not the new one's."""
    async with ControlPlane.running() as plane:
        control = Control(plane, None)
        plane.transcript.record(asked(1, 1.0, "a"))
        renewed = asyncio.create_task(control.renew(Kind.CLUSTER, "a"))
        await asyncio.sleep(0)
        plane.transcript.record(asked(1, 2.0, "a"))
        await asyncio.sleep(0)
        assert not renewed.done()
        plane.transcript.record(asked(2, 3.0, "a"))
        assert await renewed == 1


async def test_what_is_never_asked_for() -> None:
    """Nobody hangs who was led nowhere: it fails by what it states to follow, if by anything."""
    async with ControlPlane.running() as plane:
        with pytest.raises(PreconditionTimeout, match="request for 1 resources of CLUSTER"):
            await Control(plane, None).require_asked(Kind.CLUSTER, 1, within=0.01)


def sent(version: str) -> Response:
    return Response(
        at=1.0,
        stream=1,
        node="",
        kind=Kind.CLUSTER,
        type_url=Kind.CLUSTER.type_url,
        version=version,
        nonce="1.1",
        resources=(),
    )


OPENED = StreamOpened(at=1.0, stream=1, node="", service=Service.ADS, peer="ipv4:127.0.0.1:1")
CLOSED = StreamClosed(at=1.0, stream=1, node="", service=Service.ADS, by=Side.CLIENT)


@pytest.mark.parametrize(
    ("before", "after", "ending"),
    [
        pytest.param(
            [OPENED], [], PreconditionTimeout, id="a stream stays and has asked for nothing of it"
        ),
        pytest.param([OPENED], [sent("1")], NoAckOrNack, id="it was sent"),
        pytest.param([OPENED], [CLOSED], NoAckOrNack, id="the stream has ended"),
        pytest.param([OPENED, CLOSED], [], NoAckOrNack, id="there was no stream any more"),
    ],
)
async def test_who_does_not_answer(
    before: list[Event], after: list[Event], ending: type[Exception]
) -> None:
    """Who was sent it hangs, whatever it states to follow; not so who has no use for it."""
    async with ControlPlane.running() as plane:
        for event in before:
            plane.transcript.record(event)
        push = await plane.set(*single_locality([A]).resources())
        assert push.versions[Kind.CLUSTER] == "1"
        for event in after:
            plane.transcript.record(event)
        with pytest.raises(ending, match="No ACK or NACK of cluster"):
            await Control(plane, None).answer(push, Kind.CLUSTER, deadline=0.01)


async def test_who_names_none_asks_for_all() -> None:
    """Envoy does, for Clusters; a gRPC client that names none asks for nothing any more."""
    async with ControlPlane.running() as plane:
        plane.transcript.record(asked(1, 1.0))
        await Control(plane, "envoy").require_asked(Kind.CLUSTER, 3, within=0.01)
        for spoken, kind in ((None, Kind.CLUSTER), ("envoy", Kind.ENDPOINTS)):
            with pytest.raises(PreconditionTimeout):
                await Control(plane, spoken).require_asked(kind, 3, within=0.01)


NACKED = Answer(kind="CLUSTER", version="2", acked=False, error_detail="no", told="1")


@pytest.mark.parametrize(
    ("said", "acked"),
    [
        ({"version": "1"}, False),
        ({"version": "2", "error_detail": "no"}, False),
        ({"version": "2", "error_code": 3}, False),
        ({"version": "2", "kind": Kind.ENDPOINTS}, False),
        ({"version": "2"}, True),
    ],
)
def test_last_word(said: dict[str, Any], *, acked: bool) -> None:
    """Only who names the refused version, and no error, takes a NACK back."""
    plane: Any = Plane()
    plane.transcript.events = (replace(asked(1, 1.0, "a"), **said),)
    assert Control(plane, None).last_word(NACKED).acked == acked


def responded(stream: int, nonce: str, kind: Kind = Kind.CLUSTER) -> Response:
    return Response(
        at=0.0,
        stream=stream,
        node="",
        kind=kind,
        type_url=kind.type_url,
        version="",
        nonce=nonce,
        resources=(),
    )


@pytest.mark.parametrize(
    ("events", "outdated"),
    [
        ("> <1 >1 <2 >2", ""),
        ("> > <1 >1 >1", ""),  # a subscription changes before the first response, and after it
        ("> <1 <2 >1 >2", ""),  # the second response came while the first one was answered
        ("> <1 <2 >1 > >2", "4"),
        ("> <1 >1 <2 >2 >1", "5"),
        ("> <1 >1 >7", "3"),  # a nonce of another stream
        ("> <1 >1 <2 >2 <1 >1", ""),  # the control plane repeats a nonce
        ("> <1 >1 e> <2e >2e e>", "6"),
        ("> <1 >1 +> +<2 +>2", ""),  # a new stream begins without a nonce
    ],
)
def test_outdated_requests(events: str, outdated: str) -> None:
    """`<1` is a response with the nonce 1, `>1` its answer; e: endpoints, +: a second stream."""
    made = []
    for text in events.split():
        stream, kind = 1 + ("+" in text), Kind.ENDPOINTS if "e" in text else Kind.CLUSTER
        nonce = "".join(letter for letter in text if letter.isdigit())
        is_request = ">" in text
        made.append(
            asked(stream, 0.0, "a", kind=kind, nonce=nonce)
            if is_request
            else responded(stream, nonce, kind)
        )
    due = outdated_requests(made)
    assert due.keys() == {int(place) for place in outdated.split()}
    assert set(due.values()) <= {"1", "2"}
