"""Connections, subchannels and RPCs against a server whose every HTTP/2 move is scripted."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, cast

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, RequestReceived, StreamReset
from h2.settings import SettingCodes, Settings

from client_under_test.reference.transport.clock import Clock
from client_under_test.reference.transport.http2 import Connection, Header
from client_under_test.reference.transport.rpc import Rpc
from client_under_test.reference.transport.status import OK, of_trailers
from client_under_test.reference.transport.subchannels import LiveSubchannel
from client_under_test.reference.values import BackendMetrics, Metadata, State, Status

from .rig import DEADLINE, FAST, PATIENT, until

HEADERS = [(":status", "200"), ("content-type", "application/grpc"), ("hostname", "me")]
TRAILERS = [("grpc-status", "0")]


class Server(asyncio.Protocol):
    """One connection's server side; silent if it is told so."""

    def __init__(self, scripted: Scripted) -> None:
        self.scripted = scripted
        self.h2 = H2Connection(H2Configuration(client_side=False))
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.scripted.connections.append(self)
        if not self.scripted.silent:
            self.greet()

    def greet(self) -> None:
        self.h2.local_settings = Settings(client=False, initial_values=self.scripted.settings)
        self.h2.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        for event in self.h2.receive_data(data):
            self.scripted.events.append(event)
            if isinstance(event, DataReceived) and self.scripted.acknowledges:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        self.flush()

    def flush(self) -> None:
        assert self.transport is not None
        self.transport.write(self.h2.data_to_send())

    def answer(self, stream: int, body: bytes = b"\0\0\0\0\0") -> None:
        self.h2.send_headers(stream, HEADERS)
        self.h2.send_data(stream, body)
        self.h2.send_headers(stream, TRAILERS, end_stream=True)
        self.flush()

    def end(self) -> None:
        assert self.transport is not None
        self.transport.abort()


class Scripted:
    """A listener, and all that its connections saw."""

    def __init__(self) -> None:
        self.connections: list[Server] = []
        self.events: list[Event] = []
        self.silent = False
        self.acknowledges = True
        self.settings: dict[SettingCodes, int] = {}
        self.address = ""

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def server(self) -> Server:
        return self.connections[-1]


@pytest.fixture
async def scripted() -> AsyncIterator[Scripted]:
    script = Scripted()
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: Server(script), "127.0.0.1", 0)
    script.address = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield script
    finally:
        for server in script.connections:
            server.end()
        listener.close()
        await listener.wait_closed()


class Watched:
    """A subchannel and the states that it went through."""

    def __init__(
        self,
        address: str,
        *,
        scale: float = FAST,
        connect_timeout: float = PATIENT,
        delay: Callable[[int, float], float] = lambda failures, _draw: float(failures),
    ) -> None:
        self.states: list[State] = []
        self.statuses: list[Status | None] = []
        self.subchannel = LiveSubchannel(
            address,
            clock=Clock(asyncio.get_running_loop(), scale),
            backoff_delay=delay,
            connect_timeout=connect_timeout,
            rng=random.Random(1),
            on_change=self.note,
        )

    def note(self, state: State, status: Status | None) -> None:
        self.states.append(state)
        self.statuses.append(status)

    async def reached(self, *states: State) -> None:
        await until(lambda: self.states == list(states))

    async def ready(self) -> Connection:
        self.subchannel.connect()
        await until(lambda: self.subchannel.connection is not None)
        assert self.subchannel.connection is not None
        return self.subchannel.connection


@pytest.fixture
async def watched(scripted: Scripted) -> AsyncIterator[Watched]:
    connection = Watched(scripted.address)
    yield connection
    connection.subchannel.close()


class Answer:
    """What came of an RPC."""

    def __init__(self) -> None:
        self.headers: Sequence[Header] = ()
        self.messages: list[bytes] = []
        self.metrics: BackendMetrics | None = None
        self.status: asyncio.Future[Status] = asyncio.get_running_loop().create_future()

    def opened(self, headers: Sequence[Header]) -> None:
        self.headers = headers

    def message(self, data: bytes) -> None:
        self.messages.append(data)

    def finished(self, status: Status, metrics: BackendMetrics | None = None) -> None:
        self.metrics = metrics
        self.status.set_result(status)

    async def over(self) -> Status:
        async with asyncio.timeout(DEADLINE):
            return await self.status


def unary(
    connection: Connection,
    body: bytes = b"",
    *,
    metadata: Metadata = (),
    timeout: float | None = None,
) -> tuple[Rpc, Answer]:
    answer = Answer()
    rpc = Rpc(
        connection,
        authority="me",
        path="/a.B/C",
        metadata=metadata,
        timeout=timeout,
        listener=answer,
    )
    rpc.send(body, end=True)
    return rpc, answer


async def stream_of(scripted: Scripted, number: int = 1) -> int:
    await until(lambda: len(scripted.of(RequestReceived)) >= number)
    return int(scripted.of(RequestReceived)[number - 1].stream_id)


# Subchannels.


