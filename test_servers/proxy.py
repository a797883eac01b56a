"""The TCP door in front of a backend: it accepts, records, and does as its mode says."""

import asyncio
import errno
import socket
import time
from collections.abc import Awaitable, Callable

from request_filter import BadRequest, Frames, RequestScanner
from request_filter.proxy import refusal
from test_servers.exceptions import FleetTrouble, NoSuchAddress, PortTaken
from test_servers.go_away import GO_AWAY
from test_servers.ledger import Ender, Ledger
from test_servers.modes import Close, Hold, Mode, Refuse, Serve, Stall

__all__ = ["Connect", "Proxy", "host_port"]

_NOT_HERE = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""Errors for an address, or an address family, that the machine does not have."""

_BACKLOG = 1024
"""A burst of connections waits for the loop; refused, it would leave no trace."""

_CHUNK = bytearray(65536)
"""What every read goes to. Its bytes are copied before the loop goes on, so that one is enough, and
reading into it takes half the time of letting asyncio allocate 256 KiB for every read."""

_CHUNK_VIEW = memoryview(_CHUNK)

_HELD_LIMIT = 262144
"""Bytes kept of a connection that is not spliced yet: more than HTTP/2 lets a client send before
it has seen the server's SETTINGS."""


Connect = Callable[[Callable[[], asyncio.BaseProtocol], int], Awaitable[asyncio.Transport]]


