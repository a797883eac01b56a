"""Keep calls open, one after another, up to the limit of a cluster."""

from __future__ import annotations

from collections.abc import Sequence

import grpc
import msgspec

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.judging.expectations import AllServedBy, EndsWith, RequestsAdmitted
from conformance.judging.observations import OPEN, Call, Calls
from conformance.scenarios.helpers.aggregates import aggregates, leaf
from conformance.scenarios.helpers.load_reports import arrived
from conformance.scenarios.helpers.localities import fail
from conformance.scenarios.helpers.routing import calls_to, route_to
from conformance.spec.oracles import circuit_breaking
from conformance.spec.oracles.circuit_breaking import USUAL_LIMIT
from conformance.world import DUPLEX, Channel, PendingCalls, World, waits
from conformance.xds_config.clusters import Cluster, Drop, Threshold
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.routes import CLUSTER_HEADER
from test_servers import BackendEndpoint as Member

KEPT_OPEN = {"rpc-behavior": "keep-open"}
"""Makes a backend keep a call open until the suite ends it."""


def limited(
    name: str, members: Sequence[Member], *limits: Threshold | int, service_name: str | None = None
) -> Cluster:
    """Return a cluster with these thresholds and lrs_server.

    One client enforces no limit without lrs_server.

    Args:
        name: name of the cluster.
        members: its endpoints, in one priority.
        limits: thresholds; a number is max_requests for the default priority.
        service_name: its EDS service name.
    """
    return msgspec.structs.replace(
        leaf(name, members).known_as(service_name),
        thresholds=tuple(Threshold(limit) if isinstance(limit, int) else limit for limit in limits),
        is_reported=True,
    )


def below(name: str, *leaves: str, limit: int | None = None) -> Cluster:
    """Return an aggregate of these clusters, with or without a limit."""
    (cluster,) = aggregates({name: " ".join(leaves)})
    return (
        cluster
        if limit is None
        else msgspec.structs.replace(cluster, thresholds=(Threshold(limit),))
    )


def reported_below(name: str, *leaves: str) -> Cluster:
    """Return an aggregate with lrs_server; the text does not say if that of a leaf applies."""
    return msgspec.structs.replace(below(name, *leaves), is_reported=True)


def dropping(cluster: Cluster, *drops: Drop) -> Cluster:
    """Return the cluster with these drop categories."""
    return msgspec.structs.replace(
        cluster, discovery=msgspec.structs.replace(cluster.discovery, drops=drops)
    )


NEARLY_ALL = 999_999
"""A drop share in millionths. The text does not say whether a client leaves a leaf that drops
everything (A27-DROP-11), so a leaf that the client must leave drops a little less."""


async def require_failures(world: World, to: str, *, why: str) -> None:
    """Make requests by a route until all fail with UNAVAILABLE, as dropped requests do.

    Raises:
        PreconditionTimeout: some did not.
    """
    await world.rounds.require(EndsWith("UNAVAILABLE"), lambda: calls_to(world, to, 10), why=why)


def failed(world: World, to: str) -> int:
    """Return the number of requests by a route that have failed so far."""
    made = (call for call in world.calls.made if call.status == "UNAVAILABLE")
    return sum(1 for call in made if (CLUSTER_HEADER, to) in call.metadata)


async def until_at(world: World, root: str, cluster: Cluster, *, why: str) -> None:
    """Make requests by a route, one at a time, until this cluster serves them.

    Raises:
        PreconditionTimeout: it did not.
    """
    there = AllServedBy(cluster.addresses())
    await world.rounds.require(there, lambda: calls_to(world, root, 1), why=why)


async def lose(world: World, served: XdsConfig, *members: Member) -> None:
    """Serve a config without some endpoints, and make these endpoints fail as well.

    Scenarios about the next leaf use this. A client that keeps using removed endpoints fails
    A37-TROUBLE-27 alone; Envoy does not leave endpoints because their connections fail.
    """
    await world.serve(served)
    await fail(*members)


