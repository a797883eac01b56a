"""Updates of which the client may refuse some, as they are sent to a live channel."""

from __future__ import annotations

from conformance.judging.observations import Answer
from conformance.world import World
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.endpoints import Locality
from conformance.xds_config.routes import CLUSTER
from conformance.xds_config.variants import ClusterVariant, RawClusterVariant
from fake_control_plane import Kind

FEW = 8
"""Localities that are told one by one."""


async def send_and_await_answer(
    world: World, served: XdsConfig, odd: ClusterVariant | RawClusterVariant
) -> Answer:
    """What the client says to the cluster of `served` with this, as to the clause it is about."""
    world.checks.turn_to(odd.clause)
    changed = odd.of(served.cluster())
    return await world.control.offer(Kind.CLUSTER, changed, told=f"{CLUSTER}, {odd}")


async def send_endpoints_and_await_answer(
    world: World, served: XdsConfig, odd: ClusterVariant
) -> Answer:
    """The same of the endpoints of that cluster."""
    world.checks.turn_to(odd.clause)
    changed = odd.of(served.endpoints())
    told = f"endpoints of {CLUSTER}, {odd}"
    return await world.control.offer(Kind.ENDPOINTS, changed, told=told)


async def placed(world: World, served: XdsConfig, *localities: Locality) -> Answer:
    """What the client says to other localities of the one cluster of `served`."""
    resource = served.with_localities(*localities).endpoints()
    told = "; ".join(map(str, localities[-FEW:]))
    if len(localities) > FEW:
        told = f"{len(localities)} localities, the last of them {told}"
    return await world.control.offer(Kind.ENDPOINTS, resource, told=told)
