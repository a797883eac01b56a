"""The gate alone, with plain TCP on both sides."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from test_servers import Attempt, Close, Hold, Ledger, Mode, Refuse, Serve, Stall
from test_servers.proxy import Proxy, host_port

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

MEGABYTE = 1_000_000


class Door:
    """A gate, its ledger, and what it complained of."""

    def __init__(self, mode: Mode) -> None:
        self.ledger = Ledger()
        self.troubles: list[str] = []
        self.connected: list[tuple[int, int]] = []
        self.gate = Proxy("endpoint-0", mode, self.ledger, self.connect, self.troubles.append)
        self.port = 0
        self.backend_port = 0

    async def connect(
        self, make: Callable[[], asyncio.BaseProtocol], connection: int
    ) -> asyncio.Transport:
        transport, _ = await asyncio.get_running_loop().create_connection(
            make, "127.0.0.1", self.backend_port
        )
        self.connected.append((transport.get_extra_info("sockname")[1], connection))
        return transport

    async def knock(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def closed(self) -> Attempt:
        (attempt,) = await self.ledger.wait_attempts(
            lambda attempt: attempt.closed_at is not None, deadline=5
        )
        return attempt


@asynccontextmanager
async def door(mode: Mode, backend: Handler | None = None) -> AsyncIterator[Door]:
    made = Door(mode)
    made.port = await made.gate.open("127.0.0.1", 0)
    server = await asyncio.start_server(backend or echo, "127.0.0.1", 0)
    made.backend_port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        await made.gate.close()
        server.close()
        await server.wait_closed()
        assert not made.gate.live


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Says everything once more when all was said."""
    writer.write(await reader.read())
    writer.close()


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Speaks first, as an HTTP/2 server may, then listens."""
    writer.write(b"welcome")
    await reader.read()
    writer.close()


async def is_quiet(reader: asyncio.StreamReader) -> bool:
    try:
        await asyncio.wait_for(reader.read(1), 0.05)
    except TimeoutError:
        return True
    return False


@pytest.mark.parametrize(
    ("host", "port", "address"), [("127.0.0.1", 80, "127.0.0.1:80"), ("::1", 80, "[::1]:80")]
)
def test_addresses_are_written_as_grpc_writes_them(host: str, port: int, address: str) -> None:
    assert host_port(host, port) == address


async def test_the_backend_is_told_who_comes_from_which_port() -> None:
    ports: list[int] = []

    async def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ports.append(writer.get_extra_info("peername")[1])
        writer.close()

    async with door(Serve(), note) as it:
        for _ in range(2):
            reader, writer = await it.knock()
            assert await reader.read() == b""
            writer.close()
        assert it.connected == [(port, number) for number, port in enumerate(ports, start=1)]
        assert len(ports) == 2


async def test_serve_splices_until_both_sides_have_said_all() -> None:
    said = bytes(range(256)) * (5 * MEGABYTE // 256)
    async with door(Serve()) as it:
        reader, writer = await it.knock()
        writer.write(said)
        writer.write_eof()
        assert await reader.read() == said
        attempt = await it.closed()
        writer.close()
    assert attempt.closed_by == "client"
    assert attempt.first_byte_at is not None
    assert attempt.closed_at is not None
    assert attempt.accepted_at <= attempt.first_byte_at <= attempt.closed_at
    assert attempt.mode == Serve()


async def test_a_client_that_only_listens_has_no_first_byte() -> None:
    async with door(Serve(), greet) as it:
        reader, writer = await it.knock()
        assert await reader.readexactly(7) == b"welcome"
        (attempt,) = it.ledger.attempts
        writer.close()
    assert attempt.first_byte_at is None


@pytest.mark.parametrize("after", [0.0, 0.1])
async def test_close_closes_when_it_says(after: float) -> None:
    async with door(Close(after), greet) as it:
        reader, writer = await it.knock()
        assert await reader.read() == b""
        attempt = await it.closed()
        writer.close()
    assert attempt.closed_by == "gate"
    assert attempt.closed_at is not None
    assert after <= attempt.closed_at - attempt.accepted_at < after + 1


async def test_refuse_leaves_no_trace_and_keeps_the_port() -> None:
    async with door(Refuse(), greet) as it:
        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                await it.knock()
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", it.port))
        assert not it.ledger.attempts
        await it.gate.set_mode(Serve())
        reader, writer = await it.knock()
        assert await reader.readexactly(7) == b"welcome"
        writer.close()


async def test_refuse_lets_live_connections_live_and_drops_held_ones() -> None:
    async with door(Serve()) as it:
        live, live_writer = await it.knock()
        await it.ledger.wait_attempts(lambda _: True, deadline=5)
        await it.gate.set_mode(Hold())
        held, held_writer = await it.knock()
        await it.ledger.wait_attempts(lambda _: True, count=2, deadline=5)
        await it.gate.set_mode(Refuse())
        assert await held.read() == b""
        with pytest.raises(ConnectionRefusedError):
            await it.knock()
        live_writer.write(b"hello")
        live_writer.write_eof()
        assert await live.read() == b"hello"
        live_writer.close()
        held_writer.close()


@pytest.mark.parametrize("mode", [Stall(), Hold(), Close(60)])
async def test_silent_modes_hear_and_say_nothing(mode: Mode) -> None:
    async with door(mode, greet) as it:
        reader, writer = await it.knock()
        writer.write(b"hello")
        await it.ledger.wait_attempts(lambda row: row.first_byte_at is not None, deadline=5)
        assert await is_quiet(reader)
        writer.close()
        attempt = await it.closed()
    assert attempt.closed_by == "client"
    assert attempt.mode == mode


@pytest.mark.parametrize("size", [0, 5, 2 * MEGABYTE])
async def test_a_held_connection_loses_nothing_when_released(size: int) -> None:
    said = b"x" * size
    async with door(Hold()) as it:
        reader, writer = await it.knock()
        writer.write(said)
        await it.ledger.wait_attempts(
            lambda row: (row.first_byte_at is not None) == bool(size), deadline=5
        )
        await it.gate.set_mode(Serve())
        await writer.drain()
        writer.write(b"!")
        writer.write_eof()
        assert await reader.read() == said + b"!"
        assert len(it.ledger.attempts) == 1
        writer.close()


async def test_a_held_connection_follows_any_next_mode() -> None:
    async with door(Hold(), greet) as it:
        reader, writer = await it.knock()
        await it.ledger.wait_attempts(lambda _: True, deadline=5)
        await it.gate.set_mode(Close())
        assert await reader.read() == b""
        writer.close()


async def test_a_stalled_connection_stays_when_the_mode_changes() -> None:
    async with door(Stall(), greet) as it:
        stalled, stalled_writer = await it.knock()
        await it.ledger.wait_attempts(lambda _: True, deadline=5)
        await it.gate.set_mode(Serve())
        served, served_writer = await it.knock()
        assert await served.readexactly(7) == b"welcome"
        assert await is_quiet(stalled)
        await it.gate.set_mode(Close())
        assert await is_quiet(served)
        stalled_writer.close()
        served_writer.close()
    assert [attempt.mode for attempt in it.ledger.attempts] == [Stall(), Serve()]


@pytest.mark.parametrize("mode", [Serve(), Stall(), Hold(), Close(60)])
async def test_kill_drops_what_is_live_and_the_listener_keeps_its_mode(mode: Mode) -> None:
    async with door(mode) as it:
        reader, writer = await it.knock()
        await it.ledger.wait_attempts(lambda _: True, deadline=5)
        await it.gate.kill()
        (attempt,) = it.ledger.attempts
        assert attempt.closed_by == "gate"
        assert await reader.read() == b""
        writer.close()
        _, writer = await it.knock()
        await it.ledger.wait_attempts(lambda row: row.mode == mode, count=2, deadline=5)
        assert it.gate.mode == mode
        writer.close()


async def test_a_backend_that_ends_ends_the_client() -> None:
    async def goodbye(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"goodbye")
        writer.close()

    async with door(Serve(), goodbye) as it:
        reader, writer = await it.knock()
        assert await reader.read() == b"goodbye"
        assert (await it.closed()).closed_by == "backend"
        writer.close()


async def test_a_reset_of_the_client_reaches_the_backend() -> None:
    ended = asyncio.Event()

    async def outlive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"welcome")
        try:
            await reader.read()
        except ConnectionError:
            pass
        finally:
            ended.set()
            writer.close()

    async with door(Serve(), outlive) as it:
        reader, writer = await it.knock()
        await reader.readexactly(7)
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        assert (await it.closed()).closed_by == "client"
        await asyncio.wait_for(ended.wait(), 5)


async def test_a_slow_backend_slows_the_client_down() -> None:
    read_on = asyncio.Event()
    heard = asyncio.get_running_loop().create_future()

    async def dawdle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_on.wait()
        heard.set_result(len(await reader.read()))
        writer.close()

    async with door(Serve(), dawdle) as it:
        reader, writer = await it.knock()
        said = 0
        try:
            while said < 100 * MEGABYTE:
                writer.write(b"x" * MEGABYTE)
                said += MEGABYTE
                await asyncio.wait_for(writer.drain(), 0.3)
        except TimeoutError:
            pass
        assert said < 100 * MEGABYTE, "the gate took in all that was said"
        read_on.set()
        writer.write_eof()
        assert await asyncio.wait_for(heard, 10) == said
        assert await reader.read() == b""
        writer.close()


async def test_a_backend_out_of_reach_is_the_gates_trouble() -> None:
    async with door(Serve()) as it:
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            it.backend_port = bound.getsockname()[1]
            reader, writer = await it.knock()
            assert await reader.read() == b""
        assert (await it.closed()).closed_by == "gate"
        assert it.troubles
        assert it.troubles[0].startswith("endpoint-0: the gate cannot reach its own backend")
        writer.close()


async def test_a_closed_gate_refuses_and_has_let_go_of_all() -> None:
    async with door(Hold()) as it:
        reader, writer = await it.knock()
        await it.ledger.wait_attempts(lambda _: True, deadline=5)
    assert await reader.read() == b""
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await it.knock()


async def test_what_is_done_to_a_gate_is_in_the_ledger() -> None:
    async with door(Serve()) as it:
        await it.gate.set_mode(Stall())
        it.gate.go_away()
        await it.gate.kill()
    told = [(action.mode, action.what) for action in it.ledger.actions]
    last = (None, "kill")  # at its end
    assert told == [(Serve(), ""), (Stall(), ""), (None, "go away"), last, last]
    times = [action.at for action in it.ledger.actions]
    assert times == sorted(times)
