"""A42, Move Load Reporting into xds_cluster_impl Policy: load reports of requests."""

from collections.abc import Sequence
from functools import partial

import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.aborts import SuiteTimeout
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import AllServedBy, EachServesSome, EndsWith
from conformance.judging.observations import Calls
from conformance.scenarios.helpers.aggregates import aggregate_config, leaf
from conformance.scenarios.helpers.circuit_breaking import reported_below
from conformance.scenarios.helpers.load_reports import (
    BEHAVIOR,
    NAMES,
    apart,
    arrived,
    balanced,
    next_report,
    reported,
    two_clusters,
)
from conformance.scenarios.helpers.localities import endpoints, fail, ranked, serve_again
from conformance.world import EMPTY, World
from conformance.xds_config.clusters import Drop, LogicalDns
from conformance.xds_config.config import XdsConfig, with_raw_clusters
from conformance.xds_config.policies import RingHash, RoundRobin
from conformance.xds_config.policy_lists import pick_first, policies, round_robin
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.variants import ResourceVariant
from test_servers import BackendEndpoint as Member
from test_servers import Close, Hold, Serve

TRIES, TIMES = 6, 2
"""TRIES: the most times that the list changes and changes back. TIMES: how many of them must fall
between two reports."""


ENOUGH_TO_MOVE = 80
"""Number of calls with different hashes. 2/3 of them stay at two of three endpoints. At least one
of these moves to an endpoint that replaces the third, except with a chance of (2/3)^53 = 1e-9."""


ABOUT_A_TENTH = 98_785
"""A drop share in millionths. A client that multiplies it by 1,000,000 in 32 bits keeps less than
1,000,000, and so drops nothing. With 100,000 it would drop 1 in 800 requests, and a scenario might
miss the error."""


async def check(world: World, clause: str, served: XdsConfig) -> None:
    """Check the load reports of all requests so far."""
    by = world.checks.by_edition(clause, lambda edition: balanced(served, lossy=edition == "envoy"))
    await world.check(clause, await reported(world, world.checks.own(clause, by)), by)


@scenario(seconds=1.5, waits=True)
@pytest.mark.parametrize(
    ("clause", "policy"),
    [
        case("ring-hash", "A42-LOAD-01", RingHash()),
        case("round-robin", "A42-LOAD-02", RoundRobin()),
    ],
)
async def test_localities(world: World, clause: str, policy: RingHash | RoundRobin) -> None:
    """A request counts for the locality of the endpoint that it was sent to."""
    served = apart(await world.endpoints(6)).with_policy(policy)
    await world.serve(served)
    await world.require_served(world.sessions(100))
    await check(world, clause, served)


@scenario("A42-LOAD-03", seconds=1.5, waits=True)
async def test_logical_dns(world: World) -> None:
    """Requests to each LOGICAL_DNS cluster count for a locality with an empty name.

    One cluster is the target of a route, the other a leaf of an aggregate. Envoy reports the
    aggregate as well, so both are targets of routes there.
    """
    above = (reported_below("m", "c"),) if world.checks.has("A37-LOAD-02") else ()
    roots = ("b", "m" if above else "c")
    direct, below = [
        replace(leaf(name, discovery=LogicalDns(address)), is_reported=True)
        for name, address in zip("bc", await world.addresses(2), strict=True)
    ]
    served = aggregate_config(roots, (direct, *above, below))
    await world.serve(served)
    await world.require_served([{CLUSTER_HEADER: root} for root in roots * 25])
    await check(world, "A42-LOAD-03", served)


@scenario("A42-LOAD-04", seconds=2.5, waits=True)
async def test_failed_and_queued(world: World) -> None:
    """Each request that was sent counts once, however many picks it took."""
    members = await endpoints(world, Hold(), Close(), Close())
    served = apart(members)
    await world.serve(served)
    waiting = await world.start(world.sessions(60))
    for member in members:
        await world.attempts.require_count(member, why="requests picked it")
    for member in members:
        await member.set_mode(Serve())
    await waiting.over()
    await until_served_by(world, members)
    await check(world, "A42-LOAD-04", served)
    await world.require_served(world.sessions(60))
    await check(world, "A42-LOAD-04", served)


