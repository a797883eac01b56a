"""The gRPC server behind the gates: the standard test service and health, every RPC recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import SERVICE_NAME as HEALTH
from grpc_health.v1.health import aio as health_aio

from test_servers import behavior, testing_pb2
from test_servers.backend_metrics import BackendMetrics
from test_servers.http2_server import ServerConnection
from test_servers.ledger import Ledger
from test_servers.server_call import Method, ServerCall

__all__ = ["SERVICE", "Backend", "Host"]

SERVICE = "grpc.testing.TestService"

_LARGEST_PAYLOAD = 1 << 26
"""Bytes: a request can ask for 2 GiB, several times over."""

Context = ServerCall


class Host:
    """What RPCs that come through one gate are answered by.

    Args:
        endpoint: Id of the endpoint, the `server_id` of responses.
        address: Where clients reach the endpoint, the `hostname` of responses.
    """

    def __init__(self, endpoint: str, address: str) -> None:
        self.endpoint = endpoint
        self.names = (("hostname", address), ("server-id", endpoint))
        self.metrics: BackendMetrics | None = None
        """The load that the backend reports in a trailer. None: it reports no load."""
        self.failure = grpc.StatusCode.INTERNAL
        """The status of RPCs that must fail."""
        self._failing, self._cycle, self._counted = 0, 1, 0
        self._response = testing_pb2.SimpleResponse(server_id=endpoint, hostname=address)
        self._plain_response = self._response.SerializeToString()
        self._health = health_aio.HealthServicer()

    def set_failures(self, failing: int, cycle: int) -> None:
        """Set how many RPCs of each `cycle` fail, beginning with the next one."""
        self._failing, self._cycle, self._counted = failing, cycle, 0

    def fails_next(self) -> bool:
        """Return whether the next RPC must fail."""
        turn, self._counted = self._counted % self._cycle, self._counted + 1
        return turn < self._failing

    async def set_serving(self, *, serving: bool) -> None:
        """Set the status that the health service reports for the server and its test service."""
        response = health_pb2.HealthCheckResponse
        for service in ("", SERVICE):
            await self._health.set(service, response.SERVING if serving else response.NOT_SERVING)

    async def empty_call(self, request: bytes, context: Context) -> bytes:  # noqa: ARG002 - a handler
        """EmptyCall."""
        return b""

    async def unary_call(self, request: bytes, context: Context) -> bytes:
        """UnaryCall."""
        if not request:
            return self._plain_response
        try:
            wanted = testing_pb2.SimpleRequest.FromString(request)
        except DecodeError:
            await context.abort(grpc.StatusCode.INTERNAL, "the request is no SimpleRequest")
        await _echo_status(wanted, context)
        if not wanted.response_size:
            return self._plain_response
        response = testing_pb2.SimpleResponse(payload=await _payload(wanted.response_size, context))
        response.MergeFrom(self._response)
        return response.SerializeToString()

    async def streaming_output_call(
        self, request: testing_pb2.StreamingOutputCallRequest, context: Context
    ) -> None:
        """StreamingOutputCall."""
        for parameters in request.response_parameters:
            if parameters.interval_us > 0:
                await asyncio.sleep(parameters.interval_us / 1e6)
            payload = await _payload(parameters.size, context)
            await context.write(testing_pb2.StreamingOutputCallResponse(payload=payload))
        await _echo_status(request, context)

    async def full_duplex_call(self, requests: Any, context: Context) -> None:
        """FullDuplexCall."""
        async for request in requests:
            await self.streaming_output_call(request, context)

    async def check(self, request: health_pb2.HealthCheckRequest, context: Context) -> Any:
        """Check of gRPC health."""
        return await self._health.Check(request, cast("Any", context))

    async def watch(self, request: health_pb2.HealthCheckRequest, context: Context) -> None:
        """Watch of gRPC health."""
        await self._health.Watch(request, cast("Any", context))

    async def unimplemented(self, requests: Any, context: Context) -> None:
        """Any other path."""
        del requests
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "the fleet does not serve this path")


Conduct = Callable[[Host, Any, Context], Awaitable[Any]]
Handler = Callable[[Any, Context], Awaitable[Any]]


class Backend:
    """A server that is reached through gates alone.

    It answers for every endpoint: a gate tells whose each connection is.

    Every RPC has `hostname` and `server-id` in its response headers, which are sent at once: so a
    stream that is kept open, an RPC that sleeps and one that fails say who answers.

    Args:
        ledger: Where RPCs are recorded.
        report: Told in a sentence when a handler has failed.
    """

    def __init__(self, ledger: Ledger, report: Callable[[str], None]) -> None:
        self._ledger = ledger
        self._report = report
        self._live: set[ServerConnection] = set()
        self._cancelled: set[asyncio.Task[None]] = set()
        # By row: what ends each RPC that has wishes, should it be kept open.
        self._kept_open: dict[int, asyncio.Future[grpc.StatusCode]] = {}
        self._methods = self.methods()

    async def stop(self) -> None:
        """End every connection and RPC at once."""
        for connection in tuple(self._live):
            connection.abort()
        while self._cancelled:
            await asyncio.wait(tuple(self._cancelled))

    async def connect(
        self, make: Callable[[], asyncio.BaseProtocol], host: Host, connection: int
    ) -> asyncio.Transport:
        """Open a connection that belongs to an endpoint, by its number there."""
        protocol = make()
        assert isinstance(protocol, asyncio.BufferedProtocol), "as all of a gate are"
        opened = ServerConnection(
            (host, connection),
            protocol,
            self.find,
            self._report,
            self._live.discard,
            self._cancelled,
        )
        self._live.add(opened)
        return opened

    def find(self, path: str) -> Method:
        """Return the handler of a path, and another one for paths that are not served."""
        return self._methods.get(path) or Method(
            self._recorded(path, Host.unimplemented), requests=True, responses=True
        )

    def methods(self) -> dict[str, Method]:
        """Handlers by path; messages are bytes but for streams and health."""
        streamed = (
            testing_pb2.StreamingOutputCallRequest.FromString,
            testing_pb2.StreamingOutputCallResponse.SerializeToString,
        )
        health = (
            health_pb2.HealthCheckRequest.FromString,
            health_pb2.HealthCheckResponse.SerializeToString,
        )

        recorded = self._recorded
        empty, unary = f"/{SERVICE}/EmptyCall", f"/{SERVICE}/UnaryCall"
        output, duplex = f"/{SERVICE}/StreamingOutputCall", f"/{SERVICE}/FullDuplexCall"
        check, watch = f"/{HEALTH}/Check", f"/{HEALTH}/Watch"
        return {
            empty: Method(recorded(empty, Host.empty_call)),
            unary: Method(recorded(unary, Host.unary_call)),
            output: Method(recorded(output, Host.streaming_output_call), *streamed, responses=True),
            duplex: Method(
                self._recorded(duplex, Host.full_duplex_call, streams=True),
                *streamed,
                requests=True,
                responses=True,
            ),
            check: Method(recorded(check, Host.check), *health),
            watch: Method(recorded(watch, Host.watch), *health, responses=True),
        }

    def end(self, row: int, code: grpc.StatusCode) -> None:
        """End an RPC that asked to be kept open, by the number of its row in the ledger."""
        self._kept_open[row].set_result(code)

    async def _behave(self, wishes: list[str], row: int, context: Context) -> bool:
        """Do what the metadata requests; return True if a kept-open RPC must end with OK."""
        try:
            behaviors = behavior.parse(wishes)
        except behavior.NotABehavior as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        was_kept_open = False
        for wish in behaviors:
            match wish:
                case behavior.Sleep(seconds):
                    await asyncio.sleep(seconds)
                case behavior.KeepOpen():
                    code = await self._kept_open[row]
                    if code is not grpc.StatusCode.OK:
                        await context.abort(code, "the one who runs the fleet has ended it")
                    was_kept_open = True
                case behavior.Fail(code):
                    await context.abort(code, f"asked for by {behavior.KEY}")
        return was_kept_open

    def _recorded(self, path: str, conduct: Conduct, *, streams: bool = False) -> Handler:
        """Wrap a handler with a row in the ledger, the server's names and rpc-behavior.

        What `streams` has no response of its own, so that one which was kept open is over then.
        """
        ledger = self._ledger

        async def handler(request: Any, context: Context) -> Any:
            host, connection = context.origin
            metadata = context.invocation_metadata()
            left = context.time_remaining()
            row = ledger.began(host.endpoint, connection, path, metadata, left)
            if request is None:
                return ledger.ended(row, "CANCELLED", None)
            wishes = [str(value) for key, value in metadata if key == behavior.KEY]
            if wishes:
                self._kept_open[row] = asyncio.get_running_loop().create_future()
            # A handler cannot tell a cancelled RPC, an expired one and a lost connection apart.
            status, metrics = "CANCELLED", None
            try:
                await context.send_initial_metadata(host.names)
                metrics = host.metrics
                if metrics is not None:
                    context.set_trailing_metadata((metrics.trailer(),))
                if wishes and await self._behave(wishes, row, context) and streams:
                    status = "OK"
                    return None
                if path.startswith(f"/{SERVICE}/") and host.fails_next():
                    await context.abort(host.failure, "the backend was set to fail")
                response = await conduct(host, request, context)
            except grpc.aio.AbortError:
                status = context.code().name
                raise
            else:
                status = "CANCELLED" if context.is_over else "OK"
                return response
            finally:
                self._kept_open.pop(row, None)
                ledger.ended(row, status, None if status == "CANCELLED" else metrics)

        return handler


async def _echo_status(request: Any, context: Context) -> None:
    """End the RPC with the status that the request asks for, if any."""
    wanted = request.response_status
    if wanted.code:
        code = next((code for code in grpc.StatusCode if code.value[0] == wanted.code), None)
        if code is None:
            await context.abort(
                grpc.StatusCode.INVALID_ARGUMENT, f"{wanted.code} is no status code"
            )
        await context.abort(code, wanted.message)


async def _payload(size: int, context: Context) -> testing_pb2.Payload:
    if size > _LARGEST_PAYLOAD:
        await context.abort(
            grpc.StatusCode.INVALID_ARGUMENT,
            f"a payload of {size:,} bytes is larger than {_LARGEST_PAYLOAD:,}",
        )
    if size < 0:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"a payload cannot have {size} bytes")
    return testing_pb2.Payload(body=bytes(size))
