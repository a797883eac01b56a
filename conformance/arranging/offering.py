"""Updates of a Cluster that are odd in some way, as they are sent to a live channel."""

from __future__ import annotations

from conformance.judging.seen import Answer
from conformance.served.oddities import Odd
from conformance.served.routes import CLUSTER
from conformance.served.serving import Served
from conformance.world import World
from fake_control_plane import Kind


async def offered(world: World, served: Served, odd: Odd) -> Answer:
    """What the client says to the cluster of `served` with this, as to the clause it is about."""
    world.bench.turn_to(odd.clause)
    changed = odd.of(served.cluster())
    return await world.control.offer(Kind.CLUSTER, changed, told=f"{CLUSTER}, {odd}")
