"""A60: sessions on routes to several clusters."""

from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    CookieForm,
    ServedInOrder,
    SetsCookies,
    SetsNoCookie,
)
from conformance.scenarios.helpers.sessions import (
    MEMBERS,
    PER_ENDPOINT,
    SESSION_COOKIE,
    applied,
    collect,
    repeated,
    several,
    with_sessions,
    without,
)
from conformance.spec.oracles.session_cookie import FORMS
from conformance.world import World
from conformance.xds_config.config import XdsConfig, merge, single_locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.routes import BY_SESSION, Route

NAME = SESSION_COOKIE.name
NEEDS = ("response_headers",)
ONE, TWO = "one", "two"
HALVES = {ONE: 50, TWO: 50}
"""Equal weights: a client that draws the cluster sends all of 8 calls to one with a chance of
1/256, and all of the 32 calls with four cookies as expected with a chance below 1e-9."""


async def two_clusters(world: World) -> XdsConfig:
    """Serve a route to two clusters of two endpoints each, with the filter."""
    first, second = [
        single_locality(await world.addresses(2), name=name, policy=RoundRobin())
        for name in (ONE, TWO)
    ]
    served = with_sessions(replace(merge(first, second), routes=(halves(),)))
    await world.serve(served)
    return served


def halves() -> Route:
    """Return the route to both clusters."""
    return Route(BY_SESSION, weighted_clusters=HALVES)


def clusters_of(served: XdsConfig) -> dict[str, str]:
    """Return the name of the cluster of each endpoint."""
    return {address: each.name for each in served.clusters for address in each.addresses()}


@scenario("A60-CLUSTER-01", "A60-CLUSTER-02", needs=NEEDS)
async def test_cookie_names_cluster(world: World) -> None:
    """A cookie has the name of the cluster that served the request."""
    clusters = clusters_of(await two_clusters(world))
    await collect(world, tuple(clusters))
    calls = await world.call(world.sessions(PER_ENDPOINT * MEMBERS))
    await world.check("A60-CLUSTER-01", calls, SetsCookies(name=NAME, clusters=clusters))
    forms = {form: CookieForm(name=NAME, form=form, clusters=clusters) for form in FORMS}
    await world.check("A60-CLUSTER-02", calls, forms)


@scenario("A60-CLUSTER-03", "A60-CLUSTER-04", needs=NEEDS)
async def test_cluster_of_the_cookie(world: World) -> None:
    """A session stays in the cluster of its cookie, whatever the weights of the route."""
    cookies = await collect(world, tuple(clusters_of(await two_clusters(world))))
    calls = await world.call(several(world, cookies.values()))
    await world.check("A60-CLUSTER-03", calls, ServedInOrder(repeated(cookies)))
    await world.check("A60-CLUSTER-04", calls, SetsNoCookie(NAME))


@scenario("A60-CLUSTER-05", needs=NEEDS)
async def test_cluster_leaves_the_route(world: World) -> None:
    """A request whose cookie names a cluster that its route does not have uses one that it has."""
    served = await two_clusters(world)
    clusters = clusters_of(served)
    cookies = await collect(world, tuple(clusters))
    gone = [cookies[address] for address, name in clusters.items() if name == ONE]
    expected = AllServedBy(served.get_cluster(TWO).addresses())
    only = replace(served, routes=(Route(BY_SESSION, cluster=TWO),))
    calls = await applied(world, only, expected, gone)
    await world.check("A60-CLUSTER-05", calls, expected)
    await world.check("A60-CLUSTER-05", calls, SetsCookies(name=NAME, clusters=clusters))


@scenario("A60-CLUSTER-06", needs=NEEDS)
async def test_endpoint_leaves_the_cluster(world: World) -> None:
    """A session stays in the cluster of its cookie when its endpoint is gone."""
    served = await two_clusters(world)
    gone, stays = served.get_cluster(ONE).addresses()
    cookies = await collect(world, tuple(clusters_of(served)))
    headers = several(world, [cookies[gone]] * MEMBERS)
    await world.serve(without(served, gone, ONE))
    expected = AllServedBy((stays,))
    calls = await world.rounds.eventually_stable(expected, lambda: world.call(headers))
    await world.check("A60-CLUSTER-06", calls, expected)
