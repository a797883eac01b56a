"""None"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc.aio
import pytest
from envoy.service.discovery.v3 import ads_pb2_grpc, discovery_pb2

from fake_control_plane import (
    BadFault,
    BadResource,
    ControlPlane,
    DeadlinePassed,
    Kind,
    PortTaken,
    RawResource,
    Request,
    Response,
    Side,
    StreamClosed,
    StreamOpened,
)
from fake_control_plane.faults import NO_RESOURCE_TYPE
from fake_control_plane.resources import (
    eds_cluster,
    endpoints,
    listener,
    route_configuration,
)
from fake_control_plane.sessions import AdsSession, LrsSession
from tests.fake_control_plane.fence import CDS, DEADLINE, EDS, LDS, RDS, Names, fence


async def test_a_push_is_sent_acked_and_written_down(plane: ControlPlane, clients: Any) -> None:
    push = await plane.set(eds_cluster("c"))
    assert push.versions == {CDS: "1"}
    client = await clients.ads(plane.address, node="n")
    await client.request(CDS, ["c"])
    response = await client.receive()
    [wrapped] = response.resources
    assert (response.version_info, response.type_url) == ("1", CDS.type_url)
    assert (wrapped.type_url, wrapped.value) == (
        CDS.type_url,
        eds_cluster("c").SerializeToString(deterministic=True),
    )
    await client.request(CDS, ["c"], answer=response)
    event = await plane.transcript.acked(push, CDS, deadline=DEADLINE)
    assert (event.node, event.nonce, event.version) == ("n", response.nonce, "1")

    opened, asked, sent, answered = plane.transcript.events
    assert isinstance(opened, StreamOpened)
    assert isinstance(asked, Request)
    assert isinstance(sent, Response)
    assert (asked.subscribed, asked.node, asked.identity.id if asked.identity else "") == (
        ("c",), "n", "n",
    )  # fmt: skip
    assert (sent.nonce, sent.names) == (response.nonce, ("c",))
    assert answered is event
    assert opened.at <= asked.at <= sent.at <= event.at


async def test_resources_are_served_in_the_clients_own_words(clients: Any, names_of: Names) -> None:
    plane = await ControlPlane.start(translate=lambda cluster: eds_cluster(cluster.name * 2))
    try:
        client = await clients.ads(plane.address, node="n")
        await client.request(CDS, ["*"])
        await plane.set(eds_cluster("a"))
        assert names_of(await client.receive()) == ["aa"]
        await plane.replace(eds_cluster("b"))
        assert names_of(await client.receive()) == ["bb"]
    finally:
        await plane.close()


async def test_given_bytes_are_sent_as_they_are(plane: ControlPlane, clients: Any) -> None:
    """Under the name that was asked for, beside others, and in the words of another type."""
    await plane.set(eds_cluster("a"), RawResource(CDS, "b", b"\x0f", NO_RESOURCE_TYPE))
    client = await clients.ads(plane.address)
    await client.request(CDS, ["a", "b"])
    response = await client.receive()
    assert response.type_url == CDS.type_url
    sent = [(resource.type_url, resource.value) for resource in response.resources]
    good = eds_cluster("a").SerializeToString(deterministic=True)
    assert sent == [(CDS.type_url, good), (NO_RESOURCE_TYPE, b"\x0f")]


async def test_a_nack_tells_why(plane: ControlPlane, clients: Any) -> None:
    client = await clients.ads(plane.address)
    await client.request(CDS, ["c"])
    push = await plane.set(eds_cluster("c"))
    response = await client.receive()
    await client.request(CDS, ["c"], answer=response, error="I do not like it")
    event = await plane.transcript.nacked(push, CDS, deadline=DEADLINE)
    assert (event.error_code, event.error_detail, event.version) == (3, "I do not like it", "")
    assert await plane.transcript.answered(push, CDS, deadline=DEADLINE) is event
    with pytest.raises(DeadlinePassed, match="I do not like it"):
        await plane.transcript.acked(push, CDS, deadline=0)
    await fence(client, plane)


async def test_one_push_makes_before_it_breaks(plane: ControlPlane, clients: Any) -> None:
    client = await clients.ads(plane.address)
    for kind in (RDS, LDS, EDS, CDS):
        await client.request(kind, ["x"])
    await plane.transcript.subscribed(CDS, "x", deadline=DEADLINE)
    resources = (
        listener("x", route_config="x"),
        route_configuration("x", cluster="x"),
        eds_cluster("x"),
        endpoints("x"),
    )
    push = await plane.set(*resources)
    assert set(push.versions) == set(Kind)
    received = [(await client.receive()).type_url for _ in Kind]
    assert received == [kind.type_url for kind in (CDS, EDS, LDS, RDS)]
    plane.script.order(RDS, LDS)
    await plane.set(*resources)
    received = [(await client.receive()).type_url for _ in Kind]
    assert received == [kind.type_url for kind in (RDS, LDS, CDS, EDS)]


async def test_a_node_sees_its_own_snapshot(
    plane: ControlPlane, clients: Any, names_of: Names
) -> None:
    await plane.set(eds_cluster("for all"))
    await plane.replace(eds_cluster("for n"), node="n")
    for node, expected in (("n", "for n"), ("m", "for all")):
        client = await clients.ads(plane.address, node=node)
        await client.request(CDS, ["*"])
        assert names_of(await client.receive()) == [expected]


async def test_deletion_by_absence(plane: ControlPlane, clients: Any, names_of: Names) -> None:
    await plane.set(eds_cluster("a"), eds_cluster("b"))
    client = await clients.ads(plane.address)
    await client.request(CDS, ["a", "b"])
    assert names_of(await client.receive()) == ["a", "b"]
    push = await plane.delete(CDS, "a")
    response = await client.receive()
    assert (names_of(response), response.version_info) == (["b"], push.versions[CDS])
    with pytest.raises(BadResource):
        await plane.delete(CDS, "a")


async def test_held_responses_wait_for_their_release(
    plane: ControlPlane, clients: Any, names_of: Names
) -> None:
    plane.script.hold(CDS)
    client = await clients.ads(plane.address)
    await client.request(CDS, ["a", "b"])
    await plane.set(eds_cluster("a"))
    await plane.set(eds_cluster("b"))
    await fence(client, plane)
    plane.script.release()
    response = await client.receive()
    assert (names_of(response), response.version_info) == (["a", "b"], "2")
    assert not plane.script.held


async def test_a_withheld_resource_does_not_exist(
    plane: ControlPlane, clients: Any, names_of: Names
) -> None:
    plane.script.hide(CDS, "a")
    await plane.set(eds_cluster("a"), eds_cluster("b"))
    client = await clients.ads(plane.address)
    await client.request(CDS, ["a", "b"])
    assert names_of(await client.receive()) == ["b"]
    plane.script.unhide(CDS, "a")
    assert names_of(await client.receive()) == ["a", "b"]
    plane.script.hide(CDS, "b")
    assert names_of(await client.receive()) == ["a"]


async def test_what_nobody_asked_for_is_sent_if_it_is_told_to(
    plane: ControlPlane, clients: Any, names_of: Names
) -> None:
    plane.script.send_unsolicited(CDS)
    await plane.set(eds_cluster("a"), eds_cluster("b"), eds_cluster("c"))
    client = await clients.ads(plane.address)
    await client.request(CDS, ["b"])
    assert names_of(await client.receive()) == ["a", "b", "c"]
    plane.script.send_unsolicited()
    await plane.set(eds_cluster("b"))
    assert names_of(await client.receive()) == ["b"]


async def test_resources_go_out_in_messages_of_their_names_if_they_are_told_to(
    plane: ControlPlane, clients: Any, names_of: Names
) -> None:
    plane.script.wrap_in_resource(CDS)
    await plane.set(eds_cluster("a"), endpoints("a"))
    client = await clients.ads(plane.address)
    await client.request(CDS, ["a"])
    (wrapped,) = (await client.receive()).resources
    resource = discovery_pb2.Resource()
    assert wrapped.Unpack(resource)
    assert (resource.name, resource.version) == ("a", "1")
    assert resource.resource.type_url == CDS.type_url
    plane.script.wrap_in_resource()
    await plane.set(eds_cluster("a"))
    assert names_of(await client.receive()) == ["a"]


async def test_a_delayed_response_comes_when_it_is_due(plane: ControlPlane, clients: Any) -> None:
    plane.script.delay(CDS, 0.05)
    await plane.set(eds_cluster("a"))
    client = await clients.ads(plane.address)
    await client.request(CDS, ["a"])
    response = await client.receive()
    assert response.type_url == CDS.type_url
    asked, sent = (
        next(e for e in plane.transcript.events if isinstance(e, of) and e.kind is CDS)
        for of in (Request, Response)
    )
    assert sent.at - asked.at >= 0.05
    plane.script.delay(CDS, 0)
    await plane.set(eds_cluster("a"))
    assert (await client.receive()).version_info == "2"
    with pytest.raises(BadFault, match="negative"):
        plane.script.delay(CDS, -1)


async def test_a_delayed_response_lets_others_pass_and_ends_with_its_stream(
    plane: ControlPlane, clients: Any
) -> None:
    plane.script.delay(CDS, 3600)
    await plane.set(eds_cluster("a"))
    client = await clients.ads(plane.address)
    await client.request(CDS, ["a"])
    await fence(client, plane)
    plane.script.end_streams()
    assert (await client.status())[0] is grpc.StatusCode.UNAVAILABLE


class Unconnected:
    """gRPC's side of a stream that nobody is on the other end of."""

    def peer(self) -> str:
        return "nobody"


