"""A client that takes in what is served without any request for it."""

from __future__ import annotations

from conformance.world import EMPTY, World
from conformance.xds_config.config import XdsConfig, merge, single_locality


async def serve_before_requests(world: World, served: XdsConfig) -> None:
    """Have the client take this in without any request for it.

    It came with another cluster, to which a request was made, and which is left out then. So no
    request can meet a route that is there before its cluster, as happens where both are new.

    Raises:
        ClientRefused, ClientSilent: as they say.
    """
    other = single_locality(await world.addresses(1), name="other", path=EMPTY)
    await world.serve(merge(served, other))
    await world.require_served(world.sessions(1), path=EMPTY)
    await world.serve(served)
