"""A37: clusters and endpoints that come late, while requests wait for them."""

from functools import partial

import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import EndsWith, Expectation, NoAttempts
from conformance.scenarios.helpers.aggregates import POSITIONS, Shape, deploy
from conformance.scenarios.helpers.routing import calls_to, with_route
from conformance.scenarios.helpers.updates import require_subscribed
from conformance.world import PendingCalls, World
from conformance.xds_config.broken import without_resources
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import at_the_first, subscriptions_of
from fake_control_plane import Kind
from test_servers import Hold, Serve

WAITS = EndsWith("DEADLINE_EXCEEDED")


async def held_back(world: World, kind: Kind, lacks: XdsConfig, *roots: str) -> list[PendingCalls]:
    """Start requests to each root; wait until the client has subscribed to all of this kind."""
    await world.serve(lacks)
    waiting = [await world.start([{CLUSTER_HEADER: root}] * 3) for root in roots]
    await require_subscribed(world, kind, lacks)
    return waiting


SHAPES: dict[str, Shape] = {
    **{where: {"m": made} for where, made in POSITIONS.items()},
    "nested": {"m": "b n", "n": "c x"},
}
"""Trees with the leaf x at each position."""


@scenario("A37-TROUBLE-04", seconds=1)
@pytest.mark.parametrize("made", SHAPES.values(), ids=SHAPES)
async def test_clusters(world: World, made: Shape) -> None:
    """While a cluster of the tree may still come, requests wait.

    There is no other tree, because by A74 all routes wait for the missing cluster.
    """
    planted = await deploy(world, made)
    lacks = without_resources(planted.served, Kind.CLUSTER, "x")
    (waiting,) = await held_back(world, Kind.CLUSTER, lacks, "m")
    calls = await calls_to(world, "m", deadline=timing.SEVERAL_MOMENTS)
    await world.check("A37-TROUBLE-04", calls, WAITS)
    await world.serve(planted.served)
    expected = at_the_first(planted.served, "m")
    await world.check("A37-TROUBLE-04", await waiting.over(), expected)


@scenario("A37-TROUBLE-05", seconds=1)
async def test_endpoints_of_the_first_leaf(world: World) -> None:
    """While the endpoints of the first leaf may still come, requests wait."""
    planted = await deploy(world, {"m": "x b"})
    lacks = without_resources(planted.served, Kind.ENDPOINTS, "x")
    (waiting,) = await held_back(world, Kind.ENDPOINTS, lacks, "m")
    calls = await calls_to(world, "m", deadline=timing.SEVERAL_MOMENTS)
    await world.check("A37-TROUBLE-05", calls, WAITS)
    behind = await world.attempts.quiet(
        *planted.members["b"], why="the endpoints of the first leaf may still come"
    )
    await world.check("A37-TROUBLE-05", behind, NoAttempts())
    await world.serve(planted.served)
    expected = at_the_first(planted.served, "m")
    await world.check("A37-TROUBLE-05", await waiting.over(), expected)


@scenario("A37-TROUBLE-06", seconds=1)
@pytest.mark.parametrize("names", ["b x", "b c x", "b x c"], ids=["last", "third", "middle"])
async def test_endpoints_of_a_later_leaf(world: World, names: str) -> None:
    """The endpoints of a later leaf may still come: the first serves (A37), or waits (A74)."""
    planted = await deploy(world, {"m": names})
    lacks = without_resources(planted.served, Kind.ENDPOINTS, "x")
    (waiting,) = await held_back(world, Kind.ENDPOINTS, lacks, "m")
    served = at_the_first(planted.served, "m")
    calls = await calls_to(world, "m", deadline=timing.SEVERAL_MOMENTS)
    by: dict[str, Expectation] = {"A37": served, "A74": WAITS, "envoy": WAITS}
    await world.check("A37-TROUBLE-06", calls, by)
    await world.serve(planted.served)
    in_the_end = world.checks.alike("A37-TROUBLE-06", served)
    await world.check("A37-TROUBLE-06", await waiting.over(), in_the_end)