@pytest.mark.parametrize("service", [AdsSession, LrsSession])
async def test_a_stop_that_ends_the_requests_before_it_cancels(
    plane: ControlPlane, service: Callable[..., Any]
) -> None:
    """gRPC may do the one a moment before the other: it is a stop all the same."""

    over = asyncio.Event()

    async def requests() -> AsyncIterator[Any]:
        await over.wait()
        nothing: list[Any] = []
        for request in nothing:
            yield request

    serving = asyncio.create_task(plane.serve(service, requests(), Unconnected()))
    await plane.transcript.wait(lambda e: isinstance(e, StreamOpened), deadline=DEADLINE)
    stopping = asyncio.create_task(plane.stop())
    await asyncio.sleep(0)
    assert plane.is_stopping
    over.set()
    await stopping
    assert serving.done()
    assert not serving.cancelled()
    closed = plane.transcript.events[-1]
    assert isinstance(closed, StreamClosed)
    assert closed.by is Side.STOP


async def test_a_taken_port_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken, match=f"Cannot listen on 127.0.0.1:{port}"):
            await ControlPlane.start(port=port)
    with pytest.raises(PortTaken):
        await ControlPlane.start("192.0.2.1")
    with pytest.raises(PortTaken):
        await ControlPlane.start("no such host.invalid")


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6: sysctl net.ipv6.conf.lo.disable_ipv6=0")
async def test_ipv6(clients: Any) -> None:
    async with ControlPlane.running("::1") as plane:
        assert plane.address.startswith("[::1]:")
        await plane.set(eds_cluster("c"))
        client = await clients.ads(plane.address)
        await client.request(CDS)
        assert (await client.receive()).version_info == "1"


async def test_the_incremental_protocol_is_not_there(plane: ControlPlane) -> None:
    async with grpc.aio.insecure_channel(plane.address) as channel:
        stub = ads_pb2_grpc.AggregatedDiscoveryServiceStub(channel)
        call = stub.DeltaAggregatedResources(iter([discovery_pb2.DeltaDiscoveryRequest()]))
        assert await call.code() is grpc.StatusCode.UNIMPLEMENTED
