"""Which client that was launched ahead of its scenario is still good for it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc.aio
import msgspec
import pytest
from envoy.service.discovery.v3 import ads_pb2_grpc, discovery_pb2

from client_under_test.contract.exceptions import ClientCrashed
from client_under_test.environments import prepare
from client_under_test.manifests.clients import find
from conformance import timing
from conformance.judging.declaration import AS_ALWAYS
from conformance.runner.plugin import worlds
from conformance.runner.plugin.worlds import Wanted, Worlds
from conformance.runner.targets import subject_for
from conformance.world import LaunchedClient, launch
from fake_control_plane import Kind, Request

DEADLINE = 5.0


@pytest.fixture(scope="module")
def wanted() -> Wanted:
    return Wanted(subject_for(prepare(find("reference"))), {}, AS_ALWAYS)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[LaunchedClient]:
    """All that were, in their order."""
    made: list[LaunchedClient] = []

    async def noted(*args: Any, **how: Any) -> LaunchedClient:
        made.append(await launch(*args, **how))
        return made[-1]

    monkeypatch.setattr(worlds, "launch", noted)
    return made


async def connect(client: LaunchedClient) -> None:
    """As a client that asks the control plane as soon as it starts."""
    async with grpc.aio.insecure_channel(client.plane.address) as channel:
        stub = ads_pb2_grpc.AggregatedDiscoveryServiceStub(channel)
        await stub.StreamAggregatedResources().write(
            discovery_pb2.DiscoveryRequest(type_url=Kind.CLUSTER.type_url)
        )
        await client.plane.transcript.wait(
            lambda event: isinstance(event, Request), deadline=DEADLINE
        )


async def silence(_: LaunchedClient) -> None:
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
    launched: list[LaunchedClient],
    wanted: Wanted,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    prelude: Callable[[LaunchedClient], Awaitable[None]],
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


@pytest.fixture(scope="module")
def sharing() -> Wanted:
    folder = Path(__file__).parents[2] / "adapters" / "sharer"
    return Wanted(subject_for(prepare(find(str(folder)))), {}, AS_ALWAYS, shares=True)


async def test_a_kept_process_serves_the_next_world(
    launched: list[LaunchedClient], sharing: Wanted, tmp_path: Path
) -> None:
    made = Worlds(str(tmp_path))
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(made.close)
        first = await made.take(sharing, sharing)
        stack.push_async_callback(first.plane.close)
        assert first.bootstrap == first.environment["GRPC_XDS_BOOTSTRAP_CONFIG"]
        made.keep(sharing.subject, first, "a.first")
        second = await made.take(sharing, None)
        stack.push_async_callback(second.close)
        assert second.process is first.process
        assert second.earlier == ("a.first",)
        assert second.plane.address != first.plane.address
        assert second.plane.address in (second.bootstrap or "")
        assert len(launched) == 1


async def test_a_process_that_died_in_between_is_the_next_scenario_s(
    launched: list[LaunchedClient], sharing: Wanted, tmp_path: Path
) -> None:
    """So that nobody overlooks the crash: it is attributed when that one runs again alone."""
    made = Worlds(str(tmp_path))
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(made.close)
        first = await made.take(sharing, sharing)
        stack.push_async_callback(first.plane.close)
        made.keep(sharing.subject, first, "a.first")
        os.kill(first.process.pid, signal.SIGABRT)
        with pytest.raises(ClientCrashed):
            await first.process.dialogue.until(lambda: False)
        second = await made.take(sharing, None)
        stack.push_async_callback(second.close)
        assert isinstance(second.process.failure, ClientCrashed)
        assert second.earlier == ("a.first",)
        assert len(launched) == 1


async def test_nobody_else_gets_a_kept_process(
    launched: list[LaunchedClient], sharing: Wanted, tmp_path: Path
) -> None:
    made = Worlds(str(tmp_path))
    alone = msgspec.structs.replace(sharing, shares=False)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(made.close)
        first = await made.take(sharing, alone)
        stack.push_async_callback(first.plane.close)
        made.keep(sharing.subject, first, "a.first")
        second = await made.take(alone, sharing)
        stack.push_async_callback(second.close)
        assert second.process is not first.process
        assert second.bootstrap is None
        third = await made.take(sharing, None)
        stack.push_async_callback(third.plane.close)
        assert third.process is first.process
        assert len(launched) == 2
