"""A client that takes in what is served without any request for it."""

from __future__ import annotations

from conformance.world import EMPTY, World
from conformance.xds_config.config import Served, beside, plain


async def serve_unasked(world: World, served: Served) -> None:
    """Have the client take this in without any request for it.

    It came with another cluster, to which a request was made, and which is left out then. So no
    request can meet a route that is there before its cluster, as happens where both are new.

    Raises:
        ClientRefused, ClientSilent: as they say.
    """
    other = plain(await world.addresses(1), name="other", path=EMPTY)
    await world.serve(beside(served, other))
    await world.demand_served(world.sessions(1), path=EMPTY)
    await world.serve(served)
