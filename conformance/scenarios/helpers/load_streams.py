"""Observe load streams and their reports, and end load streams."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final

import grpc
from msgspec.structs import replace

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.judging.expectations import (
    Duration,
    FirstRequestHasNode,
    LoadMatches,
    RequestsInProgress,
    RequestsReported,
)
from conformance.judging.observations import (
    Attempt,
    Attempts,
    LoadReport,
    LoadReports,
    Loads,
    ReportedLoad,
    ReportOfACluster,
)
from conformance.scenarios.helpers.load_reports import (
    balanced,
    locality_name,
    reported,
    two_clusters,
)
from conformance.spec.oracles.load import Load, LoadKey, due
from conformance.world import EMPTY, World, waits
from conformance.xds_config.bootstrap import NODE
from conformance.xds_config.config import XdsConfig
from fake_control_plane import (
    ClusterLoad,
    Event,
    LoadRequest,
    Service,
    Side,
    StreamClosed,
    StreamOpened,
)


def ask(
    world: World, *clusters: str, interval: float = 1.0, endpoint_granularity: bool = False
) -> None:
    """Request the load of these clusters (by default of all) on current and later load streams."""
    world.plane.script.loads.ask(
        interval=interval, clusters=clusters or None, endpoint_granularity=endpoint_granularity
    )


def load_reports(
    world: World,
    *,
    since: int = 0,
    only: Collection[LoadRequest] | None = None,
    of: str | None = None,
) -> LoadReports:
    """Return the reports on load streams; `only` and `of` select reports and a cluster."""
    events = world.plane.transcript.events[since:]
    said = (event for event in events if isinstance(event, LoadRequest)) if only is None else only
    return LoadReports(
        tuple(_report(report, of) for report in said),
        streams=sum(1 for event in events if _begins_a_load_stream(event)),
        ended=sum(1 for event in events if _is_ended_by_the_client(event)),
    )


async def load_stream(world: World) -> None:
    """Wait until a load stream has started, or time is up; a verdict follows in both cases."""
    begins = world.plane.transcript.wait(
        lambda event: isinstance(event, LoadRequest), deadline=timing.EVENT
    )
    await world.control.unless_no_load_stream(waits.watched(begins))


async def next_reports(
    world: World, count: int, *, since: int, of: str | None = None
) -> tuple[LoadRequest, ...]:
    """Return the next `count` reports that have this cluster (or any); fewer if time is up."""
    return await _reports(
        world,
        count,
        since=since,
        counts=lambda report: any(of in {None, cluster.cluster} for cluster in report.clusters),
    )


async def reports_until(world: World, count: int, *, since: int) -> LoadReports:
    """Return the next `count` reports, with or without load; fewer if time is up."""
    load_requests = await _reports(world, count, since=since, counts=lambda _: True)
    return load_reports(world, only=load_requests)


async def _reports(
    world: World, count: int, *, since: int, counts: Callable[[LoadRequest], bool]
) -> tuple[LoadRequest, ...]:
    load_requests: list[LoadRequest] = []

    def enough(event: Event) -> bool:
        if isinstance(event, LoadRequest) and counts(event):
            load_requests.append(event)
        return len(load_requests) == count

    asked = world.plane.script.loads.asked_for
    within = timing.REPORTED + count * (asked.interval if asked else 0.0)
    reports = world.plane.transcript.wait(enough, deadline=within, since=since)
    await world.control.unless_no_load_stream(waits.watched(reports))
    return tuple(load_requests)


async def lose_stream(world: World, lose: Callable[[], Awaitable[None]]) -> None:
    """End the load stream, and wait until the client has tried to start another one.

    The control plane refuses that stream and all later ones until `accept_streams`. If there is no
    load stream yet, `lose` makes the client start the first one.

    Raises:
        PreconditionTimeout: the client did not try in time.
    """
    script, mark = world.plane.script, world.control.mark
    script.refuse_streams(service=Service.LRS)
    await lose()
    again = world.plane.transcript.wait(
        _begins_a_load_stream, deadline=timing.AFTER_OUTAGE, since=mark
    )
    if not await waits.came(again):
        raise PreconditionTimeout(
            f"the client started no load stream within {timing.AFTER_OUTAGE:g} s after the last "
            f"one had ended, though a cluster in use has an lrs_server"
        )


async def stream_accepted(world: World, *, since: int) -> None:
    """Wait for a request on a load stream, or until all earlier backoffs are over."""
    await waits.watched(
        world.plane.transcript.wait(
            lambda event: isinstance(event, LoadRequest), deadline=timing.AFTER_OUTAGE, since=since
        )
    )


def accept_streams(world: World) -> None:
    """Accept load streams again."""
    world.plane.script.accept_streams(Service.LRS)


def ending(world: World, code: grpc.StatusCode) -> Callable[[], Awaitable[None]]:
    """Return a function that ends the load stream with a status."""

    async def end() -> None:
        world.control.history.append(f"load streams ended with {code.name}")
        world.plane.script.end_streams(code, service=Service.LRS)

    return end


def _begins_a_load_stream(event: Event) -> bool:
    return isinstance(event, StreamOpened) and event.service is Service.LRS


def _is_ended_by_the_client(event: Event) -> bool:
    if not isinstance(event, StreamClosed):
        return False
    return event.service is Service.LRS and event.by is Side.CLIENT


async def no_stream(world: World, *, since: int) -> None:
    """Wait until the client has ended all load streams, or time is up."""
    left: set[int] = set()

    def none_left(event: Event) -> bool:
        if _begins_a_load_stream(event):
            left.add(event.stream)
        elif _is_ended_by_the_client(event):
            left.discard(event.stream)
        return not left

    for event in world.plane.transcript.events[:since]:
        none_left(event)
    waiting = world.plane.transcript.wait(none_left, deadline=timing.EVENT, since=since)
    await waits.watched(waiting)


async def attempts_at_streams(world: World, count: int, *, since: int) -> Attempts:
    """Return the next `count` load streams of the client as attempts; fewer if time is up."""
    begun: list[Event] = []

    def enough(event: Event) -> bool:
        if _begins_a_load_stream(event):
            begun.append(event)
        return len(begun) == count

    waiting = world.plane.transcript.wait(enough, deadline=timing.AFTER_OUTAGE, since=since)
    await waits.watched(waiting)
    return Attempts(
        tuple(Attempt("load streams", world.clock.at(stream.at)) for stream in begun),
        lateness=world.clock.late,
    )


def newest_report(world: World) -> LoadReports:
    """Return the last report that has a cluster."""
    events = reversed(world.plane.transcript.events)
    load_requests = (event for event in events if isinstance(event, LoadRequest) and event.clusters)
    return load_reports(world, only=tuple(itertools.islice(load_requests, 1)))


def issued_by(seen: Loads, wanted: LoadMatches, *clusters: str) -> RequestsReported:
    """Expect a report of all requests that the backends of these clusters received."""
    issued = dict.fromkeys(clusters, 0)
    for place, load in due(seen.received, wanted.places).items():
        if place.cluster in issued:
            issued[place.cluster] += load.issued
    return RequestsReported({name: (each, each) for name, each in issued.items()})


def in_progress(seen: Loads, wanted: LoadMatches, cluster: str) -> RequestsInProgress:
    """Expect a report of the requests in progress at this cluster, as its backends count them."""
    counted = due(seen.received, wanted.places)
    gauges = {place: load.in_progress for place, load in counted.items() if load.in_progress}
    return RequestsInProgress(
        cluster=cluster,
        in_progress=tuple(each for each in gauges.items() if each[0].cluster == cluster),
    )


def _report(request: LoadRequest, of: str | None) -> LoadReport:
    who = request.identity
    return LoadReport(
        stream=request.stream,
        node=who.id if who else "",
        features=who.client_features if who else (),
        clusters=tuple(
            _of_a_cluster(each) for each in request.clusters if of in {None, each.cluster}
        ),
    )


def _of_a_cluster(load: ClusterLoad) -> ReportOfACluster:
    return ReportOfACluster(
        cluster=load.cluster,
        loads=tuple(
            ReportedLoad(
                LoadKey(load.cluster, load.service, locality_name(place.locality)),
                Load(
                    issued=place.issued,
                    succeeded=place.successful,
                    errors=place.errors,
                    in_progress=place.in_progress,
                ),
            )
            for place in load.localities
        ),
        endpoints=sum(len(place.endpoints) for place in load.localities),
    )


async def stopped(world: World) -> None:
    """Stop the control plane, and start it again."""
    await world.control.stop()
    await world.control.resume()


Way = Callable[[World], Callable[[], Awaitable[None]]]

ENDS: Final[dict[str, Way]] = {
    "ok": lambda world: ending(world, grpc.StatusCode.OK),
    "unavailable": lambda world: ending(world, grpc.StatusCode.UNAVAILABLE),
    "control-plane": lambda world: lambda: stopped(world),
}
"""Ways to end a load stream: by a status, and with its connection."""


BETWEEN: Final = 2
"""Number of intervals between reports that `check_times` measures."""


async def check_times(world: World, requests: Sequence[LoadRequest], *, of: str) -> None:
    """Check that reports of a cluster keep the server's interval, and state the time they cover.

    Raises:
        PreconditionTimeout: there are too few reports.
    """
    if len(requests) <= BETWEEN:
        raise PreconditionTimeout(
            f"only {len(requests)} of {BETWEEN + 1} load reports came, though there was load"
        )
    first, last = requests[0], requests[-1]
    lag = BETWEEN * timing.REPORT_JITTER
    began, ended = map(world.clock.at, (first.at, last.at))
    took = world.clock.elapsed("a load report", began, f"the {BETWEEN} after it", ended)
    asked = BETWEEN * timing.LONGER_REPORTS
    most = asked + timing.REPORTED
    keeps = Duration(least=asked - lag, most=most, allowance=timing.BELIEVED)
    await world.check("A27-LRS-07", took, keeps)
    covered = sum(
        load.interval for report in requests[1:] for load in report.clusters if load.cluster == of
    )
    said = replace(took, until=f"the {BETWEEN} after it, by their intervals", seconds=covered)
    took_about = Duration(
        least=took.seconds - lag, most=took.seconds + lag, allowance=timing.BELIEVED
    )
    await world.check("A27-LRS-08", said, took_about)


def reporting(served: XdsConfig, *names: str) -> XdsConfig:
    """Return the config with lrs_server in these clusters only."""
    clusters = (replace(cluster, is_reported=cluster.name in names) for cluster in served.clusters)
    return replace(served, clusters=tuple(clusters))


async def check_other_reported(world: World) -> int:
    """Request the load of `other` alone, and check that the client reports this cluster only.

    Returns:
        The number of requests to CLUSTER, which the client has not reported.
    """
    served = await two_clusters(world, is_other_reported=True)
    await world.serve(served)
    ask(world, "other")
    early = await world.require_served(world.sessions(20))
    await world.require_served(world.sessions(10), path=EMPTY)
    expected = balanced(reporting(served, "other"))
    await world.check("A27-LRS-03", await reported(world, expected), expected)
    return len(early)


async def loads_after_requests(world: World, expected: RequestsReported) -> Loads:
    """Make requests; return the reported load once it fits."""
    await world.require_served(world.sessions(5))
    return await reported(world, expected)


async def report_after_requests(world: World) -> LoadReports:
    """Make requests to two clusters; return the next report that has `other`."""
    mark = world.control.mark
    await world.require_served(world.sessions(5))
    await world.require_served(world.sessions(5), path=EMPTY)
    return load_reports(world, only=await next_reports(world, 1, since=mark, of="other"))


async def check_first_request(world: World, begun: LoadReports) -> None:
    """Check that the first request of a new stream has the node, and see whether it has load."""
    await world.check("A27-LRS-01", begun, FirstRequestHasNode(node=NODE))
    choices = {
        "asked anew": FirstRequestHasNode(node=NODE, load=False),
        "goes on": FirstRequestHasNode(node=NODE, load=True),
    }
    await world.check("A27-LRS-22", begun, choices)
