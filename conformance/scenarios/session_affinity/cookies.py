"""A55, StatefulSessionFilter Processing: the cookies of requests and of responses."""

import base64
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    EachServesSome,
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
    of_cookie,
    repeated,
    serve_sessions,
    several,
    with_sessions,
    without,
)
from conformance.world import EMPTY, UNARY, Headers, World
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from conformance.xds_config.sessions import SessionCookie

NAME = SESSION_COOKIE.name
SERVICE = UNARY.rpartition("/")[0]
NEEDS = ("response_headers",)
LONGEST_TTL = 10_000_000

POLICIES = pytest.mark.parametrize(
    "policy", [RoundRobin(), RingHash()], ids=["round-robin", "ring-hash"]
)


@POLICIES
@scenario("A55-COOKIE-01", "A55-COOKIE-02", needs=NEEDS)
async def test_new_session(world: World, policy: Policy) -> None:
    """The response to a request without a cookie sets one that names the endpoint."""
    cookie = SessionCookie(name=f"c{world.rng.getrandbits(32)}")
    await serve_sessions(world, policy=policy, cookie=cookie)
    calls = await world.call(world.sessions(PER_ENDPOINT * MEMBERS))
    for clause in ("A55-COOKIE-01", "A55-COOKIE-02"):
        await world.check(clause, calls, SetsCookies(name=cookie.name))


@scenario("A55-COOKIE-01", needs=NEEDS)
async def test_cookie_of_another_name(world: World) -> None:
    """A request with cookies of other names only counts as one without a cookie."""
    await serve_sessions(world)
    others = ("", f"x{NAME}=1", f"{NAME}x=1", f"{NAME.upper()}=1", NAME, f"x={NAME}=1")
    calls = await world.call([{"cookie": other} for other in others * MEMBERS])
    await world.check("A55-COOKIE-01", calls, SetsCookies(name=NAME))


@pytest.mark.parametrize("path", [SERVICE, f"{SERVICE}/", UNARY], ids=["service", "slash", "exact"])
@scenario("A55-COOKIE-03", "A55-COOKIE-04", needs=NEEDS)
async def test_attributes(world: World, path: str) -> None:
    """The cookie has the configured path and ttl."""
    seconds = world.rng.randint(1, LONGEST_TTL)
    cookie = replace(SESSION_COOKIE, path=path, ttl=(seconds, world.rng.randrange(10**9)))
    await serve_sessions(world, cookie=cookie)
    calls = await world.call(world.sessions(MEMBERS))
    expected = {"path": path, "max-age": str(seconds)}
    for clause, key in (("A55-COOKIE-03", "path"), ("A55-COOKIE-04", "max-age")):
        attributes = {key: expected[key]}
        await world.check(clause, calls, SetsCookies(name=NAME, attributes=attributes))


@POLICIES
@scenario("A55-COOKIE-05", "A55-COOKIE-12", needs=NEEDS)
async def test_request_with_cookie(world: World, policy: Policy) -> None:
    """A request with the cookie of an endpoint reaches it, and its response sets no cookie."""
    members, _ = await serve_sessions(world, policy=policy)
    addresses = [member.address for member in members]
    cookies = await collect(world, addresses)
    world.rng.shuffle(addresses)
    calls = await world.call(several(world, (cookies[address] for address in addresses)))
    await world.check("A55-COOKIE-05", calls, ServedInOrder(repeated(addresses)))
    await world.check("A55-COOKIE-12", calls, SetsNoCookie(NAME))


def in_one(before: str, behind: str) -> Callable[[str], Headers]:
    """Return the header of a request, with other cookies before and behind that of the session."""
    return lambda value: {"cookie": f"{before}{NAME}={value}{behind}"}


def in_two(first: Callable[[str], str], second: Callable[[str], str]) -> Callable[[str], Headers]:
    """Return two cookie headers."""
    return lambda value: (("cookie", first(value)), ("cookie", second(value)))


def own(value: str) -> str:
    """Return the cookie of the session."""
    return f"{NAME}={value}"


def another(_value: str) -> str:
    """Return another cookie."""
    return "theme=dark"


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(in_one("theme=dark; ", ""), id="last"),
        pytest.param(in_one("", "; theme=dark"), id="first"),
        pytest.param(in_one(f"theme=a=b; x{NAME}=1; {NAME}x=2; ", "; flag; empty="), id="between"),
        pytest.param(in_two(own, another), id="first-header"),
        pytest.param(in_two(another, own), id="second-header"),
    ],
)
@scenario("A55-COOKIE-06", needs=NEEDS)
async def test_among_other_cookies(world: World, headers: Callable[[str], Headers]) -> None:
    """The client finds the cookie of the session among others."""
    members, _ = await serve_sessions(world)
    addresses = [member.address for member in members]
    cookies = await collect(world, addresses)
    asked = [headers(cookies[address]) for address in repeated(addresses)]
    calls = await world.call(asked)
    await world.check("A55-COOKIE-06", calls, ServedInOrder(repeated(addresses)))


