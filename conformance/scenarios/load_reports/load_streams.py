"""LRS (required by A27): load streams, the clusters that the server names, and reports."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout, Unsupported
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    Duration,
    EachServesSome,
    FirstRequestHasNode,
    LoadMatches,
    LoadStreamsStarted,
    NoEndpointLoad,
    OneEndpoint,
    OnlyTheseReported,
    RequestsReported,
    fits,
)
from conformance.scenarios.helpers.circuit_breaking import (
    KEPT_OPEN,
    end,
    kept_open,
    limited,
    routed,
    until_at,
)
from conformance.scenarios.helpers.load_reports import (
    BEHAVIOR,
    apart,
    balanced,
    loads,
    next_report,
    reported,
    two_clusters,
)
from conformance.scenarios.helpers.load_streams import (
    BETWEEN,
    ENDS,
    Way,
    accept_streams,
    ask,
    check_first_request,
    check_other_reported,
    check_times,
    in_progress,
    issued_by,
    load_reports,
    load_stream,
    loads_after_requests,
    lose_stream,
    newest_report,
    next_reports,
    report_after_requests,
    reporting,
    stream_accepted,
)
from conformance.scenarios.helpers.ring_order import serve_before_requests
from conformance.spec.oracles.statistics import draws_to_meet_all
from conformance.world import EMPTY, PendingCalls, World, waits
from conformance.xds_config.bootstrap import NODE
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.routes import CLUSTER, CLUSTER_HEADER, SESSION
from fake_control_plane import OF_ALL
from test_servers import BackendEndpoint

DAY = 86_400


BEYOND_32_BITS = 4_294_968
"""Seconds. In milliseconds it is 704 more than an unsigned number of 32 bits can hold."""


ENOUGH_SHORT = 20
"""Short calls at REPORT_PACE; they last longer than BETWEEN + 1 intervals."""


FINISHED: Final = "finished"
"""What is counted where the clause is not about issued requests."""


@scenario("A27-LRS-01", "A27-LRS-03", seconds=1.5, waits=True)
async def test_requested_clusters(world: World) -> None:
    """The client reports exactly the clusters that the server names."""
    await check_other_reported(world)
    begun = FirstRequestHasNode(node=NODE, load=False)
    await world.check("A27-LRS-01", load_reports(world), begun)


@scenario("A27-LRS-03", "A27-LRS-05", "A27-LRS-06", seconds=3.5, waits=True)
async def test_changed_cluster_list(world: World) -> None:
    """If the server names other clusters, the client reports these and no longer the former.

    The client reports the earlier load of a cluster that joins the list, or not.
    """
    early = await check_other_reported(world)
    mark = world.control.mark
    ask(world, CLUSTER)
    middle = await world.require_served(world.sessions(5))
    heeded = await next_reports(world, 1, since=mark, of=CLUSTER)
    mark = world.control.mark
    await world.require_served(world.sessions(5), path=EMPTY)
    late = await world.require_served(world.sessions(10))
    await next_reports(world, 1, since=mark)
    await world.check("A27-LRS-05", load_reports(world, since=mark), OnlyTheseReported((CLUSTER,)))
    everything = early + len(middle) + len(late)
    choices = {
        "told later": RequestsReported({CLUSTER: (everything, everything)}, FINISHED),
        "not told": RequestsReported({CLUSTER: (len(late), everything - early)}, FINISHED),
    }
    seen = await reported(world, *choices.values()) if heeded else loads(world, choices["not told"])
    await world.check("A27-LRS-06", seen, choices)


@scenario("A27-LRS-02", seconds=3, waits=True)
async def test_send_all_clusters(world: World) -> None:
    """A client that announces the feature reports all clusters if send_all_clusters is set.

    The control plane names the clusters for a client that does not announce it. An update adds a
    cluster after the first reports.
    """
    clusters = [limited(name, await world.endpoints(1)) for name in ("first", "second", "later")]
    for some in (clusters[:2], clusters):
        served = routed(*some)
        await world.serve(served)
        for cluster in some:
            await until_at(world, cluster.name, cluster, why="a route leads to it")
            await world.require_served([{CLUSTER_HEADER: cluster.name}] * 10)
        expected = balanced(served)
        seen = await reported(world, expected)
        requests = load_reports(world).reports
        if requests and OF_ALL not in requests[0].features:
            raise Unsupported(f"its node does not announce the feature {OF_ALL}")
        await world.check("A27-LRS-02", seen, expected)


@scenario("A27-LRS-04", seconds=1.5, waits=True)
async def test_unknown_cluster(world: World) -> None:
    """The client reports both clusters that the server names after an unknown one."""
    served = await two_clusters(world, is_other_reported=True)
    await world.serve(served)
    ask(world, "an unknown cluster", CLUSTER, "other")
    await world.require_served(world.sessions(20))
    await world.require_served(world.sessions(10), path=EMPTY)
    expected = balanced(served)
    await world.check("A27-LRS-04", await reported(world, expected), expected)


@scenario("A27-LRS-18", seconds=1.5, waits=True)
async def test_endpoint_granularity(world: World) -> None:
    """The client reports load by locality if the server requests it by endpoint."""
    served = apart(await world.endpoints(3))
    await world.serve(served)
    ask(world, endpoint_granularity=True)
    await world.require_served(world.sessions(20))
    expected = balanced(served)
    await world.check("A27-LRS-18", await reported(world, expected), expected)
    await world.check("A27-LRS-18", load_reports(world), NoEndpointLoad())


MANY_REQUESTS = 1_000
"""More requests than this scenario makes."""


LONG, SHORT, PAST = "long", "short", "past"
"""A cluster with open calls, one with new calls all the time, and one whose calls have ended."""


@scenario("A27-LRS-07", "A27-LRS-08", seconds=10, waits=True)
async def test_report_interval(world: World) -> None:
    """The client sends reports in the server's interval, and states the time that each covers."""
    await world.serve(routed(limited(SHORT, await world.endpoints(2))))
    await world.require_served([{CLUSTER_HEADER: SHORT}] * 10)
    await next_report(world)
    mark = world.control.mark
    ask(world, interval=timing.LONGER_REPORTS)
    short = await steady_requests(world)
    requests = await next_reports(world, BETWEEN + 1, since=mark)
    await check_times(world, requests, of=SHORT)
    await short.over()


