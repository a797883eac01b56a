"""A61: an endpoint with several addresses on the ring, with the guard of A61 enabled."""

from itertools import product

import pytest

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    EndsWith,
    OneEndpoint,
    RoundsEndWith,
)
from conformance.judging.observations import Calls, Contrast
from conformance.scenarios.helpers.ring_order import LARGE, RingOrder
from conformance.world import ENOUGH_TO_DIFFER, ENOUGH_TO_TELL, Channel, World
from conformance.xds_config.config import XdsConfig, aggregate, logical_dns, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from test_servers import Close, Hold, Refuse, Serve

NAME = "several.xdspec.test"


GUARD = "GRPC_EXPERIMENTAL_XDS_DUALSTACK_ENDPOINTS"


def listed(*endpoints: Endpoint) -> XdsConfig:
    """Return a config with one locality of these endpoints."""
    return one_cluster((Locality(endpoints),), policy=LARGE)


async def guarded(world: World) -> Channel:
    """Open a channel in a process that enables additional addresses; A61 allows such a guard."""
    return await world.channels.open_in_new_process(**{GUARD: "true"})


async def check(world: World, clause: str, calls: Calls, served: XdsConfig) -> None:
    """Check calls by the ring, which is the same by A61 and in Envoy."""
    await world.check(clause, calls, {"A61": served.matches_ring(), "envoy": served.matches_ring()})


@scenario("A61-RING-01", "A61-RING-02", "A61-RING-04", seconds=0.6)
async def test_place_on_the_ring(world: World) -> None:
    """The first address of an endpoint determines its places on the ring.

    It is the lower of two in one endpoint, and the higher in another.
    """
    a, b, c, d, e = sorted(await world.addresses(5))
    others = Endpoint(d, 1, additional_addresses=(c,)), Endpoint(e, 4)
    served = listed(Endpoint(a, 3, additional_addresses=(b,)), *others)
    await world.serve(served)
    headers, channel = world.sessions(ENOUGH_TO_TELL), await guarded(world)
    calls = await world.call(headers, channel=channel)
    for clause in ("A61-RING-01", "A61-RING-02", "A61-RING-04"):
        await check(world, clause, calls, served)
    swapped = listed(Endpoint(b, 3, additional_addresses=(a,)), *others)
    await world.serve(swapped)

    async def by_endpoint() -> Calls:  # The client may keep its connection to the other address.
        return (await world.call(headers, channel=channel)).taken_for({a: b})

    calls = await world.eventually(swapped.matches_ring(), by_endpoint)
    await check(world, "A61-RING-04", calls, swapped)


@scenario("A61-RING-03", seconds=0.6)
async def test_second_address(world: World) -> None:
    """If the first address of an endpoint fails, the endpoint keeps its place on the ring.

    The first of three addresses never serves; at the end the second does not either.
    """
    first, second, third, *others = await world.endpoints(5)
    await first.set_mode(Refuse())
    served = listed(
        Endpoint(first.address, additional_addresses=(second.address, third.address)),
        *(Endpoint(other.address) for other in others),
    )
    await world.serve(served)
    headers, channel = world.sessions(ENOUGH_TO_TELL), await guarded(world)

    async def by_endpoint() -> Calls:
        calls = await world.call(headers, channel=channel)
        return calls.taken_for(dict.fromkeys((second.address, third.address), first.address))

    await check(world, "A61-RING-03", await by_endpoint(), served)
    await second.set_mode(Refuse())
    await second.kill()
    as_one = await world.eventually(served.matches_ring(), by_endpoint)
    await check(world, "A61-RING-03", as_one, served)


@scenario("A61-SUB-01", seconds=1)
async def test_one_address_failed(world: World) -> None:
    """An endpoint fails only after an attempt at each of its addresses has failed.

    The request waits for the last of three addresses, and is served there.
    """
    first, second, last, *others = await world.endpoints(5)
    await first.set_mode(Close())
    await second.set_mode(Close())
    await last.set_mode(Hold())
    served = listed(
        Endpoint(first.address, additional_addresses=(second.address, last.address)),
        *(Endpoint(other.address) for other in others),
    )
    key_format, channel = world.checks.key_format, await guarded(world)
    await world.serve(served)
    order = RingOrder(world, [first, *others], served, key_format)
    waiting = await world.start([order.request], channel=channel)
    await world.attempts.require_count(last, why="the addresses before it failed")
    held = await world.call([order.request], channel=channel, deadline=timing.HELD)
    await world.check("A61-SUB-01", held, EndsWith(status="DEADLINE_EXCEEDED"))
    await last.set_mode(Serve())
    await world.check("A61-SUB-01", await waiting.over(), AllServedBy((last.address,)))


@scenario("A61-GUARD-01", alone=True)
async def test_environment_guard(world: World) -> None:
    """An environment variable may guard additional addresses.

    Only the second address of the only endpoint serves.
    """
    first, second = await world.endpoints(2)
    await first.set_mode(Close())
    await world.serve(listed(Endpoint(first.address, additional_addresses=(second.address,))))
    header = world.sessions(1)
    unset = await world.call(header)
    switched_off = await world.channels.open_in_new_process(**{GUARD: "false"})
    off = await world.call(header, channel=switched_off)
    ends = {"used": "OK", "not used": "UNAVAILABLE"}
    choices = {
        f"{while_unset} when unset, {while_off} when false": RoundsEndWith(
            before=ends[while_unset], after=ends[while_off]
        )
        for while_unset, while_off in product(ends, repeat=2)
    }
    await world.check("A61-GUARD-01", Contrast(unset, off), choices)


@pytest.mark.parametrize("is_leaf", [False, True], ids=["cluster", "leaf"])
@scenario("A61-DNS-01", seconds=0.5)
async def test_logical_dns(world: World, *, is_leaf: bool) -> None:
    """All addresses of a LOGICAL_DNS cluster are one endpoint.

    A name has three addresses that serve. Twice the one in use fails. If the client connects to
    none, it may be unable to resolve the name, which is a precondition.
    """
    known = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
    channel = await world.channels.open_in_new_process({NAME: known})
    members = {endpoint.address: endpoint for endpoint in await world.registry.of_one_port(*known)}
    name = f"{NAME}:{next(iter(members.values())).port}"
    served = logical_dns(name, tuple(members), name="dns")
    await world.serve(aggregate(served) if is_leaf else served)
    headers = world.sessions(ENOUGH_TO_DIFFER)
    calls = await world.call(headers, channel=channel)
    if not any(member.attempts for member in members.values()):
        await world.preconditions.host_names(channel, name, *members.values())
    await world.check("A61-DNS-01", calls, OneEndpoint())
    while len(members) > 1 and (used := members.pop(calls.calls[0].endpoint or "", None)):
        await used.set_mode(Close())
        await used.kill()
        others = AllServedBy(tuple(members))
        calls = await world.eventually(others, lambda: world.call(headers, channel=channel))
        await world.check("A61-DNS-01", calls, others)
        await world.check("A61-DNS-01", calls, OneEndpoint())
