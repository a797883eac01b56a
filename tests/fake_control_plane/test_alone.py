"""`python -m fake_control_plane` from outside of its process, by bare stubs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from envoy.config.endpoint.v3 import load_report_pb2
from google.protobuf import any_pb2, json_format
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from fake_control_plane import ControlPlane, Kind, TokenNeeded, control_pb2, control_pb2_grpc
from fake_control_plane.__main__ import main
from fake_control_plane.control import SERVICE_NAME, ControlServer
from fake_control_plane.resources import eds_cluster, endpoints, listener, route_configuration

DEADLINE = 10.0
CDS, EDS = Kind.CLUSTER, Kind.ENDPOINTS


def write(folder: Path, *resources: Any) -> None:
    """Write resources to a folder, a file each."""
    for resource in resources:
        wrapped = any_pb2.Any()
        wrapped.Pack(resource)
        name = getattr(resource, "name", "") or resource.cluster_name
        file = folder / f"{type(resource).__name__}-{name}.json"
        file.write_text(json_format.MessageToJson(wrapped))


class Alone:
    """The process, and where it listens."""

    def __init__(self, process: asyncio.subprocess.Process, xds: str, control: str) -> None:
        self.process = process
        self.xds = xds
        self.control = control

    async def complaint(self) -> str:
        assert self.process.stderr is not None
        async with asyncio.timeout(DEADLINE):
            return (await self.process.stderr.readline()).decode()


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[Alone]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-W", "error", "-m", "fake_control_plane", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(DEADLINE):
            xds = (await process.stdout.readline()).decode().split()
            control = (await process.stdout.readline()).decode().split()
        assert (xds[0], control[0]) == ("xds", "control")
        yield Alone(process, xds[1], control[1])
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


class Controls:
    """The control service's stub, and a transcript that it streams."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.stub: Any = control_pb2_grpc.ControlStub(channel)  # type: ignore[no-untyped-call]

    async def set(self, *resources: Any, node: str = "") -> Any:
        request = control_pb2.SetRequest(node=node)
        for resource in resources:
            request.resources.add().Pack(resource)
        return await self.stub.Set(request)

    async def fault(self, **fault: Any) -> Any:
        return await self.stub.Break(control_pb2.Fault(**fault))

    async def events(self, count: int, since: int = 0) -> list[Any]:
        call = self.stub.Transcript(control_pb2.TranscriptRequest(since=since))
        async with asyncio.timeout(DEADLINE):
            events = [await call.read() for _ in range(count)]
        call.cancel()
        return events


@pytest.fixture
async def alone(tmp_path: Path) -> AsyncIterator[Alone]:
    write(tmp_path, eds_cluster("c"))
    async with running("--resources", str(tmp_path)) as process:
        yield process


@pytest.fixture
async def controls(alone: Alone) -> AsyncIterator[Controls]:
    async with grpc.aio.insecure_channel(alone.control) as channel:
        yield Controls(channel)


async def test_the_transcript_equals_what_was_sent(
    alone: Alone, controls: Controls, clients: Any
) -> None:
    client = await clients.ads(alone.xds, node="n")
    sent: list[Any] = []
    received: list[Any] = []

    async def exchange(kind: Kind, *names: str, **answer: Any) -> None:
        await client.request(kind, names, **answer)
        sent.append((kind.type_url, list(names), answer.get("error", "")))

    async def receive() -> Any:
        received.append(await client.receive())
        return received[-1]

    await exchange(CDS, "c")
    await exchange(CDS, "c", answer=await receive())
    await exchange(EDS, "c")
    first = await controls.set(endpoints("c"))
    await exchange(EDS, "c", answer=await receive())
    second = await controls.fault(malformed={"kind": control_pb2.ENDPOINTS})
    await exchange(EDS, "c", answer=await receive(), error="broken")
    third = await controls.fault(
        resend={"kind": control_pb2.CLUSTER, "version": "old", "old_nonce": True}
    )
    await exchange(CDS, "c", answer=await receive())

    events = await controls.events(1 + len(sent) + len(received))
    assert [event.index for event in events] == list(range(len(events)))
    assert {event.stream for event in events} == {1}
    assert events[0].stream_opened.service == control_pb2.ADS
    requests = [event.request for event in events if event.HasField("request")]
    responses = [event.response for event in events if event.HasField("response")]
    assert sent == [(r.type_url, list(r.names), r.error_detail) for r in requests]
    assert [(r.type_url, r.version_info, r.nonce, list(r.resources)) for r in received] == [
        (r.type_url, r.version, r.nonce, list(r.resources)) for r in responses
    ]

    answers = {r.answered_version: r.answer for r in requests if r.answer}
    [[pushed], [broken], [resent]] = (push.versions for push in (first, second, third))
    assert answers == {
        "1": control_pb2.Event.ACK,
        pushed.version: control_pb2.Event.ACK,
        broken.version: control_pb2.Event.NACK,
        resent.version: control_pb2.Event.ACK,
    }
    assert (pushed.kind, resent.version) == (control_pb2.ENDPOINTS, "old")
    assert responses[-1].nonce == responses[0].nonce
    assert requests[0].identity.id == "n"


