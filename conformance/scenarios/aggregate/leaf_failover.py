"""A37: failover from one leaf to the next and back, as endpoints fail and serve again."""

from functools import partial

import pytest

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    Duration,
    EndsWith,
    Expectation,
    NoAttempts,
)
from conformance.judging.observations import Elapsed
from conformance.scenarios.helpers.aggregates import Deployment, calls_to, deploy, in_use
from conformance.scenarios.helpers.localities import check_kept, fail, serve_again
from conformance.world import World
from conformance.xds_config.broken import with_clusters_changed, with_endpoints
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import at_the_first
from test_servers import BackendEndpoint, Close, Hold, Serve, Stall


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


@scenario("A37-FAILOVER-01", "A37-FAILOVER-06", "A37-FAILOVER-08", seconds=2)
async def test_priority_by_priority(world: World) -> None:
    """The client uses the priorities of the first leaf in order, then those of the next leaf."""
    planted = await deploy(world, {"m": "z b"}, modes={"z": [Serve()] * 2, "b": [Serve()] * 2})
    await world.serve(planted.served)
    await check_use(world, "A37-FAILOVER-01", planted)
    behind = await world.attempts.quiet(*planted.members["b"], why="the leaf before it serves")
    await world.check("A37-FAILOVER-06", behind, NoAttempts())
    row = [member for name in ("z", "b") for member in planted.members[name]]
    for number, clause in enumerate([*["A37-FAILOVER-01"] * 3, "A37-FAILOVER-08"]):
        await fail(row[number])
        await check_use(world, clause, planted, *row[: number + 1])
    again = row.pop(2)
    await serve_again(world, [again])
    await check_use(world, "A37-FAILOVER-08", planted, *row)


@scenario("A37-FAILOVER-02", "A37-FAILOVER-05", seconds=1.5)
async def test_failback(world: World) -> None:
    """The client skips failed leaves at once, and returns to an earlier leaf that is READY."""
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
    await serve_again(world, planted.members["z"])
    await check_use(world, "A37-FAILOVER-05", planted, *planted.members["b"])


@scenario("A37-FAILOVER-07")
async def test_queued_requests(world: World) -> None:
    """If a leaf fails, the next leaf serves the requests that waited for it."""
    planted = await deploy(world, {"m": "z b"}, modes={"z": [Hold()]})
    await world.serve(planted.served)
    waiting = await world.start([{CLUSTER_HEADER: "m"}] * 5)
    (held,) = planted.members["z"]
    await world.attempts.require_count(held, why="requests came")
    await fail(held)
    expected = at_the_first(planted.served, "m", [held.address])
    await world.check("A37-FAILOVER-07", await waiting.over(), expected)


BACKGROUND_REQUESTS = 60
"""Requests from before an update until well after its ACK: 0.3 s; the ACK takes 0.03 s."""


UPDATES = {"of-its-locality": "locality-0", "of-another-locality": "other"}
"""Locality of the new endpoint: the priority keeps its name, or is a new one."""


@scenario("A37-FAILOVER-13", "A42-SUB-14", needs=("metadata",), seconds=0.8)
@pytest.mark.parametrize("locality", UPDATES.values(), ids=UPDATES)
async def test_update_of_the_next_leaf(world: World, locality: str) -> None:
    """The client applies an update of the next leaf, and serves requests at the leaf in use.

    Requests run all the time, and their connection stays.
    """
    planted = await deploy(world, {"m": "z b"})
    await in_use(world, planted.served, "m")
    (used,) = planted.members["z"]
    (other,) = await world.endpoints(1)
    changed = with_clusters_changed(
        planted.served, with_endpoints(other.address, locality=locality), "b"
    )
    before = world.now
    meanwhile = await world.start(
        [{CLUSTER_HEADER: "m"}] * BACKGROUND_REQUESTS, pace=timing.SOAK_PACE
    )
    await world.serve(changed)
    served = AllServedBy((used.address,))
    await world.check("A37-FAILOVER-13", await meanwhile.over(), served)
    await check_kept(world, used, since=before)
    await fail(used)
    expected = at_the_first(changed, "m", [used.address])
    calls = await world.eventually(expected, partial(calls_to, world, "m"))
    await world.check("A37-FAILOVER-13", calls, expected)


@scenario("A37-FAILOVER-14", seconds=0.5)
@pytest.mark.parametrize("locality", UPDATES.values(), ids=UPDATES)
async def test_update_of_the_failed_leaf(world: World, locality: str) -> None:
    """If an update gives a failed earlier leaf a working endpoint, the client returns to it."""
    planted = await deploy(world, {"m": "z b"}, modes={"z": [Close()]})
    await in_use(world, planted.served, "m", failed=planted.of("z"))
    (other,) = await world.endpoints(1)
    changed = with_clusters_changed(
        planted.served, with_endpoints(other.address, locality=locality), "z"
    )
    await world.serve(changed)
    expected = at_the_first(changed, "m")
    calls = await world.rounds.eventually_stable(expected, partial(calls_to, world, "m"))
    await world.check("A37-FAILOVER-14", calls, expected)


async def given_up(world: World, planted: Deployment) -> Elapsed:
    """Return the time from the first attempt at leaf z to the first at leaf b."""
    began = await world.attempts.require_one(*planted.members["z"], why="requests came")
    ended = await world.attempts.require_one(
        *planted.members["b"], why="the leaf before it stalls", within=timing.AFTER_TWO_FAILOVERS
    )
    return world.clock.elapsed(
        f"the attempt at {began.address}", began.at, f"that at {ended.address}", ended.at
    )


@scenario(timed=("A37-FAILOVER-03",), seconds=10.7, waits=True)
async def test_stalled_leaf(world: World) -> None:
    """If a leaf stays CONNECTING, the client moves to the next when the failover timer fires."""
    planted = await deploy(world, {"m": "z b"}, modes={"z": [Stall()]})
    await world.serve(planted.served)
    waiting = await world.start([{CLUSTER_HEADER: "m"}] * 5, deadline=timing.AFTER_FAILOVER)
    await world.check("A37-FAILOVER-03", await given_up(world, planted), lasting(1))
    await world.check("A37-FAILOVER-03", await waiting.over(), AllServedBy(planted.of("b")))


@scenario(timed=("A37-FAILOVER-04",), seconds=20.7, waits=True)
async def test_stalled_priorities_of_a_leaf(world: World) -> None:
    """Each stalled priority of a leaf has the time of the timer (A37), or the leaf has it (A75)."""
    planted = await deploy(world, {"m": "z b"}, modes={"z": [Stall()] * 2})
    await world.serve(planted.served)
    await world.start([{CLUSTER_HEADER: "m"}] * 5, deadline=timing.AFTER_TWO_FAILOVERS)
    took = await given_up(world, planted)
    await world.check("A37-FAILOVER-04", took, {"A37": lasting(2), "A75": lasting(1)})
