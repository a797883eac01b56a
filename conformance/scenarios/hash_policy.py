"""A42, Hash Policy: how a request gets its hash."""

from conformance.declare import decides
from conformance.serving import plain
from conformance.world import World


@decides("A42-HASH-03")
async def test_header(world: World) -> None:
    """The value of the header decides, by XXH64."""
    served = plain(await world.addresses(4))
    await world.serve(served)
    calls = await world.call(world.sessions(200))
    await world.judge("A42-HASH-03", calls, served.mapping())
