"""The control service, called by a bare stub; its process of its own is in test_alone."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio
import pytest
from envoy.config.endpoint.v3 import load_report_pb2
from envoy.service.discovery.v3 import discovery_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from fake_control_plane import ControlPlane, Kind, TokenNeeded, control_pb2
from fake_control_plane.control import SERVICE_NAME, ControlServer
from fake_control_plane.faults import Faults
from fake_control_plane.injection import faults_of
from fake_control_plane.load_reporting import LoadScript
from fake_control_plane.resources import eds_cluster, endpoints
from fake_control_plane.script import Script
from fake_control_plane.server import Keep

CDS, EDS = Kind.CLUSTER, Kind.ENDPOINTS


@pytest.fixture
async def control(plane: ControlPlane) -> AsyncIterator[str]:
    await plane.set(eds_cluster("c"))
    async with ControlServer.running(plane) as server:
        yield server.address


@pytest.fixture
async def controls(control: str, clients: Any) -> Any:
    return await clients.controls(control)


async def test_set_replace_and_delete(plane: ControlPlane, controls: Any, clients: Any) -> None:
    client = await clients.ads(plane.address)
    await client.request(CDS)
    assert len((await client.receive()).resources) == 1
    await controls.set(eds_cluster("d"))
    assert len((await client.receive()).resources) == 2
    await controls.stub.Delete(control_pb2.DeleteRequest(kind=control_pb2.CLUSTER, names=["d"]))
    assert len((await client.receive()).resources) == 1
    push = await controls.stub.Replace(control_pb2.SetRequest())
    assert [version.version for version in push.versions] == ["4"]
    assert not (await client.receive()).resources


async def test_a_version_of_the_users_choice(
    plane: ControlPlane, controls: Any, clients: Any
) -> None:
    client = await clients.ads(plane.address)
    await client.request(CDS)
    assert (await client.receive()).version_info == "1"

    async def change(method: str, names: str, version: str) -> str:
        request = control_pb2.SetRequest(version=version)
        for name in names:
            request.resources.add().Pack(eds_cluster(name))
        [pushed] = (await getattr(controls.stub, method)(request)).versions
        response = await client.receive()
        assert response.version_info == pushed.version
        await client.request(CDS, answer=response)
        return str(pushed.version)

    assert await change("Set", "d", "of mine") == "of mine"
    assert await change("Set", "d", "of mine") == "of mine"
    resent = await controls.fault(resend={"kind": control_pb2.CLUSTER})
    assert [version.version for version in resent.versions] == ["of mine"]
    assert (await client.receive()).version_info == "of mine"
    assert await change("Replace", "de", "v2") == "v2"
    await controls.stub.Delete(
        control_pb2.DeleteRequest(kind=control_pb2.CLUSTER, names=["d"], version="v3")
    )
    assert (await client.receive()).version_info == "v3"
    assert await change("Set", "d", "") == "6"


async def test_hold_and_release(plane: ControlPlane, controls: Any, clients: Any) -> None:
    hold = control_pb2.HoldRequest(kinds=[control_pb2.CLUSTER])
    assert list((await controls.stub.Hold(hold)).held) == [control_pb2.CLUSTER]
    client = await clients.ads(plane.address)
    await client.request(CDS, ["c"])
    await controls.set(endpoints("c"))
    await client.request(EDS, ["c"])
    assert (await client.receive()).type_url == EDS.type_url
    assert not (await controls.stub.Release(control_pb2.HoldRequest())).held
    assert (await client.receive()).type_url == CDS.type_url


async def test_settings(plane: ControlPlane, controls: Any, clients: Any) -> None:
    await controls.fault(withhold={"kind": control_pb2.CLUSTER, "name": "c"})
    await controls.fault(order={"kinds": [control_pb2.ENDPOINTS]})
    client = await clients.ads(plane.address)
    await client.request(CDS, ["c", "d"])
    await client.request(EDS, ["c"])
    await controls.events(3)
    await controls.set(eds_cluster("d"), endpoints("c"))
    received = [await client.receive() for _ in range(2)]
    assert [response.type_url for response in received] == [EDS.type_url, CDS.type_url]
    assert len(received[1].resources) == 1
    await controls.fault(permit={"kind": control_pb2.CLUSTER, "name": "c"})
    assert len((await client.receive()).resources) == 2
    await controls.fault(delay={"kind": control_pb2.CLUSTER, "by": {"nanos": 30_000_000}})
    await controls.set(eds_cluster("d"), endpoints("c"))
    received = [await client.receive() for _ in range(2)]
    assert [response.type_url for response in received] == [EDS.type_url, CDS.type_url]
    await controls.fault(wrong_type={"kind": control_pb2.CLUSTER, "type_url": "x/y"})
    assert (await client.receive()).resources[-1].type_url == "x/y"
    await controls.fault(resend={"kind": control_pb2.CLUSTER, "literal_nonce": "mine"})
    assert (await client.receive()).nonce == "mine"


async def test_streams_end_and_ports_close_on_command(
    plane: ControlPlane, controls: Any, clients: Any
) -> None:
    client = await clients.ads(plane.address)
    await client.request(CDS, ["c"])
    await client.receive()
    await controls.fault(end_streams={"code": 10, "details": "enough"})
    assert await client.status() == (grpc.StatusCode.ABORTED, "enough")
    await controls.fault(refuse_streams={"code": 8, "details": "too many"})
    client = await clients.ads(plane.address)
    assert await client.status() == (grpc.StatusCode.RESOURCE_EXHAUSTED, "too many")
    await controls.fault(accept_streams={"service": control_pb2.ADS})
    await controls.fault(stop={})
    host, _, port = plane.address.rpartition(":")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, int(port))
    await controls.fault(resume={})
    since = len(await controls.events(6))
    client = await clients.ads(plane.address)
    await client.request(CDS, ["c"])
    await client.receive()
    opened = (await controls.events(1, since))[0]
    assert opened.WhichOneof("event") == "stream_opened"


async def test_the_load_ledger(plane: ControlPlane, controls: Any, clients: Any) -> None:
    await controls.fault(
        load_reporting={"interval": {"seconds": 2}, "clusters": ["c"], "endpoint_granularity": True}
    )
    client = await clients.lrs(plane.address)
    await client.report(node="n")
    asked = await client.receive()
    assert (list(asked.clusters), asked.load_reporting_interval.seconds) == (["c"], 2)
    for cluster, count in (("c", 2), ("d", 1), ("c", 3)):
        stats = load_report_pb2.ClusterStats(
            cluster_name=cluster, total_dropped_requests=count,
            dropped_requests=[{"category": "lb", "dropped_count": 1}],
        )  # fmt: skip
        stats.upstream_locality_stats.add(
            locality={"region": "r"},
            total_issued_requests=count,
            total_requests_in_progress=1,
            upstream_endpoint_stats=[{"total_issued_requests": count}],
            load_metric_stats=[{"metric_name": "m"}],
        )
        await client.report(stats)
    events = await controls.events(6)
    reports = [event.load_request for event in events if event.HasField("load_request")]
    assert [cluster.cluster for report in reports for cluster in report.clusters] == ["c", "d", "c"]
    [row] = reports[-1].clusters
    assert row.localities[0].endpoints[0].issued == 3
    assert row.localities[0].metrics[0].name == "m"
    assert events[2].load_response.interval.seconds == 2

    ledger = await controls.stub.Load(control_pb2.LoadRequest())
    assert [load.cluster for load in ledger.clusters] == ["c", "d"]
    ledger = await controls.stub.Load(control_pb2.LoadRequest(cluster="c"))
    [load] = ledger.clusters
    assert (load.dropped, dict(load.dropped_by_category)) == (5, {"lb": 2})
    [part] = load.localities
    assert (part.locality.region, part.issued, part.in_progress) == ("r", 5, 1)
    await controls.fault(load_silence={})


async def test_loads_beyond_what_a_message_holds(
    plane: ControlPlane, controls: Any, clients: Any
) -> None:
    most = 2**64 - 1
    for _ in range(2):  # two streams, for what is in progress
        client = await clients.lrs(plane.address)
        stats = load_report_pb2.ClusterStats(
            cluster_name="c",
            total_dropped_requests=most,
            dropped_requests=[{"category": "lb", "dropped_count": most}],
            load_report_interval={"seconds": 2**63 - 1},
        )
        stats.upstream_locality_stats.add(
            total_issued_requests=most,
            total_successful_requests=most,
            total_error_requests=most,
            total_requests_in_progress=most,
        )
        await client.report(stats)
        await client.receive()
    [load] = (await controls.stub.Load(control_pb2.LoadRequest())).clusters
    assert (load.dropped, dict(load.dropped_by_category)) == (most, {"lb": most})
    [part] = load.localities
    assert (part.issued, part.successful, part.errors, part.in_progress) == (most,) * 4
    report = (await controls.events(2))[1].load_request
    assert report.clusters[0].interval.seconds == 315_576_000_000


async def test_a_bounded_transcript_begins_with_what_it_dropped(clients: Any) -> None:
    async with (
        ControlPlane.running(keep=Keep(transcript=2000)) as plane,
        ControlServer.running(plane) as server,
    ):
        client = await clients.ads(plane.address)
        for number in range(40):
            await client.request(CDS, [f"c{number}"])
        await plane.transcript.until(
            lambda: len(plane.transcript) > 40 or None, deadline=10, what="requests"
        )
        controls = await clients.controls(server.address)
        first, second = await controls.events(2)
        assert first.WhichOneof("event") == "dropped"
        assert first.dropped.count == first.index + 1 == second.index > 20


async def test_resources_that_no_client_subscribed_to_and_their_wrapper(
    plane: ControlPlane, controls: Any, clients: Any
) -> None:
    both = [control_pb2.CLUSTER, control_pb2.ENDPOINTS]
    await controls.fault(send_unsolicited={"kinds": both})
    await controls.fault(wrap_in_resource={"kinds": both})
    await controls.set(eds_cluster("d"))
    client = await clients.ads(plane.address)
    await client.request(CDS, ["c"])
    wrapped = discovery_pb2.Resource()
    names = []
    for resource in (await client.receive()).resources:
        assert resource.Unpack(wrapped)
        names.append(wrapped.name)
    assert names == ["c", "d"]
    await controls.fault(send_unsolicited={})
    await controls.fault(wrap_in_resource={})
    await controls.fault(resend={"kind": control_pb2.CLUSTER})
    (alone,) = (await client.receive()).resources
    assert alone.type_url == CDS.type_url


async def test_clusters_that_a_client_cannot_be_asked_for_together(
    plane: ControlPlane, controls: Any, clients: Any
) -> None:
    client = await clients.lrs(plane.address)
    await client.report(node="n")
    assert (await client.receive()).send_all_clusters
    await controls.fault(all_clusters={"clusters": ["c", "d"]})
    assert list((await client.receive()).clusters) == ["c", "d"]


FAULTS = control_pb2.Fault.DESCRIPTOR.oneofs_by_name["fault"].fields
FIELDS = {field.name for field in FAULTS}

NO_FAULTS = {Script.hold, Script.release, LoadScript.name}
"""They change what is sent, and have a call of the service, or a fault that does more."""

GETTERS = {Script.delay_of, Script.refusal}


def test_the_proto_steers_whatever_python_steers(plane: ControlPlane) -> None:
    script = plane.script
    faults = faults_of(script, script.faults, script.loads, plane)
    assert faults.keys() == FIELDS
    steered = {
        method
        for kind in (Script, Faults, LoadScript)
        for name, method in vars(kind).items()
        if callable(method) and not name.startswith("_")
    }
    assert steered - {getattr(method, "__func__", method) for method in faults.values()} == (
        NO_FAULTS | GETTERS
    )


def test_each_fault_has_the_parameters_of_its_method(plane: ControlPlane) -> None:
    """A oneof is one parameter; the field `node` of all faults is one where it applies."""
    script = plane.script
    methods = faults_of(script, script.faults, script.loads, plane)
    taken = {
        name: {*inspect.signature(method).parameters} - {"node"} for name, method in methods.items()
    }
    assert taken == {
        fault.name: {
            field.name
            if field.containing_oneof is None or field.containing_oneof.name == f"_{field.name}"
            else field.containing_oneof.name
            for field in fault.message_type.fields  # type: ignore[union-attr]
        }
        for fault in FAULTS
    }


@pytest.mark.parametrize("field", sorted(FIELDS))
async def test_each_fault_of_the_proto_is_carried_out(controls: Any, field: str) -> None:
    """With empty fields some lack something, but none is unknown."""
    fault = control_pb2.Fault()
    getattr(fault, field).SetInParent()
    call = controls.stub.Inject(fault)
    assert await call.code() in {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT}
    assert "cannot carry out" not in await call.details()


async def test_a_fault_that_is_not_carried_out_is_an_error(
    controls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "fake_control_plane.control._field_of", lambda _: "load_from_another_planet"
    )
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await controls.fault(stop={})
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details() == (
        "This server cannot carry out the fault load_from_another_planet."
    )


BAD_CALLS = [
    (
        "Inject",
        control_pb2.Fault(load_reporting={"interval": {"seconds": 2**63 - 1}}),
        "or no Duration",
    ),
    ("Inject", control_pb2.Fault(), "The fault is empty"),
    ("Inject", control_pb2.Fault(malformed={}), "Kind 0 is none of LISTENER"),
    ("Inject", control_pb2.Fault(end_streams={"code": 77}), "77 is no gRPC status code"),
    ("Inject", control_pb2.Fault(refuse_streams={"code": 0}), "cannot be refused with OK"),
    ("Inject", control_pb2.Fault(load_reporting={}), "not above 0"),
    (
        "Inject",
        control_pb2.Fault(delay={"kind": "ROUTE", "by": {"seconds": -(10**15)}}),
        "is negative",
    ),
    ("Delete", control_pb2.DeleteRequest(kind="ROUTE", names=["x", "y"]), "no route called 'x'"),
    ("Set", control_pb2.SetRequest(resources=[{}]), "holds none of"),
]


async def test_bad_calls_are_told_why(controls: Any) -> None:
    for method, request, message in BAD_CALLS:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await getattr(controls.stub, method)(request)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert message in (caught.value.details() or "")
    call = controls.stub.Transcript(control_pb2.TranscriptRequest(since=-1))
    assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_reflection_and_health_are_on(control: str) -> None:
    async with grpc.aio.insecure_channel(control) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        for name in ("", SERVICE_NAME):
            checked = await health.Check(health_pb2.HealthCheckRequest(service=name))
            assert checked.status == health_pb2.HealthCheckResponse.SERVING
        open_stub: Any = reflection_pb2_grpc.ServerReflectionStub
        request = reflection_pb2.ServerReflectionRequest
        call = open_stub(channel).ServerReflectionInfo(
            iter([request(list_services=""), request(file_containing_symbol=SERVICE_NAME)])
        )
        listed, described = [reply async for reply in call]
        names = {service.name for service in listed.list_services_response.service}
        assert {SERVICE_NAME, "grpc.health.v1.Health"} <= names
        assert described.file_descriptor_response.file_descriptor_proto


async def test_other_machines_need_a_token(plane: ControlPlane) -> None:
    with pytest.raises(TokenNeeded, match="would be open to other machines"):
        async with ControlServer.running(plane, host="0.0.0.0"):  # noqa: S104 - refused
            pytest.fail("it was served without a token")
