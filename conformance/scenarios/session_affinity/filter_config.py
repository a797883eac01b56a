"""A55: the config of the filter in a Listener, and its overrides in routes and virtual hosts."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from envoy.extensions.http.stateful_session.cookie.v3 import cookie_pb2
from envoy.extensions.http.stateful_session.header.v3 import header_pb2
from google.protobuf.struct_pb2 import Struct
from msgspec.structs import replace

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    EachServesSome,
    SetsCookies,
    SetsNoCookie,
)
from conformance.scenarios.helpers.sessions import (
    MEMBERS,
    SESSION_COOKIE,
    collect,
    serve_sessions,
    several,
)
from conformance.world import EMPTY, UNARY, World
from conformance.xds_config.config import LISTENER, ROUTE
from conformance.xds_config.routes import BY_SESSION, Route
from conformance.xds_config.sessions import SessionCookie
from fake_control_plane import Kind, resources, session_affinity

NAME = SESSION_COOKIE.name
NEEDS = ("response_headers",)
OF_ROUTE = SessionCookie(name="of-route")
OF_HOST = SessionCookie(name="of-host")


def by_header() -> Any:
    """Return a StatefulSession whose state is a header."""
    return session_affinity.with_session_state(header_pb2.HeaderBasedSessionState(name=NAME))


def unknown() -> Any:
    """Return a StatefulSession whose state is a message of another kind."""
    return session_affinity.with_session_state(Struct())


def without_cookie() -> Any:
    """Return a StatefulSession whose state has no cookie."""
    return session_affinity.with_session_state(cookie_pb2.CookieBasedSessionState())


@pytest.mark.parametrize(
    ("clause", "session"),
    [
        case("header", "A55-CONF-01", by_header),
        case("unknown", "A55-CONF-01", unknown),
        case("no-name", "A55-CONF-02", lambda: session_affinity.stateful_session("")),
        case("no-cookie", "A55-CONF-02", without_cookie),
        case("second", "A55-CONF-03", lambda: session_affinity.stateful_session(NAME, ttl=(-1, 0))),
        case(
            "nanosecond",
            "A55-CONF-03",
            lambda: session_affinity.stateful_session(NAME, ttl=(0, -1)),
        ),
    ],
)
@scenario(needs=NEEDS)
async def test_rejected_filter(world: World, clause: str, session: Callable[[], Any]) -> None:
    """The client rejects a Listener whose cookie is invalid."""
    await serve_sessions(world)
    await collect(world, [member.address for member in world.fleet.members])
    listener = resources.listener(LISTENER, route_config=ROUTE)
    answer = await world.control.offer(
        Kind.LISTENER, session_affinity.add_filter(listener, session())
    )
    await world.check(clause, answer, AckedOrNacked(acked=False))


@pytest.mark.parametrize("ttl", [None, (0, 0)], ids=["unset", "zero"])
@scenario("A55-CONF-04", needs=NEEDS)
async def test_cookie_of_a_name(world: World, ttl: tuple[int, int] | None) -> None:
    """The client uses a cookie that has no path, and no ttl or one of zero."""
    await serve_sessions(world, cookie=SessionCookie(name=NAME, ttl=ttl))
    calls = await world.call(world.sessions(MEMBERS))
    await world.check("A55-CONF-04", calls, SetsCookies(name=NAME))


def two_routes(override: SessionCookie | None) -> tuple[Route, ...]:
    """Return the route of UNARY, with an override, and a route for others."""
    return (Route(BY_SESSION, path=UNARY, session=override), Route(BY_SESSION))


async def check_cookies(world: World, clause: str, names: Mapping[str, str]) -> None:
    """Check the name of the cookie that responses to requests of each path set."""
    for path, name in names.items():
        expected = SetsCookies(name=name)
        make_calls = partial(world.call, world.sessions(MEMBERS), path=path)
        await world.check(clause, await world.eventually(expected, make_calls), expected)


@scenario("A55-CONF-05", needs=NEEDS)
async def test_override_of_route(world: World) -> None:
    """Requests of a route with an override get its cookie, others that of the Listener."""
    await serve_sessions(world, routes=two_routes(OF_ROUTE))
    await check_cookies(world, "A55-CONF-05", {UNARY: OF_ROUTE.name, EMPTY: NAME})


@scenario("A55-CONF-06", needs=NEEDS)
async def test_disabled_on_route(world: World) -> None:
    """Requests of a route that disables the filter are balanced, and get no cookie."""
    members, served = await serve_sessions(world)
    addresses = [member.address for member in members]
    cookies = await collect(world, addresses)
    message = replace(served, routes=two_routes(None)).route_configuration()
    session_affinity.override_session(message.virtual_hosts[0].routes[0], None)
    world.control.require_accepted(Kind.ROUTE, await world.control.offer(Kind.ROUTE, message))
    headers = several(world, [cookies[world.rng.choice(addresses)]])
    expected = EachServesSome(tuple(addresses))
    calls = await world.rounds.eventually_stable(expected, lambda: world.call(headers))
    await world.check("A55-CONF-06", calls, expected)
    await world.check("A55-CONF-06", calls, SetsNoCookie(NAME))


@scenario("A55-CONF-07", needs=NEEDS)
async def test_override_of_virtual_host(world: World) -> None:
    """Requests get the cookie of the route if it has one, or else that of the virtual host."""
    _, served = await serve_sessions(world)
    await collect(world, served.addresses())
    message = replace(served, routes=two_routes(OF_ROUTE)).route_configuration()
    session_affinity.override_session(message.virtual_hosts[0], OF_HOST.resource())
    world.control.require_accepted(Kind.ROUTE, await world.control.offer(Kind.ROUTE, message))
    await check_cookies(world, "A55-CONF-07", {EMPTY: OF_HOST.name, UNARY: OF_ROUTE.name})


@pytest.mark.parametrize("place", ["route", "virtual-host"])
@scenario("A55-CONF-08", needs=NEEDS)
async def test_rejected_override(world: World, place: str) -> None:
    """The client rejects routes whose override has a cookie without a name."""
    _, served = await serve_sessions(world)
    await collect(world, served.addresses())
    message = served.route_configuration()
    host = message.virtual_hosts[0]
    session_affinity.override_session(
        host.routes[0] if place == "route" else host, session_affinity.stateful_session("")
    )
    answer = await world.control.offer(Kind.ROUTE, message)
    await world.check("A55-CONF-08", answer, AckedOrNacked(acked=False))
