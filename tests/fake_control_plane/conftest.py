"""A control plane, and clients that speak the bare protocols to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack
from typing import Any

import grpc.aio
import pytest
from envoy.service.discovery.v3 import ads_pb2_grpc, discovery_pb2
from envoy.service.load_stats.v3 import lrs_pb2, lrs_pb2_grpc

from fake_control_plane import ControlPlane, Kind, control_pb2, control_pb2_grpc

# Generous: on a busy machine a test should be slow, not red.
DEADLINE = 10.0


class Stream:
    """A bidirectional stream, driven message by message."""

    def __init__(self, call: Any) -> None:
        self.call = call

    async def send(self, message: Any) -> None:
        await self.call.write(message)

    async def receive(self) -> Any:
        async with asyncio.timeout(DEADLINE):
            return await self.call.read()

    async def status(self) -> tuple[grpc.StatusCode, str]:
        async with asyncio.timeout(DEADLINE):
            return await self.call.code(), await self.call.details()


class AdsClient(Stream):
    """An aggregated discovery stream."""

    def __init__(self, call: Any, node: str) -> None:
        super().__init__(call)
        self._node: str | None = node

    async def request(
        self,
        kind: Kind,
        names: Iterable[str] = (),
        *,
        answer: Any = None,
        error: str = "",
        nonce: str = "",
        version: str = "",
    ) -> None:
        """Send a request; with a response as `answer` it acknowledges it, or with an error not."""
        message = discovery_pb2.DiscoveryRequest(
            type_url=kind.type_url,
            resource_names=list(names),
            response_nonce=nonce if answer is None else answer.nonce,
            version_info=version if answer is None or error else answer.version_info,
        )
        if self._node is not None:
            message.node.id = self._node
            self._node = None
        if error:
            message.error_detail.code = 3
            message.error_detail.message = error
        await self.send(message)


class LrsClient(Stream):
    """A load reporting stream."""

    async def report(self, *clusters: Any, node: str = "", features: Iterable[str] = ()) -> None:
        message = lrs_pb2.LoadStatsRequest(cluster_stats=clusters)
        if node:
            message.node.id = node
            message.node.client_features.extend(features)
        await self.send(message)


class Clients:
    """Opens streams to an address and ends them all."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack

    async def ads(self, address: str, node: str = "") -> AdsClient:
        stub = ads_pb2_grpc.AggregatedDiscoveryServiceStub(await self._channel(address))
        return AdsClient(self._ended(stub.StreamAggregatedResources()), node)

    async def lrs(self, address: str) -> LrsClient:
        stub = lrs_pb2_grpc.LoadReportingServiceStub(await self._channel(address))
        return LrsClient(self._ended(stub.StreamLoadStats()))

    async def controls(self, address: str) -> Controls:
        return Controls(await self._channel(address))

    async def _channel(self, address: str) -> grpc.aio.Channel:
        return await self._stack.enter_async_context(grpc.aio.insecure_channel(address))

    def _ended(self, call: Any) -> Any:
        self._stack.callback(call.cancel)
        return call


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
        return await self.stub.Inject(control_pb2.Fault(**fault))

    async def events(self, count: int, since: int = 0) -> list[Any]:
        call = self.stub.Transcript(control_pb2.TranscriptRequest(since=since))
        async with asyncio.timeout(DEADLINE):
            events = [await call.read() for _ in range(count)]
        call.cancel()
        return events


@pytest.fixture
async def clients() -> AsyncIterator[Clients]:
    async with AsyncExitStack() as stack:
        yield Clients(stack)


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    async with ControlPlane.running() as plane:
        yield plane


@pytest.fixture
def names_of() -> Callable[[Any], list[str]]:
    """The resource names in a response."""

    def names(response: Any) -> list[str]:
        found = []
        for wrapped in response.resources:
            kind = Kind.of_type_url(wrapped.type_url)
            assert kind is not None
            # Field 1 of each of the four messages is its name.
            length = wrapped.value[1]
            assert wrapped.value[0] == 0x0A
            found.append(wrapped.value[2 : 2 + length].decode())
        return found

    return names