@scenario("A55-COOKIE-07", needs=NEEDS)
async def test_two_cookies_of_the_name(world: World) -> None:
    """The client uses the first of two cookies of the configured name."""
    members, _ = await serve_sessions(world)
    addresses = [member.address for member in members]
    cookies = await collect(world, addresses)
    first, *_, last = addresses
    pairs = [(first, last), (last, first)] * PER_ENDPOINT
    both = [{"cookie": f"{own(cookies[left])}; {own(cookies[right])}"} for left, right in pairs]
    calls = await world.call(both)
    await world.check("A55-COOKIE-07", calls, ServedInOrder(tuple(left for left, _ in pairs)))


@pytest.mark.parametrize(
    "path",
    ["", "/", SERVICE, f"{SERVICE}/", UNARY],
    ids=["unset", "root", "service", "slash", "exact"],
)
@scenario("A55-COOKIE-08", needs=NEEDS)
async def test_path_that_matches(world: World, path: str) -> None:
    """The client processes requests whose path is at or below that of the cookie."""
    members, _ = await serve_sessions(world, cookie=replace(SESSION_COOKIE, path=path))
    addresses = [member.address for member in members]
    calls = await world.call(world.sessions(MEMBERS))
    await world.check("A55-COOKIE-08", calls, SetsCookies(name=NAME))
    cookies = await collect(world, addresses)
    calls = await world.call(several(world, cookies.values()))
    await world.check("A55-COOKIE-08", calls, ServedInOrder(repeated(cookies)))


@pytest.mark.parametrize(
    ("clause", "path"),
    [
        pytest.param(clause, path, id=name, marks=scenario(clause))
        for name, clause, path in (
            ("other-method", "A55-COOKIE-09", EMPTY),
            ("other-service", "A55-COOKIE-09", "/grpc.testing.OtherService"),
            ("longer", "A55-COOKIE-09", f"{UNARY}/more"),
            ("closing-slash", "A55-COOKIE-09", f"{UNARY}/"),
            ("case", "A55-COOKIE-09", SERVICE.lower()),
            ("part-of-method", "A55-COOKIE-10", UNARY[:-1]),
            ("part-of-service", "A55-COOKIE-10", SERVICE[:-1]),
        )
    ],
)
@scenario(needs=NEEDS)
async def test_path_that_does_not_match(world: World, clause: str, path: str) -> None:
    """The client neither uses nor sets a cookie whose path does not match that of the request."""
    members, served = await serve_sessions(world)
    addresses = [member.address for member in members]
    cookies = await collect(world, addresses)
    changed = with_sessions(served, replace(SESSION_COOKIE, path=path))
    value = cookies[world.rng.choice(addresses)]
    calls = await applied(world, changed, EachServesSome(tuple(addresses)), [value])
    await world.check(clause, calls, EachServesSome(tuple(addresses)))
    await world.check(clause, calls, SetsNoCookie(NAME))


def encoded(text: str) -> str:
    """Return a text in base64."""
    return base64.b64encode(text.encode()).decode()


NO_BASE64 = ("", "=", "====", "%%%", "a b", "\\", "{}", "~", ",", "A" * 4001, "====QUJD")

NO_ADDRESS = (
    *("", " ", ";", ",", ";cluster", "localhost:80", "1.2.3.4", "1.2.3.4:", ":80", "1.2.3.4:99999"),
    *("1.2.3.4:-1", "1.2.3:80", "[::1]", "[::1:80", "::1:80:", "\n", "\0", "ümlaut:80", "x" * 3000),
)


@pytest.mark.parametrize(
    "values",
    [NO_BASE64, tuple(map(encoded, NO_ADDRESS))],
    ids=["no-base64", "no-address"],
)
@scenario("A55-COOKIE-11", needs=NEEDS)
async def test_malformed_cookie(world: World, values: Sequence[str]) -> None:
    """A request with a malformed cookie succeeds, and its response sets a good one."""
    await serve_sessions(world)
    calls = await world.call([of_cookie(value) for value in values])
    await world.check("A55-COOKIE-11", calls, SetsCookies(name=NAME))


@scenario("A55-COOKIE-13", "A55-HOST-07", needs=NEEDS)
async def test_endpoint_is_gone(world: World) -> None:
    """Without the endpoint of its cookie a request reaches others, and gets a new cookie."""
    members, served = await serve_sessions(world)
    gone, *others = (member.address for member in members)
    cookies = await collect(world, (gone, *others))
    expected = AllServedBy(tuple(others))
    calls = await applied(world, without(served, gone), expected, [cookies[gone]])
    await world.check("A55-COOKIE-13", calls, SetsCookies(name=NAME))
    await world.check("A55-HOST-07", calls, expected)
