"""A37, A57: the loss of the control plane before and while trees are in use; ended streams."""

from functools import partial

import grpc
import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import EndsWith, Expectation
from conformance.scenarios.helpers.aggregates import (
    FAILS,
    STATUSES,
    UNAFFECTED_ROOT,
    Deployment,
    aggregates,
    deploy,
    each_position_of,
    errors_and_waits,
    prefixed,
)
from conformance.scenarios.helpers.routing import calls_to, route_to
from conformance.scenarios.helpers.updates import require_subscribed
from conformance.world import PendingCalls, World
from conformance.xds_config.broken import without_resources
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import at_the_first, with_clusters
from fake_control_plane import Kind

USED, CHANGED = "used-m", "changed-m"


CLAUSES = {USED: "A37-TROUBLE-16", CHANGED: "A37-TROUBLE-17"}


LATE = "late"
"""A cluster that has not come when the control plane is lost: its requests fail once the client
notices the loss."""


ENDINGS = (grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE)


WAITS = EndsWith("DEADLINE_EXCEEDED")


async def without(
    world: World, planted: Deployment, *held_back: str, deadline: float = timing.CALL
) -> PendingCalls:
    """Start requests to the first route that wait for Clusters that are held back."""
    lacks = without_resources(planted.served, Kind.CLUSTER, *held_back)
    await world.serve(lacks)
    root = planted.served.routes[0].cluster
    waiting = await world.start([{CLUSTER_HEADER: root}] * 3, deadline=deadline)
    await require_subscribed(world, Kind.CLUSTER, lacks)
    return waiting


async def with_the_root_alone(
    world: World, *, deadline: float = timing.CALL
) -> tuple[Deployment, PendingCalls]:
    """Serve an aggregate without its clusters, and start requests that wait for them."""
    planted = await deploy(world, {"m": "b c"})
    return planted, await without(world, planted, "b", "c", deadline=deadline)


async def back(world: World, served: XdsConfig) -> None:
    """Restart the control plane, with all resources."""
    await world.serve(served, unheard=True)
    await world.control.resume()


@scenario("A37-TROUBLE-15", "A37-TROUBLE-18", "A37-TROUBLE-36")
async def test_before_the_tree_is_known(world: World) -> None:
    """If the ADS stream fails before the clusters of a tree came, requests fail until they come."""
    planted, waiting = await with_the_root_alone(world)
    await world.control.stop()
    for calls in (await waiting.over(), await calls_to(world, "m")):
        await world.check("A37-TROUBLE-15", calls, FAILS)
        await world.check("A37-TROUBLE-36", calls, STATUSES)
    await back(world, planted.served)
    served, way = at_the_first(planted.served, "m"), partial(calls_to, world, "m")
    calls = await world.eventually(served, way, within=timing.AFTER_OUTAGE)
    await world.check("A37-TROUBLE-18", calls, served)


@scenario("A37-TROUBLE-18", "A37-TROUBLE-33", "A37-TROUBLE-34", needs=("watch", "wait_for_ready"))
async def test_state(world: World) -> None:
    """After the control plane is lost, a tree without resources is in TRANSIENT_FAILURE.

    The root itself has not come, so its requests fail in every edition.
    """
    planted = await deploy(world, {"m": "b c"})
    await without(world, planted, "m", "b", "c")
    await world.control.stop()
    why = "the control plane is lost"
    await world.rounds.require(FAILS, partial(calls_to, world, "m"), why=why)
    mend = partial(back, world, planted.served)
    waited = await errors_and_waits(world, "m", mend, within=timing.AFTER_OUTAGE)
    await world.check("A37-TROUBLE-18", waited, EndsWith("OK"))


