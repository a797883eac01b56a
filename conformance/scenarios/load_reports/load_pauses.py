"""LRS (required by A27): reports after a pause and without load, and failing load streams."""

import grpc
from msgspec.structs import replace

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    AttemptSpacing,
    Duration,
    LoadStreamsKept,
    OnlyTheseReported,
    ReportIntervals,
)
from conformance.judging.observations import Elapsed
from conformance.scenarios.helpers.circuit_breaking import end, kept_open
from conformance.scenarios.helpers.load_reports import apart, balanced, reported, two_clusters
from conformance.scenarios.helpers.load_streams import (
    accept_streams,
    ask,
    attempts_at_streams,
    ending,
    load_reports,
    lose_stream,
    next_reports,
    no_stream,
    reports_until,
    stream_accepted,
)
from conformance.world import EMPTY, World
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.routes import CLUSTER
from fake_control_plane import LoadRequest

BACKGROUND_REQUESTS, LATER = 20, 5
"""Requests while the server does not name a cluster, and fewer after it names the cluster again."""


REFUSED = 4
"""Attempts to start a load stream that fail."""


SEVERAL = 3
"""Number of reports that would come during the time without load."""


@scenario("A27-LRS-25", "A27-LRS-05", seconds=5, waits=True)
async def test_interval_after_pause(world: World) -> None:
    """After a pause, the load_report_interval of a cluster fits the load in the report.

    The server requests all clusters, then one, then all again. A call stays open, so that each
    report may have the cluster.
    """
    served = await two_clusters(world, is_other_reported=True)
    await world.serve(served)
    await world.require_served(world.sessions(10), path=EMPTY)
    stays = await kept_open(world, 1)
    await reported(world, balanced(served))
    requests = await reports_of_other_cluster(world)
    only_other = OnlyTheseReported(("other",))
    await world.check("A27-LRS-05", load_reports(world, only=requests), only_other)
    before, mark, asked_at = newest_of(world, CLUSTER), world.control.mark, world.now
    ask(world)
    await world.require_served(world.sessions(LATER))
    requests = await next_reports(world, 1, since=mark, of=CLUSTER)
    if not requests or before is None:
        raise PreconditionTimeout("the cluster was not reported, though requests to it were made")
    await check_interval(world, requests[0], before, asked_at)
    await end(world)
    await stays.over()


async def reports_of_other_cluster(world: World) -> tuple[LoadRequest, ...]:
    """Request the other cluster alone; return its first report after requests to both clusters."""
    ask(world, "unknown", "other")  # grpc-node never finds the first name: see A27-LRS-03.
    await report_of_other_cluster(world)
    await world.require_served(world.sessions(BACKGROUND_REQUESTS))
    return await report_of_other_cluster(world)


async def report_of_other_cluster(world: World) -> tuple[LoadRequest, ...]:
    """Make requests to the other cluster; return the next report that has it."""
    mark = world.control.mark
    await world.require_served(world.sessions(5), path=EMPTY)
    return await next_reports(world, 1, since=mark, of="other")


async def check_interval(
    world: World, report: LoadRequest, before: LoadRequest, asked_at: float
) -> None:
    """Check that the interval of a report starts where its load does.

    The load starts at the report before the pause if it includes the requests during the pause,
    and else when the server named the cluster again.
    """
    (load,) = (cluster for cluster in report.clusters if cluster.cluster == CLUSTER)
    issued = sum(locality.issued or locality.successful for locality in load.localities)
    since = world.clock.at(before.at) if issued >= BACKGROUND_REQUESTS else asked_at
    took = world.clock.elapsed("its load", since, "the report", world.clock.at(report.at))
    lag = timing.REPORT_JITTER
    about = Duration(least=took.seconds - lag, most=took.seconds + lag, allowance=timing.BELIEVED)
    said = replace(took, until="the report, by its load_report_interval", seconds=load.interval)
    await world.check("A27-LRS-25", said, about)


