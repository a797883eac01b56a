"""Whatever a stranger sends to a port, the next good request is served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import hpack
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ResponseReceived, TrailersReceived
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from client_under_test.doctor.backend import Backend as DoctorsBackend
from fake_control_plane import ControlPlane
from fake_control_plane.control import ControlServer
from test_servers import Fleet

DEADLINE = 20.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"

PATHS = st.one_of(
    st.sampled_from(
        [
            b"/a/\xff",
            b"/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
            b"/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats",
            b"/fake_control_plane.Control/Set",
            b"/fake_control_plane.Control/Transcript",
            b"/grpc.testing.TestService/UnaryCall",
            b"/grpc.testing.TestService/FullDuplexCall",
        ]
    ),
    st.binary(max_size=20),
)
NAMES = st.sampled_from(
    b":path :authority :method te grpc-timeout grpc-encoding rpc-behavior authorization x-bin host "
    b"content-type A \xff".split(b" ")
)


def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return len(body).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + body


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """A request, with whatever may be wrong about it, perhaps cut off in its middle."""
    pairs = [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", draw(PATHS)),
        (b":authority", draw(st.one_of(st.just(b"here"), st.binary(max_size=9)))),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
    ]
    pairs += draw(st.lists(st.tuples(NAMES, st.binary(max_size=30)), max_size=3))
    stream = draw(st.sampled_from([1, 1, 1, 3, 5, 0, 2]))
    block = hpack.Encoder().encode(pairs, huffman=draw(st.booleans()))
    cut = draw(st.integers(0, len(block)))
    is_whole = draw(st.booleans())
    wire = frame(1, 4 if is_whole else 0, stream, block if is_whole else block[:cut])
    if not is_whole:
        wire += frame(9, 4, stream, block[cut:])
    body = draw(st.binary(max_size=20))
    wire += frame(0, draw(st.sampled_from([0, 1])), stream, b"\0" + len(body).to_bytes(4) + body)
    if draw(st.booleans()):
        trailers = draw(st.lists(st.tuples(NAMES, st.binary(max_size=9)), max_size=3))
        wire += frame(1, 5, stream, hpack.Encoder().encode(trailers))
    return wire[: draw(st.integers(0, len(wire)))] if draw(st.booleans()) else wire


FRAMES = st.builds(
    frame,
    st.integers(0, 12),
    st.integers(0, 255),
    st.sampled_from([0, 1, 3, 2**31, 2**32 - 1]),
    st.binary(max_size=40),
)
ATTACKS = st.one_of(
    st.binary(max_size=60),
    st.lists(st.one_of(requests(), requests(), FRAMES), min_size=1, max_size=6).map(
        lambda said: PREFACE + SETTINGS + b"".join(said)
    ),
)


@asynccontextmanager
async def xds() -> AsyncIterator[str]:
    async with ControlPlane.running() as plane:
        yield plane.address
        assert not plane.troubles


@asynccontextmanager
async def control() -> AsyncIterator[str]:
    async with ControlPlane.running() as plane:
        async with ControlServer.running(plane) as server:
            yield server.address
        assert not plane.troubles


@asynccontextmanager
async def endpoint() -> AsyncIterator[str]:
    async with Fleet.running() as fleet:
        yield (await fleet.endpoint()).address
        assert not fleet.troubles


@asynccontextmanager
async def doctor() -> AsyncIterator[str]:
    async with DoctorsBackend.running() as backend:
        yield backend.address
        assert not backend.troubles


async def attack(host: str, port: int, wire: bytes) -> None:
    with suppress(OSError):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(wire)
        with suppress(ConnectionError):
            await writer.drain()
        reader.feed_eof()
        writer.close()


async def require_an_answer(host: str, port: int) -> None:
    """That of a method that no server has, to a request on a connection of its own."""
    headers = {":method": "POST", ":scheme": "http", ":path": "/no/such", ":authority": "here"}
    headers |= {"te": "trailers", "content-type": "application/grpc"}
    http2 = H2Connection(H2Configuration(header_encoding="utf-8"))
    http2.initiate_connection()
    http2.send_headers(1, list(headers.items()))
    http2.send_data(1, bytes(5), end_stream=True)
    async with asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection(host, port)
        said: set[str | bytes] = set()
        while "grpc-status" not in said:
            writer.write(http2.data_to_send())
            more = await reader.read(65536)
            assert more, "the server closed the connection"
            for event in http2.receive_data(more):
                if isinstance(event, ResponseReceived | TrailersReceived):
                    said.update(name for name, _ in event.headers or ())
        writer.close()


@pytest.mark.parametrize("server", [xds, control, endpoint, doctor])
def test_a_good_request_is_served_after_any_attack(
    server: Callable[[], AbstractAsyncContextManager[str]],
) -> None:
    with asyncio.Runner() as runner:
        running = server()
        address = runner.run(running.__aenter__())
        host, _, port = address.rpartition(":")

        @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
        @given(wire=ATTACKS)
        def attacked(wire: bytes) -> None:
            runner.run(attack(host, int(port), wire))
            runner.run(require_an_answer(host, int(port)))

        try:
            attacked()
        finally:
            runner.run(running.__aexit__(None, None, None))