async def test_set_replace_and_delete(alone: Alone, controls: Controls, clients: Any) -> None:
    client = await clients.ads(alone.xds)
    await client.request(CDS)
    assert len((await client.receive()).resources) == 1
    await controls.set(eds_cluster("d"))
    assert len((await client.receive()).resources) == 2
    await controls.stub.Delete(control_pb2.DeleteRequest(kind=control_pb2.CLUSTER, names=["d"]))
    assert len((await client.receive()).resources) == 1
    push = await controls.stub.Replace(control_pb2.SetRequest())
    assert [version.version for version in push.versions] == ["4"]
    assert not (await client.receive()).resources


async def test_hold_and_release(alone: Alone, controls: Controls, clients: Any) -> None:
    hold = control_pb2.HoldRequest(kinds=[control_pb2.CLUSTER])
    assert list((await controls.stub.Hold(hold)).held) == [control_pb2.CLUSTER]
    client = await clients.ads(alone.xds)
    await client.request(CDS, ["c"])
    await controls.set(endpoints("c"))
    await client.request(EDS, ["c"])
    assert (await client.receive()).type_url == EDS.type_url
    assert not (await controls.stub.Release(control_pb2.HoldRequest())).held
    assert (await client.receive()).type_url == CDS.type_url


async def test_settings(alone: Alone, controls: Controls, clients: Any) -> None:
    await controls.fault(withhold={"kind": control_pb2.CLUSTER, "name": "c"})
    await controls.fault(order={"kinds": [control_pb2.ENDPOINTS]})
    client = await clients.ads(alone.xds)
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
    alone: Alone, controls: Controls, clients: Any
) -> None:
    client = await clients.ads(alone.xds)
    await client.request(CDS, ["c"])
    await client.receive()
    await controls.fault(end_streams={"code": 10, "details": "enough"})
    assert await client.status() == (grpc.StatusCode.ABORTED, "enough")
    await controls.fault(refuse_streams={"code": 8, "details": "too many"})
    client = await clients.ads(alone.xds)
    assert await client.status() == (grpc.StatusCode.RESOURCE_EXHAUSTED, "too many")
    await controls.fault(accept_streams={"service": control_pb2.ADS})
    await controls.fault(stop={})
    host, _, port = alone.xds.rpartition(":")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, int(port))
    await controls.fault(resume={})
    since = len(await controls.events(6))
    client = await clients.ads(alone.xds)
    await client.request(CDS, ["c"])
    await client.receive()
    opened = (await controls.events(1, since))[0]
    assert opened.WhichOneof("event") == "stream_opened"


async def test_the_load_ledger(alone: Alone, controls: Controls, clients: Any) -> None:
    await controls.fault(
        load_reporting={"interval": {"seconds": 2}, "clusters": ["c"], "endpoint_granularity": True}
    )
    client = await clients.lrs(alone.xds)
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
    assert [one.cluster for report in reports for one in report.clusters] == ["c", "d", "c"]
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


BAD_CALLS = [
    ("Break", control_pb2.Fault(), "The fault is empty"),
    ("Break", control_pb2.Fault(malformed={}), "Kind 0 is none of LISTENER"),
    ("Break", control_pb2.Fault(end_streams={"code": 77}), "77 is no gRPC status code"),
    ("Break", control_pb2.Fault(refuse_streams={"code": 0}), "cannot be refused with OK"),
    ("Break", control_pb2.Fault(load_reporting={}), "not above 0"),
    ("Delete", control_pb2.DeleteRequest(kind="ROUTE", names=["x", "y"]), "no route called 'x'"),
    ("Set", control_pb2.SetRequest(resources=[{}]), "holds none of"),
]


