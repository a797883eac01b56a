"""Worlds with session affinity: serve the filter, collect cookies, and make calls with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from conformance.judging.aborts import WrongOutcome
from conformance.judging.expectations import EachServesSome, Expectation
from conformance.judging.observations import Calls
from conformance.spec.oracles.session_cookie import cookies_set
from conformance.world import UNARY, World
from conformance.xds_config.config import XdsConfig, single_locality
from conformance.xds_config.endpoints import Endpoint
from conformance.xds_config.policies import Policy, RoundRobin
from conformance.xds_config.routes import BY_SESSION, Route
from conformance.xds_config.sessions import SessionCookie
from conformance.xds_config.trees import with_clusters
from test_servers import BackendEndpoint

SESSION_COOKIE = SessionCookie(name="xdspec-affinity")
"""The cookie of most scenarios."""

MEMBERS = 3
"""Endpoints of most scenarios."""

PER_ENDPOINT = 8
"""Calls for each endpoint. Under ROUND_ROBIN they reach every endpoint without cookies; a client
that picks at random reaches one of three in all of 8 calls with a chance of 3^-8, and in all of the
24 calls for three cookies with a chance below 1e-11."""

Cookies = Mapping[str, str]
"""The value of a cookie for each endpoint."""


def with_sessions(served: XdsConfig, cookie: SessionCookie = SESSION_COOKIE) -> XdsConfig:
    """Return the configuration with the filter for session affinity."""
    return replace(served, session=cookie)


def of_cookie(value: str, name: str = SESSION_COOKIE.name) -> dict[str, str]:
    """Return the header of a request with a cookie."""
    return {"cookie": f"{name}={value}"}


async def serve_sessions(
    world: World,
    *,
    count: int = MEMBERS,
    policy: Policy = RoundRobin(),  # noqa: B008 - frozen
    cookie: SessionCookie = SESSION_COOKIE,
    statuses: tuple[str, ...] | None = None,
    routes: tuple[Route, ...] = (Route(BY_SESSION),),
) -> tuple[list[BackendEndpoint], XdsConfig]:
    """Serve one cluster of equal endpoints, with the filter; return both."""
    members = await world.endpoints(count)
    addresses = [member.address for member in members]
    plain = with_sessions(single_locality(addresses, policy=policy), cookie)
    served = with_status(replace(plain, routes=routes), statuses)
    await world.serve(served)
    return members, served


async def collect(
    world: World, addresses: Sequence[str], *, name: str = SESSION_COOKIE.name, path: str = UNARY
) -> dict[str, str]:
    """Return the value of the cookie that the client sets for each endpoint.

    Raises:
        WrongOutcome: a response set none.
        PreconditionTimeout: requests did not reach all endpoints.
    """
    headers = world.sessions(PER_ENDPOINT * len(addresses))
    calls = await world.rounds.require(
        EachServesSome(tuple(addresses)),
        lambda: world.call(headers, path=path),
        why="all endpoints serve",
    )
    cookies: dict[str, str] = {}
    for call in calls:
        found = cookies_set(call.headers, name)
        if not found:
            raise WrongOutcome(f"the response of {call.endpoint} sets no cookie {name}")
        cookies[call.endpoint or ""] = found[0].value
    return {address: cookies[address] for address in addresses}


def several(
    world: World, cookies: Iterable[str], *, name: str = SESSION_COOKIE.name
) -> list[dict[str, str]]:
    """Return the headers of PER_ENDPOINT calls with each cookie, each with another hash."""
    return [
        {**session, **of_cookie(value, name)}
        for value in cookies
        for session in world.sessions(PER_ENDPOINT)
    ]


def repeated(addresses: Iterable[str]) -> tuple[str, ...]:
    """Return the endpoints of the calls of `several`, in their order."""
    return tuple(address for address in addresses for _ in range(PER_ENDPOINT))


async def applied(
    world: World, served: XdsConfig, expected: Expectation, cookies: Iterable[str] = ()
) -> Calls:
    """Serve an update; return a round of calls that shows it, or the last one.

    Args:
        world: the scenario's world.
        served: the configuration.
        expected: what calls fit once the client uses it.
        cookies: of the calls; none: they have no cookie.
    """
    await world.serve(served)
    headers = several(world, cookies) or list(world.sessions(PER_ENDPOINT * MEMBERS))
    return await world.rounds.eventually_stable(expected, lambda: world.call(headers))


def with_health(served: XdsConfig, health: Mapping[str, str]) -> XdsConfig:
    """Return the configuration with other health statuses of some endpoints, by address."""
    return with_endpoints(
        served, lambda each: (replace(each, health=health.get(each.address, each.health)),)
    )


def without(served: XdsConfig, address: str, name: str | None = None) -> XdsConfig:
    """Return the configuration without an endpoint."""
    return with_endpoints(served, lambda each: (each,) * (each.address != address), name)


def with_endpoints(
    served: XdsConfig, change: Callable[[Endpoint], tuple[Endpoint, ...]], name: str | None = None
) -> XdsConfig:
    """Return the configuration with each endpoint of a cluster replaced by others, or none."""
    cluster = served.get_cluster(name)
    places = (
        replace(place, endpoints=tuple(chain.from_iterable(map(change, place.endpoints))))
        for place in cluster.localities
    )
    return with_clusters(served, cluster.with_localities(*places))


def with_status(served: XdsConfig, statuses: tuple[str, ...] | None) -> XdsConfig:
    """Return the configuration with an override_host_status, or without one."""
    return with_clusters(served, replace(served.get_cluster(), override_host_status=statuses))
