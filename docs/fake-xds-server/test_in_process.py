"""Test an xDS client, here grpcio's, against a fake control plane and backends in one process."""

import json
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
import pytest_asyncio

from fake_control_plane import ControlPlane, Kind
from fake_control_plane.resources import (
    eds_cluster,
    endpoint,
    endpoints,
    listener,
    locality,
    route_configuration,
)
from test_servers import BackendEndpoint, Close, Fleet

DEADLINE = 20.0


def service(name: str, *backends: BackendEndpoint) -> list[Any]:
    """Return a Listener, a RouteConfiguration, a Cluster and its endpoints, all of one name."""
    members = [endpoint(backend.address) for backend in backends]
    return [
        listener(name, route_config=name),
        route_configuration(name, cluster=name),
        eds_cluster(name),
        endpoints(name, locality("here", *members)),
    ]


@pytest_asyncio.fixture
async def plane(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ControlPlane]:
    async with ControlPlane.running() as plane:
        server = {"server_uri": plane.address, "channel_creds": [{"type": "insecure"}]}
        bootstrap = {"xds_servers": [server], "node": {"id": "test"}}
        monkeypatch.setenv("GRPC_XDS_BOOTSTRAP_CONFIG", json.dumps(bootstrap))
        yield plane


@pytest_asyncio.fixture
async def fleet() -> AsyncIterator[Fleet]:
    async with Fleet.running() as fleet:
        yield fleet


async def called(channel: grpc.aio.Channel) -> str:
    """Make a call and return the address of the backend that answered it."""
    method: Any = channel.unary_unary("/grpc.testing.TestService/UnaryCall")
    call = method(b"", timeout=DEADLINE)
    await call
    headers = await call.initial_metadata()
    return str(headers["hostname"])


@pytest.mark.asyncio
async def test_calls_follow_the_endpoints(plane: ControlPlane, fleet: Fleet) -> None:
    old, new = await fleet.endpoints(2)
    await plane.set(*service("service", old))
    async with grpc.aio.insecure_channel("xds:///service") as channel:
        assert await called(channel) == old.address

        push = await plane.set(endpoints("service", locality("here", endpoint(new.address))))
        await plane.transcript.acked(push, Kind.ENDPOINTS, deadline=DEADLINE)
        # An ACK comes before the new endpoints are in use: call until they are.
        while await called(channel) != new.address:
            pass
    assert {rpc.endpoint for rpc in fleet.ledger.rpcs} == {old.id, new.id}


@pytest.mark.asyncio
async def test_a_bad_cluster_is_rejected(plane: ControlPlane, fleet: Fleet) -> None:
    (backend,) = await fleet.endpoints(1)
    await plane.set(*service("service", backend))
    async with grpc.aio.insecure_channel("xds:///service") as channel:
        await called(channel)

        bad = eds_cluster("service")
        bad.ClearField("eds_cluster_config")
        push = await plane.set(bad)
        nack = await plane.transcript.nacked(push, Kind.CLUSTER, deadline=DEADLINE)
        assert "service" in nack.error_detail
        assert await called(channel) == backend.address  # the last good cluster stays in use


@pytest.mark.asyncio
async def test_an_unreachable_backend_fails_calls(plane: ControlPlane, fleet: Fleet) -> None:
    (backend,) = await fleet.endpoints(1, mode=Close())  # accepts and closes each connection
    await plane.set(*service("service", backend))
    async with grpc.aio.insecure_channel("xds:///service") as channel:
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await called(channel)
        assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    await fleet.attempted(backend, deadline=DEADLINE)
