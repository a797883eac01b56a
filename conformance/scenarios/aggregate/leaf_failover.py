"""A37: failover from one leaf to the next and back, as endpoints fail and serve again."""

from functools import partial

import pytest

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    AttemptCount,
    Duration,
    EndsWith,
    Expectation,
    NoAttempts,
)
from conformance.judging.observations import Elapsed
from conformance.scenarios.helpers.aggregates import Deployment, deploy, in_use
from conformance.scenarios.helpers.localities import check_kept, fail, serve_again
from conformance.scenarios.helpers.routing import calls_to
from conformance.world import World
from conformance.xds_config.broken import with_clusters_changed, with_endpoints
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import at_the_first
from test_servers import BackendEndpoint, Close, Hold, Mode, Serve, Stall


def lasting(times: int) -> Duration:
    """Expect a duration of this many times the failover timer."""
    return Duration(
        least=times * timing.FAILOVER.seconds - timing.FAILOVER_EARLY,
        most=times * (timing.FAILOVER.seconds + timing.FAILOVER_LATE),
        allowance=timing.FAILOVER_EARLY,
    )


async def check_use(
    world: World, clause: str, planted: Deployment, *failed: BackendEndpoint
) -> None:
    """Check that requests soon go to the first priority with an endpoint that has not failed."""
    expected = at_the_first(planted.served, "m", [endpoint.address for endpoint in failed])
    calls = await world.rounds.eventually_stable(expected, partial(calls_to, world, "m"))
    await world.check(clause, calls, expected)


@scenario("A37-FAILOVER-01", "A37-FAILOVER-06", "A37-FAILOVER-08", seconds=2.4)
async def test_priority_by_priority(world: World) -> None:
    """The client uses the priorities of the first leaf in order, then those of each next leaf."""
    two = [Serve()] * 2
    planted = await deploy(world, {"m": "z b a"}, modes={"z": [*two, Serve()], "b": two})
    await world.serve(planted.served)
    await check_use(world, "A37-FAILOVER-01", planted)
    behind = await world.attempts.quiet(*planted.members["b"], why="the leaf before it serves")
    await world.check("A37-FAILOVER-06", behind, NoAttempts())
    row = [member for name in "zba" for member in planted.members[name]]
    for number, failing in enumerate(row):
        clause = "A37-FAILOVER-08" if failing is row[-1] else "A37-FAILOVER-01"
        await fail(failing)
        await check_use(world, clause, planted, *row[: number + 1])
    again = row.pop(3)
    await serve_again(world, [again])
    await check_use(world, "A37-FAILOVER-08", planted, *row)


@scenario("A37-FAILOVER-02", "A37-FAILOVER-05", seconds=1.5)
async def test_failback(world: World) -> None:
    """The client skips failed leaves at once, and returns to an earlier leaf that is READY.

    It returns to the second leaf while a connection to the first one is open and not READY.
    """
    planted = await deploy(world, {"m": "z b a"}, modes={"z": [Close()], "b": [Close()]})
    await world.serve(planted.served)
    choices: dict[str, Expectation] = {
        "A37": at_the_first(planted.served, "m", planted.of("z", "b")),
        "envoy": EndsWith("UNAVAILABLE"),
    }
    expected = world.checks.own("A37-FAILOVER-02", choices)
    calls = await world.rounds.eventually_stable(expected, partial(calls_to, world, "m"))
    await world.check("A37-FAILOVER-02", calls, choices)
    world.checks.require("A37-FAILOVER-05")
    (first,), (second,) = planted.members["z"], planted.members["b"]
    await first.set_mode(Hold())
    await serve_again(world, [second])
    await check_use(world, "A37-FAILOVER-05", planted, first)
    await first.set_mode(Serve())
    await check_use(world, "A37-FAILOVER-05", planted)


@scenario("A37-FAILOVER-07")
async def test_queued_requests(world: World) -> None:
    """If leaves fail one after another, the next leaf serves the requests that waited for them."""
    planted = await deploy(world, {"m": "z b a"}, modes={"z": [Hold()], "b": [Hold()]})
    await world.serve(planted.served)
    waiting = await world.start([{CLUSTER_HEADER: "m"}] * 5)
    for name in "zb":
        (held,) = planted.members[name]
        await world.attempts.require_count(held, why="requests came")
        await fail(held)
    expected = at_the_first(planted.served, "m", planted.of("z", "b"))
    await world.check("A37-FAILOVER-07", await waiting.over(), expected)


BACKGROUND_REQUESTS = 60
"""Requests from before an update until well after its ACK: 0.3 s; the ACK takes 0.03 s."""


UPDATES = {"of-its-locality": "locality-0", "of-another-locality": "other"}
"""Locality of the new endpoint: the priority keeps its name, or is a new one."""


@scenario("A37-FAILOVER-13", "A37-FAILOVER-06", "A42-SUB-14", needs=("metadata",), seconds=0.8)
@pytest.mark.parametrize("locality", UPDATES.values(), ids=UPDATES)
async def test_update_of_the_next_leaf(world: World, locality: str) -> None:
    """The client applies an update of the next leaves, and serves requests at the leaf in use.

    Requests run all the time, and their connection stays.
    """
    planted = await deploy(world, {"m": "z b a"})
    await in_use(world, planted.served, "m")
    (used,) = planted.members["z"]
    others = await world.endpoints(2)
    changed = planted.served
    for name, other in zip("ba", others, strict=True):
        update = with_endpoints(other.address, locality=locality)
        changed = with_clusters_changed(changed, update, name)
    before = world.now
    meanwhile = await world.start(
        [{CLUSTER_HEADER: "m"}] * BACKGROUND_REQUESTS, pace=timing.SOAK_PACE
    )
    await world.serve(changed)
    served = AllServedBy((used.address,))
    await world.check("A37-FAILOVER-13", await meanwhile.over(), served)
    await world.check("A37-FAILOVER-06", world.attempts.seen(*others), AttemptCount())
    await check_kept(world, used, since=before)
    failed: list[str] = []
    for lost in (used, others[0]):
        failed += await fail(lost)
        expected = at_the_first(changed, "m", failed)
        calls = await world.eventually(expected, partial(calls_to, world, "m"))
        await world.check("A37-FAILOVER-13", calls, expected)


