"""A rig and a scripted server for tests over real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from fake_control_plane import ControlPlane
from test_servers import Fleet

from .rig import Rig
from .scripted_server import Scripted, Server, Watched


@pytest.fixture
async def rig(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    plane = await ControlPlane.start()
    fleet = await Fleet.start()
    server = {"server_uri": plane.address, "channel_creds": [{"type": "insecure"}]}
    text = json.dumps({"xds_servers": [server], "node": {"id": "test"}})
    monkeypatch.setenv("GRPC_XDS_BOOTSTRAP_CONFIG", text)
    monkeypatch.delenv("GRPC_XDS_BOOTSTRAP", raising=False)
    whole = Rig(plane, fleet)
    try:
        yield whole
    finally:
        whole.end()
        await plane.close()
        await fleet.stop()


@pytest.fixture
async def scripted() -> AsyncIterator[Scripted]:
    script = Scripted()
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: Server(script), "127.0.0.1", 0)
    script.address = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield script
    finally:
        for server in script.connections:
            server.end()
        listener.close()
        await listener.wait_closed()


@pytest.fixture
async def watched(scripted: Scripted) -> AsyncIterator[Watched]:
    connection = Watched(scripted.address)
    yield connection
    connection.subchannel.close()