async def test_bad_calls_are_told_why(controls: Controls) -> None:
    for method, request, message in BAD_CALLS:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await getattr(controls.stub, method)(request)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert message in (caught.value.details() or "")
    call = controls.stub.Transcript(control_pb2.TranscriptRequest(since=-1))
    assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_reflection_and_health_are_on(alone: Alone) -> None:
    async with grpc.aio.insecure_channel(alone.control) as channel:
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


async def test_a_changed_folder_is_pushed(tmp_path: Path, alone: Alone, clients: Any) -> None:
    client = await clients.ads(alone.xds)
    await client.request(CDS)
    await client.receive()
    await client.request(Kind.LISTENER)
    write(tmp_path, eds_cluster("d"))
    response = await client.receive()
    assert (response.type_url, len(response.resources)) == (CDS.type_url, 2)

    (tmp_path / "bad.yaml").write_text("a: ]")
    complaint = await alone.complaint()
    assert "bad.yaml: is not YAML: line 1" in complaint
    assert complaint.endswith("What was served before stays.\n")
    (tmp_path / "bad.yaml").unlink()

    (tmp_path / "Cluster-d.json").unlink()
    response = await client.receive()
    assert (response.type_url, len(response.resources)) == (CDS.type_url, 1)
    write(tmp_path, route_configuration("r", cluster="c"), listener("l", route_config="r"))
    assert (await client.receive()).type_url == Kind.LISTENER.type_url


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_cleanly(alone: Alone, clients: Any, number: signal.Signals) -> None:
    client = await clients.ads(alone.xds)
    await client.request(CDS, ["c"])
    await client.receive()
    os.kill(alone.process.pid, number)
    async with asyncio.timeout(DEADLINE):
        _, complaints = await alone.process.communicate()
    assert (alone.process.returncode, complaints) == (0, b"")


async def test_a_token_opens_the_control_service(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("open sesame\n")
    (tmp_path / "resources").mkdir()
    arguments = ("--resources", str(tmp_path / "resources"), "--token-file", str(token))
    async with (
        running(*arguments, "--listen", "0.0.0.0:0") as process,
        grpc.aio.insecure_channel(process.control) as channel,
    ):
        stub: Any = control_pb2_grpc.ControlStub(channel)  # type: ignore[no-untyped-call]
        request = control_pb2.LoadRequest()
        for wrong in ((), (("authorization", "Bearer open"),), (("authorization", "open sesame"),)):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.Load(request, metadata=wrong)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        call = stub.Transcript(control_pb2.TranscriptRequest())
        assert await call.code() is grpc.StatusCode.UNAUTHENTICATED
        await stub.Load(request, metadata=(("authorization", "Bearer open sesame"),))
        health: Any = health_pb2_grpc.HealthStub(channel)
        await health.Check(health_pb2.HealthCheckRequest())


async def test_other_machines_need_a_token(plane: ControlPlane) -> None:
    with pytest.raises(TokenNeeded, match="would be open to other machines"):
        async with ControlServer.running(plane, host="0.0.0.0"):  # noqa: S104 - refused
            pytest.fail("it was served without a token")


BAD_COMMANDS = [
    ([], "--resources"),
    (["--resources", "{folder}/gone"], "There is no folder"),
    (["--resources", "{folder}", "--listen", "nonsense"], "'nonsense' is no address"),
    (["--resources", "{folder}", "--listen", "127.0.0.1:99999"], "is no address"),
    (["--resources", "{folder}", "--listen", "127.0.0.1:{taken}"], "Cannot listen on"),
    (["--resources", "{folder}", "--control", "127.0.0.1:{taken}"], "Cannot listen on"),
    (["--resources", "{folder}", "--listen", "0.0.0.0:0"], "open to other machines"),
    (["--resources", "{folder}", "--token-file", "{folder}/gone"], "cannot be read"),
    (["--resources", "{folder}", "--token-file", "{folder}/blank"], "holds no token"),
    (["--resources", "{bad}"], "bad.json: resource 1: has no '@type'"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_COMMANDS)
def test_bad_input_is_one_sentence_and_exit_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / "blank").write_text("\n")
    bad = tmp_path / "bad"
    bad.mkdir()
    if "{bad}" in arguments:
        (bad / "bad.json").write_text(json.dumps({"a": 1}))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = {"folder": tmp_path, "bad": bad, "taken": taken.getsockname()[1]}
        try:
            code = main([argument.format_map(words) for argument in arguments])
        except SystemExit as left:
            code = int(left.code or 0)
    captured = capsys.readouterr()
    assert (code, captured.out) == (4, "")
    assert message in captured.err
    assert captured.err.count("\n") == 1
