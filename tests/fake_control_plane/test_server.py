from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc.aio
import pytest
from envoy.config.endpoint.v3 import endpoint_pb2, load_report_pb2
from envoy.service.discovery.v3 import ads_pb2_grpc, discovery_pb2
from google.protobuf.message import DecodeError

from fake_control_plane import (
    OF_ALL,
    BadFault,
    BadResource,
    ControlPlane,
    DeadlinePassed,
    Kind,
    LoadRequest,
    LoadResponse,
    Locality,
    Nonce,
    Note,
    PortTaken,
    RawResource,
    Request,
    Response,
    Service,
    Side,
    StreamClosed,
    StreamOpened,
    outbox,
)
from fake_control_plane.faults import NO_RESOURCE_TYPE
from fake_control_plane.resources import (
    eds_cluster,
    endpoints,
    listener,
    locality,
    route_configuration,
)
from fake_control_plane.sessions import AdsSession, LrsSession

LDS, RDS, CDS, EDS = Kind.LISTENER, Kind.ROUTE, Kind.CLUSTER, Kind.ENDPOINTS
DEADLINE = 10.0

Names = Callable[[Any], list[str]]


async def fence(client: Any, plane: ControlPlane) -> None:
    """Pass when nothing but what this asks for was sent on the stream before."""
    await plane.set(route_configuration("fence", cluster="none"))
    await client.request(RDS, ["fence"])
    response = await client.receive()
    assert response.type_url == RDS.type_url, "something else was sent"


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


@pytest.fixture
async def served(plane: ControlPlane, clients: Any) -> tuple[Any, list[Any]]:
    """A client that has two versions of cluster "c", and these two responses."""
    client = await clients.ads(plane.address, node="n")
    await client.request(CDS, ["c"])
    responses = []
    for _ in range(2):
        push = await plane.set(eds_cluster("c"))
        responses.append(await client.receive())
        await client.request(CDS, ["c"], answer=responses[-1])
        await plane.transcript.acked(push, CDS, deadline=DEADLINE)
    return client, responses


async def test_resend_as_it_was(plane: ControlPlane, served: Any, names_of: Names) -> None:
    client, [_, newest] = served
    push = plane.script.faults.resend(CDS)
    response = await client.receive()
    assert names_of(response) == ["c"]
    assert response.version_info == newest.version_info == push.versions[CDS]
    assert response.nonce != newest.nonce


async def test_resend_with_an_old_version(plane: ControlPlane, served: Any) -> None:
    client, _ = served
    push = plane.script.faults.resend(CDS, version="1")
    response = await client.receive()
    assert response.version_info == "1"
    await client.request(CDS, ["c"], answer=response)
    assert (await plane.transcript.acked(push, CDS, deadline=DEADLINE)).version == "1"


async def test_resend_with_an_old_nonce(plane: ControlPlane, served: Any) -> None:
    client, [older, newest] = served
    push = plane.script.faults.resend(CDS, nonce=Nonce.OLD)
    response = await client.receive()
    assert response.nonce == older.nonce != newest.nonce
    await client.request(CDS, ["c"], answer=response)
    event = await plane.transcript.acked(push, CDS, deadline=DEADLINE)
    assert not event.stale


async def test_resend_with_an_unknown_nonce(plane: ControlPlane, served: Any) -> None:
    client, _ = served
    plane.script.faults.resend(CDS, nonce="never given")
    assert (await client.receive()).nonce == "never given"


@pytest.mark.parametrize("alone", [False, True])
async def test_malformed(plane: ControlPlane, served: Any, *, alone: bool) -> None:
    client, [_, newest] = served
    push = plane.script.faults.send_malformed(CDS, alone=alone)
    response = await client.receive()
    *good, stray = response.resources
    assert good == ([] if alone else list(newest.resources))
    assert stray.type_url == CDS.type_url
    with pytest.raises(DecodeError):
        eds_cluster("x").ParseFromString(stray.value)
    await client.request(
        CDS, ["c"], answer=response, error="what is this", version=newest.version_info
    )
    event = await plane.transcript.nacked(push, CDS, deadline=DEADLINE)
    assert (event.error_detail, event.version) == ("what is this", newest.version_info)
    [sent] = [e for e in plane.transcript.events if isinstance(e, Response) and e.fault]
    assert (sent.fault, sent.version) == ("malformed", push.versions[CDS])


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("type_url", [NO_RESOURCE_TYPE, EDS.type_url])
async def test_wrong_type(plane: ControlPlane, served: Any, *, type_url: str, alone: bool) -> None:
    client, [_, newest] = served
    push = plane.script.faults.send_wrong_type(CDS, type_url=type_url, alone=alone)
    response = await client.receive()
    *good, stray = response.resources
    assert good == ([] if alone else list(newest.resources))
    assert (response.type_url, stray.type_url) == (CDS.type_url, type_url)
    assert response.version_info == push.versions[CDS] not in ("1", "2")