def host_port(host: str, port: int) -> str:
    """Format an address like gRPC: "127.0.0.1:80", "[::1]:80"."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Proxy:
    """A port that is its own from `open` to `close`, listened on unless its mode is to refuse.

    Args:
        endpoint: Id of the endpoint, for the ledger.
        mode: What to do with connections at first.
        ledger: Where attempts are recorded.
        connect: Opens the way to the backend, for the connection of a number.
        report: Told in a sentence when the gate itself cannot do its work.
    """

    def __init__(
        self,
        endpoint: str,
        mode: Mode,
        ledger: Ledger,
        connect: Connect,
        report: Callable[[str], None],
    ) -> None:
        self.endpoint = endpoint
        self.ledger = ledger
        self.live: set[_Connection] = set()
        self._mode = mode
        self._connect = connect
        self._report = report
        self._holder: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self.is_closed = False

    async def open(self, host: str, port: int) -> int:
        """Bind a port, chosen by the system if 0 was requested, and return it.

        Raises:
            PortTaken: The address is in use.
            NoSuchAddress: This machine does not have it.
            FleetTrouble: The address cannot be listened on.
        """
        # This socket is bound and never listens. It reserves the port while no listener has it.
        # Listeners can bind the port too, because all of them set SO_REUSEADDR.
        try:
            self._holder = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
            self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._holder.bind((host, port))
            await self._obey()
        except OSError as error:
            if self._holder is not None:
                self._holder.close()
            address = host_port(host, port)
            if error.errno == errno.EADDRINUSE:
                raise PortTaken(
                    f"{address} is in use: choose another port, or 0 for a free one"
                ) from error
            reason = errno.errorcode.get(error.errno or 0, str(error))
            if error.errno in _NOT_HERE:
                raise NoSuchAddress(f"this machine has no address {host} ({reason})") from error
            raise FleetTrouble(
                f"cannot listen on {address} ({reason}): choose another address"
            ) from error
        bound: int = self._holder.getsockname()[1]
        self.ledger.did(self.endpoint, self._mode)
        return bound

    async def _obey(self) -> None:
        """Start or stop listening, depending on the mode."""
        if isinstance(self._mode, Refuse):
            if self._server is not None:
                self._server.close()
                self._server = None
        elif self._server is None:
            assert self._holder is not None, "a gate is opened before its mode is changed"
            host, port = self._holder.getsockname()[:2]
            self._server = await asyncio.get_running_loop().create_server(
                lambda: _ClientLeg(_Connection(self)), host, port, backlog=_BACKLOG
            )

    @property
    def mode(self) -> Mode:
        """What is done with the next connection."""
        return self._mode

    async def set_mode(self, mode: Mode) -> None:
        """Change how connections are treated from now on, including held connections."""
        self._mode = mode
        self.ledger.did(self.endpoint, mode)
        await self._obey()
        for connection in tuple(self.live):
            if connection.is_held:
                connection.follow(mode)

    async def kill(self) -> None:
        """Drop all live connections; return when their sockets are closed."""
        self.ledger.did(self.endpoint, "kill")
        victims = tuple(self.live)
        for connection in victims:
            connection.drop("gate")
        for connection in victims:
            await connection.over()

    def go_away(self) -> None:
        """Has all live connections told, behind the frame under way, that no more requests fit."""
        self.ledger.did(self.endpoint, "go away")
        for connection in tuple(self.live):
            connection.go_away()

    async def close(self) -> None:
        """Close the listener and drop all connections."""
        self.is_closed = True
        if self._server is not None:
            self._server.close()
        await self.kill()
        if self._server is not None:
            await self._server.wait_closed()
        if self._holder is not None:
            self._holder.close()

    async def reach_backend(self, connection: "_Connection") -> None:
        """Connect a connection to the backend."""
        try:
            transport = await self._connect(lambda: _BackendLeg(connection), connection.id)
        except OSError as error:
            self._report(f"{self.endpoint}: the gate cannot reach its own backend: {error}")
            connection.drop("gate")
            return
        connection.splice(transport)


class _Connection:
    """An accepted connection: the mode that it follows, and its two legs."""

    def __init__(self, gate: Proxy) -> None:
        self.gate = gate
        self.id = 0
        self.client: asyncio.Transport
        self.backend: asyncio.Transport | None = None
        self.is_silent = True
        self._accepted_at = time.monotonic()
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._following: Mode = gate.mode
        self._early: list[bytes] = []
        self._early_size = 0
        self._half_closed = False
        self._frames = Frames()
        self._scanner = RequestScanner()
        self._goes_away = False
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_held(self) -> bool:
        return isinstance(self._following, Hold)

    def accepted(self, transport: asyncio.Transport) -> None:
        self.client = transport
        peer = transport.get_extra_info("peername") or ("", 0)
        self.id = self.gate.ledger.accepted(
            self.gate.endpoint, host_port(peer[0], peer[1]), self.gate.mode, self._accepted_at
        )
        self.gate.live.add(self)
        if self.gate.is_closed:
            self.drop("gate")
        else:
            self.follow(self.gate.mode)

    def follow(self, mode: Mode) -> None:
        self._following = mode
        match mode:
            case Serve():
                self._task = asyncio.get_running_loop().create_task(self.gate.reach_backend(self))
            case Close(after) if after > 0:
                self._timer = asyncio.get_running_loop().call_later(after, self._close)
            case Close():
                self._close()
            case Refuse():
                self.drop("gate")
            case Stall():
                self._early.clear()
                self.client.resume_reading()
            case Hold():
                pass

    def early(self, data: bytes) -> None:
        """Keep data that arrives before the splice, if a splice is possible."""
        if isinstance(self._following, Stall | Close | Refuse):
            return
        self._early.append(data)
        self._early_size += len(data)
        if self._early_size >= _HELD_LIMIT:
            self.client.pause_reading()

    def splice(self, backend: asyncio.Transport) -> None:
        if self.client.is_closing():
            backend.abort()
            return
        self.backend = backend
        self.client.resume_reading()
        early = b"".join(self._early)
        self._early.clear()
        if early:
            self.pass_on(early)
            if backend.is_closing():
                return
        if self._half_closed:
            backend.write_eof()

    def pass_on(self, data: bytes) -> None:
        """Pass on what the client sends, unless it would end a grpcio server."""
        assert self.backend is not None, "there is a splice"
        try:
            passed = self._scanner.feed(data)
        except BadRequest as why:
            self.gate.ledger.closed(self.id, "gate")
            if self._frames.is_between:
                self.client.write(refusal(why))
            self.client.close()
            self.backend.abort()
        else:
            self.backend.write(passed)

    def said(self, data: bytes) -> None:
        """Pass on what the backend says, and what the gate has to say for it."""
        end = self._frames.feed(data)
        if self._goes_away and end is not None:
            self._goes_away = False
            data = data[:end] + GO_AWAY + data[end:]
        self.client.write(data)

    def go_away(self) -> None:
        if self.backend is None:
            return
        if self._frames.is_between and self._frames.count:
            self.client.write(GO_AWAY)
        else:
            self._goes_away = True

    def heard(self) -> None:
        self.is_silent = False
        self.gate.ledger.heard(self.id)

    def half_closed(self, by: Ender) -> bool:
        """One leg has said all it will; returns whether the other may go on."""
        self.gate.ledger.closed(self.id, by)
        if self.backend is None:
            # A client that half-closes before its connection reaches a backend has given up.
            self._half_closed = isinstance(self._following, Serve)
            return self._half_closed
        other = self.backend if by == "client" else self.client
        if self._half_closed:
            other.close()
            return False
        self._half_closed = True
        other.write_eof()
        return True

    def lost(self, by: Ender, error: Exception | None) -> None:
        """One leg is gone, so the other goes too: at once, or when it has sent what it has."""
        self.gate.ledger.closed(self.id, by)
        other = self.backend if by == "client" else self.client
        if other is not None:
            if error is None:
                other.close()
            else:
                other.abort()
        if by == "client":
            self._forget_plans()
            self.gate.live.discard(self)
            self._gone.set_result(None)

    def drop(self, by: Ender) -> None:
        self.gate.ledger.closed(self.id, by)
        self._forget_plans()
        self.client.abort()
        if self.backend is not None:
            self.backend.abort()

    async def over(self) -> None:
        """Return when the client's socket is closed and nothing is in progress."""
        await self._gone
        if self._task is not None:
            await asyncio.wait({self._task})

    def _close(self) -> None:
        self.gate.ledger.closed(self.id, "gate")
        self.client.close()

    def _forget_plans(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()


class _Leg(asyncio.BufferedProtocol):
    """What both legs of a connection have in common."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002 - asyncio's signature
        return _CHUNK


class _ClientLeg(_Leg):
    """The side that was accepted."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._connection.accepted(transport)

    def buffer_updated(self, nbytes: int) -> None:
        connection = self._connection
        if connection.is_silent:
            connection.heard()
        if connection.backend is None:
            connection.early(bytes(_CHUNK_VIEW[:nbytes]))
        else:
            connection.pass_on(bytes(_CHUNK_VIEW[:nbytes]))

    def eof_received(self) -> bool:
        return self._connection.half_closed("client")

    def pause_writing(self) -> None:
        if self._connection.backend is not None:
            self._connection.backend.pause_reading()

    def resume_writing(self) -> None:
        if self._connection.backend is not None:
            self._connection.backend.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.lost("client", exc)


class _BackendLeg(_Leg):
    """The side that was connected to the backend."""

    def buffer_updated(self, nbytes: int) -> None:
        self._connection.said(bytes(_CHUNK_VIEW[:nbytes]))

    def eof_received(self) -> bool:
        return self._connection.half_closed("backend")

    def pause_writing(self) -> None:
        self._connection.client.pause_reading()

    def resume_writing(self) -> None:
        self._connection.client.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.lost("backend", exc)
