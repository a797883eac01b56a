"""RPCs on a connection, against a scripted server."""

from __future__ import annotations

import pytest
from h2.events import DataReceived, RequestReceived, StreamReset
from h2.settings import SettingCodes

from client_under_test.reference.transport.status import OK, of_trailers
from client_under_test.reference.values import Status
from tests.reference.scripted_server import (
    HEADERS,
    Scripted,
    Watched,
    stream_of,
    unary,
)

from .rig import until

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
