"""The control plane: snapshots, script and transcript behind the two xDS services on one port."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection
from typing import Any, Final

import grpc.aio
import msgspec
from envoy.service.discovery.v3 import ads_pb2_grpc
from envoy.service.load_stats.v3 import lrs_pb2_grpc

from fake_control_plane.events import Note, Service
from fake_control_plane.exceptions import PortTaken
from fake_control_plane.faults import Fault
from fake_control_plane.injection import fault
from fake_control_plane.kinds import Kind
from fake_control_plane.loads import Loads
from fake_control_plane.ports import Reservation
from fake_control_plane.script import Ending, Script
from fake_control_plane.sessions import ALL, AdsSession, LrsSession, Session
from fake_control_plane.snapshot import Snapshots, Version
from fake_control_plane.transcript import Push, Transcript
from request_filter import HiddenServer, Proxy

# Bytes of a request of xDS, as gRPC has it without an option. What is sent has no such limit.
_LARGEST_REQUEST: Final = 1 << 22

_SENDING: Final = (("grpc.max_send_message_length", -1),)
SERVER_OPTIONS: Final = (*_SENDING, ("grpc.max_receive_message_length", -1))


Translate = Callable[[Any], Any]
"""From a resource that is given to the one that is served in its place."""


def _as_it_is(resource: Any) -> Any:
    return resource


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """How much of what happened is kept; None: all of it."""

    transcript: int | None = None
    """Bytes of events, as of `Transcript`."""
    load_rows: int | None = None
    """Rows of load reports, as of `Loads`; their sums stay exact."""


EVERYTHING: Final = Keep()


class ControlPlane:
    """A scripted xDS control plane; made by `start` or `running`."""

    def __init__(
        self,
        reservation: Reservation,
        translate: Translate = _as_it_is,
        *,
        keep: Keep = EVERYTHING,
    ) -> None:
        self.transcript: Final = Transcript(keep.transcript)
        self.loads: Final = Loads(keep.load_rows)
        self.script: Final = Script(self)
        self.snapshots: Final = Snapshots()
        self.connection_age: float | None = None
        """Seconds after which a connection gets a GOAWAY, and ends half as much later; from the
        next `resume` on. None: never."""
        self._reservation = reservation
        self._translate = translate
        self._served: tuple[HiddenServer, Proxy] | None = None
        self._stopping = False
        self._troubles: list[str] = []
        self._streams = 0
        self._faults = 0
        self._sessions: dict[Session[Any], asyncio.Task[Any]] = {}

    @classmethod
    async def start(
        cls,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        translate: Translate = _as_it_is,
        keep: Keep = EVERYTHING,
    ) -> ControlPlane:
        """Listen, on a port of choice or (0) a free one.

        Args:
            host: The address.
            port: The port.
            translate: Converts resources, as they are set, for a client with its own formats.
            keep: How much of the transcript and of the load reports to keep.

        Raises:
            PortTaken: the address cannot be listened on.
        """
        plane = cls(Reservation(host, port), translate, keep=keep)
        try:
            await plane.resume()
        except BaseException:
            await plane.close()
            raise
        return plane

    @classmethod
    @contextlib.asynccontextmanager
    async def running(
        cls, host: str = "127.0.0.1", port: int = 0, *, keep: Keep = EVERYTHING
    ) -> AsyncIterator[ControlPlane]:
        """Run a control plane for the length of a `with` block; arguments as of `start`."""
        plane = await cls.start(host, port, keep=keep)
        try:
            yield plane
        finally:
            await plane.close()

    @property
    def is_stopping(self) -> bool:
        """Return whether `stop` is the reason for streams that end now."""
        return self._stopping

    @property
    def address(self) -> str:
        """Where clients find it: "127.0.0.1:1234" or "[::1]:1234"."""
        return self._reservation.address

    async def set(self, *resources: Any, node: str | None = None, version: Version = None) -> Push:
        """Add resources, or replace those of the same type and name, and send them.

        Args:
            resources: Protobuf messages, Any values that hold one, or RawResource values.
            node: The node id whose snapshot changes; None: the default one. A node's own snapshot
                starts from the default one at its first change.
            version: What the types that are given are called on the wire; None: by numbers that
                count their pushes. What is given is sent whatever the version before was called.

        Raises:
            BadResource: something given is no resource.
        """
        translated = map(self._translate, resources)
        return self._push(lambda: self.snapshots.set(translated, node, version), node)

    async def replace(
        self,
        *resources: Any,
        node: str | None = None,
        kinds: Collection[Kind] = tuple(Kind),
        version: Version = None,
    ) -> Push:
        """Let these be all resources, or all of some types, and send what changed.

        Raises:
            BadResource: something given is no resource, or of a type that is not replaced.
        """
        translated = map(self._translate, resources)
        return self._push(lambda: self.snapshots.replace(translated, node, kinds, version), node)

    async def delete(
        self, kind: Kind, *names: str, node: str | None = None, version: Version = None
    ) -> Push:
        """Take resources away; clients learn it of listeners and clusters only.

        Raises:
            BadResource: one of them is not there.
        """
        return self._push(lambda: self.snapshots.delete(kind, names, node, version), node)

    async def reported(
        self,
        look: Callable[[Loads], bool],
        *,
        deadline: float,
        what: str = "load reports that fit",
    ) -> Loads:
        """Wait until the load reports, past and future, satisfy a predicate.

        Raises:
            DeadlinePassed: they did not in time.
        """
        return await self.transcript.until(
            lambda: self.loads if look(self.loads) else None, deadline=deadline, what=what
        )

    @property
    def troubles(self) -> tuple[str, ...]:
        """Errors of the control plane itself, by which the suite must not judge a client."""
        return tuple(self._troubles)

    async def probe(self) -> None:
        """Add to `troubles` if the gRPC server ended unexpectedly and no entry says so yet."""
        if self._served is not None and not self._stopping:
            await self._served[0].probe()

    def client_of(self, peer: str) -> str:
        """Return the address of a client, by gRPC's name for the peer of its stream."""
        return peer if self._served is None else self._served[1].client_of(peer)

    @fault("stop")
    async def stop(self) -> None:
        """Stop listening and drop all connections; the port stays reserved."""
        served = self._served
        if served is None or self._stopping:
            return
        self._stopping = True
        server, proxy = served
        proxy.close()
        await server.stop()
        while self._sessions:  # one that begins as the server stops is ended by that, too
            await asyncio.wait(self._sessions.values())
        await proxy.end()
        self._served = None
        self._stopping = False

    @fault("resume")
    async def resume(self) -> None:
        """Listen again on the same port.

        Raises:
            PortTaken: another server listens there now.
        """
        if self._served is not None:
            return
        server = HiddenServer(self._make_server, self.report)
        await server.start()
        proxy = Proxy(server, self.note)
        self._served = server, proxy
        try:
            await proxy.listen(self._reservation.host, self._reservation.port)
        except OSError as trouble:
            self._served = None
            await server.stop()
            raise PortTaken(f"Cannot listen on {self.address}: it is in use.") from trouble

    async def close(self) -> None:
        """End all streams and give the port up."""
        await self.stop()
        self._reservation.close()

    async def _make_server(self) -> Any:
        options = [*_SENDING, ("grpc.max_receive_message_length", _LARGEST_REQUEST)]
        if self.connection_age is not None:
            age = round(self.connection_age * 1000)
            options += [
                ("grpc.max_connection_age_ms", age),
                ("grpc.max_connection_age_grace_ms", age // 2),
            ]
        server = grpc.aio.server(options=options)
        ads_pb2_grpc.add_AggregatedDiscoveryServiceServicer_to_server(_Ads(self), server)
        lrs_pb2_grpc.add_LoadReportingServiceServicer_to_server(_Lrs(self), server)
        return server

    def note(self, sentence: str) -> None:
        """Have something in the transcript that is of no stream."""
        self.transcript.record(Note(at=time.monotonic(), stream=0, node="", text=sentence))

    def report(self, trouble: str) -> None:
        """Add to `troubles`, and to the transcript."""
        self._troubles.append(trouble)
        self.note(trouble)

    async def serve(self, make: Callable[..., Session[Any]], requests: Any, context: Any) -> None:
        """Serve one stream of gRPC's to its end."""
        self._streams += 1
        session = make(self, self._streams, context)
        task = asyncio.current_task()
        assert task is not None
        self._sessions[session] = task
        try:
            await session.run(requests)
        finally:
            del self._sessions[session]

    def pump(self, kinds: Collection[Kind] = ALL) -> None:
        """Send what has become due of these types on each stream."""
        for session in tuple(self._sessions):
            if isinstance(session, AdsSession):
                session.pump(kinds)

    def inject(self, fault: Fault, node: str | None) -> Push:
        """Send a fault on each stream that asked for its type."""
        self._faults += 1
        version = fault.version(self._faults, self.snapshots.seen_by(node))
        push = Push(versions={fault.kind: version}, since=len(self.transcript), node=node)
        for session in tuple(self._sessions):
            if isinstance(session, AdsSession) and node in (None, session.node):
                session.inject(fault, version)
        return push

    def end_streams(self, service: Service, ending: Ending, node: str | None) -> None:
        """End the streams of a service."""
        for session in tuple(self._sessions):
            if session.service is service and node in (None, session.node):
                session.end(ending)

    def ask_for_loads(self) -> None:
        """Send a LoadStatsResponse on each LRS stream."""
        for session in tuple(self._sessions):
            if isinstance(session, LrsSession):
                session.ask()

    def ask_for_news_of_loads(self) -> None:
        """Send a LoadStatsResponse on each LRS stream whose last one asked for something else."""
        for session in tuple(self._sessions):
            if isinstance(session, LrsSession):
                session.ask_news()

    def _push(self, change: Callable[[], Any], node: str | None) -> Push:
        since = len(self.transcript)
        changed = change()
        seen = self.snapshots.seen_by(node)
        versions = {kind: seen.version_info(kind) for kind in changed}
        self.pump(versions.keys())
        return Push(versions=versions, since=since, node=node)


class _Ads:
    """The aggregated discovery service, state of the world."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    async def StreamAggregatedResources(self, requests: Any, context: Any) -> None:  # noqa: N802
        await self._plane.serve(AdsSession, requests, context)

    async def DeltaAggregatedResources(self, _: Any, context: Any) -> None:  # noqa: N802
        await context.abort(
            grpc.StatusCode.UNIMPLEMENTED, "Only the state-of-the-world protocol is served."
        )


class _Lrs:
    """The load reporting service."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    async def StreamLoadStats(self, requests: Any, context: Any) -> None:  # noqa: N802
        await self._plane.serve(LrsSession, requests, context)
