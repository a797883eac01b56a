"""A27: a Listener whose routes are in it or have a name, and which changes, goes or is bad."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import AllServedBy, Expectation, Fails, SubscribesByName
from conformance.scenarios.helpers.routing import (
    ANOTHER,
    MATCHED,
    OTHER,
    calls_of,
    routed_to,
    to_one,
    two_clusters,
)
from conformance.scenarios.helpers.updates import require_rejected, require_subscribed
from conformance.world import UNARY, World
from conformance.xds_config.broken import (
    rejected_listener,
    rejected_routes,
    with_clusters_changed,
    with_endpoints,
    without_resources,
)
from conformance.xds_config.config import LISTENER, ROUTE, XdsConfig
from fake_control_plane import Kind, resources

Change = Callable[[str], str]


async def check_served(world: World, clause: str, expected: Expectation) -> None:
    """Check a clause by requests, once they are as expected or time is up."""
    calls = await world.rounds.eventually_stable(expected, lambda: calls_of(world, [(UNARY, {})]))
    await world.check(clause, calls, expected)


async def check_asked(world: World, *names: str) -> None:
    """Check that the client subscribes to just these RouteConfigurations."""
    expected = SubscribesByName(kind="ROUTE", names=names)
    await world.check("A27-LDS-04", await world.control.asked_until(expected), expected)


@scenario("A27-LDS-01", "A27-LDS-04")
async def test_inline_routes(world: World) -> None:
    """The client uses the routes in a Listener, and their update, and subscribes to no others."""
    clusters = await two_clusters(world)
    for name in (MATCHED, OTHER, MATCHED):
        await world.serve(to_one(clusters, name, rds=None))
        await check_served(world, "A27-LDS-01", routed_to(clusters, name))
    await check_asked(world)


@pytest.mark.parametrize(
    "names", [(ROUTE, None, ROUTE), (None, ROUTE, None)], ids=["name-first", "inline-first"]
)
@scenario("A27-LDS-02", "A27-LDS-04")
async def test_inline_and_by_name(world: World, names: tuple[str | None, ...]) -> None:
    """The client follows a Listener from the name of its routes to inline ones, and back."""
    clusters = await two_clusters(world)
    for rds, name in zip(names, (MATCHED, OTHER, MATCHED), strict=True):
        await world.serve(to_one(clusters, name, rds=rds))
        await check_served(world, "A27-LDS-02", routed_to(clusters, name))
        await check_asked(world, *([rds] if rds else []))


@scenario("A27-LDS-03", "A27-LDS-04")
async def test_another_name(world: World) -> None:
    """The client uses the RouteConfiguration that the newest Listener names, and its update."""
    clusters = await two_clusters(world)
    for rds, name in ((ROUTE, MATCHED), (ANOTHER, OTHER), (ANOTHER, MATCHED), (ROUTE, OTHER)):
        await world.serve(to_one(clusters, name, rds=rds))
        await check_served(world, "A27-LDS-03", routed_to(clusters, name))
        await check_asked(world, rds)


NAMES = {Kind.LISTENER: LISTENER, Kind.ROUTE: ROUTE}
BAD = {Kind.LISTENER: rejected_listener, Kind.ROUTE: rejected_routes}


def of(kind: Kind, *clauses: str, **declared: Any) -> Any:
    """Return a row of a table: a kind of resource, and its clauses."""
    marks = scenario(*clauses, **declared)
    return pytest.param(kind, *clauses, id=kind.name.lower(), marks=marks)


BEFORE = (str.upper, " {}".format, "{}1".format, lambda name: name[:-1])
BEHIND = (str.title, "{} ".format, "{}.".format, lambda name: name[:-2])
"""Changes of a name, each of which makes another name of it."""


def strangers(kind: Kind, served: XdsConfig, changes: Iterable[Change]) -> list[Any]:
    """Return the resource of this kind under other names; a Listener holds its routes."""
    made = []
    for change in changes:
        message = served.route_configuration()
        if kind is Kind.LISTENER:
            message = resources.listener(LISTENER, route_config=message)
        message.name = change(NAMES[kind])
        made.append(message)
    return made


@pytest.mark.parametrize(
    ("kind", "clause"), [of(Kind.LISTENER, "A27-LDS-05"), of(Kind.ROUTE, "A27-RDS-01")]
)
async def test_others(world: World, kind: Kind, clause: str) -> None:
    """The client ignores resources that it did not subscribe to, before and behind its own."""
    clusters = await two_clusters(world)
    world.plane.script.send_unsolicited(kind)
    first, then = to_one(clusters, MATCHED), to_one(clusters, OTHER)
    await world.plane.set(*strangers(kind, then, BEFORE))
    await world.serve(first)
    await check_served(world, clause, routed_to(clusters, MATCHED))
    await world.plane.set(*strangers(kind, first, BEHIND))
    await world.serve(replace(then, rds=ANOTHER) if kind is Kind.LISTENER else then)
    await check_served(world, clause, routed_to(clusters, OTHER))


async def with_other_endpoint(world: World, served: XdsConfig) -> XdsConfig:
    """Serve another endpoint of the matched cluster.

    When requests reach it, the client has read all responses before.
    """
    changed = with_clusters_changed(served, with_endpoints(*await world.addresses(1)), MATCHED)
    await world.serve(changed)
    return changed


@scenario("A27-LDS-06", "A27-LDS-07")
async def test_deleted_listener(world: World) -> None:
    """Without its Listener a target fails, or keeps its routes (A88), until it is there again.

    The routes change after the deletion, so that a client which keeps them is seen to have read it.
    """
    clusters = await two_clusters(world)
    await world.serve(to_one(clusters, MATCHED))
    await world.require_served(world.sessions(1))
    await world.control.delete(Kind.LISTENER, LISTENER)
    await world.serve(to_one(clusters, OTHER), unheard=True)
    choices: dict[str, Expectation] = {"A27": Fails(), "A88": routed_to(clusters, OTHER)}
    own = world.checks.own("A27-LDS-06", choices)
    calls = await world.rounds.eventually_stable(own, lambda: calls_of(world, [(UNARY, {})]))
    await world.check("A27-LDS-06", calls, choices)
    await world.serve(to_one(clusters, MATCHED, rds=ANOTHER), unheard=True)
    await check_served(world, "A27-LDS-07", routed_to(clusters, MATCHED))


@pytest.mark.parametrize(
    ("kind", "rejected", "used"),
    [of(Kind.LISTENER, "A27-LDS-08", "A27-LDS-11"), of(Kind.ROUTE, "A27-RDS-02", "A27-RDS-03")],
)
async def test_rejected_at_first(world: World, kind: Kind, rejected: str, used: str) -> None:
    """Requests fail if the only version is bad, and are served once a valid one comes."""
    clusters = await two_clusters(world)
    well = to_one(clusters, MATCHED)
    lacks = without_resources(well, kind, NAMES[kind])
    await world.serve(lacks)
    waiting = await world.start(world.sessions(3))
    await require_subscribed(world, kind, lacks)
    await require_rejected(world, kind, BAD[kind](to_one(clusters, OTHER)))
    await world.check(rejected, await waiting.over(), Fails())
    await world.serve(well)
    await check_served(world, used, routed_to(clusters, MATCHED))


@pytest.mark.parametrize(
    ("kind", "kept", "used"),
    [of(Kind.LISTENER, "A27-LDS-09", "A27-LDS-11"), of(Kind.ROUTE, "A27-RDS-04", "A27-RDS-03")],
)
async def test_rejected_update(world: World, kind: Kind, kept: str, used: str) -> None:
    """The client keeps its routes when it rejects an update, and uses the next valid one."""
    clusters = await two_clusters(world)
    well = to_one(clusters, MATCHED)
    await world.serve(well)
    await world.require_served(world.sessions(1))
    rds = ANOTHER if kind is Kind.LISTENER else ROUTE
    await require_rejected(world, kind, BAD[kind](to_one(clusters, OTHER, rds=rds)))
    moved = await with_other_endpoint(world, well)
    await check_served(world, kept, AllServedBy(moved.get_cluster(MATCHED).addresses()))
    await world.serve(to_one(clusters, OTHER, rds=rds))
    await check_served(world, used, routed_to(clusters, OTHER))


@pytest.mark.parametrize(
    ("kind", "missing", "late"),
    [
        of(Kind.LISTENER, "A27-LDS-10", "A27-LDS-07", seconds=16.5, absence=True),
        of(Kind.ROUTE, "A27-RDS-05", "A27-RDS-06", seconds=16.5, absence=True),
    ],
)
async def test_missing(world: World, kind: Kind, missing: str, late: str) -> None:
    """Requests fail once a resource is known not to exist, and are served when it comes late."""
    clusters = await two_clusters(world)
    well = to_one(clusters, MATCHED)
    await world.serve(without_resources(well, kind, NAMES[kind]))
    waiting = await world.start(world.sessions(3), deadline=timing.AFTER_ABSENCE)
    await world.check(missing, await waiting.over(), Fails())
    await world.serve(well, unheard=True)
    await check_served(world, late, routed_to(clusters, MATCHED))


@scenario("A74-CONFIG-08")
async def test_late_routes(world: World) -> None:
    """Routes stay in use until the RouteConfiguration that the Listener names now has come."""
    clusters = await two_clusters(world)
    await world.serve(to_one(clusters, MATCHED))
    await world.require_served(world.sessions(1))
    others = to_one(clusters, OTHER, rds=ANOTHER)
    await world.serve(without_resources(others, Kind.ROUTE, ANOTHER))
    await world.attempts.quiet_from_now(why="the routes of the new name have not come")
    calls = await calls_of(world, [(UNARY, {})] * 3)
    await world.check("A74-CONFIG-08", calls, routed_to(clusters, *[MATCHED] * 3))
    await world.serve(others)
    await check_served(world, "A74-CONFIG-08", routed_to(clusters, OTHER))
