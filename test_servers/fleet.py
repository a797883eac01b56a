"""The fleet: endpoints made on demand, in one process and one event loop."""

import asyncio
import ipaddress
import resource
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Self

import grpc

from test_servers.backend import Backend, Host
from test_servers.backend_metrics import BackendMetrics
from test_servers.exceptions import NotLoopback
from test_servers.ledger import Attempt, Ledger
from test_servers.modes import Mode, Serve
from test_servers.proxy import Proxy, host_port

__all__ = ["BackendEndpoint", "Fleet"]

_OPEN_FILES = 16384
"""For 500 endpoints (2 files each) with some thousand spliced connections (3 each)."""

_SERVE = Serve()


class BackendEndpoint:
    """A backend behind its gate.

    Attributes:
        id: Such as "endpoint-0", counted through the fleet.
        host: A loopback address.
        port: The gate's port, its own from start to end.
        address: Both, such as "127.0.0.1:40123" or "[::1]:40123".
    """

    def __init__(self, identity: str, host: str, port: int, gate: Proxy, behind: Host) -> None:
        self.id = identity
        self.host = host
        self.port = port
        self.address = host_port(host, port)
        self._gate = gate
        self._behind = behind

    def __repr__(self) -> str:
        return f"<Endpoint {self.id} {self.address} {self.mode!r}>"

    @property
    def mode(self) -> Mode:
        """What the gate does with the next connection."""
        return self._gate.mode

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The connections that the gate accepted, live ones among them."""
        return tuple(
            attempt for attempt in self._gate.ledger.attempts if attempt.endpoint == self.id
        )

    async def set_mode(self, mode: Mode) -> None:
        """Change how the gate treats connections from now on.

        Held connections follow the new mode; live and stalled ones stay as they are.
        """
        await self._gate.set_mode(mode)

    async def set_serving(self, *, serving: bool) -> None:
        """Change the status of the backend's health service."""
        await self._behind.set_serving(serving=serving)

    def set_metrics(self, metrics: BackendMetrics | None) -> None:
        """Set the load that the backend reports at the end of each RPC from now on."""
        self._behind.metrics = metrics

    def set_failures(
        self, failing: int, of: int = 1, *, status: grpc.StatusCode = grpc.StatusCode.INTERNAL
    ) -> None:
        """Set how many RPCs of the test service end with this status.

        The first `failing` RPCs of each `of` fail, beginning with the next one; 0: none fails.
        """
        self._behind.failure = status
        self._behind.set_failures(failing, of)

    def go_away(self) -> None:
        """Send GOAWAY on all live connections, as a server does in a graceful shutdown.

        RPCs under way go on; new ones belong on other connections. It is sent where the backend is
        between two frames: at once as a rule, and after its SETTINGS.
        """
        self._gate.go_away()

    async def kill(self) -> None:
        """Drop all live connections, whatever their mode; the listener keeps its mode."""
        await self._gate.kill()


class Fleet:
    """Endpoints and the ledger of all that they see.

    Attributes:
        ledger: Every attempt and every RPC, as far as the ledger that it is made with keeps them.
    """

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = Ledger() if ledger is None else ledger
        self._endpoints: list[BackendEndpoint] = []
        self._gates: list[Proxy] = []
        self._troubles: list[str] = []
        self._backend = Backend(self.ledger, self._troubles.append)

    @classmethod
    async def start(cls, ledger: Ledger | None = None) -> Self:
        """Start a fleet without endpoints, ended by `stop`; its ledger is new unless given.

        The process is allowed more open files than its soft limit, up to what the fleet may need.
        """
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        enough = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
        if soft != resource.RLIM_INFINITY and soft < enough:
            resource.setrlimit(resource.RLIMIT_NOFILE, (enough, hard))
        return cls(ledger)

    @classmethod
    @asynccontextmanager
    async def running(cls, ledger: Ledger | None = None) -> AsyncIterator[Self]:
        """Run a fleet until the end of the block; its ledger as of `start`."""
        fleet = await cls.start(ledger)
        try:
            yield fleet
        finally:
            await fleet.stop()

    @property
    def members(self) -> tuple[BackendEndpoint, ...]:
        """The endpoints, in the order of their making."""
        return tuple(self._endpoints)

    @property
    def troubles(self) -> tuple[str, ...]:
        """Errors of the fleet itself. If there are any, the suite must not judge a client."""
        return tuple(self._troubles)

    async def endpoint(
        self, mode: Mode = _SERVE, *, host: str = "127.0.0.1", port: int = 0
    ) -> BackendEndpoint:
        """Make an endpoint.

        Args:
            mode: What its gate does at first.
            host: A loopback address, v4 or v6, written as a number.
            port: A fixed port, or 0 for a free one.

        Raises:
            NotLoopback: The address is another one.
            PortTaken: The port is in use at this address.
            FleetTrouble: The address cannot be listened on.
        """
        _check_loopback(host)
        identity = f"endpoint-{len(self._endpoints)}"

        async def connect(
            make: Callable[[], asyncio.BaseProtocol], connection: int
        ) -> asyncio.Transport:
            return await self._backend.connect(make, behind, connection)

        gate = Proxy(identity, mode, self.ledger, connect, self._troubles.append)
        port = await gate.open(host, port)
        behind = Host(identity, host_port(host, port))
        self._gates.append(gate)
        await behind.set_serving(serving=True)
        endpoint = BackendEndpoint(identity, host, port, gate, behind)
        self._endpoints.append(endpoint)
        return endpoint

    async def endpoints(
        self, count: int, mode: Mode = _SERVE, *, host: str = "127.0.0.1"
    ) -> list[BackendEndpoint]:
        """Make `count` endpoints, each at a free port."""
        return [await self.endpoint(mode, host=host) for _ in range(count)]

    async def attempted(
        self, endpoint: BackendEndpoint, count: int = 1, *, deadline: float
    ) -> tuple[Attempt, ...]:
        """Wait until an endpoint has seen `count` connection attempts since it was made.

        Raises:
            DeadlinePassed: It saw fewer within `deadline` seconds.
        """
        return await self.ledger.wait_attempts(
            lambda attempt: attempt.endpoint == endpoint.id, count=count, deadline=deadline
        )

    def end(self, rpc: int, code: grpc.StatusCode = grpc.StatusCode.OK) -> None:
        """Has a backend end an RPC that asked to be kept open.

        Args:
            rpc: Its number in the ledger, from 0 on.
            code: With which status.

        Raises:
            KeyError: It is not kept open, or not any more.
        """
        self._backend.end(rpc, code)

    async def stop(self) -> None:
        """End all connections, RPCs and servers; the ledger can still be read."""
        await asyncio.gather(*(gate.close() for gate in self._gates))
        await self._backend.stop()


def _check_loopback(host: str) -> None:
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise NotLoopback(
            f"{host!r} is no loopback address: use one such as 127.0.0.1, 127.0.0.2 or ::1"
        )
