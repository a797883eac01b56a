"""A55, LB Policy for Stateful Session Affinity: which endpoints a cookie may lead to."""

import pytest

from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    AttemptCount,
    EachServesSome,
    ServedInOrder,
    SetsCookies,
)
from conformance.scenarios.helpers.load_reports import apart, balanced, reported
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
    with_health,
    with_sessions,
    with_status,
    without,
)
from conformance.world import World
from conformance.xds_config.config import one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash, RoundRobin
from test_servers import Close, Hold, Serve

NAME = SESSION_COOKIE.name
NEEDS = ("response_headers",)
ALL_THREE = ("UNKNOWN", "HEALTHY", "DRAINING")


@scenario("A55-HOST-01", "A55-HOST-02", "A55-HOST-06", "A55-HOST-07", needs=NEEDS)
async def test_drains(world: World) -> None:
    """A session stays at its DRAINING endpoint, on its connection, until EDS removes it."""
    members, served = await serve_sessions(world, statuses=ALL_THREE)
    draining, *others = (member.address for member in members)
    cookies = await collect(world, (draining, *others))
    left = AllServedBy(tuple(others))
    calls = await applied(world, with_health(served, {draining: "DRAINING"}), left)
    await world.check("A55-HOST-01", calls, left)
    stays = AllServedBy((draining,))
    calls = await world.call(several(world, [cookies[draining]]))
    await world.check("A55-HOST-02", calls, stays)
    seen = world.attempts.seen(members[0])
    once = AttemptCount(least={draining: 1}, most={draining: 1})
    await world.check("A55-HOST-06", seen, once)
    calls = await applied(world, without(served, draining), left, [cookies[draining]])
    await world.check("A55-HOST-07", calls, left)


@pytest.mark.parametrize(
    "statuses", [None, ("UNKNOWN", "HEALTHY")], ids=["unset", "without-draining"]
)
@scenario("A55-HOST-03", needs=NEEDS)
async def test_drains_unlisted(world: World, statuses: tuple[str, ...] | None) -> None:
    """A session leaves a DRAINING endpoint if override_host_status does not have DRAINING."""
    members, served = await serve_sessions(world, statuses=statuses)
    draining, *others = (member.address for member in members)
    cookies = await collect(world, (draining, *others))
    left = AllServedBy(tuple(others))
    update = with_health(served, {draining: "DRAINING"})
    calls = await applied(world, update, left, [cookies[draining]])
    await world.check("A55-HOST-03", calls, left)
    await world.check("A55-HOST-03", calls, SetsCookies(name=NAME))


@pytest.mark.parametrize(
    "listed", ["UNKNOWN", "HEALTHY", None], ids=["unknown", "healthy", "unset"]
)
@scenario("A55-HOST-04", needs=NEEDS)
async def test_listed_status(world: World, listed: str | None) -> None:
    """A cookie leads to an endpoint only if its health status is in override_host_status."""
    members, plain = await serve_sessions(world, count=2)
    addresses = [member.address for member in members]
    cookies = await collect(world, addresses)
    health = dict(zip(addresses, ("UNKNOWN", "HEALTHY"), strict=True))
    served = with_health(with_status(plain, None if listed is None else (listed,)), health)
    for address in addresses:
        is_listed = listed in {None, health[address]}
        expected = AllServedBy((address,)) if is_listed else EachServesSome(tuple(addresses))
        calls = await applied(world, served, expected, [cookies[address]])
        await world.check("A55-HOST-04", calls, expected)


@pytest.mark.parametrize("health", ["UNHEALTHY", "TIMEOUT", "DEGRADED"])
@scenario("A55-HOST-05", needs=NEEDS)
async def test_unsupported_status(world: World, health: str) -> None:
    """The client accepts unsupported statuses, and sends no session to such an endpoint."""
    statuses = (*ALL_THREE, "UNHEALTHY", "TIMEOUT", "DEGRADED")
    members, served = await serve_sessions(world, statuses=statuses)
    bad, *others = (member.address for member in members)
    cookies = await collect(world, (bad, *others))
    expected = AllServedBy(tuple(others))
    calls = await applied(world, with_health(served, {bad: health}), expected, [cookies[bad]])
    await world.check("A55-HOST-05", calls, expected)


@scenario("A55-PICK-01", needs=(*NEEDS, "channels"))
async def test_idle_endpoint(world: World) -> None:
    """A cookie makes the client connect its IDLE endpoint, and the request waits for that."""
    members, _ = await serve_sessions(world, policy=RingHash())
    addresses = [member.address for member in members]
    cookies = await collect(world, addresses)
    by_hash = await world.call(world.sessions(PER_ENDPOINT * MEMBERS))
    channel = await world.channels.open()
    for address in addresses:
        elsewhere = next(call for call in by_hash if call.endpoint != address)
        headers = {**dict(elsewhere.metadata), **of_cookie(cookies[address])}
        calls = await world.call([headers] * PER_ENDPOINT, channel=channel)
        await world.check("A55-PICK-01", calls, AllServedBy((address,)))


