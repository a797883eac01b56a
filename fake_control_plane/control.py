"""The control service: a gRPC shell around one control plane, on a port of its own.

Its own port, so that the xDS port can stop and come back at its command.
"""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable
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
from fake_control_plane.faults import NO_RESOURCE_TYPE, Nonce
from fake_control_plane.load_reporting import LoadScript
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
        self._script = plane.script

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
            push = await self._break(fault, fault.node or None)
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

    async def _break(self, fault: pb.Fault, node: str | None) -> Push | None:
        """Carry out a fault; the push that it made, if it sends something that is answered."""
        match _field_of(fault):
            case "resend":
                return self._resend(fault.resend, node)
            case "malformed":
                broken = fault.malformed
                return self._script.faults.send_malformed(
                    kind_from(broken.kind), alone=broken.alone, node=node
                )
            case "wrong_type":
                wrong = fault.wrong_type
                return self._script.faults.send_wrong_type(
                    kind_from(wrong.kind),
                    type_url=wrong.type_url or NO_RESOURCE_TYPE,
                    alone=wrong.alone,
                    node=node,
                )
            case "end_streams":
                end = fault.end_streams
                self._script.end_streams(
                    _status_code(end.code),
                    end.details,
                    service=service_from(end.service),
                    node=node,
                )
            case "stop":
                await self._plane.stop()
            case "resume":
                await self._plane.resume()
            case None:
                raise BadFault("The fault is empty, or newer than this server: set a known field.")
            case _:
                self._change(fault)
        return None

    def _change(self, fault: pb.Fault) -> None:
        """Change a setting of the script."""
        script = self._script
        match _field_of(fault):
            case "withhold":
                script.hide(kind_from(fault.withhold.kind), fault.withhold.name)
            case "permit":
                script.unhide(kind_from(fault.permit.kind), fault.permit.name)
            case "order":
                script.order(*map(kind_from, fault.order.kinds))
            case "delay":
                script.delay(kind_from(fault.delay.kind), seconds(fault.delay.by))
            case "refuse_streams":
                refuse = fault.refuse_streams
                script.refuse_streams(
                    _status_code(refuse.code), refuse.details, service=service_from(refuse.service)
                )
            case "accept_streams":
                script.accept_streams(service_from(fault.accept_streams.service))
            case "send_unsolicited":
                script.send_unsolicited(*map(kind_from, fault.send_unsolicited.kinds))
            case "wrap_in_resource":
                script.wrap_in_resource(*map(kind_from, fault.wrap_in_resource.kinds))
            case _:
                self._change_loads(fault, script.loads)

    def _change_loads(self, fault: pb.Fault, loads: LoadScript) -> None:
        """Change what load reports are requested."""
        match _field_of(fault):
            case "load_reporting":
                asked = fault.load_reporting
                loads.ask(
                    interval=seconds(asked.interval),
                    clusters=asked.clusters or None,
                    endpoint_granularity=asked.endpoint_granularity,
                )
            case "load_silence":
                loads.be_silent()
            case "all_clusters":
                loads.know(fault.all_clusters.clusters)
            case unknown:
                raise BadFault(f"This server cannot carry out the fault {unknown}.")

    def _resend(self, resend: pb.Fault.Resend, node: str | None) -> Push:
        nonce: Nonce | str = Nonce.FRESH
        if resend.HasField("literal_nonce"):
            nonce = resend.literal_nonce
        elif resend.old_nonce:
            nonce = Nonce.OLD
        version = resend.version if resend.HasField("version") else None
        return self._script.faults.resend(
            kind_from(resend.kind), version=version, nonce=nonce, node=node
        )


def _field_of(fault: pb.Fault) -> str | None:
    """Return which fault it is; None for none, or for one of a newer proto."""
    field: str | None = fault.WhichOneof("fault")
    return field


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