@scenario("A27-LRS-09", "A27-LRS-16", "A27-LRS-20", seconds=6, waits=True)
async def test_requests_in_progress(world: World) -> None:
    """Reports contain the requests in progress, and each request as issued once.

    A cluster without requests is left out of a report, or reported with zeros.
    """
    served = routed(*[limited(name, await world.endpoints(2)) for name in (PAST, SHORT, LONG)])
    await world.serve(served)
    for name in (PAST, SHORT, LONG):
        await world.require_served([{CLUSTER_HEADER: name}] * 10)
    await world.call([{CLUSTER_HEADER: SHORT, BEHAVIOR: "error-code-13"}] * 5)
    long, expected = await kept_open(world, 6, to=LONG), balanced(served)
    seen = await reported(world, expected)
    await world.check("A27-LRS-20", seen, issued_by(seen, expected, PAST, SHORT, LONG))
    mark = world.control.mark
    short = await steady_requests(world)
    requests = await next_reports(world, BETWEEN + 1, since=mark)
    holds = in_progress(seen, expected, LONG)
    await world.check("A27-LRS-09", load_reports(world, only=requests), holds)
    choices = {"left out": OnlyTheseReported(()), "zeros": OnlyTheseReported((PAST,))}
    await world.check("A27-LRS-16", load_reports(world, only=requests, of=PAST), choices)
    await short.over()
    await end(world)
    await long.over()


async def steady_requests(world: World) -> PendingCalls:
    """Start requests at a pace that gives each report some load."""
    return await world.start([{CLUSTER_HEADER: SHORT}] * ENOUGH_SHORT, pace=timing.REPORT_PACE)


@scenario("A27-LRS-10", "A27-LRS-11", needs=("cancel",), seconds=4, waits=True)
async def test_expired_and_cancelled(world: World) -> None:
    """Reports count calls that exceed their deadline, or that the client cancels, once each."""
    served = routed(limited(LONG, await world.endpoints(2)))
    await world.serve(served)
    await world.require_served([{CLUSTER_HEADER: LONG}] * 10)
    long = await kept_open(world, 6, to=LONG)
    await world.call([{CLUSTER_HEADER: LONG, **KEPT_OPEN}] * 5, deadline=timing.HELD)
    lossy = balanced(served, lossy=True)
    await world.check("A27-LRS-11", await reported(world, lossy), lossy)
    cancelled = await kept_open(world, 5, to=LONG)
    await cancelled.cancel()
    await cancelled.over()
    either = balanced(served, lossy=True, ends_alike=True)
    await world.check("A27-LRS-10", await reported(world, either), either)
    await end(world)
    await long.over()


