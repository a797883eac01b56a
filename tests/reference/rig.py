"""The reference client in the test's own process, beside a real control plane and backends."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from client_under_test.reference.channel.channel import Call, CallSpec, Channel
from client_under_test.reference.client import Client
from client_under_test.reference.editions import behavior
from client_under_test.reference.transport.clock import Clock
from client_under_test.reference.transport.http2 import Header
from client_under_test.reference.values import Metadata, State, Status
from fake_control_plane import ControlPlane
from fake_control_plane import resources as made
from test_servers import BackendEndpoint, Fleet

# Generous: on a busy machine a test should be slow, not red.
DEADLINE = 10.0

# The specifications' seconds pass so many times faster.
FAST = 0.02

# An attempt, in these seconds: it has all of the deadline, however fast they pass.
PATIENT = DEADLINE / FAST

UNARY = "/grpc.testing.TestService/UnaryCall"
DUPLEX = "/grpc.testing.TestService/FullDuplexCall"
NAME = "xdspec.test"


class Outcome:
    """A call under way, and how it ended."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.open: asyncio.Future[str] = self.loop.create_future()
        self.over: asyncio.Future[Status] = self.loop.create_future()
        self.call: Call | None = None

    def opened(self, headers: Sequence[Header]) -> None:
        host = dict(headers).get(b"hostname", b"").decode()
        if not self.open.done():
            self.open.set_result(host)

    def finished(self, status: Status) -> None:
        self.over.set_result(status)
        if not self.open.done():
            self.open.cancel()

    async def status(self) -> Status:
        async with asyncio.timeout(DEADLINE):
            return await self.over

    async def host(self) -> str:
        async with asyncio.timeout(DEADLINE):
            return await self.open


class Rig:
    """A control plane, a fleet, and clients of the reference."""

    def __init__(self, plane: ControlPlane, fleet: Fleet) -> None:
        self.plane = plane
        self.fleet = fleet
        self.clients: list[Client] = []
        self.channels: list[Channel] = []

    def client(self, *, scale: float = 1.0, edition: str = "modern") -> Client:
        clock = Clock(asyncio.get_running_loop(), scale)
        made_here = Client(behavior.of_edition(edition), clock, random.Random(7))
        self.clients.append(made_here)
        return made_here

    def channel(self, client: Client | None = None, **options: int) -> Channel:
        options.setdefault("connect_timeout_ms", round(PATIENT * 1000))
        opened = (client or self.client()).open_channel(f"xds:///{NAME}", options)
        self.channels.append(opened)
        return opened

    async def addresses(self, count: int) -> list[str]:
        return [endpoint.address for endpoint in await self.fleet.endpoints(count)]

    async def endpoints(self, count: int) -> list[BackendEndpoint]:
        return await self.fleet.endpoints(count)

    async def route_to(self, cluster: str) -> None:
        """Serve the target, with one route to a cluster."""
        await self.plane.set(
            made.listener(NAME, route_config="route"),
            made.route_configuration(
                "route", cluster=cluster, hash_policies=[made.hash_header("session")]
            ),
        )

    async def serve(self, *addresses: str, **cluster: Any) -> None:
        """Serve the target from one EDS cluster with these endpoints."""
        await self.plane.set(
            made.eds_cluster("cluster", **cluster),
            made.endpoints("cluster", place(*addresses)),
        )
        await self.route_to("cluster")

    def end(self) -> None:
        for channel in self.channels:
            channel.close()
        for client in self.clients:
            client.close()


def place(*addresses: str, name: str = "one", **of: Any) -> Any:
    """A locality of these endpoints."""
    return made.locality(name, *map(made.endpoint, addresses), **of)


def start(
    channel: Channel,
    *,
    path: str = UNARY,
    metadata: Metadata = (),
    deadline: float | None = DEADLINE,
    wait_for_ready: bool = False,
    kept_open: bool = False,
) -> Outcome:
    outcome = Outcome()
    spec = CallSpec(
        path=DUPLEX if kept_open else path,
        metadata=metadata,
        deadline=deadline,
        wait_for_ready=wait_for_ready,
        kept_open=kept_open,
    )
    outcome.call = channel.start(spec, outcome)
    return outcome


async def call(channel: Channel, **how: Any) -> Status:
    return await start(channel, **how).status()


async def statuses(outcomes: Iterable[Outcome]) -> Counter[str]:
    return Counter([(await outcome.status()).code for outcome in outcomes])


async def until(what: Callable[[], Any]) -> None:
    """For states that have no event of their own to wait on; the loop does its work meanwhile."""
    async with asyncio.timeout(DEADLINE):
        while not what():  # noqa: ASYNC110 - nobody sets an event
            await asyncio.sleep(0.005)


class States:
    """The states of a channel, and waits for one of them."""

    def __init__(self, channel: Channel) -> None:
        self.seen: list[State] = []
        channel.watch(self.seen.append)

    async def reached(self, state: State) -> None:
        await until(lambda: state in self.seen)