async def test_ready_means_that_the_settings_have_come(
    scripted: Scripted, watched: Watched
) -> None:
    scripted.silent = True
    watched.subchannel.connect()
    await until(lambda: scripted.connections)
    assert watched.states == [State.CONNECTING]
    scripted.server.greet()
    await watched.reached(State.CONNECTING, State.READY)


async def test_a_server_that_stays_silent_is_given_up(scripted: Scripted) -> None:
    scripted.silent = True
    watched = Watched(scripted.address, connect_timeout=5.0)
    watched.subchannel.connect()
    await until(lambda: State.TRANSIENT_FAILURE in watched.states)
    status = watched.statuses[1]
    assert status is not None
    assert "did not get ready within 5 s" in status.details
    watched.subchannel.close()


async def test_a_failure_lasts_for_its_backoff_and_only_connect_ends_idleness(
    scripted: Scripted,
) -> None:
    failures: list[int] = []

    def delay(count: int, _draw: float) -> float:
        failures.append(count)
        return 3.0

    scripted.silent = True
    watched = Watched(scripted.address, delay=delay)
    loop = asyncio.get_running_loop()
    for attempt in (1, 2):
        began = loop.time()
        watched.subchannel.connect()
        await until(lambda: len(scripted.connections) == attempt)  # noqa: B023 - waited for here
        scripted.server.end()
        await watched.reached(*[State.CONNECTING, State.TRANSIENT_FAILURE, State.IDLE] * attempt)
        assert loop.time() - began >= 3.0 * FAST
    assert failures == [1, 2]
    watched.subchannel.close()


async def test_connect_counts_only_while_idle(scripted: Scripted, watched: Watched) -> None:
    await watched.ready()
    watched.subchannel.connect()
    assert watched.states == [State.CONNECTING, State.READY]
    assert len(scripted.connections) == 1


async def test_success_makes_the_next_failure_the_first(scripted: Scripted) -> None:
    failures: list[int] = []

    def delay(count: int, _draw: float) -> float:
        failures.append(count)
        return 0.5

    watched = Watched(scripted.address, delay=delay)
    for silent in (True, False, True):
        scripted.silent = silent
        seen = len(scripted.connections)
        watched.subchannel.connect()
        await until(lambda: len(scripted.connections) > seen)  # noqa: B023 - waited for here
        if not silent:
            await until(lambda: watched.subchannel.connection is not None)
        scripted.server.end()
        await until(lambda: watched.subchannel.state is State.IDLE)
    assert failures == [1, 2, 1]
    watched.subchannel.close()


async def test_a_lost_connection_makes_it_idle_and_fails_its_calls(
    scripted: Scripted, watched: Watched
) -> None:
    _, answer = unary(await watched.ready())
    await stream_of(scripted)
    scripted.server.end()
    assert (await answer.over()).code == "UNAVAILABLE"
    await watched.reached(State.CONNECTING, State.READY, State.IDLE)


async def test_nobody_there(scripted: Scripted) -> None:
    watched = Watched("127.0.0.1:1")
    watched.subchannel.connect()
    await until(lambda: State.TRANSIENT_FAILURE in watched.states)
    assert not scripted.connections
    watched.subchannel.close()


async def test_what_is_no_http2(scripted: Scripted, watched: Watched) -> None:
    scripted.silent = True
    watched.subchannel.connect()
    await until(lambda: scripted.connections)
    transport = scripted.server.transport
    assert transport is not None
    transport.write(b"\0\0\5\4\0\0\0\0\0" + bytes(5))  # SETTINGS are of six bytes each
    await until(lambda: State.TRANSIENT_FAILURE in watched.states)
    status = watched.statuses[1]
    assert status is not None
    assert "broke HTTP/2" in status.details


async def test_after_goaway_streams_go_on_and_no_new_ones_start(
    scripted: Scripted, watched: Watched
) -> None:
    _, taken = unary(await watched.ready())
    stream = await stream_of(scripted)
    server = scripted.server
    server.h2._data_to_send += _goaway(stream)
    server.flush()
    await watched.reached(State.CONNECTING, State.READY, State.IDLE)
    assert watched.subchannel.connection is None
    server.answer(stream)
    assert await taken.over() == OK
    await until(lambda: server.transport is not None and server.transport.is_closing())


def _goaway(last: int) -> bytes:
    """Made by hand: h2 would not send anything after it."""
    payload = last.to_bytes(4) + (0).to_bytes(4)
    return len(payload).to_bytes(3) + b"\x07\x00" + bytes(4) + payload


# RPCs.


async def test_an_rpc(scripted: Scripted, watched: Watched) -> None:
    metadata = (("k", "v"), ("k", "w"), ("b-bin", b"\xff\0"), ("content-type", "mine"))
    _, answer = unary(await watched.ready(), b"body", metadata=metadata, timeout=1.5)
    stream = await stream_of(scripted)
    sent = [
        (name.decode(), value.decode()) for name, value in scripted.of(RequestReceived)[0].headers
    ]
    assert sent[:4] == [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/a.B/C"),
        (":authority", "me"),
    ]
    assert ("grpc-timeout", "1500000u") in sent
    assert [pair for pair in sent if pair[0] in {"k", "b-bin"}] == [
        ("k", "v"),
        ("k", "w"),
        ("b-bin", "/wA"),
    ]
    assert [value for name, value in sent if name == "content-type"] == ["application/grpc"]
    await until(lambda: scripted.of(DataReceived))
    assert scripted.of(DataReceived)[0].data == b"\0\0\0\0\4body"
    scripted.server.answer(stream, b"\0\0\0\0\2ab\0\0\0\0\0")
    assert await answer.over() == OK
    assert answer.messages == [b"ab", b""]
    assert (b"hostname", b"me") in answer.headers