@scenario("A27-LRS-08", seconds=1.5, waits=True)
async def test_first_report(world: World) -> None:
    """No load was collected before the scenario began: the cluster was unknown then."""
    await world.serve(apart(await world.endpoints(3)))
    await world.require_served(world.sessions(20))
    requests = await next_reports(world, 1, since=0, of=CLUSTER)
    if not requests:
        raise PreconditionTimeout("no load was reported, though requests were made")
    began, until = "the scenario's begin", "the first load report"
    took = world.clock.elapsed(began, 0.0, until, world.clock.at(requests[0].at))
    covered = sum(of.interval for of in requests[0].clusters if of.cluster == CLUSTER)
    said = replace(took, until=f"{until}, as it tells", seconds=covered)
    at_most = Duration(most=took.seconds + timing.REPORT_JITTER, allowance=timing.BELIEVED)
    await world.check("A27-LRS-08", said, at_most)


@scenario("A27-LRS-07", seconds=4, waits=True)
@pytest.mark.parametrize(
    "interval", [pytest.param(30 * DAY, id="signed"), pytest.param(BEYOND_32_BITS, id="unsigned")]
)
async def test_long_interval(world: World, interval: float) -> None:
    """In milliseconds the interval needs more than 31 bits, or more than 32 bits."""
    members = await world.endpoints(3)
    ask(world, interval=interval)
    await world.serve(apart(members))
    await load_stream(world)
    for _ in range(BETWEEN + 1):
        await world.require_served(world.sessions(20))
        why = "the connections stay"
        await world.attempts.quiet_from_now(*members, why=why, seconds=timing.MOMENTS)
    await world.check("A27-LRS-07", load_reports(world), OnlyTheseReported(()))


@scenario("A27-LRS-09", "A27-LRS-17", "A27-LRS-21", seconds=4, waits=True)
async def test_removed_clusters(world: World) -> None:
    """The client reports open requests to a removed cluster or locality until they end.

    First the route leaves a cluster, then a locality leaves the list of the next cluster.
    """
    before = apart(await world.endpoints(2), PLACES)
    after = with_next_cluster(before, await world.endpoints(2))
    expected = balanced(replace(after, clusters=(*before.clusters, *after.clusters)))
    await world.serve(before)
    await world.require_served(world.sessions(20))
    first = await kept_open(world, 5)
    await until_in_use(world, after)
    second = await kept_open(world, ENOUGH_OPEN)
    await check_open(world, expected, "next", at=CLUSTER)
    await world.serve(after.with_localities(*after.clusters[0].localities[:1]))
    # No new calls from here on: grpc-go counts a call twice if it picks an endpoint that was just
    # removed and then picks again, which is not the subject here.
    await world.attempts.quiet_from_now(why="the client has applied the update by then")
    requests = await next_reports(world, 1, since=world.control.mark)
    holds = in_progress(loads(world, expected), expected, "next")
    await world.check("A27-LRS-09", load_reports(world, only=requests), holds)
    await end(world)
    await first.over()
    await second.over()
    await world.check("A27-LRS-21", await reported(world, expected), expected)
    await world.check("A27-LRS-17", load_reports(world), LoadStreamsStarted(1))


def with_next_cluster(before: XdsConfig, members: Sequence[BackendEndpoint]) -> XdsConfig:
    """Return a config whose route leads to another cluster, of these endpoints."""
    cluster = replace(apart(members, PLACES).get_cluster(), name="next")
    cluster = replace(cluster.known_as("next-service"), policy=RoundRobin())
    return XdsConfig(clusters=(cluster,), routes=(replace(before.routes[-1], cluster="next"),))


async def until_in_use(world: World, served: XdsConfig) -> None:
    """Serve the config, and make calls until each endpoint of its cluster serves some."""
    await world.serve(served)
    every = EachServesSome(served.clusters[0].addresses())
    make_calls = partial(world.call, world.sessions(10))
    await world.rounds.require(every, make_calls, why="the route leads to this cluster")


PLACES = ("one", "two")


ENOUGH_OPEN = draws_to_meet_all([1 / len(PLACES)] * len(PLACES))
"""Number of open calls at which each locality has some."""


async def check_open(world: World, wanted: LoadMatches, used: str, *, at: str) -> None:
    """Make one more call, and check that its report has the requests in progress at a cluster."""
    await world.require_served(world.sessions(1))
    seen = loads(world, wanted)
    await reported(world, issued_by(seen, wanted, used))
    holds = in_progress(seen, wanted, at)
    await world.check("A27-LRS-09", newest_report(world), holds)