def routed(*clusters: Cluster) -> XdsConfig:
    """Return a config of these clusters with a route to each."""
    return XdsConfig(
        clusters=clusters, routes=tuple(route_to(cluster.name) for cluster in clusters)
    )


async def connected(world: World, *roots: str, channel: Channel | None = None) -> None:
    """Make a request by each of these routes, so that later streams find connections.

    Raises:
        PreconditionTimeout: a request was not served.
    """
    sessions = zip(roots, world.sessions(len(roots)), strict=True)
    await world.require_served(
        [{**session, CLUSTER_HEADER: root} for root, session in sessions], channel=channel
    )


class OpenStream(msgspec.Struct, frozen=True):
    """A stream that was open at its last check."""

    to: str
    call: Call
    started: PendingCalls


async def ended(stream: OpenStream) -> None:
    """Wait until the client reports that a stream has ended; verdicts depend on the free slot."""
    await stream.started.over()


class Streams:
    """All streams of a scenario, whose client needs the capability `kept_open`."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._open: list[OpenStream] = []

    def at(self, address: str) -> int:
        """Return the number of open streams at this endpoint."""
        return sum(1 for open_call in self._open if open_call.call.endpoint == address)

    async def start(
        self,
        to: str,
        count: int = 1,
        *,
        channel: Channel | None = None,
        deadline: float | None = None,
    ) -> Calls:
        """Start streams by a route, each after the last one is open or has ended."""
        return Calls(tuple([await self._start(to, channel, deadline) for _ in range(count)]))

    async def start_together(self, to: str, count: int) -> Calls:
        """Start streams by a route, all at once. They cannot be ended one by one.

        A client checks the limit before it counts a stream, so concurrent streams may exceed the
        limit. That cannot happen if the limit admits all of them, or none.
        """
        headers = [
            {**session, CLUSTER_HEADER: to, **KEPT_OPEN} for session in self.world.sessions(count)
        ]
        started = await self.world.start(headers, path=DUPLEX, kept_open=True, deadline=None)
        return await started.begun()

    async def require_open(
        self,
        to: str,
        count: int = 1,
        *,
        channel: Channel | None = None,
        deadline: float | None = None,
    ) -> None:
        """Start streams by a route, which must all open.

        Raises:
            PreconditionTimeout: a stream did not open.
        """
        calls = await self.start(to, count, channel=channel, deadline=deadline)
        bad = [call for call in calls if call.status != OPEN]
        if bad:
            raise PreconditionTimeout(
                f"{len(bad)} of {count} streams to {to}, started one after another, did not open, "
                f"though the limit admits them: {bad[0].status} ({bad[0].details or 'no details'})"
            )

    async def open_to_limit(
        self,
        to: str,
        wanted: RequestsAdmitted,
        *,
        channel: Channel | None = None,
        most: int = USUAL_LIMIT,
    ) -> Calls:
        """Start as many streams as the limit should admit, at most `most`, and one more.

        The client may not have applied an update, or noticed the end of a stream, by its next
        request. So each stream may be retried within APPLY until it opens; the last is tried once.
        """
        calls: list[Call] = []

        async def begin() -> Call:
            return await self._start(to, channel)

        for _ in range(min(wanted.room, most)):
            waited = await waits.until(begin, lambda call: call.status == OPEN, within=timing.APPLY)
            calls.append(waited.seen)
            if not waited.fits:
                return Calls(tuple(calls), overdue=True)
        return Calls((*calls, await begin()))

    async def until_refused(self, to: str) -> Calls:
        """Start streams until one does not open, within APPLY; cancel those that open."""

        async def begin() -> Call:
            call = await self._start(to)
            if call.status == OPEN:
                await self.cancel(to, newest=True)
            return call

        waited = await waits.until(begin, lambda call: call.status != OPEN, within=timing.APPLY)
        return Calls((waited.seen,), overdue=not waited.fits)

    async def end(self, to: str, code: grpc.StatusCode = grpc.StatusCode.OK) -> None:
        """Make a backend end the oldest stream by a route."""
        open_call = self._taken(to)
        self.world.fleet.end(self.world.calls.row(open_call.call.id), code)
        await ended(open_call)

    async def end_all_at(self, address: str) -> None:
        """Make the backend of this endpoint end all of its streams."""
        gone = [stream for stream in self._open if stream.call.endpoint == address]
        self._open = [stream for stream in self._open if stream not in gone]
        for stream in gone:
            self.world.fleet.end(self.world.calls.row(stream.call.id), grpc.StatusCode.OK)
        for stream in gone:
            await ended(stream)

    async def wait_for_deadline(self, to: str) -> None:
        """Wait until the newest stream by a route has exceeded its deadline."""
        await ended(self._taken(to, newest=True))

    async def cancel(self, to: str, *, newest: bool = False) -> None:
        """Cancel the oldest stream by a route, or the newest."""
        open_call = self._taken(to, newest=newest)
        await open_call.started.cancel()
        await ended(open_call)

    async def drop_connections(self, member: Member) -> int:
        """Drop the connections of an endpoint; return the number of streams that this ended."""
        gone = [open_call for open_call in self._open if open_call.call.endpoint == member.address]
        self._open = [open_call for open_call in self._open if open_call not in gone]
        await member.kill()
        for open_call in gone:
            await ended(open_call)
        return len(gone)

    async def _start(
        self, to: str, channel: Channel | None = None, deadline: float | None = None
    ) -> Call:
        (session,) = self.world.sessions(1)
        started = await self.world.start(
            [{**session, CLUSTER_HEADER: to, **KEPT_OPEN}],
            path=DUPLEX,
            channel=channel,
            kept_open=True,
            deadline=deadline,
        )
        (call,) = await started.begun()
        if call.status == OPEN:
            self._open.append(OpenStream(to, call, started))
        return call

    def _taken(self, to: str, *, newest: bool = False) -> OpenStream:
        open_call = [each for each in self._open if each.to == to][-1 if newest else 0]
        self._open.remove(open_call)
        return open_call


async def kept_open(world: World, number: int, *, to: str = "") -> PendingCalls:
    """Start `number` calls that the backends receive and leave open."""
    waiting = sum(1 for row in world.fleet.ledger.rpcs if row.ended_at is None)
    headers = [{**session, **KEPT_OPEN, CLUSTER_HEADER: to} for session in world.sessions(number)]
    started = await world.start(headers, deadline=None)
    await arrived(world, waiting + number, why="the client started each of them")
    return started


async def end(world: World) -> None:
    """Make the backends end all open calls."""
    for row, rpc in enumerate(world.fleet.ledger.rpcs):
        if rpc.ended_at is None:
            world.fleet.end(row, grpc.StatusCode.INTERNAL)


def within_limit(served: XdsConfig, cluster: str, *, in_flight: int = 0) -> RequestsAdmitted:
    """Expect that a cluster admits as many streams, started one after another, as its limit.

    Args:
        served: the configuration.
        cluster: the name of the cluster to whose endpoints the streams go.
        in_flight: the number of other open requests that count towards the limit.
    """
    return RequestsAdmitted(
        thresholds=tuple(
            circuit_breaking.Threshold(threshold.priority == "DEFAULT", threshold.max_requests)
            for threshold in served.get_cluster(cluster).thresholds
        ),
        in_flight=in_flight,
    )


async def check_changed_limit(
    clause: str, streams: Streams, served: XdsConfig, cluster: str, *, in_flight: int
) -> bool:
    """Check that streams from before an update count towards the new limit.

    In Envoy an update of the limit makes a new cluster, which counts from zero.

    Returns:
        True if the limit admitted more streams.
    """
    by = {
        "A32": within_limit(served, cluster, in_flight=in_flight),
        "envoy": within_limit(served, cluster),
    }
    own = streams.world.checks.own(clause, by)
    opened = streams.open_to_limit(cluster, own) if own.room else streams.until_refused(cluster)
    await streams.world.check(clause, await opened, by)
    return own.room > 0
