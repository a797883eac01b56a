"""The control service: a gRPC shell around one control plane, on a port of its own.

Its own port, so that the xDS port can stop and come back at its command.
"""

from __future__ import annotations

import contextlib
import hmac
import inspect
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from fake_control_plane import control_pb2 as pb
from fake_control_plane import control_pb2_grpc
from fake_control_plane.exceptions import (
    BadFault,
    BadResource,
    ControlPlaneTrouble,
    PortTaken,
    TokenNeeded,
)
from fake_control_plane.faults import Nonce
from fake_control_plane.injection import faults_of
from fake_control_plane.loads import seconds
from fake_control_plane.ports import Reservation
from fake_control_plane.server import SERVER_OPTIONS, ControlPlane
from fake_control_plane.transcript import Push
from fake_control_plane.wire import (
    event_message,
    kind_from,
    kinds_message,
    ledger_message,
    push_message,
    service_from,
)
from request_filter import HiddenServer, Proxy

SERVICE_NAME: Final = pb.DESCRIPTOR.services_by_name["Control"].full_name

_STATUS_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}


class ControlServer:
    """The control service, listening; made by `running`."""

    def __init__(self, address: str) -> None:
        self.address: Final = address

    @classmethod
    @contextlib.asynccontextmanager
    async def running(
        cls,
        plane: ControlPlane,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
    ) -> AsyncIterator[ControlServer]:
        """Serve a control plane's controls for the length of a `with` block.

        Args:
            plane: What is controlled.
            host: Another address than loopback needs a token.
            port: 0 to choose a free one.
            token: What each call must bring as "authorization: Bearer TOKEN", if set.

        Raises:
            TokenNeeded: other machines could call it, and there is no token.
            PortTaken: the address cannot be listened on.
        """
        with contextlib.closing(Reservation(host, port)) as reservation:
            if not token and not ipaddress.ip_address(reservation.host).is_loopback:
                raise TokenNeeded(
                    f"The control service on {reservation.address} would be open to other "
                    "machines: give it a token, or a loopback address."
                )

            async def make() -> Any:
                server = grpc.aio.server(
                    options=SERVER_OPTIONS, interceptors=[_Doorkeeper(token)] if token else None
                )
                control_pb2_grpc.add_ControlServicer_to_server(  # type: ignore[no-untyped-call]
                    _Control(plane), server
                )
                await _add_health_and_reflection(server)
                return server

            server = HiddenServer(make, plane.report)
            await server.start()
            proxy = Proxy(server, plane.note)
            try:
                try:
                    await proxy.listen(reservation.host, reservation.port)
                except OSError as trouble:
                    raise PortTaken(
                        f"Cannot listen on {reservation.address}: it is in use."
                    ) from trouble
                yield cls(reservation.address)
            finally:
                proxy.close()
                await server.stop()
                await proxy.end()


async def _add_health_and_reflection(server: Any) -> None:
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    for name in (health.OVERALL_HEALTH, SERVICE_NAME):
        await servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    names = (SERVICE_NAME, health.SERVICE_NAME, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server)


