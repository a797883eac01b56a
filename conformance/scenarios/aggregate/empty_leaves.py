"""A37: leaves whose endpoints resource has no usable endpoint, and trees that cannot be used."""

from functools import partial

import pytest

from conformance import timing
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import Duration
from conformance.scenarios.helpers.aggregates import (
    ROOTS,
    TREES,
    UNAFFECTED_ROOT,
    Deployment,
    by_health,
    check_each,
    deploy,
    each_position,
    errors_and_waits,
    lose_before_x,
)
from conformance.scenarios.helpers.routing import calls_to
from conformance.scenarios.helpers.updates import require_rejected
from conformance.world import World
from conformance.xds_config.broken import (
    ClusterChange,
    rejected_cluster,
    with_bad_health,
    with_clusters_changed,
    with_empty_localities,
    without_localities,
    without_resources,
)
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import at_the_first
from fake_control_plane import Kind
from test_servers import Serve

AT_ONCE = Duration(most=timing.FAR_FROM_FAILOVER, allowance=timing.BELIEVED)


TROUBLES = {
    "no-locality": ("A37-TROUBLE-21", without_localities),
    "no-endpoint": ("A37-TROUBLE-22", with_empty_localities),
    "bad-health": ("A37-TROUBLE-23", with_bad_health),
}


async def deploy_trees(world: World) -> Deployment:
    """Deploy a tree for each position of x, which has four priorities with an endpoint each."""
    priorities = dict.fromkeys(each_position("x"), [Serve()] * 4)
    return await deploy(world, *TREES, direct=(UNAFFECTED_ROOT,), modes=priorities)


@pytest.mark.parametrize(
    ("clause", "trouble"), [case(name, *values) for name, values in TROUBLES.items()]
)
@scenario("A37-TROUBLE-24")
async def test_without_endpoints(world: World, clause: str, trouble: ClusterChange) -> None:
    """The client leaves a leaf without usable endpoints at once, and uses the next leaf.

    At the end the leaves before it fail.
    """
    planted = await deploy_trees(world)
    served = with_clusters_changed(planted.served, trouble, *each_position("x"))
    await world.serve(served)
    await calls_to(world, UNAFFECTED_ROOT)
    known = world.now
    for root in ROOTS:
        calls = await calls_to(world, root, deadline=timing.AFTER_FAILOVER)
        await world.check(clause, calls, by_health(world, clause, served, root))
    (behind,) = planted.members["first-b"]
    tried = await world.attempts.require_one(behind, why="the leaf before it has no endpoints")
    took = world.clock.elapsed(
        "the endpoints came", min(known, tried.at), "the attempt at the next leaf", tried.at
    )
    await world.check("A37-TROUBLE-24", took, AT_ONCE)
    failed = await lose_before_x(world, planted)
    await check_each(world, clause, served, "middle-m", failed=failed)


@pytest.mark.parametrize(
    "trouble", [pytest.param(trouble, id=name) for name, (_, trouble) in TROUBLES.items()]
)
@scenario("A37-TROUBLE-27", "A37-TROUBLE-32", "A37-TROUBLE-35")
async def test_endpoints_removed_and_added(world: World, trouble: ClusterChange) -> None:
    """An update that leaves a leaf without usable endpoints takes effect, until another adds them.

    First x has no usable endpoint, then b as well, then every leaf. At the end all leaves have
    endpoints again. A cluster of another route is not affected.
    """
    planted = await deploy_trees(world)
    well = planted.served
    first = with_clusters_changed(well, trouble, *each_position("x"))
    second = with_clusters_changed(first, trouble, *each_position("b"))
    for served in (first, second, with_clusters_changed(second, trouble, *each_position("c"))):
        await world.serve(served)
        await check_each(world, "A37-TROUBLE-27", served)
        calls = await calls_to(world, UNAFFECTED_ROOT)
        await world.check("A37-TROUBLE-35", calls, at_the_first(served, UNAFFECTED_ROOT))
    failed = await lose_before_x(world, planted)
    await world.serve(well)
    await check_each(world, "A37-TROUBLE-32", well, failed=failed)


@scenario("A37-TROUBLE-33", "A37-TROUBLE-34", needs=("watch", "wait_for_ready"))
async def test_state_without_endpoints(world: World) -> None:
    """A tree without endpoints is in TRANSIENT_FAILURE, and wait_for_ready requests wait."""
    planted = await deploy(world, {"m": "b c"})
    well = planted.served
    await world.serve(with_clusters_changed(well, without_localities, "b", "c"))
    await errors_and_waits(world, "m", partial(world.serve, well))


@scenario("A37-TROUBLE-33", "A37-TROUBLE-34", needs=("watch", "wait_for_ready"))
async def test_state_of_rejected_root(world: World) -> None:
    """A rejected root is in TRANSIENT_FAILURE, and wait_for_ready requests wait."""
    planted = await deploy(world, {"m": "b"})
    well = planted.served
    await world.serve(without_resources(well, Kind.CLUSTER, "m"))
    await world.start([{CLUSTER_HEADER: "m"}])
    await require_rejected(world, Kind.CLUSTER, rejected_cluster(well.get_cluster("m")))
    await errors_and_waits(world, "m", partial(world.serve, well))
