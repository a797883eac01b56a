"""Backends as a client meets them that speaks HTTP/2 by itself."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import PingAckReceived, ResponseReceived, TrailersReceived
from hyperframe.frame import GoAwayFrame, PingFrame, WindowUpdateFrame

from test_servers import BackendEndpoint, Fleet

UNARY = "/grpc.testing.TestService/UnaryCall"
DUPLEX = "/grpc.testing.TestService/FullDuplexCall"


class RawClient:
    """HTTP/2 of a client that does as the test says."""

    HEADERS = (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", UNARY),
        (":authority", "backend"),
    )

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http2 = H2Connection(H2Configuration(header_encoding="utf-8"))
        self._statuses: list[str] = []
        self._has_ponged = False
        self._http2.initiate_connection()
        self.send(b"")

    def send(self, data: bytes) -> None:
        self._writer.write(self._http2.data_to_send() + data)

    def request(self, metadata: dict[str, str]) -> None:
        stream = self._http2.get_next_available_stream_id()
        self._http2.send_headers(stream, [*self.HEADERS, *metadata.items()])
        self._http2.send_data(stream, bytes(5), end_stream=True)
        self.send(b"")

    def request_and_reset(self, path: str, data: bytes) -> None:
        stream = self._http2.get_next_available_stream_id()
        headers = dict(self.HEADERS) | {":path": path}
        self._http2.send_headers(stream, list(headers.items()))
        if data:
            self._http2.send_data(stream, data)
        self._http2.reset_stream(stream)
        self.send(b"")

    async def _read(self) -> None:
        async with asyncio.timeout(5):
            data = await self._reader.read(65536)
        assert data, "the server has closed the connection"
        for event in self._http2.receive_data(data):
            if isinstance(event, PingAckReceived):
                self._has_ponged = True
            if isinstance(event, ResponseReceived | TrailersReceived):
                self._statuses += [
                    str(value) for name, value in event.headers or () if str(name) == "grpc-status"
                ]
        self.send(b"")

    async def ponged(self) -> None:
        while not self._has_ponged:
            await self._read()

    async def status(self) -> str:
        while not self._statuses:
            await self._read()
        return self._statuses.pop(0)


@asynccontextmanager
async def raw_client(endpoint: BackendEndpoint) -> AsyncIterator[RawClient]:
    reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    try:
        yield RawClient(reader, writer)
    finally:
        writer.close()


async def test_headers_that_are_too_large_end_their_call_alone(
    fleet: Fleet, endpoint: BackendEndpoint
) -> None:
    async with raw_client(endpoint) as client:
        for size in (30_000, 10):
            client.request({"large": "x" * size})
        statuses = [await client.status(), await client.status()]
    assert statuses == ["8", "0"]
    assert len(fleet.ledger) == 1


async def test_calls_go_on_after_the_go_away_of_the_client(
    fleet: Fleet, endpoint: BackendEndpoint
) -> None:
    async with raw_client(endpoint) as client:
        client.request({"rpc-behavior": "keep-open"})
        await fleet.ledger.wait(lambda _: True, deadline=5)
        client.send(GoAwayFrame(0).serialize())
        client.send(PingFrame(0, b"12345678").serialize())
        await client.ponged()
        fleet.end(0)
        assert await client.status() == "0"


@pytest.mark.parametrize("path", [UNARY, DUPLEX])
@pytest.mark.parametrize("data", [b"", bytes(5)], ids=["headers alone", "with a message"])
async def test_a_reset_in_the_same_packet_leaves_a_received_rpc(
    fleet: Fleet, endpoint: BackendEndpoint, path: str, data: bytes
) -> None:
    async with raw_client(endpoint) as client:
        client.request_and_reset(path, data)
        client.request({})
        assert await client.status() == "0"
    reset, other = fleet.ledger.rpcs
    assert (reset.path, reset.status) == (path, "CANCELLED")
    assert (other.path, other.status) == (UNARY, "OK")


async def test_bytes_that_are_no_http2_end_the_connection(
    fleet: Fleet, endpoint: BackendEndpoint
) -> None:
    async with raw_client(endpoint) as client:
        client.request({"rpc-behavior": "keep-open"})
        await fleet.ledger.wait(lambda _: True, deadline=5)
        client.send(WindowUpdateFrame(0, window_increment=0x7FFFFFFF).serialize())
        await fleet.ledger.wait_attempts(lambda row: row.closed_by == "backend", deadline=5)
    (rpc,) = fleet.ledger.rpcs
    assert rpc.status == "CANCELLED"


async def test_whatever_a_client_sends_the_server_serves_the_next(
    fleet: Fleet, endpoint: BackendEndpoint
) -> None:
    rng = random.Random(7)
    client = H2Connection(H2Configuration(header_encoding="utf-8"))
    client.initiate_connection()
    for _ in range(3):
        stream = client.get_next_available_stream_id()
        client.send_headers(stream, [*RawClient.HEADERS, ("data-bin", "AP8"), ("x", "y" * 300)])
        client.send_data(stream, bytes(5), end_stream=True)
    whole = client.data_to_send()
    for number in range(60):
        broken = bytearray(whole)
        for _ in range(rng.randrange(1, 6)):
            broken[rng.randrange(24, len(broken))] = rng.randrange(256)
        _, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
        writer.write(broken[: rng.randrange(24, len(broken) + 1)])
        writer.write_eof()
        await fleet.ledger.wait_attempts(
            lambda row: row.closed_at is not None, count=number + 1, deadline=5
        )
        writer.close()
    async with raw_client(endpoint) as last:
        last.request({})
        assert await last.status() == "0"
