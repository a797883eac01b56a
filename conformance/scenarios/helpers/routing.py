"""Routes to clusters: by the cluster that a request names, or to one of two by a match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from conformance.judging.expectations import RoutedTo
from conformance.judging.observations import Calls
from conformance.world import UNARY, World
from conformance.xds_config.clusters import Cluster
from conformance.xds_config.config import ROUTE, XdsConfig, single_locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.routes import BY_SESSION, CLUSTER_HEADER, Route
from fake_control_plane import HeaderMatch, RouteMatch

MATCHED, OTHER = "matched", "other"

ROW = "row"
"""The metadata key that says which row of the table a request is for."""

HEADER = "tier"
"""The metadata key that the matchers of headers are about."""

ANYTHING = RouteMatch(prefix="")

ANOTHER = "another-route"
"""The name of another RouteConfiguration."""

Clusters = Mapping[str, Cluster]


Request = tuple[str, Mapping[str, str | bytes]]
"""The path of a request, and its headers."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A match, and requests that must take its route or must not: paths and headers."""

    match: RouteMatch
    takes: tuple[Request, ...] = ()
    leaves: tuple[Request, ...] = ()


def by_path(match: RouteMatch, *, takes: Iterable[str] = (), leaves: Iterable[str] = ()) -> Row:
    """Return the row of a match of paths."""
    return Row(
        match=match,
        takes=tuple((path, {}) for path in takes),
        leaves=tuple((path, {}) for path in leaves),
    )


def by_header(
    *, takes: Iterable[str | None] = (), leaves: Iterable[str | None] = (), **match: Any
) -> Row:
    """Return the row of a matcher of `HEADER`, by values of it; None: the request lacks it."""
    matcher = HeaderMatch(**({"name": HEADER} | match))

    def requests(values: Iterable[str | None]) -> tuple[Request, ...]:
        return tuple((UNARY, {} if value is None else {HEADER: value}) for value in values)

    header = RouteMatch(prefix="", headers=(matcher,))
    return Row(match=header, takes=requests(takes), leaves=requests(leaves))


async def two_clusters(world: World) -> dict[str, Cluster]:
    """Return the two clusters by name, each with one endpoint."""
    return {
        name: single_locality(
            await world.addresses(1), name=name, policy=RoundRobin()
        ).get_cluster()
        for name in (MATCHED, OTHER)
    }


def with_routes(clusters: Mapping[str, Cluster], *routes: Route) -> XdsConfig:
    """Return the configuration of these routes to the clusters."""
    return XdsConfig(clusters=tuple(clusters.values()), routes=routes)


def to(name: str, match: RouteMatch = ANYTHING, domains: tuple[str, ...] = ("*",)) -> Route:
    """Return a route to one of the clusters."""
    return Route((), cluster=name, match=match, domains=domains)


def to_one(clusters: Clusters, name: str, *, rds: str | None = ROUTE) -> XdsConfig:
    """Return the configuration whose only route leads to this cluster; rds None: inline."""
    return msgspec.structs.replace(with_routes(clusters, to(name)), rds=rds)


async def check_table(world: World, clause: str, rows: Mapping[str, Row]) -> None:
    """Check that requests take the routes of a table, and no others.

    The route of each row has the match of the row, and is for requests of the row alone. Behind
    all of them is a route for everything.
    """
    clusters = await two_clusters(world)
    routes = [to(MATCHED, _of_row(name, row.match)) for name, row in rows.items()]
    await world.serve(with_routes(clusters, *routes, to(OTHER)))
    asked = [
        (path, {**headers, ROW: name}, cluster)
        for name, row in rows.items()
        for cluster, requests in ((MATCHED, row.takes), (OTHER, row.leaves))
        for path, headers in requests
    ]
    expected = routed_to(clusters, *(cluster for _, _, cluster in asked))
    calls = await calls_of(world, [(path, headers) for path, headers, _ in asked])
    await world.check(clause, calls, expected)


def _of_row(name: str, match: RouteMatch) -> RouteMatch:
    of_row = HeaderMatch(name=ROW, exact=name)
    return msgspec.structs.replace(match, headers=(*match.headers, of_row))


def routed_to(clusters: Mapping[str, Cluster], *expected: str) -> RoutedTo:
    """Return the expectation that calls reach these clusters, in this order."""
    where = tuple((name, cluster.addresses()[0]) for name, cluster in clusters.items())
    return RoutedTo(where, expected)


async def calls_of(world: World, requests: Iterable[Request]) -> Calls:
    """Make these requests, one after another."""
    rounds = [await world.call([headers], path=path) for path, headers in requests]
    return Calls(tuple(call for calls in rounds for call in calls))


def route_to(name: str) -> Route:
    """Return the route of calls whose header names this cluster."""
    return Route(BY_SESSION, cluster=name, when=(CLUSTER_HEADER, name))


def with_route(served: XdsConfig, name: str, cluster: str) -> XdsConfig:
    """Return the config with one route only: for calls that name `name`, to `cluster`."""
    route = msgspec.structs.replace(route_to(name), cluster=cluster)
    return msgspec.structs.replace(served, routes=(route,))


async def calls_to(
    world: World, root: str, count: int = 3, *, deadline: float | None = None
) -> Calls:
    """Make `count` calls by the route to this cluster."""
    headers = [{**session, CLUSTER_HEADER: root} for session in world.sessions(count)]
    return await world.call(headers, deadline=deadline)