@scenario("A55-PICK-02", needs=NEEDS)
async def test_connecting_endpoint(world: World) -> None:
    """A request waits while the endpoint of its cookie connects, although others are READY."""
    members, _ = await serve_sessions(world)
    held, *others = members
    cookies = await collect(world, [member.address for member in members])
    await held.set_mode(Hold())
    await held.kill()
    await world.attempts.require_count(held, 2, why="ROUND_ROBIN connects all endpoints")
    left = AllServedBy(tuple(other.address for other in others))
    headers = world.sessions(PER_ENDPOINT)
    await world.rounds.require(left, lambda: world.call(headers), why="one endpoint connects")
    waiting = await world.start(several(world, [cookies[held.address]]))
    await world.rounds.require(left, lambda: world.call(headers), why="one endpoint connects")
    await held.set_mode(Serve())
    await world.check("A55-PICK-02", await waiting.over(), AllServedBy((held.address,)))


@scenario("A55-PICK-03", needs=NEEDS)
async def test_failed_endpoint(world: World) -> None:
    """A request reaches another endpoint if that of its cookie has failed, and gets its cookie."""
    members, _ = await serve_sessions(world)
    failed, *others = members
    cookies = await collect(world, [member.address for member in members])
    await failed.set_mode(Close())
    await failed.kill()
    await world.attempts.require_count(failed, 2, why="ROUND_ROBIN connects all endpoints")
    expected = AllServedBy(tuple(other.address for other in others))
    headers = several(world, [cookies[failed.address]])
    calls = await world.rounds.eventually_stable(expected, lambda: world.call(headers))
    await world.check("A55-PICK-03", calls, expected)


@scenario("A55-PICK-04", needs=NEEDS, seconds=1.5, waits=True)
async def test_load_reports(world: World) -> None:
    """Requests with a cookie count for the localities of their endpoints."""
    served = with_sessions(apart(await world.endpoints(6)).with_policy(RingHash()))
    await world.serve(served)
    cookies = await collect(world, served.addresses())
    await world.require_served(several(world, cookies.values()))
    expected = balanced(served)
    await world.check("A55-PICK-04", await reported(world, expected), expected)


@scenario("A75-SESSION-01", needs=(*NEEDS, "channels"))
async def test_endpoint_in_another_priority(world: World) -> None:
    """A session stays at its endpoint when that moves to a priority that is not in use.

    A new channel has no connection to that endpoint before the first request with its cookie.
    """
    moved, first = await world.addresses(2)
    before = one_cluster((Locality((Endpoint(moved),), name="moved"),), policy=RoundRobin())
    await world.serve(with_sessions(before))
    cookies = await collect(world, [moved])
    after = before.with_localities(
        Locality((Endpoint(first),), name="first"),
        Locality((Endpoint(moved),), name="moved", priority=1),
    )
    calls = await applied(world, with_sessions(after), AllServedBy((first,)))
    await world.check("A75-SESSION-01", calls, AllServedBy((first,)))
    for channel in (await world.channels.default(), await world.channels.open()):
        calls = await world.call(several(world, [cookies[moved]]), channel=channel)
        await world.check("A75-SESSION-01", calls, AllServedBy((moved,)))


@scenario("A61-SESSION-01", "A61-SESSION-02", needs=NEEDS)
async def test_endpoints_of_two_addresses(world: World) -> None:
    """A cookie lists the addresses of its endpoint, and leads to any that is still listed."""
    members = await world.endpoints(4)
    pairs = tuple((used.address, other.address) for used, other in (members[:2], members[2:]))
    endpoints = tuple(Endpoint(used, additional_addresses=(further,)) for used, further in pairs)
    served = with_sessions(one_cluster((Locality(endpoints),), policy=RoundRobin()))
    await world.serve(served)
    used = tuple(address for address, _ in pairs)
    cookies = await collect(world, used)
    calls = await world.call(world.sessions(PER_ENDPOINT))
    await world.check("A61-SESSION-01", calls, SetsCookies(name=NAME, endpoints=pairs))
    remaining = tuple(Endpoint(further) for _, further in pairs)
    update = served.with_localities(Locality(remaining))
    moved = tuple(further for _, further in pairs)
    await applied(world, update, AllServedBy(moved))
    calls = await world.call(several(world, (cookies[address] for address in used)))
    await world.check("A61-SESSION-02", calls, ServedInOrder(repeated(moved)))