@scenario("A27-LRS-12", "A27-LRS-13", "A27-LRS-23", seconds=3.5, waits=True)
async def test_lrs_server_added_and_removed(world: World) -> None:
    """The client reports a cluster while it has an lrs_server, and not before or after.

    When the cluster loses its lrs_server, another cluster has one, so that there are reports.
    """
    both = await two_clusters(world, is_other_reported=True)
    alone = replace(both, clusters=(both.get_cluster(),), routes=both.routes[-1:])
    await world.serve(reporting(alone))
    await world.require_served(world.sessions(20))
    await world.attempts.quiet_from_now(why="the cluster has no lrs_server")
    await world.check("A27-LRS-12", load_reports(world), LoadStreamsStarted(0))
    await world.serve(alone)
    await load_stream(world)
    some = RequestsReported({CLUSTER: (1, MANY_REQUESTS)}, FINISHED)
    make_requests = partial(loads_after_requests, world, some)
    seen = await waits.until(make_requests, partial(fits, some), within=timing.APPLY)
    await world.check("A27-LRS-13", seen.seen, some)
    await world.serve(reporting(both, "other"))
    other = OnlyTheseReported(("other",))
    look = partial(report_after_requests, world)
    reports = await waits.until(look, partial(fits, other), within=timing.APPLY)
    await world.check("A27-LRS-23", reports.seen, other)


@scenario("A27-LRS-01", "A27-LRS-14", "A27-LRS-15", "A27-LRS-22", seconds=6, waits=True)
@pytest.mark.parametrize("way", ENDS.values(), ids=ENDS)
async def test_stream_ends(world: World, way: Way) -> None:
    """If a load stream ends, the client starts another one and reports the load from in between.

    The first stream is refused. The client reports all load before the next one ends, because the
    text leaves open whether a report in transit is lost. One call is open until another stream has
    started.
    """
    served = apart(await world.endpoints(3))
    await lose_stream(world, partial(serve_before_requests, world, served))
    accept_streams(world)
    await world.require_served(world.sessions(20))
    stays, expected = await kept_open(world, 1), balanced(served)
    await world.check("A27-LRS-15", await reported(world, expected), expected)
    mark = world.control.mark
    await lose_stream(world, way(world))
    # Before there are calls: a client may report load in its first request, and would lose it on
    # a refused stream.
    accept_streams(world)
    await world.require_served(world.sessions(30))
    await stream_accepted(world, since=mark)
    await end(world)
    await stays.over()
    sent = await next_reports(world, 1, since=mark)
    await world.check("A27-LRS-14", load_reports(world, only=sent), OnlyTheseReported((CLUSTER,)))
    await check_first_request(world, load_reports(world, since=mark))
    await world.check("A27-LRS-15", await reported(world, expected), expected)


@scenario("A27-LRS-24", seconds=2, waits=True)
async def test_changed_cluster(world: World) -> None:
    """An update of a Cluster that keeps its lrs_server does not affect the load stream.

    Requests show which update is in use: under a ring a session stays at one endpoint. The sums of
    the reports are not checked: grpc-go counts a request twice that picks again while the policy
    changes.
    """
    ring = apart(await world.endpoints(3))
    turns, wanted = ring.with_policy(RoundRobin()), balanced(ring)
    session = [{SESSION: "same"}] * 24
    every = EachServesSome(ring.addresses())
    for served, expected in ((ring, OneEndpoint()), (turns, every), (ring, OneEndpoint())):
        await world.serve(served)
        make_calls = partial(world.call, session, concurrency=1)
        await world.rounds.require(expected, make_calls, why="an update set this policy")
        await reported(world, wanted)
    await world.check("A27-LRS-24", load_reports(world), LoadStreamsStarted(1))


@scenario("A27-LRS-19", needs=("channels",), seconds=1.5, waits=True)
async def test_two_channels(world: World) -> None:
    """Two channels of a process to one target share a load stream, or have one each."""
    served = apart(await world.endpoints(3))
    await world.serve(served)
    other = await world.channels.open()
    await world.require_served(world.sessions(20))
    await world.require_served(world.sessions(20), channel=other)
    await reported(world, balanced(served))
    choices = {"one": LoadStreamsStarted(1), "one each": LoadStreamsStarted(2)}
    await world.check("A27-LRS-19", load_reports(world), choices)
