"""Load reports, and clients that send too much or read too little."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc.aio
import pytest
from envoy.config.endpoint.v3 import endpoint_pb2, load_report_pb2

from fake_control_plane import (
    OF_ALL,
    BadFault,
    ControlPlane,
    DeadlinePassed,
    LoadRequest,
    LoadResponse,
    Locality,
    Note,
    Service,
    outbox,
)
from fake_control_plane.resources import (
    eds_cluster,
    endpoints,
    locality,
)
from tests.fake_control_plane.fence import CDS, DEADLINE, EDS


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