def newest_of(world: World, cluster: str) -> LoadRequest | None:
    """Return the last report until now that has this cluster."""
    requests = (
        event for event in reversed(world.plane.transcript.events) if isinstance(event, LoadRequest)
    )
    return next(
        (report for report in requests if cluster in {of.cluster for of in report.clusters}),
        None,
    )


@scenario("A27-LRS-26", "A27-LRS-27", seconds=19, waits=True)
async def test_backoff(world: World) -> None:
    """If the server ends load streams, the client waits before it starts the next one, or not."""
    served = apart(await world.endpoints(2))
    await world.serve(served)
    await report_requests(world, served)
    mark = world.control.mark
    await lose_stream(world, ending(world, grpc.StatusCode.UNAVAILABLE))
    tried = await attempts_at_streams(world, REFUSED, since=mark)
    backoff, gaps = world.client.backoff, REFUSED - 1
    apart_by = AttemptSpacing(backoff=backoff, gaps=gaps, needed=gaps, allowance=timing.SEEN_LATE)
    await world.check("A27-LRS-26", tried, {"longer and longer": apart_by})
    mark = world.control.mark
    accept_streams(world)
    await stream_accepted(world, since=mark)
    await report_requests(world, served)
    took = await time_to_next_stream(world)
    first = backoff.initial * (1 + backoff.jitter) + timing.BELIEVED
    choices = {
        "as after a first failure, or at once": Duration(most=first, allowance=timing.BELIEVED),
        "longer": Duration(least=first, most=timing.AFTER_OUTAGE, allowance=timing.BELIEVED),
    }
    await world.check("A27-LRS-27", took, choices)


async def report_requests(world: World, served: XdsConfig) -> None:
    """Make requests, and wait until the client has reported them."""
    await world.require_served(world.sessions(20))
    await reported(world, balanced(served))


async def time_to_next_stream(world: World) -> Elapsed:
    """End the load stream; return the time until the client starts the next one."""
    mark, ended_at = world.control.mark, world.now
    await lose_stream(world, ending(world, grpc.StatusCode.UNAVAILABLE))
    again = (await attempts_at_streams(world, 1, since=mark)).attempts[0].at
    return world.clock.elapsed("the end of the stream", ended_at, "the next one", again)


@scenario("A27-LRS-28", seconds=8, waits=True)
async def test_no_load(world: World) -> None:
    """A client without load sends reports without clusters, with zeros, or none."""
    served = apart(await world.endpoints(2))
    await world.serve(served)
    await world.require_served(world.sessions(20))
    await reported(world, balanced(served))
    seen = await reports_until(world, SEVERAL, since=world.control.mark)
    choices = {
        "reports of no cluster": ReportIntervals(least=SEVERAL, clusters=()),
        "reports of zeros": ReportIntervals(least=SEVERAL, clusters=(CLUSTER,)),
        "none, or one": ReportIntervals(most=1),
    }
    await world.check("A27-LRS-28", seen, choices)


@scenario("A27-LRS-29", seconds=6, waits=True)
async def test_last_cluster_removed(world: World) -> None:
    """The last cluster with an lrs_server goes: the load stream ends or stays."""
    both = await two_clusters(world)
    await world.serve(both)
    await world.require_served(world.sessions(20))
    await reported(world, balanced(both))
    mark = world.control.mark
    other, route = both.get_cluster("other"), replace(both.routes[-1], cluster="other")
    await world.serve(XdsConfig(clusters=(other,), routes=(route,)))
    there = AllServedBy(other.addresses())
    await world.rounds.require(
        there, lambda: world.call(world.sessions(5)), why="the routes lead to this cluster"
    )
    await no_stream(world, since=mark)
    choices = {"ends": LoadStreamsKept(0), "stays": LoadStreamsKept(1)}
    await world.check("A27-LRS-29", load_reports(world), choices)
