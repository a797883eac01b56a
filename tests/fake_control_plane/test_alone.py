"""`python -m fake_control_plane` from outside of its process, by bare stubs."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from google.protobuf import any_pb2, json_format
from grpc_health.v1 import health_pb2, health_pb2_grpc

from fake_control_plane import ControlPlane, Kind, control_pb2, control_pb2_grpc, watch
from fake_control_plane.__main__ import main
from fake_control_plane.files import load_folder
from fake_control_plane.resources import eds_cluster, endpoints, listener, route_configuration
from fake_control_plane.snapshot import pack_all

DEADLINE = 10.0
ENDLESS = 10_000_000
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

    async def complaint_about(self, name: str) -> str:
        """Of this file; one that goes while it is read may be told of once more before."""
        while name not in (told := await self.complaint()):
            assert "No such file" in told
        return told


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
            xds, control = [json.loads(await process.stdout.readline()) for _ in range(2)]
        assert (xds["id"], control["id"]) == ("xds", "control")
        assert xds["address"] == f"{xds['host']}:{xds['port']}"
        yield Alone(process, xds["address"], control["address"])
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.fixture
async def alone(tmp_path: Path) -> AsyncIterator[Alone]:
    write(tmp_path, eds_cluster("c"))
    async with running("--resources", str(tmp_path)) as process:
        yield process


@pytest.fixture
async def controls(alone: Alone, clients: Any) -> Any:
    return await clients.controls(alone.control)


async def test_the_transcript_equals_what_was_sent(
    alone: Alone, controls: Any, clients: Any
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


HARM = {
    "itself.yaml": "a: &a [*a]",
    "bomb.yaml": "\n".join(
        ["a0: &a0 x", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 64))]
    ),
    "deep.yaml": "[" * 100_000,
    "long.yaml": "a: " + "9" * 5000,
    "long.json": "9" * 5000,
    "twice.json": '{"a": 1, "a": 2}',
}


async def test_what_was_served_stays(tmp_path: Path, alone: Alone, clients: Any) -> None:
    client = await clients.ads(alone.xds)
    await client.request(CDS)
    await client.receive()
    for name, text in HARM.items():
        (tmp_path / name).write_text(text)
        complaint = await alone.complaint_about(name)
        assert complaint.endswith("What was served before stays.\n")
        (tmp_path / name).unlink()
    os.mkfifo(tmp_path / "fifo.yaml")
    complaint = await alone.complaint_about("fifo.yaml")
    assert "no regular file. What was served before stays." in complaint
    (tmp_path / "fifo.yaml").unlink()
    write(tmp_path, eds_cluster("d"))
    assert len((await client.receive()).resources) == 2


async def test_a_folder_says_its_version(tmp_path: Path, alone: Alone, clients: Any) -> None:
    client = await clients.ads(alone.xds)
    await client.request(CDS)
    assert (await client.receive()).version_info == "1"
    for version in ("mine", "yours"):
        (tmp_path / "version.yaml").write_text(f"version_info: {version}")
        assert (await client.receive()).version_info == version


async def test_a_folder_that_is_removed_and_made_again(tmp_path: Path, clients: Any) -> None:
    folder = tmp_path / "resources"
    folder.mkdir()
    write(folder, eds_cluster("c"))
    async with running("--resources", str(folder)) as process:
        client = await clients.ads(process.xds)
        await client.request(CDS)
        await client.receive()
        for name, before in (("d", 1), ("e", 3)):
            shutil.rmtree(folder)
            assert "There is no folder" in await process.complaint()
            folder.mkdir()
            assert "holds no resource yet. What was" in await process.complaint()
            another = await clients.ads(process.xds)
            await another.request(CDS)
            assert len((await another.receive()).resources) == before
            write(folder, eds_cluster(name), eds_cluster("f"))
            while name not in str(response := await client.receive()):
                pass  # a file was seen before the next one
            assert len(response.resources) <= 2
            write(folder, eds_cluster("g"))
            while len((await client.receive()).resources) < 3:
                pass


async def test_a_link_that_is_switched(tmp_path: Path, clients: Any) -> None:
    """As the resources folder itself, and as a ConfigMap is mounted."""
    for mark, name in (("1", "c"), ("2", "d")):
        for folder in (tmp_path / f"v{mark}", tmp_path / f"mounted/..{mark}"):
            folder.mkdir(parents=True)
            cluster = eds_cluster("x", service_name=name)
            write(folder, cluster)
    (tmp_path / "link").symlink_to("v1")
    (tmp_path / "mounted/..data").symlink_to("..1")
    (tmp_path / "mounted/Cluster-x.json").symlink_to("..data/Cluster-x.json")
    for served, switched, to in (("link", "link", "v2"), ("mounted", "mounted/..data", "..2")):
        async with running("--resources", str(tmp_path / served)) as process:
            client = await clients.ads(process.xds)
            await client.request(CDS)
            assert b"d" not in (await client.receive()).resources[0].value[-3:]
            (tmp_path / "new").symlink_to(to)
            (tmp_path / "new").replace(tmp_path / switched)
            assert b"d" in (await client.receive()).resources[0].value[-3:]
            file = tmp_path / served / "Cluster-x.json"
            file.write_text(file.read_text().replace('"d"', '"e"'))
            assert b"e" in (await client.receive()).resources[0].value[-3:]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_cleanly(alone: Alone, clients: Any, number: signal.Signals) -> None:
    client = await clients.ads(alone.xds)
    await client.request(CDS, ["c"])
    await client.receive()
    os.kill(alone.process.pid, number)
    async with asyncio.timeout(DEADLINE):
        _, complaints = await alone.process.communicate()
    assert (alone.process.returncode, complaints) == (0, b"")


async def test_the_end_of_standard_input_ends_it(tmp_path: Path) -> None:
    write(tmp_path, eds_cluster("c"))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "fake_control_plane", "--resources", str(tmp_path), "--until-eof"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    async with asyncio.timeout(DEADLINE):
        await process.stdout.readline()
        process.stdin.close()
        _, complaints = await process.communicate()
    assert (process.returncode, complaints) == (0, b"")


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
    (["--resources", "{folder}", "--token-file", "/dev/zero"], "it is no regular file"),
    (["--resources", "{folder}", "--token-file", "{folder}"], "Is a directory"),
    (["--resources", "{folder}", "--token-file", "{folder}/fifo"], "it is no regular file"),
    (["--resources", "{folder}", "--token-file", "{folder}/large"], "is larger than 8,192 bytes"),
    (["--resources", "{bad}"], "bad.json: resource 1: has no '@type'"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_COMMANDS)
def test_bad_input_is_one_sentence_and_exit_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / "blank").write_text("\n")
    (tmp_path / "large").write_text("x" * 10_000)
    os.mkfifo(tmp_path / "fifo")
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_reading_of_a_folder(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(number)

    def slow(_: Path) -> Any:
        signal.raise_signal(number)
        raise AssertionError("it went on to read")

    monkeypatch.setattr("fake_control_plane.__main__.load_folder", slow)
    assert main(["--resources", str(tmp_path)]) == 0
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("during", ["the first look", "the preparation of what is served"])
def test_a_signal_before_a_folder_is_read_is_obeyed(
    during: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder is read at once and looked at in a thread; then it is read to be served."""
    write(tmp_path, eds_cluster("c"))
    reads: list[Path] = []

    def signalling(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)  # type: ignore[arg-type]
            return call(*arguments)

        return called

    def counted(folder: Path) -> Any:
        reads.append(folder)
        return load_folder(folder)

    monkeypatch.setattr("fake_control_plane.__main__.load_folder", counted)
    if during == "the first look":
        monkeypatch.setattr(watch, "_fingerprint", signalling(watch._fingerprint))
    else:
        monkeypatch.setattr("fake_control_plane.__main__.pack_all", signalling(pack_all))
        monkeypatch.setattr(
            ControlPlane, "replace", lambda *_, **__: pytest.fail("it went on to serve")
        )
    assert main(["--resources", str(tmp_path)]) == 0
    assert len(reads) == (1 if during == "the first look" else 2)


def test_a_look_at_a_large_folder_does_not_outlast_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing cancels a thread, and the process waits for it."""
    looks: list[str] = []

    def files(folder: Path) -> Iterator[Path]:
        if looks:
            looks.append("begun")
            begun.set()
            yield from itertools.repeat(folder, ENDLESS)
            looks.append("ended by itself")
        looks.append("first")

    begun = threading.Event()
    monkeypatch.setattr(watch, "resource_files", files)
    stop = threading.Event()

    async def watched() -> None:
        async with watch.watching(tmp_path, asyncio.Event(), stop):
            assert await asyncio.to_thread(begun.wait, DEADLINE)

    asyncio.run(watched())  # it waits for all threads of its event loop
    assert stop.is_set()
    assert looks == ["first", "begun"]
