"""A37: clusters and endpoints that are rejected at first or after a valid version, or deleted."""

from functools import partial

from conformance.judging.declaration import scenario
from conformance.judging.expectations import Expectation
from conformance.scenarios.helpers.aggregates import (
    ROOTS,
    TREES,
    UNAFFECTED_ROOT,
    Deployment,
    aggregates,
    check_each,
    deploy,
    each_position,
    each_position_of,
    in_use,
    lose_before_x,
    without_one,
)
from conformance.scenarios.helpers.routing import calls_to
from conformance.scenarios.helpers.updates import require_rejected, require_subscribed
from conformance.world import PendingCalls, World
from conformance.xds_config.broken import (
    rejected_cluster,
    rejected_endpoints,
    rejected_logical_dns,
    with_clusters_changed,
    with_endpoints,
    without_resources,
)
from conformance.xds_config.clusters import Cluster
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import at_the_first, with_clusters
from fake_control_plane import Kind

NESTED = {"nested-m": "nested-n nested-c", "nested-n": "nested-x nested-b"}
"""A tree whose nested aggregate is deleted; used only for clients that support nesting."""


DIRECT = "direct"
"""A rejected or deleted cluster that is the target of a route."""


BY_DNS = "by-dns"
"""A cluster of a route that is rejected as LOGICAL_DNS."""


async def started(world: World, *roots: str) -> dict[str, PendingCalls]:
    """Start requests to each root; they wait for resources that are held back."""
    return {root: await world.start([{CLUSTER_HEADER: root}] * 3) for root in roots}


async def moved(world: World, served: XdsConfig, name: str) -> XdsConfig:
    """Return the config with another endpoint for this leaf of each tree."""
    for position in each_position(name):
        (address,) = await world.addresses(1)
        served = with_clusters_changed(served, with_endpoints(address), position)
    return served


def renamed(cluster: Cluster) -> Cluster:
    """Return the cluster with another EDS service name."""
    return cluster.known_as(f"new-{cluster.name}")


async def with_another_beside(world: World, served: XdsConfig) -> XdsConfig:
    """Give another cluster a new endpoint, and wait until the client uses it.

    By then the client has processed all earlier responses.
    """
    (address,) = await world.addresses(1)
    later = with_clusters_changed(served, with_endpoints(address), UNAFFECTED_ROOT)
    await in_use(world, later, UNAFFECTED_ROOT)
    return later


@scenario("A37-TROUBLE-25", "A37-TROUBLE-31", "A37-TROUBLE-35")
async def test_initial_endpoints(world: World) -> None:
    """A leaf whose endpoints were rejected and never accepted has none."""
    planted = await deploy(world, *TREES, direct=(UNAFFECTED_ROOT,))
    well, bad = planted.served, each_position("x")
    lacks = without_resources(well, Kind.ENDPOINTS, *bad)
    await world.serve(lacks)
    waiting = await started(world, *ROOTS, UNAFFECTED_ROOT)
    await require_subscribed(world, Kind.ENDPOINTS, lacks)
    refused = (rejected_endpoints(well.get_cluster(name)) for name in bad)
    await require_rejected(world, Kind.ENDPOINTS, *refused)
    for root, calls in waiting.items():
        clause = "A37-TROUBLE-35" if root == UNAFFECTED_ROOT else "A37-TROUBLE-25"
        await world.check(clause, await calls.over(), at_the_first(lacks, root))
    await check_each(world, "A37-TROUBLE-25", lacks)
    failed = await lose_before_x(world, planted)
    await check_each(world, "A37-TROUBLE-25", lacks, "middle-m", failed=failed)
    await world.serve(well)
    await check_each(world, "A37-TROUBLE-31", well, failed=failed)


@scenario("A37-TROUBLE-26", "A37-TROUBLE-31")
async def test_updated_endpoints(world: World) -> None:
    """If the client rejects an update of endpoints, it uses those that it accepted before.

    The update has other endpoints, which serve as well.
    """
    planted = await deploy(world, *TREES)
    well = planted.served
    await in_use(world, well, *ROOTS)
    others = await moved(world, well, "x")
    refused = (rejected_endpoints(others.get_cluster(name)) for name in each_position("x"))
    await require_rejected(world, Kind.ENDPOINTS, *refused)
    await check_each(world, "A37-TROUBLE-26", well, lasts=True)
    fewer = with_x_first(well)
    await world.serve(fewer)
    await check_each(world, "A37-TROUBLE-26", fewer)
    mended = await moved(world, fewer, "x")
    await world.serve(mended)
    await check_each(world, "A37-TROUBLE-31", mended)


def with_x_first(served: XdsConfig) -> XdsConfig:
    """Return the config without the leaves before x."""
    return with_clusters(served, *aggregates({"middle-m": "middle-x middle-c", "last-m": "last-x"}))


