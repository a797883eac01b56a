"""A42, Move Load Reporting into xds_cluster_impl Policy: what is reported of requests."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.declare import decides, row
from conformance.expectations import OnlyAt, Reaches
from conformance.loads import arrived, balanced, next_report, reported
from conformance.priorities import endpoints, ranked, serve_again
from conformance.serving import (
    BY_SESSION,
    Endpoint,
    Locality,
    RingHash,
    RoundRobin,
    Route,
    Served,
)
from conformance.world import EMPTY, ClientStuck, World
from test_servers import Close, Hold, Serve
from test_servers import Endpoint as Member

NAMES = ("one", "one/a", "one/a/i")
"""Localities told apart by region, zone and sub-zone."""

BEHAVIOR = "rpc-behavior"
"""Has a backend end a request otherwise than well, or not at all."""

ABOUT_A_TENTH = 98_785
"""Of a million. Who multiplies it by a million in 32 bits has less than a million left, and drops
nothing at all: with 100,000 it would be one in 800 requests, so that a scenario might miss it."""


def apart(members: Sequence[Member]) -> Served:
    """The endpoints in three localities by turns, their load reported."""
    turns = len(NAMES)
    listed = [Endpoint(one.address) for one in members]
    return Served(
        localities=tuple(
            Locality(tuple(listed[number::turns]), name) for number, name in enumerate(NAMES)
        ),
        service_name="service",
        is_reported=True,
    )


async def judge(world: World, clause: str, served: Served) -> None:
    """Put before the judge what was reported of all requests until now."""
    by = world.by_edition(clause, lambda edition: balanced(served, lossy=edition == "envoy"))
    await world.judge(clause, await reported(world, world.own(clause, by)), by)


@decides(seconds=1.5, waits=True)
@pytest.mark.parametrize(
    ("clause", "policy"),
    [
        row("ring-hash", "A42-LOAD-01", RingHash()),
        row("round-robin", "A42-LOAD-02", RoundRobin()),
    ],
)
async def test_localities(world: World, clause: str, policy: RingHash | RoundRobin) -> None:
    served = apart(await world.endpoints(6)).balanced_by(policy)
    await world.serve(served)
    await world.call(world.sessions(100))
    await judge(world, clause, served)


@decides("A42-LOAD-03", seconds=1.5, waits=True)
async def test_logical_dns(world: World) -> None:
    (address,) = await world.addresses(1)
    only = Locality((Endpoint(address),), name="")
    served = Served(localities=(only,), is_dns=True, is_reported=True)
    await world.serve(served)
    await world.call(world.sessions(50))
    await judge(world, "A42-LOAD-03", served)


@decides("A42-LOAD-04", seconds=2.5, waits=True)
async def test_failed_and_queued(world: World) -> None:
    members = await endpoints(world, Hold(), Close(), Close())
    served = apart(members)
    await world.serve(served)
    waiting = await world.start(world.sessions(60))
    for one in members:
        await world.attempted(one, why="requests picked it")
    for one in members:
        await one.set_mode(Serve())
    await waiting.over()
    await until_served_by(world, members)
    await judge(world, "A42-LOAD-04", served)
    await world.call(world.sessions(60))
    await judge(world, "A42-LOAD-04", served)


@decides("A42-LOAD-04", seconds=14, waits=True)
async def test_locality_that_goes_and_returns(world: World) -> None:
    """What it had not reported when it went is reported once.

    It goes and is back between two reports. Requests are made when a list is in force, so that none
    is picked for a connection that goes.
    """
    members = await world.endpoints(3)
    served = apart(members)
    without = served.placed(*served.localities[:2])
    for _ in range(3):
        await world.serve(served)
        everywhere = Reaches(served.addresses())
        await world.until(everywhere, lambda: world.call(world.sessions(20)))
        await next_report(world)
        await world.call(world.sessions(40))
        await world.serve(without)
        await world.abandoned(members[2])
        await world.quiet_from_now(members[2], why="it is picked no more")
        await until_served_by(world, members[:2])
    await world.serve(served)
    await world.until(everywhere, lambda: world.call(world.sessions(40)))
    await judge(world, "A42-LOAD-04", served)
    await world.call(world.sessions(40))
    await judge(world, "A42-LOAD-04", served)


@decides("A42-LOAD-05", seconds=4, waits=True)
async def test_failover_and_back(world: World) -> None:
    """ROUND_ROBIN connects unasked: once it does so below, no request is picked for a lost one."""
    first, second = await endpoints(world, Serve(), Serve()), await endpoints(world, Serve())
    served = replace(ranked(first, second), policy=RoundRobin(), is_reported=True)
    await world.serve(served)
    await world.call(world.sessions(50))
    await judge(world, "A42-LOAD-05", served)
    for one in first:
        await one.set_mode(Close())
        await one.kill()
    for one in second:
        await world.attempted(one, why="the first priority has failed")
    await until_served_by(world, second)
    await judge(world, "A42-LOAD-05", served)
    await serve_again(world, first)
    await until_served_by(world, first)
    await judge(world, "A42-LOAD-05", served)


async def until_served_by(world: World, members: Sequence[Member]) -> None:
    """Make calls until all of them are served by these endpoints."""
    there = OnlyAt(tuple(one.address for one in members))
    calls = await world.until(there, lambda: world.call(world.sessions(10)))
    if not (found := there.finding(calls)).holds:
        raise ClientStuck(f"expected {found.wanted} within {timing.APPLY:g} s, saw {found.saw}")


@decides("A42-LOAD-06", seconds=2.5, waits=True)
async def test_successes_errors_and_requests_in_progress(world: World) -> None:
    members = await world.endpoints(3)
    served = apart(members)
    await world.serve(served)
    await world.call(world.sessions(30))
    await world.call([{**one, BEHAVIOR: "error-code-13"} for one in world.sessions(20)])
    started = await world.start([{**one, BEHAVIOR: "keep-open"} for one in world.sessions(10)])
    await arrived(world, 10, why="a request was made for each")
    await judge(world, "A42-LOAD-06", served)
    for one in members:
        await one.kill()
    await started.over()
    await judge(world, "A42-LOAD-06", served)


@decides("A42-LOAD-11", needs=("metadata",), seconds=1.5, waits=True)
async def test_dropped(world: World) -> None:
    """That none of 200 is dropped has a chance of 0.902^200, below 1e-8."""
    served = replace(apart(await world.endpoints(3)), drops={"tenth": ABOUT_A_TENTH})
    await world.serve(served)
    await world.call(world.sessions(200))
    await judge(world, "A42-LOAD-11", served)


@decides("A42-LOAD-07", seconds=1.5, waits=True)
async def test_names(world: World) -> None:
    served = await two_clusters(world)
    served = replace(served, beside=(replace(served.beside[0], is_reported=True),))
    await world.serve(served)
    await world.call(world.sessions(20), path=EMPTY)
    await world.call(world.sessions(30))
    await judge(world, "A42-LOAD-07", served)


@decides("A42-LOAD-08", seconds=1.5, waits=True)
async def test_without_lrs_server(world: World) -> None:
    served = await two_clusters(world)
    await world.serve(served)
    calls = await world.call(world.sessions(20), path=EMPTY)
    await world.judge("A42-LOAD-08", calls, OnlyAt(served.beside[0].addresses()))
    await world.call(world.sessions(30))
    await judge(world, "A42-LOAD-08", served)


async def two_clusters(world: World) -> Served:
    """A reported cluster, and one beside it that is not reported and gets the empty calls."""
    here, there = [(Locality((Endpoint(one),)),) for one in await world.addresses(2)]
    other = Served(
        localities=there,
        cluster_name="other",
        service_name="other-service",
        routes=(Route(BY_SESSION, path=EMPTY),),
    )
    return Served(localities=here, service_name="service", is_reported=True, beside=(other,))