class _Doorkeeper(grpc.aio.ServerInterceptor):
    """Lets in calls that bring the token, and health checks."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode()

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any
    ) -> Any:
        if handler_call_details.method.startswith(f"/{health.SERVICE_NAME}/"):
            return await continuation(handler_call_details)
        given = dict(handler_call_details.invocation_metadata).get("authorization", "")
        if hmac.compare_digest(given.encode(), self._expected):
            return await continuation(handler_call_details)
        # On the wire a handler of streams can refuse a call of any shape.
        return grpc.stream_stream_rpc_method_handler(_refuse)


async def _refuse(_: Any, context: Any) -> None:
    await context.abort(
        grpc.StatusCode.UNAUTHENTICATED,
        'Send the token of the control service as metadata "authorization: Bearer TOKEN".',
    )


class _Control:
    """The handlers, one for each method of control.proto."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._script = script = plane.script
        self._faults = faults_of(script, script.faults, script.loads, plane)

    async def Set(self, request: pb.SetRequest, context: Any) -> pb.Push:  # noqa: N802
        async with _troubles(context):
            push = await self._plane.set(
                *request.resources, node=request.node or None, version=request.version or None
            )
            return push_message(push)

    async def Replace(self, request: pb.SetRequest, context: Any) -> pb.Push:  # noqa: N802
        async with _troubles(context):
            push = await self._plane.replace(
                *request.resources, node=request.node or None, version=request.version or None
            )
            return push_message(push)

    async def Delete(self, request: pb.DeleteRequest, context: Any) -> pb.Push:  # noqa: N802
        async with _troubles(context):
            push = await self._plane.delete(
                kind_from(request.kind),
                *request.names,
                node=request.node or None,
                version=request.version or None,
            )
            return push_message(push)

    async def Hold(self, request: pb.HoldRequest, context: Any) -> pb.HoldResponse:  # noqa: N802
        async with _troubles(context):
            self._script.hold(*map(kind_from, request.kinds))
            return pb.HoldResponse(held=kinds_message(self._script.held))

    async def Release(self, request: pb.HoldRequest, context: Any) -> pb.HoldResponse:  # noqa: N802
        async with _troubles(context):
            self._script.release(*map(kind_from, request.kinds))
            return pb.HoldResponse(held=kinds_message(self._script.held))

    async def Inject(self, fault: pb.Fault, context: Any) -> pb.Push:  # noqa: N802
        async with _troubles(context):
            since = len(self._plane.transcript)
            push = await self._break(fault)
            return push_message(push or Push(versions={}, since=since))

    async def Transcript(  # noqa: N802
        self, request: pb.TranscriptRequest, context: Any
    ) -> AsyncIterator[pb.Event]:
        async with _troubles(context):
            if request.since < 0:
                raise BadFault("The index of an event is 0 or more.")
            async with contextlib.aclosing(self._plane.transcript.follow(request.since)) as events:
                async for index, event in events:
                    yield event_message(index, event)

    async def Load(self, request: pb.LoadRequest, _: Any) -> pb.LoadLedger:  # noqa: N802
        return ledger_message(self._plane.loads, request.cluster)

    async def _break(self, fault: pb.Fault) -> Push | None:
        """Carry out a fault; the push that it made, if it sends something that is answered."""
        name = _field_of(fault)
        if name is None:
            raise BadFault("The fault is empty, or newer than this server: set a known field.")
        if name not in self._faults:
            raise BadFault(f"This server cannot carry out the fault {name}.")
        method = self._faults[name]
        parameters = inspect.signature(method).parameters
        given = _arguments(getattr(fault, name), parameters)
        kinds = given.pop("kinds", ())
        if "node" in parameters:
            given["node"] = fault.node or None
        made = method(*kinds, **given)
        if inspect.isawaitable(made):
            made = await made
        return made if isinstance(made, Push) else None


def _field_of(fault: pb.Fault) -> str | None:
    """Return which fault it is; None for none, or for one of a newer proto."""
    field: str | None = fault.WhichOneof("fault")
    return field


def _arguments(message: Any, parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """Return the fields of a fault as arguments of the method that carries it out.

    A list without entries is left out if the method has a default.

    Raises:
        BadFault: a field has a value that means nothing.
    """
    given: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        chosen = field.containing_oneof
        if chosen and not message.HasField(field.name):
            continue
        name = field.name if not chosen or chosen.name == f"_{field.name}" else chosen.name
        value = getattr(message, field.name)
        if field.enum_type or field.name in _CONVERSIONS:
            convert = _CONVERSIONS[field.enum_type.name if field.enum_type else field.name]
            value = [convert(each) for each in value] if field.is_repeated else convert(value)
        elif field.message_type:
            value = seconds(value)
        if value or not field.is_repeated or parameters[name].default is inspect.Parameter.empty:
            given[name] = value
    return given


@contextlib.asynccontextmanager
async def _troubles(context: Any) -> AsyncIterator[None]:
    """Turn the package's exceptions into statuses."""
    try:
        yield
    except (BadFault, BadResource) as trouble:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(trouble))
    except ControlPlaneTrouble as trouble:
        await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(trouble))


def _status_code(number: int) -> grpc.StatusCode:
    if number not in _STATUS_CODES:
        raise BadFault(f"{number} is no gRPC status code.")
    return _STATUS_CODES[number]


_CONVERSIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "Kind": kind_from,
    "Service": service_from,
    "code": _status_code,
    "old_nonce": lambda old: Nonce.OLD if old else Nonce.FRESH,
}
"""How values are converted, by the name of their enum or field."""
