"""A42, ring_hash_experimental LB policy: lists of endpoints that are not as plain as others."""

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

MANY = 200
"""Endpoints that hardly any request has picked before: each that comes wishes for another one."""

CALLS = 60
"""Requests of a turn: the last are made while the update that takes endpoints away comes in."""

TURNS = 16
"""A client in which a wish to connect outlives the endpoint was seen to die after one to three. Who
dies in every other one lives through all of them once in sixty thousand runs."""


@scenario("A42-RING-20")
async def test_address_listed_twice(world: World) -> None:
    """A27 has such a list rejected by now, which is not held against a client."""
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
    """Requests wish to connect to endpoints at the very moment at which an update removes these."""
    (kept,) = await world.addresses(1)
    going = await world.endpoints(MANY, mode=Stall())
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
            raise SuiteTimeout("each time the requests were over before the list was in use")
    await world.check("A42-PICK-23", calls, served)
