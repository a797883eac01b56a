"""A server of HTTP/2 that does what a test says."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, RequestReceived
from h2.settings import SettingCodes, Settings

from client_under_test.reference.transport.clock import Clock
from client_under_test.reference.transport.http2 import Connection, Header
from client_under_test.reference.transport.rpc import Rpc
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
