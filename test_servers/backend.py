"""A gRPC server of one endpoint: the standard test service and health, every RPC recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import SERVICE_NAME as HEALTH
from grpc_health.v1.health import aio as health_aio

from test_servers import behavior, testing_pb2
from test_servers.ledger import Ledger

__all__ = ["SERVICE", "Backend"]

SERVICE = "grpc.testing.TestService"

_OPTIONS = (
    ("grpc.so_reuseport", 0),
    # Estimating bandwidth over loopback costs pings in every direction and is of no use.
    ("grpc.http2.bdp_probe", 0),
)

_HALF_CLOSE_DOUBT = 0.05
"""A lost stream looks half-closed to its handler until grpcio cancels it, microseconds later if the
machine is idle. So a handler waits a little before it believes a half-close and ends with OK."""

Context = Any  # grpc.aio.ServicerContext: its stub says Metadata where grpcio gives a tuple
Conduct = Callable[[Any, Context], Awaitable[Any]]


class Backend:
    """A server on a loopback port of its own, meant to be reached through a gate alone.

    Every RPC has `hostname` and `server-id` in its response headers, which are sent at once: so a
    stream that is kept open, an RPC that sleeps and one that fails say who answers.

    Args:
        endpoint: Id of the endpoint, the `server_id` of responses.
        address: Where clients reach the endpoint, the `hostname` of responses.
        ledger: Where RPCs are recorded.
        connection_of: Gives the id of a gate's connection by gRPC's name of the peer.
    """

    def __init__(
        self, endpoint: str, address: str, ledger: Ledger, connection_of: Callable[[str], int]
    ) -> None:
        self._endpoint = endpoint
        self._ledger = ledger
        self._connection_of = connection_of
        self._names = (("hostname", address), ("server-id", endpoint))
        self._response = testing_pb2.SimpleResponse(server_id=endpoint, hostname=address)
        self._plain_response = self._response.SerializeToString()
        self._health = health_aio.HealthServicer()
        self._server = grpc.aio.server(handlers=(_Handlers(self),), options=_OPTIONS)

    async def start(self, host: str) -> int:
        """Starts to serve; returns the port."""
        port = self._server.add_insecure_port(f"{host}:0")
        await self._server.start()
        await self.set_serving(serving=True)
        return port

    async def stop(self) -> None:
        """Ends the server and every RPC at once."""
        await self._server.stop(None)

    async def set_serving(self, *, serving: bool) -> None:
        """Changes what the health service says of the whole server and of the test service."""
        response = health_pb2.HealthCheckResponse
        for service in ("", SERVICE):
            await self._health.set(service, response.SERVING if serving else response.NOT_SERVING)

    def handlers(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Handlers by path; messages are bytes but for streams and health."""
        return {
            f"/{SERVICE}/EmptyCall": grpc.unary_unary_rpc_method_handler(
                self._recorded(f"/{SERVICE}/EmptyCall", self._empty_call)
            ),
            f"/{SERVICE}/UnaryCall": grpc.unary_unary_rpc_method_handler(
                self._recorded(f"/{SERVICE}/UnaryCall", self._unary_call)
            ),
            f"/{SERVICE}/StreamingOutputCall": grpc.unary_stream_rpc_method_handler(
                self._recorded(f"/{SERVICE}/StreamingOutputCall", self._streaming_output_call),
                testing_pb2.StreamingOutputCallRequest.FromString,
                testing_pb2.StreamingOutputCallResponse.SerializeToString,
            ),
            f"/{SERVICE}/FullDuplexCall": grpc.stream_stream_rpc_method_handler(
                self._recorded(f"/{SERVICE}/FullDuplexCall", self._full_duplex_call),
                testing_pb2.StreamingOutputCallRequest.FromString,
                testing_pb2.StreamingOutputCallResponse.SerializeToString,
            ),
            f"/{HEALTH}/Check": grpc.unary_unary_rpc_method_handler(
                self._recorded(f"/{HEALTH}/Check", self._health.Check),
                health_pb2.HealthCheckRequest.FromString,
                health_pb2.HealthCheckResponse.SerializeToString,
            ),
            f"/{HEALTH}/Watch": grpc.unary_stream_rpc_method_handler(
                self._recorded(f"/{HEALTH}/Watch", self._health.Watch),
                health_pb2.HealthCheckRequest.FromString,
                health_pb2.HealthCheckResponse.SerializeToString,
            ),
        }

    def unknown(self, path: str) -> grpc.RpcMethodHandler[Any, Any]:
        """The handler of a path that the server does not serve."""
        return grpc.stream_stream_rpc_method_handler(self._recorded(path, _unimplemented))

    def _recorded(self, path: str, conduct: Conduct) -> Conduct:
        """Adds what every RPC has: a row in the ledger, the server's names, rpc-behavior."""
        names, ledger, endpoint = self._names, self._ledger, self._endpoint

        async def handler(request: Any, context: Context) -> Any:
            metadata = tuple((key, value) for key, value in context.invocation_metadata())
            row = ledger.began(
                endpoint,
                self._connection_of(context.peer()),
                path,
                metadata,
                context.time_remaining(),
            )
            # A handler cannot tell a cancelled RPC, an expired one and a lost connection apart.
            status = "CANCELLED"
            try:
                await context.send_initial_metadata(names)
                if wishes := [value for key, value in metadata if key == behavior.KEY]:
                    await _behave(wishes, context)
                response = await conduct(request, context)
            except grpc.aio.AbortError:
                status = context.code().name
                raise
            else:
                status = "OK"
                return response
            finally:
                ledger.ended(row, status)

        return handler

    async def _empty_call(self, request: bytes, context: Context) -> bytes:  # noqa: ARG002 - a handler
        return b""

    async def _unary_call(self, request: bytes, context: Context) -> bytes:
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

    async def _streaming_output_call(
        self, request: testing_pb2.StreamingOutputCallRequest, context: Context
    ) -> None:
        for parameters in request.response_parameters:
            if parameters.interval_us > 0:
                await asyncio.sleep(parameters.interval_us / 1e6)
            payload = await _payload(parameters.size, context)
            await context.write(testing_pb2.StreamingOutputCallResponse(payload=payload))
        await _echo_status(request, context)

    async def _full_duplex_call(self, requests: Any, context: Context) -> None:
        async for request in requests:
            await self._streaming_output_call(request, context)
        await asyncio.sleep(_HALF_CLOSE_DOUBT)


