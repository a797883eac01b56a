"""A real client, in a process of its own: what the bare stubs assume is what clients do."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from fake_control_plane import ControlPlane, Kind, Request
from fake_control_plane.files import load_folder
from fake_control_plane.resources import (
    eds_cluster,
    endpoint,
    endpoints,
    hash_header,
    listener,
    locality,
    ring_hash,
    route_configuration,
)

DEADLINE = 20.0
SAMPLE = Path(__file__).parents[2] / "docs" / "sample-resources"

# One RPC for each line on stdin, its outcome on stdout.
CLIENT = """
import asyncio, sys, grpc, grpc.aio
async def main():
    async with grpc.aio.insecure_channel("xds:///service") as channel:
        call = channel.unary_unary("/test.Echo/Call")
        while await asyncio.to_thread(sys.stdin.readline):
            try:
                answer = (await call(b"", timeout=10, wait_for_ready=True)).decode()
            except grpc.RpcError as error:
                answer = error.code().name
            print(answer, flush=True)
asyncio.run(main())
"""


class Client:
    """The client's process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.calls = 0

    async def call(self) -> str:
        self.calls += 1
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"\n")
        async with asyncio.timeout(DEADLINE):
            return (await self._process.stdout.readline()).decode().strip()


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    bootstrap = {
        "xds_servers": [
            {
                "server_uri": plane.address,
                "channel_creds": [{"type": "insecure"}],
                "server_features": ["xds_v3"],
            }
        ],
        "node": {"id": "real", "locality": {"region": "r", "zone": "z"}},
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CLIENT,
        env=dict(os.environ, GRPC_XDS_BOOTSTRAP_CONFIG=json.dumps(bootstrap)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield Client(process)
    finally:
        process.kill()
        await process.communicate()


@pytest.fixture
async def backends() -> AsyncIterator[list[str]]:
    """Two servers that answer each call with their own address."""
    servers, addresses = [], []
    for _ in range(2):
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"

        async def answer(_: bytes, __: Any, address: str = address) -> bytes:
            return address.encode()

        handlers: dict[str, Any] = {"Call": grpc.unary_unary_rpc_method_handler(answer)}
        server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("test.Echo", handlers)]
        )
        await server.start()
        servers.append(server)
        addresses.append(address)
    yield addresses
    for server in servers:
        await server.stop(grace=None)


def assignment(address: str) -> Any:
    return endpoints("c", locality("near", endpoint(address)))


async def test_grpcio(plane: ControlPlane, client: Client, backends: list[str]) -> None:
    seen = plane.transcript
    first, second = backends
    push = await plane.set(
        listener("service", route_config="r"),
        route_configuration("r", cluster="c", hash_policies=[hash_header("k")]),
        eds_cluster("c", policy=ring_hash(), lrs=True),
        assignment(first),
    )
    plane.script.loads.ask(interval=1)

    # LDS, RDS, CDS, EDS and an RPC.
    assert await client.call() == first
    for kind in Kind:
        assert (await seen.acked(push, kind, deadline=DEADLINE)).node == "real"
    subscribed = [e.kind for e in seen.events if isinstance(e, Request) and e.subscribed]
    assert subscribed == [Kind.LISTENER, Kind.ROUTE, Kind.CLUSTER, Kind.ENDPOINTS]
    identity = next(e.identity for e in seen.events if isinstance(e, Request))
    assert identity is not None
    assert (identity.locality.region, identity.locality.zone) == ("r", "z")
    assert "gRPC" in identity.user_agent_name

    # An update of the endpoints is acknowledged and then followed.
    push = await plane.set(assignment(second))
    await seen.acked(push, Kind.ENDPOINTS, deadline=DEADLINE)
    async with asyncio.timeout(DEADLINE):
        while await client.call() != second:
            pass

    # What cannot be used is rejected, and what was in force stays.
    for broken in (
        plane.script.faults.send_malformed(Kind.CLUSTER),
        plane.script.faults.send_wrong_type(Kind.CLUSTER),
    ):
        nack = await seen.nacked(broken, Kind.CLUSTER, deadline=DEADLINE)
        assert nack.error_detail
    assert await client.call() == second

    # The load reports balance with the calls that were made.
    await plane.reported(
        lambda loads: loads.is_balanced("c", issued=client.calls), deadline=DEADLINE
    )

    # A control plane that comes back on its port is found, and told what is known.
    since = len(seen)
    await plane.stop()
    await plane.resume()
    again = await seen.subscribed(Kind.CLUSTER, "c", since=since, deadline=DEADLINE)
    assert again.nonce == ""
    assert await client.call() == second

    # A cluster that no route names any more is no longer subscribed to.
    since = len(seen)
    await plane.set(
        route_configuration("r", cluster="d"),
        eds_cluster("d", service_name="c", policy=ring_hash()),
    )
    await seen.subscribed(Kind.CLUSTER, "d", since=since, deadline=DEADLINE)
    await seen.unsubscribed(Kind.CLUSTER, "c", since=since, deadline=DEADLINE)
    assert await client.call() == second


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="the documents are in the repository only")
async def test_the_sample_folder(
    tmp_path: Path, plane: ControlPlane, client: Client, backends: list[str]
) -> None:
    for file in SAMPLE.iterdir():
        text = file.read_text(encoding="utf-8")
        for sample, backend in zip(("50051", "50052"), backends, strict=True):
            text = text.replace(sample, backend.rpartition(":")[2])
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    push = await plane.replace(*load_folder(tmp_path).resources)
    assert await client.call() in backends
    for kind in Kind:
        await plane.transcript.acked(push, kind, deadline=DEADLINE)
