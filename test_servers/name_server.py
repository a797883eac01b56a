"""A name server at a loopback address of its own, whose answers can change at any time."""

import asyncio
import errno
import random
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Self

import msgspec

from test_servers.exceptions import FleetTrouble, PortForbidden
from test_servers.journal import Journal
from test_servers.zone import Answer, Question, Transport, reply_to

__all__ = ["NameServer", "Query"]

PORT = 53
"""Resolvers of operating systems know no other."""

_NETWORK = "127.53"
"""Where none of a machine's own servers is: each of this suite has an address there for itself."""

_TRIES = 50
_LENGTH_BYTES = 2


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A DNS query, and the answer that the zone had for it.

    Attributes:
        at: When it came, monotonic seconds.
        question: The name and the type of records.
        transport: The transport that it came over.
        answer: The zone's answer.
    """

    at: float
    question: Question
    transport: Transport
    answer: Answer


class NameServer:
    """Answers over UDP and TCP, and notes who was asked for.

    Attributes:
        host: Its address. The port is 53.
    """

    def __init__(self, host: str, names: Mapping[str, Answer]) -> None:
        self.host = host
        self._names = dict(names)
        self._queries: Journal[Query] = Journal("queries")
        self._connections = set[asyncio.Task[None]]()
        self._udp: asyncio.DatagramTransport | None = None
        self._tcp: asyncio.Server | None = None

    @classmethod
    async def start(cls, names: Mapping[str, Answer], rng: random.Random | None = None) -> Self:
        """Start a name server that knows these names, ended by `stop`.

        Args:
            names: In lower case, without a dot at their end.
            rng: Where its address is drawn from.

        Raises:
            PortForbidden: This user may not listen at port 53.
            FleetTrouble: No address has that port free.
        """
        draw = rng or random.Random()
        for _ in range(_TRIES):
            server = cls(f"{_NETWORK}.{draw.randrange(256)}.{draw.randrange(1, 255)}", names)
            try:
                await server._listen()
            except PermissionError as forbidden:
                raise PortForbidden(
                    f"a name server needs port {PORT}: {forbidden}. Run as root, or allow it: "
                    f"sysctl net.ipv4.ip_unprivileged_port_start={PORT}"
                ) from None
            except OSError as trouble:
                if trouble.errno != errno.EADDRINUSE:
                    raise FleetTrouble(
                        f"cannot listen at {server.host}:{PORT}: {trouble}"
                    ) from None
            else:
                return server
        raise PortForbidden(
            f"port {PORT} is taken at {_TRIES} addresses of {_NETWORK}.0.0/16, by something that "
            "listens at all addresses, maybe: bind that to the addresses which it is for"
        )

    @property
    def queries(self) -> tuple[Query, ...]:
        """What was asked, oldest first."""
        return self._queries.rows

    def set(self, name: str, answer: Answer) -> None:
        """Change the answer for a name from now on."""
        self._names[name] = answer

    async def asked(
        self,
        predicate: Callable[[Query], bool],
        *,
        count: int = 1,
        since: int = 0,
        deadline: float,
    ) -> tuple[Query, ...]:
        """Wait for `count` queries that satisfy a predicate, from query number `since` on.

        Raises:
            DeadlinePassed: Fewer came within `deadline` seconds.
        """
        return await self._queries.wait(predicate, count=count, since=since, deadline=deadline)

    async def stop(self) -> None:
        """Answers no more; what was asked can still be read."""
        if self._udp is not None:
            self._udp.close()
        if self._tcp is not None:
            self._tcp.close()
            for connection in tuple(self._connections):
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        self._udp, _ = await loop.create_datagram_endpoint(
            lambda: _Datagrams(self._answer), (self.host, PORT), family=socket.AF_INET
        )
        try:
            self._tcp = await asyncio.start_server(
                self._serve, self.host, PORT, family=socket.AF_INET
            )
        except OSError:
            self._udp.close()
            raise

    def _answer(self, wire: bytes, transport: Transport) -> bytes | None:
        at = time.monotonic()
        reply = reply_to(wire, self._names, transport)
        if reply is None:
            return None
        self._queries.append(
            Query(at=at, question=reply.question, transport=transport, answer=reply.answer)
        )
        return reply.wire

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own = asyncio.current_task()
        assert own is not None, "asyncio has each connection served by a task"
        self._connections.add(own)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES))
                    wire = self._answer(await reader.readexactly(length), "TCP")
                    if wire is not None:
                        writer.write(len(wire).to_bytes(_LENGTH_BYTES) + wire)
                        await writer.drain()
        finally:
            self._connections.discard(own)
            writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    """Each datagram is a query."""

    def __init__(self, answer: Callable[[bytes, Transport], bytes | None]) -> None:
        self._answer = answer

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        wire = self._answer(data, "UDP")
        if wire is not None:
            self._transport.sendto(wire, addr)