@scenario("A42-LOAD-04", "A42-PICK-04", seconds=20, waits=True)
async def test_locality_removed_and_added(world: World) -> None:
    """Requests to a locality count once, also if it leaves and returns between two reports.

    Another locality replaces it in between, which shows that the list is in use. The endpoint is
    IDLE when it returns, so its requests wait for it (A42-PICK-04).
    """
    members = await world.endpoints(4)
    everything = apart(members, (*NAMES, "two"))
    *kept, going, other = everything.get_cluster().localities
    served = everything.with_localities(*kept, going)
    without = everything.with_localities(*kept, other)
    headers = world.sessions(ENOUGH_TO_MOVE)
    world.plane.script.loads.ask(interval=timing.RARE_REPORTS)
    await world.serve(served)
    await world.require_served(headers)
    await return_between_reports(world, served, without, members)
    await world.check("A42-PICK-04", await world.require_served(headers), EndsWith("OK"))
    await check(world, "A42-LOAD-04", everything)
    await world.require_served(headers)
    await check(world, "A42-LOAD-04", everything)


async def return_between_reports(
    world: World, served: XdsConfig, without: XdsConfig, members: Sequence[Member]
) -> None:
    """Remove and add the third endpoint between two reports, TIMES times.

    Raises:
        SuiteTimeout: too often a report came in between.
    """
    returned = 0
    for _ in range(TRIES):
        await next_report(world)
        known = len(world.plane.loads.rows)
        await remove_and_add(world, served, without, members)
        returned += len(world.plane.loads.rows) == known
        if returned == TIMES:
            return
    raise SuiteTimeout(
        f"in {TRIES} tries the list did not return before a report was due {TIMES} times"
    )


async def remove_and_add(
    world: World, served: XdsConfig, without: XdsConfig, members: Sequence[Member]
) -> None:
    """Replace the third endpoint by the fourth, and back; each list is in use once this returns.

    No text says when a client closes the connection of a removed endpoint, so no request picks
    that endpoint.
    """
    *kept, going, other = members
    before = await world.require_served(world.sessions(ENOUGH_TO_MOVE))
    await world.serve(without)
    await until_reached(world, other, at(before, *kept))
    meanwhile = await world.require_served(at(before, going))
    world.checks.turn_to("A42-PICK-04")
    await world.serve(served)
    await until_reached(world, going, at(meanwhile, *kept))
    world.checks.turn_to("A42-LOAD-04")


def at(calls: Calls, *members: Member) -> list[dict[str, str]]:
    """Return the headers of the calls that went to these endpoints."""
    addresses = {member.address for member in members}
    return [dict(call.metadata) for call in calls if call.endpoint in addresses]


async def until_reached(world: World, member: Member, headers: Sequence[dict[str, str]]) -> None:
    """Make calls until this newly listed endpoint serves one; no call may fail."""
    there = EachServesSome((member.address,))
    why = "an update lists this endpoint"
    await world.rounds.require(there, lambda: world.require_served(headers), why=why)


@scenario("A42-LOAD-05", seconds=4, waits=True)
async def test_failover_and_back(world: World) -> None:
    """After failover, requests count for the localities of the priority that served them.

    ROUND_ROBIN connects without a pick. Once it connects to the second priority, no request picks a
    lost connection of the first.
    """
    first, second = await endpoints(world, Serve(), Serve()), await endpoints(world, Serve())
    served = ranked(first, second, policy=RoundRobin(), is_reported=True)
    await world.serve(served)
    await world.require_served(world.sessions(50))
    await check(world, "A42-LOAD-05", served)
    await fail(*first)
    for endpoint in second:
        await world.attempts.require_count(endpoint, why="the first priority has failed")
    await until_served_by(world, second)
    await check(world, "A42-LOAD-05", served)
    await serve_again(world, first)
    await until_served_by(world, first)
    await check(world, "A42-LOAD-05", served)