class _Handlers(grpc.GenericRpcHandler):
    """Finds the handler of a path, and has one for every other path too."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._handlers = backend.handlers()

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any]:
        path = handler_call_details.method
        return self._handlers.get(path) or self._backend.unknown(path)


async def _behave(wishes: list[str], context: Context) -> None:
    """Does what the metadata asks for before the RPC's own handler is run."""
    try:
        behaviors = behavior.parse(wishes)
    except behavior.NotABehavior as error:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    for wish in behaviors:
        match wish:
            case behavior.Sleep(seconds):
                await asyncio.sleep(seconds)
            case behavior.KeepOpen():
                await asyncio.get_running_loop().create_future()
            case behavior.Fail(code):
                await context.abort(code, f"asked for by {behavior.KEY}")


async def _echo_status(request: Any, context: Context) -> None:
    """Ends the RPC with the status that the request asks for, if any."""
    wanted = request.response_status
    if wanted.code:
        code = next((code for code in grpc.StatusCode if code.value[0] == wanted.code), None)
        if code is None:
            await context.abort(
                grpc.StatusCode.INVALID_ARGUMENT, f"{wanted.code} is no status code"
            )
        await context.abort(code, wanted.message)


async def _payload(size: int, context: Context) -> testing_pb2.Payload:
    if size < 0:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"a payload cannot have {size} bytes")
    return testing_pb2.Payload(body=bytes(size))


async def _unimplemented(requests: Any, context: Context) -> None:
    del requests
    await context.abort(grpc.StatusCode.UNIMPLEMENTED, "the fleet does not serve this path")
