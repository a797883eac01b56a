"""A75, Aggregate Cluster Changes: the LB policies of leaves and of aggregates."""

from functools import partial

import pytest

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    EachServesSome,
    Expectation,
    OneEndpoint,
    SeveralEndpoints,
)
from conformance.scenarios.helpers.aggregates import deploy
from conformance.scenarios.helpers.circuit_breaking import lose
from conformance.scenarios.helpers.live_clusters import LiveCluster
from conformance.scenarios.helpers.routing import calls_to
from conformance.world import ENOUGH_TO_DIFFER, ENOUGH_TO_SPREAD, TURNS, World
from conformance.xds_config.broken import unhealthy, with_clusters_changed
from conformance.xds_config.config import aggregate, single_locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.routes import CLUSTER_HEADER, SESSION
from conformance.xds_config.variants import ResourceVariant
from test_servers import Serve, Stall

GUARD = "GRPC_XDS_AGGREGATE_CLUSTER_BACKWARD_COMPAT"


UNSUPPORTED = {
    "cluster-provided": "lb_policy: CLUSTER_PROVIDED",
    "maglev": "lb_policy: MAGLEV",
    "ring-too-large": "lb_policy: RING_HASH ring_hash_lb_config { "
    "minimum_ring_size { value: 8388609 } maximum_ring_size { value: 8388609 } }",
}


@scenario("A75-LEAF-01", seconds=1)
async def test_policy_of_each_leaf(world: World) -> None:
    """The client balances each leaf by the LB policy of that leaf."""
    first, second = await world.endpoints(3), await world.endpoints(TURNS)
    hashed = single_locality([member.address for member in first], name="hashed")
    turns = single_locality(
        [member.address for member in second], name="turns", policy=RoundRobin()
    )
    last = single_locality(await world.addresses(3), name="last")
    served = aggregate(hashed, turns, last, policy=RoundRobin())
    headers = world.values.sessions_to_map()

    async def check_ring(cluster: str) -> bool:
        ring = served.matches_ring(cluster=cluster)
        calls = await world.eventually(ring, partial(world.call, headers))
        await world.check("A75-LEAF-01", calls, ring)
        return not calls.overdue

    await world.serve(served)
    if not await check_ring("hashed"):
        return  # By A42 the policy of the aggregate applies to all leaves.
    await lose(world, with_clusters_changed(served, unhealthy, "hashed"), *first)
    await world.check_rotation("A75-LEAF-01", turns)
    await lose(world, with_clusters_changed(served, unhealthy, "hashed", "turns"), *second)
    await check_ring("last")


@scenario("A75-LEAF-02", "A37-VALID-29")
async def test_policy_of_aggregate(world: World) -> None:
    """The client accepts an aggregate with another LB policy than CLUSTER_PROVIDED."""
    live = await LiveCluster.start(world, "aggregate")
    for policy in ("ROUND_ROBIN", "RING_HASH"):
        await live.check_accepted(ResourceVariant("A75-LEAF-02", f"lb_policy: {policy}"))


@scenario("A75-LEAF-03", "A37-VALID-29")
@pytest.mark.parametrize("policy", UNSUPPORTED.values(), ids=UNSUPPORTED)
async def test_unsupported_policy_of_aggregate(world: World, policy: str) -> None:
    """The LB policy of an aggregate is unsupported: the client accepts or rejects the Cluster."""
    live = await LiveCluster.start(world, "aggregate")
    await live.report_choice(ResourceVariant("A75-LEAF-03", policy), used=True)


@scenario("A75-LEAF-04", alone=True, seconds=1)
async def test_environment_guard(world: World) -> None:
    """With the variable set, the policy of the leaf or of the aggregate applies.

    Each endpoint has a connection first, whichever policy applies.
    """
    hashed = single_locality(await world.addresses(3), name="hashed")
    await world.serve(aggregate(hashed, policy=RoundRobin()))
    channel = await world.channels.open_in_new_process(**{GUARD: "true"})
    await world.rounds.require(
        EachServesSome(hashed.addresses()),
        lambda: world.call(world.sessions(ENOUGH_TO_SPREAD), channel=channel),
        why="the requests have many different hashes",
    )
    same = [{SESSION: "same"}] * ENOUGH_TO_DIFFER
    calls = await world.call(same, channel=channel, concurrency=1)
    choices: dict[str, Expectation] = {
        "of the leaf": OneEndpoint(),
        "of the aggregate": SeveralEndpoints(),
    }
    await world.check("A75-LEAF-04", calls, choices)


@scenario("A75-LEAF-05", seconds=10.7, waits=True, failover=True)
async def test_priorities_within_a_leaf(world: World) -> None:
    """The client leaves a leaf only if none of its priorities is usable.

    The timers of both levels start together, so the next leaf may be in use for a moment.
    """
    planted = await deploy(world, {"m": "z b"}, modes={"z": [Stall(), Serve()]})
    await world.serve(planted.served)
    await world.start([{CLUSTER_HEADER: "m"}] * 5, deadline=timing.AFTER_FAILOVER)
    _, second = planted.members["z"]
    await world.attempts.require_one(
        second, why="the priority before it stalls", within=timing.AFTER_FAILOVER
    )
    within = AllServedBy((second.address,))
    calls = await world.rounds.eventually_stable(within, partial(calls_to, world, "m"))
    await world.check("A75-LEAF-05", calls, within)