@scenario("A37-TROUBLE-16", "A37-TROUBLE-17", "A37-TROUBLE-18")
async def test_trees_in_use(world: World) -> None:
    """Losing the ADS stream does not affect a tree whose resources the client has.

    There are two trees: one has all its resources, the other waits for a new first leaf.
    """
    shapes = (prefixed({"m": "b c"}, "used"), prefixed({"m": "new b c"}, "changed"))
    planted = await deploy(world, *shapes, direct=(UNAFFECTED_ROOT, LATE))
    lacks = without_resources(planted.served, Kind.CLUSTER, "changed-new", LATE)
    before = as_it_was(lacks)
    await world.serve(before)
    for root in CLAUSES:
        at_b, way = at_the_first(before, root), partial(calls_to, world, root)
        await world.rounds.require(at_b, way, why="the endpoints of its leaves serve")
    await world.serve(lacks)
    await require_subscribed(world, Kind.CLUSTER, lacks)
    await world.control.stop()
    heard = partial(calls_to, world, LATE, deadline=timing.HELD)
    await world.rounds.require(
        FAILS, heard, why="the control plane is lost before its cluster came"
    )
    await check_as_before(world, before)
    world.checks.require("A37-FAILOVER-05")
    failed = await planted.lose("used-b", "changed-b")
    await check_as_before(world, before, *failed)
    await back(world, planted.served)
    served, way = at_the_first(planted.served, LATE), partial(calls_to, world, LATE)
    calls = await world.eventually(served, way, within=timing.AFTER_OUTAGE)
    await world.check("A37-TROUBLE-18", calls, served)


def as_it_was(served: XdsConfig) -> XdsConfig:
    """Return the config before the update: without the new leaf, and with another route to late."""
    routes = (
        *map(route_to, (*CLAUSES, UNAFFECTED_ROOT)),
        replace(route_to(LATE), cluster=UNAFFECTED_ROOT),
    )
    changed = aggregates({CHANGED: "changed-b changed-c"})
    return replace(with_clusters(served, *changed), routes=routes)


async def check_as_before(world: World, before: XdsConfig, *failed: str) -> None:
    """Check that requests use both trees as before, except for endpoints that have failed."""
    expected = {root: at_the_first(before, root, failed) for root in CLAUSES}
    seen = await each_position_of(world, expected, lasts=True)
    await world.check(CLAUSES[USED], seen[USED], expected[USED])
    as_before = expected[CHANGED]
    choices: dict[str, Expectation] = {"A37": as_before, "A74-2024": FAILS, "envoy": as_before}
    await world.check(CLAUSES[CHANGED], seen[CHANGED], choices)


@scenario("A37-TROUBLE-29")
async def test_before_all_endpoints(world: World) -> None:
    """If the ADS stream fails before a leaf's endpoints came, the client uses the next leaf."""
    planted = await deploy(world, {"m": "x b"})
    await world.serve(without_resources(planted.served, Kind.ENDPOINTS, "x", "b"))
    waiting = await world.start([{CLUSTER_HEADER: "m"}] * 3)
    lacks = without_resources(planted.served, Kind.ENDPOINTS, "x")
    await require_subscribed(world, Kind.ENDPOINTS, lacks)
    await world.serve(lacks)  # The client must have ACKed the endpoints of b.
    await world.control.stop()
    await world.check("A37-TROUBLE-29", await waiting.over(), at_the_first(lacks, "m"))


@scenario("A57-STREAM-01")
@pytest.mark.parametrize("code", ENDINGS, ids=lambda code: code.name)
async def test_stream_ended_after_a_response(world: World, code: grpc.StatusCode) -> None:
    """If a stream ends after a response, requests continue to wait for a resource."""
    planted, waiting = await with_the_root_alone(world, deadline=timing.AFTER_OUTAGE)
    await world.control.renew(Kind.CLUSTER, "b", code)
    calls = await calls_to(world, "m", deadline=timing.HELD)
    await world.check("A57-STREAM-01", calls, WAITS)
    await world.serve(planted.served)
    await world.check("A57-STREAM-01", await waiting.over(), at_the_first(planted.served, "m"))


@scenario("A57-STREAM-02")
async def test_streams_ended_without_a_response(world: World) -> None:
    """If a stream ends before any response, requests that wait for a resource fail.

    The cluster is the target of a route, because A37 has its own rules for trees.
    """
    await without(world, await deploy(world, direct=(LATE,)), LATE)
    world.plane.script.refuse_streams()
    world.plane.script.end_streams()
    heard = partial(calls_to, world, LATE, deadline=timing.HELD)
    calls = await world.eventually(FAILS, heard, within=timing.BEFORE_ABSENCE)
    await world.check("A57-STREAM-02", calls, FAILS)
