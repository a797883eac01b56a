"""The shell around one stream: moves messages between gRPC and the state, and tells the time."""

from __future__ import annotations

import abc
import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

import grpc
from envoy.service.discovery.v3 import discovery_pb2
from envoy.service.load_stats.v3 import lrs_pb2
from google.protobuf import any_pb2

from fake_control_plane.events import (
    Identity,
    LoadRequest,
    LoadResponse,
    Note,
    Request,
    Response,
    Service,
    Side,
    StreamClosed,
    StreamOpened,
)
from fake_control_plane.faults import Fault
from fake_control_plane.kinds import Kind
from fake_control_plane.load_reporting import LoadReporting
from fake_control_plane.loads import Loads, Locality, loads_of
from fake_control_plane.outbox import NewestOnly, Outbox, ResponseRules, Rules
from fake_control_plane.script import Ending, Script
from fake_control_plane.snapshot import Packed, Snapshot, Snapshots
from fake_control_plane.stream import AdsStream, Outgoing
from fake_control_plane.transcript import Transcript

_T = TypeVar("_T")

ALL: Final = frozenset(Kind)


class Plane(Protocol):
    """What a session sees of the control plane that it belongs to."""

    @property
    def transcript(self) -> Transcript:
        """Where events go."""

    @property
    def script(self) -> Script:
        """The settings in force."""

    @property
    def loads(self) -> Loads:
        """Where load reports go."""

    @property
    def snapshots(self) -> Snapshots:
        """What is served."""

    @property
    def is_stopping(self) -> bool:
        """Return whether the server's stop is the reason for streams that end now."""

    def client_of(self, peer: str) -> str:
        """Return the address of a client, from gRPC's name for the peer of its stream."""


class Session(abc.ABC, Generic[_T]):
    """One open stream of either service.

    Args:
        plane: Whose stream it is.
        stream: Its number.
        context: gRPC's side of it.
    """

    service: Service

    def __init__(self, plane: Plane, stream: int, context: Any) -> None:
        self.stream: Final = stream
        self.node = ""
        self._plane = plane
        self._context = context
        self._outbox = Outbox(self.rules())
        self._ending: Ending | None = None
        self._is_over = False  # the client has ended its side
        self._news = asyncio.Event()

    async def run(self, requests: AsyncIterator[Any]) -> None:
        """Serve the stream until one side ends it."""
        self._plane.transcript.record(
            StreamOpened(
                **self._now(),
                service=self.service,
                peer=self._plane.client_of(self._context.peer()),
            )
        )
        try:
            ending = self._plane.script.refusal(self.service) or await self._serve(requests)
        except BaseException:  # cancelled by gRPC, as a rule
            self._record_end(self._other_side())
            raise
        finally:
            self.forget()
        if ending is None:
            self._record_end(self._other_side())
            return
        self._record_end(Side.SCRIPT, ending.code.name, ending.details)
        if ending.code is not grpc.StatusCode.OK:
            await self._context.abort(ending.code, ending.details)

    def end(self, ending: Ending) -> None:
        """End the stream once all queued responses are sent."""
        self._ending = self._ending or ending
        self._news.set()

    @abc.abstractmethod
    def rules(self) -> Rules[_T]:
        """How much may wait to be sent."""

    @abc.abstractmethod
    def receive(self, request: Any) -> None:
        """Take in a request."""

    @abc.abstractmethod
    def compose(self, item: _T) -> tuple[Any, Response | LoadResponse]:
        """Return the message for gRPC and the event for the transcript."""

    def forget(self) -> None:
        """Let go of what is of no use when the stream has ended."""

    async def _serve(self, requests: AsyncIterator[Any]) -> Ending | None:
        """Read and write until one side ends the stream; the script's ending, if it was that."""
        reader = asyncio.create_task(self._read(requests))
        reader.add_done_callback(self._read_all)
        try:
            while True:
                while self._outbox:
                    message, event = self.compose(self._outbox.take())
                    # Before the write, so that no answer can come before it in the transcript.
                    self._plane.transcript.record(event)
                    await self._context.write(message)
                if self._ending is not None or self._is_over:
                    return self._ending
                self._news.clear()
                await self._news.wait()
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader

    async def _read(self, requests: AsyncIterator[Any]) -> None:
        async for request in requests:
            if request.HasField("node"):
                self.node = request.node.id
            self.receive(request)

    def _read_all(self, _: object) -> None:
        self._is_over = True
        self._news.set()

    def _send(self, item: _T) -> None:
        """Have something sent; what is given up for it is in the transcript."""
        if self._ending is not None:
            return
        if given_up := self._outbox.put(item):
            self.give_up(given_up)
        self._news.set()

    def give_up(self, items: Sequence[_T]) -> None:
        """Tell of what is not sent, as the client does not read."""
        self._note(f"not sent, as the client does not read: {len(items)} messages")

    def _other_side(self) -> Side:
        """Return the side that ended a stream that the script did not end.

        A stop may end the stream's requests first, as a client would, and cancel it afterwards.
        """
        return Side.STOP if self._plane.is_stopping else Side.CLIENT

    def _record_end(self, by: Side, code: str = "", details: str = "") -> None:
        self._plane.transcript.record(
            StreamClosed(**self._now(), service=self.service, by=by, code=code, details=details)
        )

    def _note(self, text: str) -> None:
        self._plane.transcript.record(Note(**self._now(), text=text))

    def _now(self) -> dict[str, Any]:
        return {"at": time.monotonic(), "stream": self.stream, "node": self.node}


