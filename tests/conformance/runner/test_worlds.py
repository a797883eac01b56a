"""Which client that was launched ahead of its scenario is still good for it."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from envoy.service.discovery.v3 import ads_pb2_grpc, discovery_pb2

from client_under_test import find, prepare
from conformance import timing
from conformance.judging.declaration import AS_ALWAYS
from conformance.runner.plugin import worlds
from conformance.runner.plugin.worlds import Wanted, Worlds
from conformance.runner.targets import subject_for
from conformance.world import Launched, launch
from fake_control_plane import Kind, Request

DEADLINE = 5.0


@pytest.fixture(scope="module")
def wanted() -> Wanted:
    return Wanted(subject_for(prepare(find("reference"))), {}, AS_ALWAYS)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Launched]:
    """All that were, in their order."""
    made: list[Launched] = []

    async def noted(*args: Any, **how: Any) -> Launched:
        made.append(await launch(*args, **how))
        return made[-1]

    monkeypatch.setattr(worlds, "launch", noted)
    return made


async def connect(one: Launched) -> None:
    """As a client that asks the control plane as soon as it starts."""
    async with grpc.aio.insecure_channel(one.plane.address) as channel:
        stub = ads_pb2_grpc.AggregatedDiscoveryServiceStub(channel)
        await stub.StreamAggregatedResources().write(
            discovery_pb2.DiscoveryRequest(type_url=Kind.CLUSTER.type_url)
        )
        await one.plane.transcript.wait(lambda event: isinstance(event, Request), deadline=DEADLINE)


async def silence(_: Launched) -> None:
    """As most clients, before a channel is opened."""


@pytest.mark.parametrize(
    ("prelude", "limit", "launches"),
    [
        pytest.param(silence, 0.0, 2, id="it has not connected"),
        pytest.param(connect, DEADLINE, 2, id="it has for a moment"),
        pytest.param(connect, 0.0, 3, id="it has for too long"),
    ],
)
async def test_one_that_was_launched_ahead_is_taken_unless_it_waits_for_too_long(
    launched: list[Launched],
    wanted: Wanted,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    prelude: Callable[[Launched], Awaitable[None]],
    limit: float,
    launches: int,
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        made = Worlds(str(tmp_path))
        stack.push_async_callback(made.close)
        await (await made.take(wanted, wanted)).close()
        await prelude(launched[1])
        monkeypatch.setattr(timing, "LEFT_WAITING", limit)
        taken = await made.take(wanted, None)
        assert len(launched) == launches
        assert taken is launched[-1]
        await taken.close()
