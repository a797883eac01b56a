"""A TCP listener in front of a hidden server."""

from __future__ import annotations

import asyncio
import collections
import contextlib
from collections.abc import Callable
from typing import Any, Final

from hyperframe.frame import GoAwayFrame

from request_filter.exceptions import BadRequest
from request_filter.frames import Frames
from request_filter.hidden_server import HiddenServer, unused_name
from request_filter.scanner import RequestScanner

_BACKLOG: Final = 1024

# Seconds in which a client that reads has read the last bytes of a server that has stopped.
_LAST_BYTES: Final = 1.0

# A server may learn of a request when its connection has ended already.
_REMEMBERED: Final = 1000

_PROTOCOL_ERROR: Final = 1  # RFC 9113, section 7


def refusal(why: BadRequest) -> bytes:
    """Return the GOAWAY frame that tells a client why its connection ends."""
    return GoAwayFrame(
        error_code=_PROTOCOL_ERROR, additional_data=f"the client {why}".encode()
    ).serialize()


class Proxy:
    """Passes connections on to a hidden server, but for what it must not get.

    Args:
        server: The server.
        report: Hears a sentence about each connection that was refused or cannot be passed on.
    """

    def __init__(self, server: HiddenServer, report: Callable[[str], None]) -> None:
        self._server = server
        self._report = report
        self._listener: asyncio.Server | None = None
        self._clients: dict[str, str] = {}
        self._ended: collections.deque[str] = collections.deque()
        self._live: set[_Connection] = set()
        self._none_lives = asyncio.Event()

    async def listen(self, host: str, port: int) -> int:
        """Take connections at an address, or (0) at a free port of it; returns the port.

        Raises:
            OSError: it cannot be listened on.
        """
        self._listener = await asyncio.get_running_loop().create_server(
            lambda: _ClientSide(_Connection(self)), host, port, backlog=_BACKLOG
        )
        bound: int = self._listener.sockets[0].getsockname()[1]
        return bound

    def close(self) -> None:
        """Take no more connections; those that are there last as long as the server lets them."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    async def end(self) -> None:
        """Return when no connection is left; the server has closed its sides of them before."""
        self.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_BYTES):
                while self._live:
                    self._none_lives.clear()
                    await self._none_lives.wait()
        for connection in tuple(self._live):
            connection.drop()

    def client_of(self, peer: str) -> str:
        """Return the address of a client as gRPC writes it, by the server's name for the peer."""
        return self._clients.get(peer, peer)

    def begins(self, connection: _Connection) -> None:
        """Take in a connection that was accepted."""
        self._live.add(connection)

    def ends(self, connection: _Connection) -> None:
        """Forget a connection, and the client of one that ended long before it."""
        self._live.discard(connection)
        if not self._live:
            self._none_lives.set()
        self._ended.append(connection.peer)
        if len(self._ended) > _REMEMBERED:
            self._clients.pop(self._ended.popleft(), None)

    async def reach_server(self, connection: _Connection) -> None:
        """Open the way of a connection to the server."""
        name, connection.peer = unused_name()
        self._clients[connection.peer] = connection.client_address
        try:
            transport = await self._server.connect(lambda: _ServerSide(connection), name)
        except OSError as trouble:
            connection.drop()
            if self._listener is not None:
                self._report(f"cannot pass {connection.client_address} on: {trouble}")
            return
        connection.splice(transport)

    def refused(self, connection: _Connection, why: BadRequest) -> None:
        """Tell of a connection that is closed for what came over it."""
        self._report(f"closed the connection of {connection.client_address}: the client {why}")


class _Connection:
    """A client's connection and the one to the server."""

    def __init__(self, proxy: Proxy) -> None:
        self.client: asyncio.Transport
        self.server: asyncio.Transport | None = None
        self.client_address = ""
        self.peer = ""
        self._proxy = proxy
        self._scanner = RequestScanner()
        self._frames = Frames()
        self._task: asyncio.Task[None] | None = None

    def accepted(self, transport: asyncio.Transport) -> None:
        self.client = transport
        self.client_address = _as_grpc_writes(transport.get_extra_info("peername"))
        self._proxy.begins(self)
        # Python 3.11.2, that of Debian 12, reads all the same if paused in `connection_made`.
        asyncio.get_running_loop().call_soon(self.client.pause_reading)
        self._task = asyncio.get_running_loop().create_task(self._proxy.reach_server(self))

    def splice(self, server: asyncio.Transport) -> None:
        if self.client.is_closing():
            server.abort()
            return
        self.server = server
        self.client.resume_reading()

    def from_client(self, data: bytes) -> None:
        assert self.server is not None, "nothing is read before"
        try:
            passed = self._scanner.feed(data)
        except BadRequest as why:
            self._proxy.refused(self, why)
            if self._frames.is_between:
                self.client.write(refusal(why))
            self.client.close()
            self.server.abort()
        else:
            self.server.write(passed)

    def from_server(self, data: bytes) -> None:
        self._frames.feed(data)
        self.client.write(data)

    def client_half_closed(self) -> bool:
        """Note the client's half-close; return whether the server may continue."""
        if self.server is None:
            return False
        self.server.write_eof()
        return True

    def lost(self, other: asyncio.Transport | None, error: Exception | None) -> None:
        if other is not None:
            if error is None:
                other.close()
            else:
                other.abort()
        elif self._task is not None:
            self._task.cancel()

    def over(self) -> None:
        self._proxy.ends(self)

    def drop(self) -> None:
        self.client.abort()
        if self.server is not None:
            self.server.abort()


class _Side(asyncio.Protocol):
    """What both sides of a connection have in common."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection


class _ClientSide(_Side):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._connection.accepted(transport)

    def data_received(self, data: bytes) -> None:
        self._connection.from_client(data)

    def eof_received(self) -> bool:
        return self._connection.client_half_closed()

    def pause_writing(self) -> None:
        if self._connection.server is not None:
            self._connection.server.pause_reading()

    def resume_writing(self) -> None:
        if self._connection.server is not None:
            self._connection.server.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.lost(self._connection.server, exc)
        self._connection.over()


class _ServerSide(_Side):  # a server that says no more has closed its side
    def data_received(self, data: bytes) -> None:
        self._connection.from_server(data)

    def pause_writing(self) -> None:
        self._connection.client.pause_reading()

    def resume_writing(self) -> None:
        self._connection.client.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.lost(self._connection.client, exc)


def _as_grpc_writes(peer: Any) -> str:
    if not peer:  # the client has gone already
        return "unknown"
    host, port = peer[:2]
    return f"ipv6:%5B{host}%5D:{port}" if ":" in host else f"ipv4:{host}:{port}"