async def until_served_by(world: World, members: Sequence[Member]) -> None:
    """Make calls until these endpoints serve all of them."""
    there = AllServedBy(tuple(member.address for member in members))
    why = "the others have failed or are not listed"
    await world.rounds.require(there, lambda: world.call(world.sessions(10)), why=why)


@scenario("A42-LOAD-06", seconds=2.5, waits=True)
async def test_successes_errors_and_requests_in_progress(world: World) -> None:
    """A report has the requests of a locality that succeeded, failed and are in progress."""
    members = await world.endpoints(3)
    served = apart(members)
    await world.serve(served)
    await world.require_served(world.sessions(30))
    await world.call([{**session, BEHAVIOR: "error-code-13"} for session in world.sessions(20)])
    started = await world.start(
        [{**session, BEHAVIOR: "keep-open"} for session in world.sessions(10)]
    )
    await arrived(world, 10, why="the client started ten requests")
    await check(world, "A42-LOAD-06", served)
    for member in members:
        await member.kill()
    await started.over()
    await check(world, "A42-LOAD-06", served)


@scenario("A42-LOAD-11", needs=("metadata",), seconds=2.5, waits=True)
async def test_drops(world: World) -> None:
    """A dropped request counts once as a drop of its cluster, under its category.

    The chance that none of 200 requests is dropped is 0.902^200, below 1e-8. Reports of the second
    200 must not repeat the drops of the first.
    """
    served = apart(await world.endpoints(3), drops=[Drop("tenth", ABOUT_A_TENTH)])
    await world.serve(served)
    for _ in range(2):
        await world.call(world.sessions(200))
        await check(world, "A42-LOAD-11", served)


@scenario("A42-LOAD-12", needs=("metadata",), seconds=1.5, waits=True)
async def test_two_drop_categories(world: World) -> None:
    """A dropped request counts under the category that dropped it.

    The second category drops 0.089 of all requests. The chance that it drops none of 200 is
    0.911^200, below 1e-8. The chance is smaller for the first category.
    """
    drops = [Drop(category, ABOUT_A_TENTH) for category in ("first", "second")]
    served = apart(await world.endpoints(3), drops=drops)
    await world.serve(served)
    await world.call(world.sessions(200))
    await check(world, "A42-LOAD-12", served)


@scenario("A62-LOAD-01", seconds=1.5, waits=True)
async def test_pick_first(world: World) -> None:
    """Under pick_first, a request counts for the locality of the connected endpoint.

    It is the second of three. A client without pick_first uses round_robin, which also sends all
    requests to the second locality.
    """
    first, second, third = await endpoints(world, Close(), Serve(), Close())
    served = apart([first, second, third], ("one", "two", "three")).with_policy(RoundRobin())
    by_pick_first = ResourceVariant("A62-LOAD-01", policies(pick_first(), round_robin()))
    await world.serve(with_raw_clusters(served, by_pick_first.of(served.cluster())))
    there, make_calls = AllServedBy((second.address,)), partial(world.call, world.sessions(10))
    await world.rounds.require(there, make_calls, why="the other endpoint closes its connections")
    await check(world, "A62-LOAD-01", served)


@scenario("A42-LOAD-07", seconds=1.5, waits=True)
async def test_cluster_and_service_names(world: World) -> None:
    """The client reports load under the name of the cluster and its EDS service name."""
    served = await two_clusters(world, is_other_reported=True)
    await world.serve(served)
    await world.require_served(world.sessions(20), path=EMPTY)
    await world.require_served(world.sessions(30))
    await check(world, "A42-LOAD-07", served)


@scenario("A42-LOAD-08", seconds=1.5, waits=True)
async def test_without_lrs_server(world: World) -> None:
    """The client does not report the load of a cluster without lrs_server."""
    served = await two_clusters(world)
    await world.serve(served)
    calls = await world.call(world.sessions(20), path=EMPTY)
    await world.check("A42-LOAD-08", calls, AllServedBy(served.get_cluster("other").addresses()))
    await world.require_served(world.sessions(30))
    await check(world, "A42-LOAD-08", served)