async def test_faults_reach_only_who_asked(plane: ControlPlane, served: Any) -> None:
    client, _ = served
    plane.script.faults.send_malformed(LDS)
    plane.script.faults.send_wrong_type(EDS)
    plane.script.faults.resend(RDS)
    plane.script.faults.resend(CDS, node="somebody else")
    await fence(client, plane)


@pytest.mark.parametrize(
    ("code", "details"), [(grpc.StatusCode.ABORTED, "enough"), (grpc.StatusCode.OK, "")]
)
async def test_a_stream_is_ended(
    plane: ControlPlane, served: Any, code: grpc.StatusCode, details: str
) -> None:
    client, _ = served
    plane.script.end_streams(grpc.StatusCode.ABORTED, "not for you", node="somebody else")
    plane.script.end_streams(code, details)
    assert await client.status() == (code, details)
    closed = await plane.transcript.wait(lambda e: isinstance(e, StreamClosed), deadline=DEADLINE)
    assert isinstance(closed, StreamClosed)
    assert (closed.by, closed.code, closed.details) == (Side.SCRIPT, code.name, details)


@pytest.mark.parametrize("service", list(Service))
async def test_streams_are_refused_and_taken_again(
    plane: ControlPlane, clients: Any, service: Service
) -> None:
    plane.script.refuse_streams(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many", service=service)
    open_stream = clients.ads if service is Service.ADS else clients.lrs
    refused = await open_stream(plane.address)
    assert await refused.status() == (grpc.StatusCode.RESOURCE_EXHAUSTED, "too many")
    plane.script.accept_streams(service)
    await open_stream(plane.address)
    event = await plane.transcript.wait(
        lambda e: isinstance(e, StreamOpened) and e.stream == 2, deadline=DEADLINE
    )
    assert isinstance(event, StreamOpened)
    assert event.service is service
    with pytest.raises(BadFault, match="OK"):
        plane.script.refuse_streams(grpc.StatusCode.OK)


async def test_a_client_that_leaves(plane: ControlPlane, clients: Any) -> None:
    for leave in ("cancel", "done_writing"):
        client = await clients.ads(plane.address)
        since = len(plane.transcript)
        await client.request(CDS, ["c"])
        await plane.transcript.subscribed(CDS, "c", since=since, deadline=DEADLINE)
        if leave == "cancel":
            client.call.cancel()
        else:
            await client.call.done_writing()
        closed = await plane.transcript.wait(
            lambda e: isinstance(e, StreamClosed), since=since, deadline=DEADLINE
        )
        assert isinstance(closed, StreamClosed)
        assert (closed.by, closed.code) == (Side.CLIENT, "")


async def test_stop_and_resume_on_the_same_port(plane: ControlPlane, clients: Any) -> None:
    await plane.set(eds_cluster("c"))
    address = plane.address
    client = await clients.ads(address)
    await client.request(CDS, ["c"])
    await client.receive()
    for _ in range(2):
        await plane.stop()
        await plane.stop()
        closed = plane.transcript.events[-1]
        assert isinstance(closed, StreamClosed)
        assert closed.by is Side.STOP
        assert (await client.status())[0] is grpc.StatusCode.UNAVAILABLE
        host, _, port = address.rpartition(":")
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, int(port))
        with socket.socket() as thief, pytest.raises(OSError, match="in use"):
            thief.bind((host, int(port)))
        await plane.resume()
        await plane.resume()
        assert plane.address == address
        client = await clients.ads(address)
        await client.request(CDS, ["c"])
        assert (await client.receive()).version_info == "1"


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


def report(issued: int, ended: int, in_progress: int) -> Any:
    stats = load_report_pb2.ClusterStats(cluster_name="c")
    stats.upstream_locality_stats.add(
        locality={"region": "near"},
        total_issued_requests=issued,
        total_successful_requests=ended,
        total_requests_in_progress=in_progress,
    )
    return stats


async def test_load_reports(plane: ControlPlane, clients: Any) -> None:
    client = await clients.lrs(plane.address)
    await client.report(node="n")
    asked = await client.receive()
    assert asked.send_all_clusters
    assert asked.load_reporting_interval.ToMilliseconds() == 1000
    await client.report(report(3, 1, 2))
    waiting = asyncio.create_task(
        plane.reported(lambda loads: loads.is_balanced("c", issued=4), deadline=DEADLINE)
    )
    await plane.transcript.wait(
        lambda e: isinstance(e, LoadRequest) and bool(e.clusters), deadline=DEADLINE
    )
    assert not waiting.done()
    await client.report(report(1, 3, 0))
    loads = await waiting
    assert loads.load("c", locality=Locality("near")).successful == 4
    with pytest.raises(DeadlinePassed, match=r"(?s)No load reports that fit .* load report of"):
        await plane.reported(lambda loads: loads.load("c").issued == 9, deadline=0)


