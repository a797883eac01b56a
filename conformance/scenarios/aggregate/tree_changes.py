"""A37, CDS LB Policy Support and xds_cluster_resolver: updates of trees in use."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import EndsWith, StaysSubscribed, SubscribesOnce
from conformance.scenarios.helpers.aggregates import (
    Shape,
    aggregate_config,
    aggregates,
    check_lists,
    deploy,
    in_use,
    leaf,
    leaf_names,
    prefixed,
)
from conformance.scenarios.helpers.circuit_breaking import Streams
from conformance.scenarios.helpers.live_policies import BackgroundTraffic
from conformance.scenarios.helpers.load_reports import balanced, reported
from conformance.scenarios.helpers.routing import calls_to, route_to
from conformance.scenarios.helpers.updates import require_subscribed
from conformance.world import World
from conformance.xds_config.clusters import Cluster, Threshold
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import at_the_first, subscriptions_of, with_clusters
from fake_control_plane import Kind

BACKGROUND_REQUESTS = 60
"""Requests from before an update until well after its ACK: 0.3 s; the ACK takes 0.03 s."""


ROOT = "m"


FEW = 5
"""A limit of open requests, above the number of requests that check whether a tree serves."""


async def arrange(world: World, *shapes: Shape, direct: tuple[str, ...] = ()) -> list[XdsConfig]:
    """Return a config for each shape of a tree; in an empty shape the root is a leaf.

    Args:
        world: the scenario's world.
        shapes: a cluster has the same endpoint in each shape in which it is a leaf.
        direct: leaves that are also targets of routes.
    """
    if any(map(is_nested, shapes)):
        world.checks.require("A37-TREE-02")
    await check_nesting(world, *shapes)
    leaves: dict[str, Cluster] = {}
    for name in dict.fromkeys((ROOT, *(name for each in shapes for name in leaf_names(each)))):
        leaves[name] = leaf(name, await world.endpoints(1))
    served = []
    for shape in shapes:
        used = [name for name in leaves if name in {*leaf_names(shape), *direct}] or [ROOT]
        clusters = (*aggregates(shape), *(leaves[name] for name in used))
        served.append(aggregate_config((ROOT, *direct), clusters))
    return served


def is_nested(shape: Shape) -> bool:
    """Return whether an aggregate of this tree lists another aggregate."""
    return any(below in shape for names in shape.values() for below in names.split())


async def check_nesting(world: World, *shapes: Shape) -> None:
    """Check that the client uses nested trees in their order, before any update.

    The rest of the scenario depends on that order, so a client with another order fails here.
    """
    trees = [
        prefixed(shape, f"like-{place}") for place, shape in enumerate(shapes) if is_nested(shape)
    ]
    if not trees:
        return
    planted = await deploy(world, *trees)
    await world.serve(planted.served)
    await check_use(world, "A37-TREE-02", planted.served, *(next(iter(tree)) for tree in trees))


async def check_use(world: World, clause: str, served: XdsConfig, *roots: str) -> None:
    """Check that requests to these roots (by default the only one) soon follow the config."""
    for root in roots or (ROOT,):
        expected, calls = at_the_first(served, root), partial(calls_to, world, root)
        await world.check(clause, await world.eventually(expected, calls), expected)


def steps(name: str, clause: str, *shapes: Shape) -> Any:
    """Return a row of a tree before and after one or two updates."""
    return case(name, clause, shapes)


def nested(name: str, clause: str, before: Shape, after: Shape) -> Any:
    """Return a row whose tree is nested before or after the update."""
    return pytest.param(clause, (before, after), id=name, marks=scenario(clause, "A37-TREE-02"))


@scenario("A37-TREE-31", needs=("metadata",), seconds=0.8)
@pytest.mark.parametrize(
    ("clause", "shapes"),
    [
        steps("order", "A37-TREE-24", {"m": "a b c"}, {"m": "c b a"}, {"m": "b c a"}),
        nested("order-above", "A37-TREE-24", {"m": "n c", "n": "a b"}, {"m": "c n", "n": "a b"}),
        nested("order-below", "A37-TREE-24", {"m": "n c", "n": "a b"}, {"m": "n c", "n": "b a"}),
        steps("first-comes", "A37-TREE-25", {"m": "b"}, {"m": "a b"}, {"m": "z a b"}),
        nested("aggregate-comes-first", "A37-TREE-25", {"m": "b"}, {"m": "n b", "n": "z a"}),
        steps("all-are-others", "A37-TREE-25", {"m": "a b"}, {"m": "y z"}),
        steps("first-goes", "A37-TREE-26", {"m": "a b c"}, {"m": "b c"}, {"m": "c"}),
        nested("aggregate-goes", "A37-TREE-26", {"m": "n b", "n": "z a"}, {"m": "b"}),
        steps("all-but-the-last-go", "A37-TREE-26", {"m": "a b c d"}, {"m": "d"}),
        nested("level-goes", "A37-TREE-26", {"m": "n", "n": "a b"}, {"m": "b"}),
        steps("to-an-aggregate", "A37-TREE-29", {}, {"m": "a b"}),
        nested("to-an-aggregate-below", "A37-TREE-29", {"m": "n c"}, {"m": "n c", "n": "b a"}),
        steps("to-eds", "A37-TREE-30", {"m": "a b"}, {}),
        nested("to-eds-below", "A37-TREE-30", {"m": "n c", "n": "b a"}, {"m": "n c"}),
    ],
)
async def test_update(world: World, clause: str, shapes: tuple[Shape, ...]) -> None:
    """After each update of a tree, requests follow the new tree, and none fails meanwhile.

    Requests run from before the first update until after the last.
    """
    first, *later = await arrange(world, *shapes)
    await in_use(world, first, ROOT)
    world.checks.turn_to(clause)
    headers = [{**session, CLUSTER_HEADER: ROOT} for session in world.sessions(BACKGROUND_REQUESTS)]
    meanwhile = await BackgroundTraffic.start(world, headers)
    for then in later:
        await world.serve(then)
        await check_use(world, clause, then)
    await world.check("A37-TREE-31", await meanwhile.over(), EndsWith("OK"))


LATER = "z"
"""A cluster that comes or goes, behind the first one."""


@pytest.mark.parametrize(
    ("clause", "before", "after"),
    [
        case("last-comes", "A37-TREE-25", "a b", f"a b {LATER}"),
        case("one-comes-between", "A37-TREE-25", "a b", f"a {LATER} b"),
        case("last-goes", "A37-TREE-26", f"a b {LATER}", "a b"),
        case("one-goes-between", "A37-TREE-26", f"a {LATER} b", "a b"),
    ],
)
async def test_later_cluster(world: World, clause: str, before: str, after: str) -> None:
    """If an update adds or removes a later cluster, the client uses those of the list in order.

    The endpoints of one leaf after another fail.
    """
    planted = await deploy(world, {"m": max(before, after, key=len)})
    first, then = (
        with_clusters(planted.served, *aggregates({"m": names})) for names in (before, after)
    )
    await in_use(world, first, ROOT)
    await world.serve(then)
    await check_use(world, clause, then)
    world.checks.require("A37-TREE-07")
    if LATER in after:
        wanted = subscriptions_of(then, "CLUSTER")
        await world.check(clause, await world.control.asked_until(wanted), wanted)
    failed: tuple[str, ...] = ()
    for name in after.split():
        failed += await planted.lose(name)
        expected = at_the_first(then, ROOT, failed)
        calls = await world.eventually(expected, partial(calls_to, world, ROOT))
        await world.check(clause, calls, expected)


DEEP: Shape = {"m": "n b", "n": "o a", "o": "z y"}


LEFT: dict[str, tuple[Shape, Shape]] = {
    "aggregate": (DEEP, {"m": "b"}),
    "leaves-of-what-is-eds-now": (DEEP, {"m": "n b"}),
    "endpoints-of-what-is-an-aggregate-now": ({"m": "n b"}, {"m": "n b", "n": "z a"}),
}
"""Trees that lose clusters, before and after the update."""


@scenario("A37-TREE-27", "A37-TREE-28", "A37-TREE-02")
@pytest.mark.parametrize(("before", "after"), LEFT.values(), ids=LEFT)
async def test_unsubscribes(world: World, before: Shape, after: Shape) -> None:
    """The client unsubscribes from clusters that left the tree, except from those still in use.

    A route uses the leaf a.
    """
    first, then = await arrange(world, before, after, direct=("a",))
    await in_use(world, first, "m", "a")
    world.checks.turn_to("A37-TREE-28")
    since = world.control.mark
    await world.serve(then)
    await check_use(world, "A37-TREE-28", then, "m", "a")
    for wanted in (subscriptions_of(then, "CLUSTER"), subscriptions_of(then, "ENDPOINTS")):
        await world.check("A37-TREE-27", await world.control.asked_until(wanted), wanted)
    moved = with_clusters(then, leaf("a", await world.endpoints(1)))
    await world.serve(moved)
    await check_use(world, "A37-TREE-28", moved, "a")
    await world.check(
        "A37-TREE-28", world.control.asked(since=since), StaysSubscribed("CLUSTER", "a")
    )


@scenario("A37-TREE-28")
async def test_leaf_of_another_tree(world: World) -> None:
    """The client stays subscribed to a leaf that leaves a tree while another tree has it."""
    planted = await deploy(world, {"m": "y b"}, {"z": "x y"})
    await in_use(world, planted.served, "m", "z")
    since = world.control.mark
    then = with_clusters(planted.served, *aggregates({"m": "b"}))
    await world.serve(then)
    await check_use(world, "A37-TREE-28", then, "m", "z")
    moved = with_clusters(then, leaf("y", await world.endpoints(1)))
    await world.serve(moved)
    expected = at_the_first(moved, "z", await planted.lose("x"))
    calls = await world.eventually(expected, partial(calls_to, world, "z"))
    await world.check("A37-TREE-28", calls, expected)
    stays = StaysSubscribed("CLUSTER", "y")
    await world.check("A37-TREE-28", world.control.asked(since=since), stays)


USES: dict[str, tuple[tuple[Shape, ...], tuple[str, ...]]] = {
    "route-and-aggregate": (({"a": "b c"},), ("b",)),
    "two-aggregates": (({"a": "b c"}, {"z": "b x"}), ()),
}
"""Trees whose first leaf is b, and direct routes to b."""


@scenario("A37-TREE-11", "A37-TREE-15")
@pytest.mark.parametrize(("shapes", "direct"), USES.values(), ids=USES)
async def test_cluster_update_everywhere(
    world: World, shapes: tuple[Shape, ...], direct: tuple[str, ...]
) -> None:
    """Each update of a Cluster takes effect in all routes and aggregates that use it.

    The last update changes only the limit of open requests, to none.
    """
    planted = await deploy(world, *shapes, direct=direct)
    roots = (*(next(iter(shape)) for shape in shapes), *direct)
    await world.serve(planted.served)
    await check_lists(world, "A37-TREE-11", planted.served, *roots)
    await in_use(world, planted.served, *roots)
    for service in ("another", "a-third"):
        renamed = leaf("b", await world.endpoints(1)).known_as(service)
        then = with_clusters(planted.served, renamed)
        await world.serve(then)
        await check_use(world, "A37-TREE-11", then, *roots)
    await world.serve(with_clusters(then, replace(renamed, thresholds=(Threshold(0),))))
    refused = EndsWith("UNAVAILABLE")
    for root in roots:
        calls = await world.eventually(refused, partial(calls_to, world, root))
        await world.check("A37-TREE-11", calls, refused)


@scenario("A37-TREE-12", "A37-TREE-15")
@pytest.mark.parametrize(("shapes", "direct"), USES.values(), ids=USES)
async def test_endpoints_update_everywhere(
    world: World, shapes: tuple[Shape, ...], direct: tuple[str, ...]
) -> None:
    """Each update of endpoints takes effect in all routes and aggregates that use the cluster."""
    planted = await deploy(world, *shapes, direct=direct)
    roots = (*(next(iter(shape)) for shape in shapes), *direct)
    await world.serve(planted.served)
    await check_lists(world, "A37-TREE-12", planted.served, *roots)
    await in_use(world, planted.served, *roots)
    for _ in range(2):
        then = with_clusters(planted.served, leaf("b", await world.endpoints(1)))
        await world.serve(then)
        await check_use(world, "A37-TREE-12", then, *roots)


@scenario("A37-TREE-33")
async def test_changed_service_name(world: World) -> None:
    """If updates change the EDS service_name of leaves, the new endpoints take their places.

    The first update gives both leaves a name, and the second leaves the names out again.
    """
    (first,) = await arrange(world, {"m": "b a"})
    await in_use(world, first, ROOT)
    renamed = [leaf(name, await world.endpoints(1)).known_as(f"new-{name}") for name in "ba"]
    for then in (with_clusters(first, *renamed), first):
        await world.serve(then)
        await check_use(world, "A37-TREE-33", then)
        expected = subscriptions_of(then, "ENDPOINTS")
        await world.check("A37-TREE-33", await world.control.asked_until(expected), expected)


LATE = {
    "cluster": (Kind.CLUSTER, "a"),
    "endpoints": (Kind.ENDPOINTS, "a"),
    "last-cluster": (Kind.CLUSTER, "c"),
}
"""Late resources of a tree of a and c: their kind and name."""


@scenario("A37-TREE-32", seconds=0.8)
@pytest.mark.parametrize(("late", "name"), LATE.values(), ids=LATE)
async def test_late_cluster(world: World, late: Kind, name: str) -> None:
    """While resources of a changed tree are missing, the client uses the old tree.

    The other leaf is new as well: a client that uses only what has come would send requests there.
    The text does not say whether the client requests its endpoints before all Clusters came.
    """
    first, then = await arrange(world, {"m": "b"}, {"m": "a c"})
    await in_use(world, first, ROOT)
    await world.serve(replace(then, unsent=((late, name),)), unheard=True)
    await require_subscribed(world, late, then)
    await world.attempts.quiet_from_now(why="a resource of a leaf has not come")
    await world.check("A37-TREE-32", await calls_to(world, ROOT), at_the_first(first, ROOT))
    await world.serve(then)
    await check_use(world, "A37-TREE-32", then)


@scenario("A37-TREE-34", needs=("kept_open",), seconds=2, waits=True)
async def test_shared_service_name(world: World) -> None:
    """Two clusters with the same EDS service_name are separate leaves.

    The first leaf has a limit of five open requests, the other has the default and, at the end, a
    route.
    """
    (both,) = await arrange(world, {"m": "b a"})
    b, a = with_same_endpoints(both, {"b": FEW, "a": None})
    served = with_clusters(both, replace(both.get_cluster(ROOT), is_reported=True), b, a)
    await in_use(world, served, ROOT)
    expected = subscriptions_of(served, "ENDPOINTS", ever=True)
    await world.check("A37-TREE-34", await world.control.asked_until(expected), expected)
    await world.check("A37-TREE-34", world.control.asked(), SubscribesOnce())
    await Streams(world).require_open(ROOT, FEW)
    await world.check("A37-TREE-34", await calls_to(world, ROOT), EndsWith("UNAVAILABLE"))
    world.checks.require("A37-LOAD-07")
    by = replace(balanced(replace(served, clusters=(b,), routes=())), drops={"b": ("",)})
    await world.check("A37-TREE-34", await reported(world, by), by)
    await world.serve(replace(served, routes=(*served.routes, route_to("a"))))
    beside = await world.eventually(EndsWith("OK"), partial(calls_to, world, "a"))
    await world.check("A37-TREE-34", beside, EndsWith("OK"))


def with_same_endpoints(served: XdsConfig, limits: Mapping[str, int | None]) -> list[Cluster]:
    """Return clusters with these limits and the EDS service_name and endpoints of the first.

    They have lrs_server, and so must the aggregate: the text does not state which one applies.
    """
    first = served.get_cluster(next(iter(limits)))
    return [
        replace(
            served.get_cluster(name),
            discovery=replace(first.discovery, service_name="service"),
            is_reported=True,
            thresholds=(Threshold(limit),),
        )
        for name, limit in limits.items()
    ]
