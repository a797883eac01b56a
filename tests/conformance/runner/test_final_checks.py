"""Servers of the suite that end by themselves: nobody judges the client by what came after."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio
import pytest

from conformance.judging.verdicts import Reason, Verdict
from conformance.runner.plugin.final_checks import final_checks
from conformance.world import World
from request_filter import HiddenServer
from test_servers.backend import Host
from tests.request_filter.ended_server import end_by_itself

ENDED = "the gRPC server ended by itself; another one serves now"


def server_of(world: World) -> HiddenServer:
    assert world.plane._served is not None
    return world.plane._served[0]


async def test_a_world_whose_servers_serve_is_no_trouble(world: World) -> None:
    look = await final_checks(world, None)
    assert (look.trouble, look.is_void) == (None, False)


async def test_a_control_plane_that_was_stopped_on_purpose_is_no_trouble(world: World) -> None:
    await world.plane.stop()
    assert (await final_checks(world, None)).trouble is None


@pytest.mark.parametrize("is_noticed", [True, False])
async def test_a_server_that_ended_is_an_error_of_the_suite(
    world: World, *, is_noticed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether or not a client connected again, upon which another server was started."""
    server = server_of(world)
    await end_by_itself(server)
    if is_noticed:
        await server.probe()
    look = await final_checks(world, AssertionError("a client that nobody served"))
    assert look.trouble is not None
    assert (look.trouble.verdict, look.trouble.reason) == (Verdict.ERROR, Reason.SUITE)
    assert (look.trouble.what, look.trouble.at) == (f"control plane: {ENDED}", "")
    assert look.is_void
    caplog.clear()


async def test_a_backend_that_failed_is_an_error_of_the_suite(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> bytes:
        raise ZeroDivisionError("nothing of the client's")

    monkeypatch.setattr(Host, "empty_call", fail)
    world.fleet._backend._methods = world.fleet._backend.methods()
    endpoint = await world.fleet.endpoint()
    channel: Any
    async with grpc.aio.insecure_channel(endpoint.address) as channel:
        call = channel.unary_unary("/grpc.testing.TestService/EmptyCall")(b"", timeout=5)
        assert await call.code() is grpc.StatusCode.UNKNOWN
    look = await final_checks(world, None)
    assert look.trouble is not None
    assert look.trouble.reason is Reason.SUITE
    assert look.trouble.what == (
        'backends: a backend failed: ZeroDivisionError("nothing of the client\'s")'
    )
    assert look.is_void