@pytest.mark.parametrize(
    ("seconds", "header"),
    [
        (0.0, "1u"),
        (99.999999, "99999999u"),
        (100.0, "100000m"),
        (2e5, "200000S"),
        (1e12, "9" * 8 + "S"),
    ],
)
async def test_timeouts(scripted: Scripted, watched: Watched, seconds: float, header: str) -> None:
    rpc, _ = unary(await watched.ready(), timeout=seconds)
    await stream_of(scripted)
    assert (b"grpc-timeout", header.encode()) in scripted.of(RequestReceived)[0].headers
    rpc.cancel()


async def test_cancel_resets_the_stream(scripted: Scripted, watched: Watched) -> None:
    rpc, answer = unary(await watched.ready())
    await stream_of(scripted)
    rpc.cancel()
    await until(lambda: scripted.of(StreamReset))
    assert scripted.of(StreamReset)[0].error_code == 8
    assert not answer.status.done()


@pytest.mark.parametrize(
    ("code", "name"),
    [(7, "UNAVAILABLE"), (8, "CANCELLED"), (2, "INTERNAL"), (11, "RESOURCE_EXHAUSTED")],
)
async def test_reset_by_the_server(
    scripted: Scripted, watched: Watched, code: int, name: str
) -> None:
    _, answer = unary(await watched.ready())
    scripted.server.h2.reset_stream(await stream_of(scripted), code)
    scripted.server.flush()
    assert (await answer.over()).code == name


@pytest.mark.parametrize(
    ("trailers", "status"),
    [
        ({b"grpc-status": b"0"}, OK),
        ({b"grpc-status": b"5", b"grpc-message": b"caf%C3%A9%"}, Status("NOT_FOUND", "café%")),
        ({b"grpc-status": b"17"}, Status("UNKNOWN", "")),
        ({b"grpc-status": b"x"}, Status("UNKNOWN", "")),
        (
            {b":status": b"503"},
            Status("UNAVAILABLE", "the response has no grpc-status, HTTP status 503"),
        ),
        (
            {b":status": b"418"},
            Status("UNKNOWN", "the response has no grpc-status, HTTP status 418"),
        ),
        ({}, Status("UNKNOWN", "the response has no grpc-status, HTTP status 200")),
    ],
)
def test_statuses(trailers: dict[bytes, bytes], status: Status) -> None:
    assert of_trailers(trailers) == status


async def test_trailers_only(scripted: Scripted, watched: Watched) -> None:
    _, answer = unary(await watched.ready())
    stream = await stream_of(scripted)
    scripted.server.h2.send_headers(
        stream, [(":status", "200"), ("grpc-status", "9")], end_stream=True
    )
    scripted.server.flush()
    assert (await answer.over()).code == "FAILED_PRECONDITION"
    assert answer.headers == ()


async def test_a_compressed_message_is_an_error(scripted: Scripted, watched: Watched) -> None:
    _, answer = unary(await watched.ready())
    stream = await stream_of(scripted)
    scripted.server.h2.send_headers(stream, HEADERS)
    scripted.server.h2.send_data(stream, b"\1\0\0\0\1x")
    scripted.server.flush()
    assert (await answer.over()).code == "INTERNAL"


async def test_streams_beyond_the_limit_wait(scripted: Scripted, watched: Watched) -> None:
    scripted.settings = {SettingCodes.MAX_CONCURRENT_STREAMS: 1}
    connection = await watched.ready()
    _, first = unary(connection)
    _, second = unary(connection)
    third_rpc, _ = unary(connection)
    stream = await stream_of(scripted)
    third_rpc.cancel()
    assert len(scripted.of(RequestReceived)) == 1
    scripted.server.answer(stream)
    assert await first.over() == OK
    scripted.server.answer(await stream_of(scripted, 2))
    assert await second.over() == OK
    assert len(scripted.of(RequestReceived)) == 2


async def test_a_large_message_waits_for_the_window(scripted: Scripted, watched: Watched) -> None:
    scripted.acknowledges = False
    body = bytes(200_000)
    _, answer = unary(await watched.ready(), body)
    stream = await stream_of(scripted)

    def received() -> int:
        return sum(len(event.data) for event in scripted.of(DataReceived))

    await until(lambda: received() == 65_535)
    scripted.acknowledges = True
    server = scripted.server
    server.h2.acknowledge_received_data(65_535, stream)
    server.flush()
    await until(lambda: received() == len(body) + 5)
    server.answer(stream)
    assert await answer.over() == OK
