"""A42, ring_hash_experimental LB policy: repeated addresses, and long lists that change often."""

from conformance import timing
from conformance.judging.aborts import SuiteTimeout
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    AttemptCount,
    NoneServedBy,
    fits,
)
from conformance.world import ENOUGH_TO_TELL, World
from conformance.xds_config.config import single_locality
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash
from fake_control_plane import Kind
from test_servers import Stall

MANY_ENDPOINTS = 200
"""Number of endpoints; nearly each new request picks one that no request has picked before."""

CALLS = 60
"""Requests of a turn; the last ones run while the update that removes endpoints arrives."""

TURNS = 16
"""A client in which a pending connection attempt outlived its endpoint crashed after one to three
turns. A client that crashes in half of the turns survives all of them once in 65,000 runs."""


@scenario("A42-RING-20")
async def test_address_listed_twice(world: World) -> None:
    """An address that is listed twice counts with the sum of its weights.

    A client may also reject the list, as A27 requires today.
    """
    served = await world.plain_ring()
    a, b = await world.addresses(2)
    twice = served.with_localities(Locality((Endpoint(a, 1), Endpoint(b, 1), Endpoint(a, 2))))
    headers = (*world.values.telling(twice), *world.sessions(ENOUGH_TO_TELL))
    await world.require_served(headers)
    answer = await world.control.offer(Kind.ENDPOINTS, twice.endpoints())
    if not answer.acked:
        await world.check("A42-RING-20", answer, AckedOrNacked(acked=False))
        await world.check("A42-RING-20", await world.call(headers), served.matches_ring())
        return
    once = served.with_localities(Locality((Endpoint(a, 1), Endpoint(b, 1))))
    calls = await world.eventually(NoneServedBy(served.addresses()), lambda: world.call(headers))
    await world.check(
        "A42-RING-20", calls, {"A42": twice.matches_ring(), "envoy": once.matches_ring()}
    )


@scenario("A42-PICK-23", needs=("metadata",), seconds=2)
async def test_many_come_and_go(world: World) -> None:
    """Requests pick again when an update removes the endpoints that they wait for.

    Requests trigger connection attempts at endpoints at the moment when an update removes them.
    """
    (kept,) = await world.addresses(1)
    going = await world.endpoints(MANY_ENDPOINTS, mode=Stall())
    config = single_locality((kept,), policy=RingHash(minimum=4096))
    many = single_locality((kept, *(each.address for each in going)), policy=RingHash(minimum=4096))
    await world.serve(config)
    await world.require_served(world.sessions(1))
    picked, served = AttemptCount(total=20, others=True), AllServedBy((kept,))
    wished = 0
    for _turn in range(TURNS):
        since = world.now
        await world.serve(many)
        waiting = await world.start(world.sessions(CALLS), pace=timing.THICK_PACE)
        tried = await world.attempts.until(picked, *going, since=since, within=timing.WISHES)
        wished += fits(picked, tried)
        await world.serve(config)
        calls = await waiting.over()
        if not fits(served, calls):
            break
    else:
        if not wished:
            raise SuiteTimeout("in each turn the requests ended before the list was in use")
    await world.check("A42-PICK-23", calls, served)
