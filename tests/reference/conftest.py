"""A rig for tests over real sockets."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from fake_control_plane import ControlPlane
from test_servers import Fleet

from .rig import Rig


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
