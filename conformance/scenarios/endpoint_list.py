"""A42, ring_hash_experimental LB policy: lists of endpoints that are not as plain as others."""

from conformance.declare import decides
from conformance.expectations import Answered, Avoids
from conformance.serving import Endpoint, Locality
from conformance.world import World
from fake_control_plane import Kind


@decides("A42-RING-20")
async def test_address_listed_twice(world: World) -> None:
    """A27 has such a list rejected by now, which is not held against a client."""
    served = await world.plain_ring()
    a, b = await world.addresses(2)
    twice = served.placed(Locality((Endpoint(a, 1), Endpoint(b, 1), Endpoint(a, 2))))
    headers = world.telling(twice)
    await world.call(headers)
    answer = await world.offer(Kind.ENDPOINTS, twice.endpoints())
    if not answer.acked:
        await world.judge("A42-RING-20", answer, Answered(acked=False))
        return
    once = served.placed(Locality((Endpoint(a, 1), Endpoint(b, 1))))
    calls = await world.until(Avoids(served.addresses()), lambda: world.call(headers))
    await world.judge("A42-RING-20", calls, {"A42": twice.mapping(), "envoy": once.mapping()})
