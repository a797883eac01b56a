"""Backends as a real gRPC client meets them, through a serving gate."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import msgspec
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from test_servers import BackendEndpoint, Fleet, Rpc, testing_pb2_grpc
from test_servers import testing_pb2 as pb

UNARY = "/grpc.testing.TestService/UnaryCall"
EMPTY = "/grpc.testing.TestService/EmptyCall"
DUPLEX = "/grpc.testing.TestService/FullDuplexCall"


Stub: Any = testing_pb2_grpc.TestServiceStub


def names(endpoint: BackendEndpoint) -> tuple[tuple[str, str], ...]:
    return (("hostname", endpoint.address), ("server-id", endpoint.id))


async def test_unary_call_says_who_answers(endpoint: BackendEndpoint, channel: Any) -> None:
    response = await Stub(channel).UnaryCall(pb.SimpleRequest(), timeout=5)
    assert response == pb.SimpleResponse(server_id=endpoint.id, hostname=endpoint.address)


@pytest.mark.parametrize("path", [UNARY, EMPTY, "/grpc.health.v1.Health/Check", "/some/Path"])
async def test_headers_say_who_answers(endpoint: BackendEndpoint, channel: Any, path: str) -> None:
    call = channel.unary_unary(path)(b"", timeout=5)
    await call.code()
    assert tuple(await call.initial_metadata()) == names(endpoint)


@pytest.mark.parametrize("size", [0, 1, 100_000])
async def test_unary_call_returns_as_much_as_is_wanted(
    endpoint: BackendEndpoint, channel: Any, size: int
) -> None:
    response = await Stub(channel).UnaryCall(pb.SimpleRequest(response_size=size), timeout=5)
    assert len(response.payload.body) == size
    assert response.server_id == endpoint.id


@pytest.mark.parametrize(
    ("request_", "code", "details"),
    [
        (
            pb.SimpleRequest(response_status=pb.EchoStatus(code=8, message="full")),
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "full",
        ),
        (
            pb.SimpleRequest(response_status=pb.EchoStatus(code=99)),
            grpc.StatusCode.INVALID_ARGUMENT,
            "99 is no status code",
        ),
        (
            pb.SimpleRequest(response_size=-1),
            grpc.StatusCode.INVALID_ARGUMENT,
            "a payload cannot have -1 bytes",
        ),
        (
            pb.SimpleRequest(response_size=2**31 - 1),
            grpc.StatusCode.INVALID_ARGUMENT,
            "a payload of 2,147,483,647 bytes is larger than 67,108,864",
        ),
        (b"\xff", grpc.StatusCode.INTERNAL, "the request is no SimpleRequest"),
    ],
)
async def test_unary_call_fails_as_is_wanted(
    fleet: Fleet,
    channel: Any,
    request_: pb.SimpleRequest | bytes,
    code: grpc.StatusCode,
    details: str,
) -> None:
    raw = request_ if isinstance(request_, bytes) else request_.SerializeToString()
    call = channel.unary_unary(UNARY)(raw, timeout=5)
    assert await call.code() is code
    assert await call.details() == details
    assert fleet.ledger.rpcs[-1].status == code.name


@pytest.mark.parametrize("path", [UNARY, EMPTY, DUPLEX])
async def test_error_code(fleet: Fleet, endpoint: BackendEndpoint, channel: Any, path: str) -> None:
    call = channel.unary_unary(path)(b"", metadata=(("rpc-behavior", "error-code-10"),), timeout=5)
    assert await call.code() is grpc.StatusCode.ABORTED
    assert tuple(await call.initial_metadata()) == names(endpoint)
    assert fleet.ledger.rpcs[-1].status == "ABORTED"


async def test_behaviors_are_done_in_turn(fleet: Fleet, channel: Any) -> None:
    metadata = (("rpc-behavior", "sleep-0.05"), ("rpc-behavior", "sleep-0.05,error-code-5"))
    call = channel.unary_unary(UNARY)(b"", metadata=metadata, timeout=5)
    assert await call.code() is grpc.StatusCode.NOT_FOUND
    (rpc,) = fleet.ledger.rpcs
    assert rpc.ended_at is not None
    assert 0.1 <= rpc.ended_at - rpc.at < 2


async def test_what_is_no_behavior_is_an_invalid_argument(channel: Any) -> None:
    call = channel.unary_unary(EMPTY)(b"", metadata=(("rpc-behavior", "dance"),), timeout=5)
    assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "'dance' is no behavior" in (await call.details() or "")


@pytest.mark.parametrize(
    ("path", "metadata"),
    [
        (UNARY, (("rpc-behavior", "keep-open"),)),
        (EMPTY, (("rpc-behavior", "keep-open"),)),
        (DUPLEX, ()),
        (DUPLEX, (("rpc-behavior", "keep-open"),)),
    ],
)
async def test_an_open_rpc_says_at_once_who_answers_and_is_over_when_cancelled(
    fleet: Fleet,
    endpoint: BackendEndpoint,
    channel: Any,
    path: str,
    metadata: tuple[tuple[str, str], ...],
) -> None:
    call = channel.stream_stream(path)(timeout=5, metadata=metadata)
    await call.write(b"")
    assert tuple(await call.initial_metadata()) == names(endpoint)
    (rpc,) = fleet.ledger.rpcs
    assert rpc.ended_at is None
    assert rpc.status is None
    call.cancel()
    (rpc,) = await fleet.ledger.wait(lambda rpc: rpc.ended_at is not None, deadline=5)
    assert rpc.status == "CANCELLED"


async def test_keep_open_outlives_a_half_close(fleet: Fleet, channel: Any) -> None:
    call = channel.stream_stream(DUPLEX)(timeout=1, metadata=(("rpc-behavior", "keep-open"),))
    await call.done_writing()
    assert await call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    (rpc,) = await fleet.ledger.wait(lambda rpc: rpc.ended_at is not None, deadline=5)
    assert rpc.status == "CANCELLED"


async def test_full_duplex_answers_each_request_and_ends_with_the_half_close(
    fleet: Fleet, channel: Any
) -> None:
    call = Stub(channel).FullDuplexCall(timeout=5)
    for sizes in ([3, 1], [], [2]):
        parameters = [pb.ResponseParameters(size=size, interval_us=100) for size in sizes]
        await call.write(pb.StreamingOutputCallRequest(response_parameters=parameters))
        for size in sizes:
            assert len((await call.read()).payload.body) == size
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF
    assert await call.code() is grpc.StatusCode.OK
    assert fleet.ledger.rpcs[-1].status == "OK"


async def test_full_duplex_ends_with_a_wanted_status(channel: Any) -> None:
    call = Stub(channel).FullDuplexCall(timeout=5)
    await call.write(pb.StreamingOutputCallRequest(response_status=pb.EchoStatus(code=7)))
    assert await call.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_streaming_output_call(channel: Any) -> None:
    parameters = [pb.ResponseParameters(size=size) for size in (1, 2, 3)]
    call = Stub(channel).StreamingOutputCall(
        pb.StreamingOutputCallRequest(response_parameters=parameters), timeout=5
    )
    assert [len(response.payload.body) async for response in call] == [1, 2, 3]


async def test_an_unknown_path_is_recorded_too(fleet: Fleet, channel: Any) -> None:
    call = channel.unary_unary("/some.Service/Method")(b"", timeout=5)
    assert await call.code() is grpc.StatusCode.UNIMPLEMENTED
    (rpc,) = fleet.ledger.rpcs
    assert (rpc.path, rpc.status) == ("/some.Service/Method", "UNIMPLEMENTED")


@pytest.mark.parametrize("service", ["", "grpc.testing.TestService"])
async def test_health_says_what_it_was_told(
    endpoint: BackendEndpoint, channel: Any, service: str
) -> None:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    request = health_pb2.HealthCheckRequest(service=service)
    watch = stub.Watch(request, timeout=5)
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
    await endpoint.set_serving(serving=False)
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
    response = await stub.Check(request, timeout=5)
    assert response.status == health_pb2.HealthCheckResponse.NOT_SERVING
    watch.cancel()


async def test_the_ledger_has_all_that_was_sent(
    fleet: Fleet, endpoint: BackendEndpoint, channel: Any, tmp_path: Path
) -> None:
    metadata = (("k", "1"), ("data-bin", b"\x00\xff"), ("k", "2"), ("k", "1"))
    await channel.unary_unary(UNARY)(b"", metadata=metadata, timeout=5)
    await channel.unary_unary(EMPTY)(b"")
    unary, empty = fleet.ledger.rpcs
    # Order is kept within a key; between keys it is the transport's.
    sent = [pair for pair in unary.metadata if pair[0] != "user-agent"]
    assert sorted(sent, key=str) == sorted(metadata, key=str)
    assert unary.values("k") == ("1", "2", "1")
    assert unary.values("data-bin") == (b"\x00\xff",)
    assert unary.values("missing") == ()
    assert unary.endpoint == endpoint.id
    assert unary.path == UNARY
    assert unary.deadline is not None
    assert 3 < unary.deadline < 5.5
    assert empty.deadline is None
    (attempt,) = endpoint.attempts
    assert unary.connection == empty.connection == attempt.connection == 1

    file = tmp_path / "ledger.jsonl"
    fleet.ledger.write(file)
    lines = [msgspec.json.decode(line) for line in file.read_bytes().splitlines()]
    assert [line["path"] for line in lines] == [UNARY, EMPTY]
    assert ["data-bin", "AP8="] in lines[0]["metadata"]
    assert lines[0]["ended_at"] == unary.ended_at


async def test_an_rpc_is_told_by_its_connection(fleet: Fleet, endpoint: BackendEndpoint) -> None:
    options = (("grpc.use_local_subchannel_pool", 1),)
    first: Any
    other: Any
    async with (
        grpc.aio.insecure_channel(endpoint.address, options=options) as first,
        grpc.aio.insecure_channel(endpoint.address, options=options) as other,
    ):
        for channel in (first, other):
            await channel.unary_unary(EMPTY)(b"", timeout=5)
        for channel in (first, other):
            await channel.unary_unary(EMPTY)(b"", timeout=5)
    assert [rpc.connection for rpc in fleet.ledger.rpcs] == [1, 2, 1, 2]


async def test_a_wait_ends_with_the_rpc_that_satisfies_it(fleet: Fleet, channel: Any) -> None:
    def is_third(rpc: Rpc) -> bool:
        return ("number", "2") in rpc.metadata

    waiting = asyncio.create_task(fleet.ledger.wait(is_third, deadline=5))
    for number in range(4):
        await channel.unary_unary(EMPTY)(b"", metadata=(("number", str(number)),), timeout=5)
    (rpc,) = await waiting
    assert rpc.values("number") == ("2",)
    assert len(fleet.ledger) == 4


KEPT_OPEN = (("rpc-behavior", "keep-open"),)


@pytest.mark.parametrize("path", [UNARY, EMPTY, DUPLEX])
@pytest.mark.parametrize("code", [grpc.StatusCode.OK, grpc.StatusCode.ABORTED])
async def test_an_open_rpc_is_ended_by_whoever_runs_the_fleet(
    fleet: Fleet, channel: Any, path: str, code: grpc.StatusCode
) -> None:
    if path == DUPLEX:
        call = channel.stream_stream(path)(timeout=5, metadata=KEPT_OPEN)
    else:
        call = channel.unary_unary(path)(b"", timeout=5, metadata=KEPT_OPEN)
    await fleet.ledger.wait(lambda _: True, deadline=5)
    fleet.end(0, code)
    assert await call.code() is code
    (rpc,) = await fleet.ledger.wait(lambda rpc: rpc.ended_at is not None, deadline=5)
    assert rpc.status == code.name


async def test_what_is_over_is_not_ended_again(fleet: Fleet, channel: Any) -> None:
    call = channel.stream_stream(DUPLEX)(timeout=5, metadata=KEPT_OPEN)
    await call.initial_metadata()
    call.cancel()
    await fleet.ledger.wait(lambda rpc: rpc.ended_at is not None, deadline=5)
    with pytest.raises(KeyError):
        fleet.end(0)


async def one_call(channel: Any) -> None:
    await channel.unary_unary(UNARY)(b"", timeout=5)


async def test_connections_that_ended_are_forgotten_and_live_ones_are_not(
    fleet: Fleet, endpoint: BackendEndpoint
) -> None:
    own = (("grpc.use_local_subchannel_pool", 1),)
    async with grpc.aio.insecure_channel(endpoint.address, options=own) as lasting:
        await one_call(lasting)
        for number in range(3):
            async with grpc.aio.insecure_channel(endpoint.address, options=own) as channel:
                await one_call(channel)
            await fleet.ledger.wait_attempts(
                lambda row: row.closed_at is not None, count=number + 1, deadline=5
            )
        assert len(fleet._backend._live) == 1
        await one_call(lasting)


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
async def test_a_compressed_request_is_read(channel: Any, compression: grpc.Compression) -> None:
    request = pb.SimpleRequest(response_size=7, payload=pb.Payload(body=bytes(10_000)))
    response = await Stub(channel).UnaryCall(request, timeout=5, compression=compression)
    assert len(response.payload.body) == 7


async def test_a_deadline_ends_the_call_at_the_server(fleet: Fleet, channel: Any) -> None:
    call = channel.unary_unary(UNARY)(b"", timeout=0.3, metadata=KEPT_OPEN)
    assert await call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    (rpc,) = await fleet.ledger.wait(lambda rpc: rpc.ended_at is not None, deadline=5)
    assert rpc.status == "CANCELLED"


async def test_a_response_waits_for_the_window_of_the_client(channel: Any) -> None:
    calls = [
        Stub(channel).UnaryCall(pb.SimpleRequest(response_size=1_000_000), timeout=10)
        for _ in range(5)
    ]
    assert [len((await call).payload.body) for call in calls] == [1_000_000] * 5


async def test_a_message_that_is_too_large_is_refused(channel: Any) -> None:
    call = channel.unary_unary(UNARY)(bytes((1 << 22) + 1), timeout=10)
    assert await call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize(
    "path", ["/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch", DUPLEX]
)
async def test_a_request_that_is_no_message_is_the_clients_fault(
    fleet: Fleet, channel: Any, path: str
) -> None:
    call = channel.unary_unary(path)(b"\xff", timeout=5)
    assert await call.code() is grpc.StatusCode.INTERNAL
    assert not fleet.troubles