@scenario("A74-CONFIG-01", seconds=1)
@pytest.mark.parametrize("kind", [Kind.CLUSTER, Kind.ENDPOINTS], ids=lambda kind: kind.value)
async def test_another_route(world: World, kind: Kind) -> None:
    """No request of the channel is sent until all resources that the routes need came.

    The second of three routes lacks its Cluster, or its endpoints.
    """
    roots = ("b", "x", "c")
    planted = await deploy(world, direct=roots)
    lacks = without_resources(planted.served, kind, "x")
    waiting = await held_back(world, kind, lacks, *roots)
    headers = [{CLUSTER_HEADER: root} for root in roots]
    calls = await world.call(headers, deadline=timing.SEVERAL_MOMENTS)
    await world.check("A74-CONFIG-01", calls, WAITS)
    await world.serve(planted.served)
    for root, pending in zip(roots, waiting, strict=True):
        await world.check("A74-CONFIG-01", await pending.over(), at_the_first(planted.served, root))


@scenario("A74-CONFIG-02")
async def test_routes_to_late_clusters(world: World) -> None:
    """The client does not use routes to a new cluster before its resources came.

    An update leads the route of b to an aggregate. One of its leaves is late: first its Cluster,
    then its endpoints. The leaves before and after it are complete.
    """
    planted = await deploy(world, {"m": "c x d"}, direct=("b",))
    way = [{CLUSTER_HEADER: "b"}] * 3
    later = without_resources(planted.served, Kind.ENDPOINTS, "x")
    first = without_resources(later, Kind.CLUSTER, "x")
    before = with_route(first, "b", "b")
    await world.serve(before)
    at_b = at_the_first(before, "b")
    await world.check("A74-CONFIG-02", await world.call(way), at_b)
    for lacks in (first, later):
        await world.serve(with_route(lacks, "b", "m"))
        for _ in range(3):
            await world.check("A74-CONFIG-02", await world.call(way), at_b)
            await world.attempts.quiet_from_now(why="a resource of the new cluster has not come")
    after = with_route(planted.served, "b", "m")
    await world.serve(after)
    at_m = at_the_first(after, "m")
    calls = await world.eventually(at_m, lambda: world.call(way))
    await world.check("A74-CONFIG-02", calls, at_m)
    for wanted in (subscriptions_of(after, "CLUSTER"), subscriptions_of(after, "ENDPOINTS")):
        await world.check("A74-CONFIG-02", await world.control.asked_until(wanted), wanted)


@scenario("A74-CONFIG-02")
async def test_request_to_the_old_cluster(world: World) -> None:
    """While a request waits at the old cluster, the client watches that cluster.

    The connection of b is held when an update leads the route of b to another cluster.
    """
    planted = await deploy(world, direct=("b", "c"), modes={"b": [Hold()]})
    before, after = (with_route(planted.served, "b", to) for to in ("b", "c"))
    way, (held,) = [{CLUSTER_HEADER: "b"}] * 3, planted.members["b"]
    await world.serve(before)
    waiting = await world.start(way)
    await world.attempts.require_one(held, why="requests came")
    await world.serve(after)
    at_c, make_calls = at_the_first(after, "c"), partial(world.call, way, deadline=timing.HELD)
    await world.check("A74-CONFIG-02", await world.eventually(at_c, make_calls), at_c)
    await world.attempts.quiet_from_now(why="requests wait at the old cluster")
    both = subscriptions_of(replace(after, routes=(*before.routes, *after.routes)), "CLUSTER")
    await world.check("A74-CONFIG-02", await world.control.asked_until(both), both)
    await held.set_mode(Serve())
    at_b = at_the_first(before, "b")
    await world.check("A74-CONFIG-02", await waiting.over(), at_b)
    wanted = subscriptions_of(after, "CLUSTER")
    await world.check("A74-CONFIG-02", await world.control.asked_until(wanted), wanted)