async def test_what_load_is_asked_for_can_change(plane: ControlPlane, clients: Any) -> None:
    client = await clients.lrs(plane.address)
    await client.report(node="n")
    await client.receive()
    plane.script.loads.ask(interval=0.25, clusters=["a", "b"], endpoint_granularity=True)
    asked = await client.receive()
    assert (list(asked.clusters), asked.send_all_clusters) == (["a", "b"], False)
    assert asked.report_endpoint_granularity
    assert asked.load_reporting_interval.ToMilliseconds() == 250
    [_, event] = [e for e in plane.transcript.events if isinstance(e, LoadResponse)]
    assert (event.interval, event.clusters, event.node) == (0.25, ("a", "b"), "n")
    plane.script.loads.name(["c"])
    asked = await client.receive()
    assert (list(asked.clusters), asked.send_all_clusters) == (["c"], False)
    assert asked.report_endpoint_granularity
    assert asked.load_reporting_interval.ToMilliseconds() == 250
    with pytest.raises(BadFault, match="not above 0"):
        plane.script.loads.ask(interval=0)


async def test_who_cannot_be_asked_for_all_is_asked_by_name(
    plane: ControlPlane, clients: Any
) -> None:
    plane.script.loads.know(["a"])
    able, other = [await clients.lrs(plane.address) for _ in range(2)]
    await able.report(node="n", features=[OF_ALL])
    await other.report(node="m")
    assert (await able.receive()).send_all_clusters
    asked = await other.receive()
    assert (list(asked.clusters), asked.send_all_clusters) == (["a"], False)
    plane.script.loads.know(["a", "b"])
    assert list((await other.receive()).clusters) == ["a", "b"]
    plane.script.loads.ask(interval=0.25, clusters=["c"])
    for client in (able, other):  # nothing came to the first meanwhile
        assert list((await client.receive()).clusters) == ["c"]


async def test_silence_about_loads(plane: ControlPlane, clients: Any) -> None:
    plane.script.loads.be_silent()
    plane.script.loads.name(["c"])
    client = await clients.lrs(plane.address)
    await client.report(node="n")
    await plane.transcript.wait(lambda e: isinstance(e, LoadRequest), deadline=DEADLINE)
    plane.script.end_streams(grpc.StatusCode.UNIMPLEMENTED, "no", service=Service.LRS)
    assert await client.status() == (grpc.StatusCode.UNIMPLEMENTED, "no")
    assert not [e for e in plane.transcript.events if isinstance(e, LoadResponse)]


async def test_a_broken_client_breaks_only_its_own_stream(
    plane: ControlPlane, clients: Any
) -> None:
    """Many clients that leave in the middle of a write leave no trace but their streams' ends."""
    await plane.set(eds_cluster("c"))
    for _ in range(20):
        client = await clients.ads(plane.address)
        await client.request(CDS, ["c"])
        client.call.cancel()
    stays = await clients.ads(plane.address)
    await stays.request(CDS, ["c"])
    await stays.receive()
    push = await plane.set(eds_cluster("c"))
    assert (await stays.receive()).version_info == push.versions[CDS]


async def test_a_client_that_does_not_read_costs_a_bounded_outbox(
    plane: ControlPlane, clients: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is given up for the newest versions is in the transcript."""
    monkeypatch.setattr(outbox, "MOST_BYTES", 1 << 20)
    client = await clients.ads(plane.address)
    await client.request(EDS, ["large", "early"])
    await plane.transcript.subscribed(EDS, "large", deadline=DEADLINE)
    await plane.set(endpoints("early"))
    (session,) = plane._sessions
    waited = []
    for number in range(200):
        await plane.set(endpoints("large", locality("x" * 200_000 + str(number))))
        await asyncio.sleep(0)
        waited.append(len(session._outbox))
    assert max(waited) <= 6
    given_up = [e for e in plane.transcript.events if isinstance(e, Note)]
    assert given_up
    assert str(given_up[0]).startswith("not sent, as the client does not read: endpoints version ")
    got: dict[str, str] = {}
    while len(got) < 2 or not got["large"].endswith("199"):
        for wrapped in (await client.receive()).resources:
            assignment = endpoint_pb2.ClusterLoadAssignment.FromString(wrapped.value)
            got[assignment.cluster_name] = "".join(
                at.locality.region for at in assignment.endpoints
            )
    assert set(got) == {"early", "large"}


async def test_a_load_report_of_too_many_clusters_is_cut_and_told_of(
    plane: ControlPlane, clients: Any
) -> None:
    client = await clients.lrs(plane.address)
    many = load_report_pb2.ClusterStats(cluster_name="many")
    many.upstream_locality_stats.add().upstream_endpoint_stats.extend(
        endpoint_report() for _ in range(100_000)
    )
    await client.report(load_report_pb2.ClusterStats(cluster_name="a"), many)
    noted = await plane.transcript.wait(lambda e: isinstance(e, Note), deadline=DEADLINE)
    assert "1 clusters of a load report are not counted: they are too many" in str(noted)
    assert plane.loads.clusters() == (("a", ""),)


def endpoint_report() -> Any:
    return load_report_pb2.UpstreamEndpointStats(total_issued_requests=1)


async def test_a_request_is_no_larger_than_grpc_lets_it_be(
    plane: ControlPlane, clients: Any
) -> None:
    client = await clients.ads(plane.address)
    await client.request(CDS, ["x" * (1 << 23)])
    code, _ = await client.status()
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