@scenario("A37-TROUBLE-11", "A37-TROUBLE-12", "A37-TROUBLE-14", "A37-TROUBLE-35")
async def test_initial_clusters(world: World) -> None:
    """If the client rejects a cluster and never accepted it, requests to it fail."""
    planted = await deploy(world, *TREES, direct=(UNAFFECTED_ROOT, DIRECT, BY_DNS))
    well, bad = planted.served, (*each_position("x"), DIRECT)
    lacks = without_resources(well, Kind.CLUSTER, *bad, BY_DNS)
    await world.serve(lacks)
    waiting = await started(world, *ROOTS, DIRECT, BY_DNS, UNAFFECTED_ROOT)
    await require_subscribed(world, Kind.CLUSTER, lacks)
    clusters = [rejected_cluster(well.get_cluster(name)) for name in bad]
    nameless = rejected_logical_dns(well.get_cluster(BY_DNS))
    await require_rejected(world, Kind.CLUSTER, *clusters, nameless)
    clauses = {
        DIRECT: "A37-TROUBLE-12",
        BY_DNS: "A37-TROUBLE-12",
        UNAFFECTED_ROOT: "A37-TROUBLE-35",
    }
    for root, calls in waiting.items():
        clause = clauses.get(root, "A37-TROUBLE-11")
        expected = at_the_first(lacks, root) if root in clauses else without_one(lacks, root)
        await world.check(clause, await calls.over(), expected)
    await world.serve(well)
    await check_each(world, "A37-TROUBLE-14", well, *ROOTS, DIRECT, BY_DNS)


@scenario("A37-TROUBLE-13", "A37-TROUBLE-14")
async def test_updated_clusters(world: World) -> None:
    """If the client rejects an update of a Cluster, it uses the tree as it was.

    The updates are for the leaf x of each tree, and for one aggregate. The leaves get the EDS
    service name of other endpoints, which serve as well.
    """
    well = (await deploy(world, *TREES, direct=(UNAFFECTED_ROOT,))).served
    await in_use(world, well, *ROOTS, UNAFFECTED_ROOT)
    leaves = each_position("x")
    others = (well.get_cluster(name).known_as(UNAFFECTED_ROOT) for name in leaves)
    updates = map(rejected_cluster, (*others, well.get_cluster("only-m")))
    bad = (*leaves, "only-m")
    await require_rejected(world, Kind.CLUSTER, *updates)
    later = await with_another_beside(world, well)
    await check_each(world, "A37-TROUBLE-13", later, lasts=True)
    # Remove the Clusters, so that the control plane sends the valid ones again.
    await world.serve(without_resources(later, Kind.CLUSTER, *bad))
    mended = with_x_first(await moved(world, later, "x"))
    await world.serve(mended)
    await check_each(world, "A37-TROUBLE-14", mended)


@scenario("A37-TROUBLE-07", "A37-TROUBLE-08", "A37-TROUBLE-09", "A37-TREE-02", "A37-TROUBLE-35")
async def test_deleted_clusters(world: World) -> None:
    """If a cluster in use is deleted, its tree fails, or the client skips it, by edition.

    Two of the deleted clusters are sent again with another EDS service name.
    """
    planted = await deploy(world, *TREES, NESTED, direct=(UNAFFECTED_ROOT, DIRECT))
    well, gone = planted.served, (*each_position("x"), "nested-n", DIRECT)
    await in_use(world, well, *ROOTS, DIRECT, UNAFFECTED_ROOT)
    roots = (*ROOTS, "nested-m") if await is_in_order(world, well, "nested-m") else ROOTS
    lacks = without_resources(well, Kind.CLUSTER, *gone)
    await world.serve(lacks)
    await world.control.delete(Kind.CLUSTER, *gone)
    lacks = await with_another_beside(world, lacks)
    await check_deleted(world, planted, lacks, *roots)
    calls = await calls_to(world, UNAFFECTED_ROOT)
    await world.check("A37-TROUBLE-35", calls, at_the_first(lacks, UNAFFECTED_ROOT))
    (address,) = await world.addresses(1)
    again = with_clusters_changed(await moved(world, well, "x"), with_endpoints(address), DIRECT)
    again = with_clusters_changed(again, renamed, "first-x", DIRECT)
    await world.serve(again, unheard=True)
    await check_each(world, "A37-TROUBLE-09", again, *roots, DIRECT)


async def is_in_order(world: World, served: XdsConfig, root: str) -> bool:
    """Check that the client uses a nested tree in its order; return whether it does."""
    expected, make_calls = at_the_first(served, root), partial(calls_to, world, root)
    has_nesting = world.checks.has("A37-TREE-02")
    calls = await world.eventually(expected, make_calls) if has_nesting else await make_calls()
    await world.check("A37-TREE-02", calls, expected)
    return has_nesting and not calls.overdue


async def check_deleted(world: World, planted: Deployment, lacks: XdsConfig, *roots: str) -> None:
    """Check requests to trees with a deleted cluster, and to a deleted cluster of a route."""
    choices: dict[str, dict[str, Expectation]] = {
        root: without_one(lacks, root) | {"A88": at_the_first(planted.served, root)}
        for root in roots
    }
    direct: dict[str, Expectation] = {
        "A37": at_the_first(lacks, DIRECT),
        "A88": at_the_first(planted.served, DIRECT),
        "envoy": at_the_first(lacks, DIRECT),
    }
    expected = {
        root: world.checks.own("A37-TROUBLE-07", choice) for root, choice in choices.items()
    }
    expected[DIRECT] = world.checks.own("A37-TROUBLE-08", direct)
    for root, calls in (await each_position_of(world, expected, lasts=True)).items():
        clause = "A37-TROUBLE-08" if root == DIRECT else "A37-TROUBLE-07"
        await world.check(clause, calls, choices.get(root, direct))
