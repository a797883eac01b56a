"""Backends, one of them, and a channel to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest

from test_servers import BackendEndpoint, Fleet


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    async with Fleet.running() as fleet:
        yield fleet
    assert not fleet.troubles


@pytest.fixture
async def endpoint(fleet: Fleet) -> BackendEndpoint:
    return await fleet.endpoint()


@pytest.fixture
async def channel(endpoint: BackendEndpoint) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(
        endpoint.address, options=(("grpc.use_local_subchannel_pool", 1),)
    ) as channel:
        yield channel