class AdsSession(Session[Outgoing]):
    """A stream of the aggregated discovery service."""

    service = Service.ADS

    def __init__(self, plane: Plane, stream: int, context: Any) -> None:
        super().__init__(plane, stream, context)
        self._state = AdsStream(str(stream))
        self._late: dict[Kind, asyncio.TimerHandle] = {}
        self._node_before = ""

    def rules(self) -> Rules[Outgoing]:
        """Return rules that always send the newest version of each resource."""
        return ResponseRules()

    def give_up(self, items: Sequence[Outgoing]) -> None:
        """Forget responses that are never answered, and tell which they were."""
        for item in items:
            self._state.forget(item.type_url, item.nonce)
            kind = Kind.of_type_url(item.type_url)
            what = item.type_url if kind is None else kind.value
            self._note(f"not sent, as the client does not read: {what} version {item.version}")

    def receive(self, request: Any) -> None:
        """Note a request and send what is due after it."""
        names, node = tuple(request.resource_names), self._node_before
        self._node_before = self.node
        reception = self._state.receive(
            type_url=request.type_url,
            names=names,
            nonce=request.response_nonce,
            rejects=request.HasField("error_detail"),
        )
        self._plane.transcript.record(
            Request(
                **self._now(),
                kind=reception.kind,
                type_url=request.type_url,
                names=names,
                version=request.version_info,
                nonce=request.response_nonce,
                answer=reception.answer,
                answered_version=reception.answered_version,
                stale=reception.stale,
                subscribed=reception.subscribed,
                unsubscribed=reception.unsubscribed,
                error_code=request.error_detail.code,
                error_detail=request.error_detail.message,
                identity=_identity(request),
            )
        )
        # A request changes what is due of its own type; that of another node, of all types.
        if reception.kind is not None:
            self.pump((reception.kind,) if self.node == node else ALL)

    def pump(self, kinds: Collection[Kind] = ALL) -> None:
        """Send the due responses, except those on hold; delayed ones start a timer.

        Args:
            kinds: The types for which a response may be due.
        """
        script = self._plane.script
        snapshot, held = self._snapshot(), script.held
        for kind in script.order_of_types:
            if kind not in kinds or kind in held:
                continue
            delay = script.delay_of(kind)
            if not delay:
                self._respond(kind, snapshot)
            elif kind not in self._late and self._state.is_due(kind, snapshot):
                loop = asyncio.get_running_loop()
                self._late[kind] = loop.call_later(delay, self._respond_late, kind)

    def inject(self, fault: Fault, version: str) -> None:
        """Send a fault, if its type was ever asked for."""
        outgoing = fault.render(self._state, self._snapshot(), version)
        if outgoing is not None:
            self._send(outgoing)

    def _sent(self, packed: Packed, item: Outgoing) -> any_pb2.Any:
        """Return a resource as it is sent: as it is, or wrapped in a Resource message."""
        plain = any_pb2.Any(type_url=packed.type_url, value=packed.body)
        if Kind.of_type_url(item.type_url) not in self._plane.script.wrapped:
            return plain
        named = discovery_pb2.Resource(name=packed.name, version=item.version, resource=plain)
        wrapped = any_pb2.Any()
        wrapped.Pack(named)
        return wrapped

    def compose(self, item: Outgoing) -> tuple[Any, Response]:
        """Return a discovery response and its event."""
        message = discovery_pb2.DiscoveryResponse(
            version_info=item.version,
            type_url=item.type_url,
            nonce=item.nonce,
            resources=[self._sent(packed, item) for packed in item.resources],
        )
        event = Response(
            **self._now(),
            kind=Kind.of_type_url(item.type_url),
            type_url=item.type_url,
            version=item.version,
            nonce=item.nonce,
            resources=item.resources,
            fault=item.fault,
        )
        return message, event

    def forget(self) -> None:
        """Stop the timers of delayed responses."""
        for timer in self._late.values():
            timer.cancel()

    def _respond(self, kind: Kind, snapshot: Snapshot) -> None:
        unasked = kind in self._plane.script.unasked
        outgoing = self._state.respond(kind, snapshot, unasked=unasked)
        if outgoing is not None:
            self._send(outgoing)

    def _respond_late(self, kind: Kind) -> None:
        del self._late[kind]
        if kind not in self._plane.script.held:
            self._respond(kind, self._snapshot())

    def _snapshot(self) -> Snapshot:
        return self._plane.snapshots.seen_by(self.node).without(self._plane.script.withheld)