@scenario("A37-FAILOVER-13", seconds=1.7)
async def test_updates_of_a_leaf_that_served(world: World) -> None:
    """The client applies each update of a later leaf that was in use before."""
    planted = await deploy(world, {"m": "z b"})
    (first,) = planted.members["z"]
    await in_use(world, planted.served, "m")
    for failed in (await fail(first), []):
        if not failed:
            await serve_again(world, [first])
        expected = at_the_first(planted.served, "m", failed)
        make_calls, why = partial(calls_to, world, "m"), "the first leaf failed or serves again"
        await world.rounds.require(expected, make_calls, why=why)
    changed = planted.served
    for address in await world.addresses(2):
        update = with_endpoints(address, locality="locality-0")
        changed = with_clusters_changed(changed, update, "b")
        await world.serve(changed)
    expected = at_the_first(changed, "m", await fail(first))
    calls = await world.eventually(expected, partial(calls_to, world, "m"))
    await world.check("A37-FAILOVER-13", calls, expected)


@scenario("A37-FAILOVER-14", seconds=0.5)
@pytest.mark.parametrize("locality", UPDATES.values(), ids=UPDATES)
async def test_update_of_the_failed_leaf(world: World, locality: str) -> None:
    """If an update gives a failed earlier leaf a working endpoint, the client returns to it.

    First it returns from the third leaf to the second, then to the first.
    """
    planted = await deploy(world, {"m": "z b a"}, modes={"z": [Close()], "b": [Close()]})
    await in_use(world, planted.served, "m", failed=planted.of("z", "b"))
    changed = planted.served
    for name in "bz":
        (address,) = await world.addresses(1)
        update = with_endpoints(address, locality=locality)
        changed = with_clusters_changed(changed, update, name)
        await world.serve(changed)
        expected = at_the_first(changed, "m", planted.of("z"))
        calls = await world.rounds.eventually_stable(expected, partial(calls_to, world, "m"))
        await world.check("A37-FAILOVER-14", calls, expected)


async def given_up(
    world: World, planted: Deployment, leaf: str, behind: str, *, since: float = 0.0
) -> Elapsed:
    """Return the time from the first attempt at a leaf to the first at the leaf behind it."""
    members = planted.members[leaf]
    began = await world.attempts.require_one(*members, why="requests came", since=since)
    ended = await world.attempts.require_one(
        *planted.members[behind], why="the leaf before it stalls", within=timing.AFTER_TWO_FAILOVERS
    )
    return world.clock.elapsed(
        f"the attempt at {began.address}", began.at, f"that at {ended.address}", ended.at
    )


@scenario(timed=("A37-FAILOVER-03",), seconds=10.7, waits=True)
async def test_stalled_leaf(world: World) -> None:
    """If a leaf stays CONNECTING, the client moves to the next when the failover timer fires.

    It is the first leaf of one tree, the second of another, where the first leaf fails, and in a
    third tree a leaf that has served.
    """
    modes: dict[str, list[Mode]] = {"z": [Stall()], "y": [Close()], "x": [Stall()]}
    planted = await deploy(world, {"m": "z b"}, {"n": "y x a"}, {"o": "w c"}, modes=modes)
    await in_use(world, planted.served, "o")
    (lost,) = planted.members["w"]
    await lost.set_mode(Stall())
    before = world.now
    await lost.kill()
    waiting = [
        await world.start([{CLUSTER_HEADER: root}] * 5, deadline=timing.AFTER_FAILOVER)
        for root in "mn"
    ]
    for stalled, behind, calls in zip("zx", "ba", waiting, strict=True):
        took = await given_up(world, planted, stalled, behind)
        await world.check("A37-FAILOVER-03", took, lasting(1))
        served = AllServedBy(planted.of(behind))
        await world.check("A37-FAILOVER-03", await calls.over(), served)
    took = await given_up(world, planted, "w", "c", since=before)
    await world.check("A37-FAILOVER-03", took, lasting(1))
    served = AllServedBy(planted.of("c"))
    there = await world.eventually(served, partial(calls_to, world, "o"))
    await world.check("A37-FAILOVER-03", there, served)


@scenario(timed=("A37-FAILOVER-04",), seconds=20.7, waits=True)
async def test_stalled_priorities_of_a_leaf(world: World) -> None:
    """Each stalled priority of a leaf has the time of the timer (A37), or the leaf has it (A75)."""
    planted = await deploy(world, {"m": "z b"}, modes={"z": [Stall()] * 2})
    await world.serve(planted.served)
    await world.start([{CLUSTER_HEADER: "m"}] * 5, deadline=timing.AFTER_TWO_FAILOVERS)
    took = await given_up(world, planted, "z", "b")
    await world.check("A37-FAILOVER-04", took, {"A37": lasting(2), "A75": lasting(1)})