class LrsSession(Session[LoadReporting]):
    """A stream of the load reporting service."""

    service = Service.LRS

    def __init__(self, plane: Plane, stream: int, context: Any) -> None:
        super().__init__(plane, stream, context)
        self._has_begun = False
        self._features: tuple[str, ...] = ()
        self._asked: LoadReporting | None = None

    def rules(self) -> Rules[LoadReporting]:
        """Return rules that send only the newest request."""
        return NewestOnly()

    def receive(self, request: Any) -> None:
        """Add a report to the ledger; ask for reports after the first request."""
        clusters, left_out = loads_of(request)
        left_out += self._plane.loads.receive(self.stream, clusters)
        identity = _identity(request)
        self._plane.transcript.record(
            LoadRequest(**self._now(), clusters=clusters, identity=identity)
        )
        if left_out:
            self._note(f"{left_out} clusters of a load report are not counted: they are too many")
        if not self._has_begun:
            self._has_begun = True
            self._features = identity.client_features if identity else ()
            self.ask()

    def ask(self) -> None:
        """Send a LoadStatsResponse, if the script is not silent and the client sent a request."""
        asked = self._to_ask()
        if asked is not None:
            self._asked = asked
            self._send(asked)

    def ask_news(self) -> None:
        """Send a LoadStatsResponse if the last one asked for something else."""
        if self._to_ask() != self._asked:
            self.ask()

    def _to_ask(self) -> LoadReporting | None:
        loads = self._plane.script.loads
        asked = loads.asked_for
        if asked is None or not self._has_begun:
            return None
        return asked.asked_of(self._features, loads.known)

    def compose(self, item: LoadReporting) -> tuple[Any, LoadResponse]:
        """Return a load stats response and its event."""
        message = lrs_pb2.LoadStatsResponse(
            clusters=item.clusters or (),
            send_all_clusters=item.clusters is None,
            report_endpoint_granularity=item.endpoint_granularity,
        )
        message.load_reporting_interval.FromNanoseconds(round(item.interval * 1e9))
        event = LoadResponse(
            **self._now(),
            interval=item.interval,
            clusters=item.clusters or (),
            send_all_clusters=item.clusters is None,
            endpoint_granularity=item.endpoint_granularity,
        )
        return message, event

    def forget(self) -> None:
        """Forget the requests in progress."""
        self._plane.loads.close(self.stream)


def _identity(request: Any) -> Identity | None:
    if not request.HasField("node"):
        return None
    node = request.node
    return Identity(
        id=node.id,
        cluster=node.cluster,
        locality=Locality(node.locality.region, node.locality.zone, node.locality.sub_zone),
        user_agent_name=node.user_agent_name,
        user_agent_version=node.user_agent_version,
        client_features=tuple(node.client_features),
    )
