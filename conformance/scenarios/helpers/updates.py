"""Send changed resources, and require what the client does before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance import timing
from conformance.judging.aborts import Unsupported
from conformance.judging.observations import Answer
from conformance.world import World
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.endpoints import Locality
from conformance.xds_config.routes import CLUSTER
from conformance.xds_config.subscriptions import subscriptions
from conformance.xds_config.variants import RawClusterVariant, ResourceVariant
from fake_control_plane import Kind


async def require_subscribed(
    world: World, kind: Kind, served: XdsConfig, *, within: float = timing.ANSWER
) -> None:
    """Require that the client subscribes to all resources of this kind that it needs.

    Raises:
        PreconditionTimeout: it did not in time.
    """
    count = sum(subscribed is kind for subscribed, _ in subscriptions(served))
    await world.control.require_asked(kind, count, within=within)


async def require_rejected(world: World, kind: Kind, *bad: Any) -> None:
    """Send invalid resources, and require that the client rejects them.

    Raises:
        Unsupported: the client accepted them, so the effects of a rejection are not visible.
    """
    answer = await world.control.offer(kind, *bad)
    if answer.acked:
        raise Unsupported(f"it accepts a resource of {kind.name} that A27 requires it to reject")


async def first_rejected(
    world: World,
    served: XdsConfig,
    headers: Sequence[dict[str, str]],
    invalid: Sequence[Any],
) -> tuple[Any, Answer] | None:
    """Offer invalid Clusters until the client rejects one; return that one and the NACK.

    The scenario does not judge whether the client should accept the others. After each accepted
    Cluster, the control plane sends that of `served`.

    Args:
        world: the scenario's world.
        served: the config in use.
        headers: the headers of calls that show the ring in use.
        invalid: the Clusters.

    Returns:
        None if the client accepts all of them.
    """
    for cluster in invalid:
        answer = await world.control.offer(Kind.CLUSTER, cluster)
        if not answer.acked:
            return cluster, answer
        await world.control.offer(Kind.CLUSTER, served.cluster())
        why = "the control plane sent the last accepted Cluster again"
        await world.rounds.require(served.matches_ring(), lambda: world.call(headers), why=why)
    return None


FEW = 8
"""The most localities that a description lists."""


async def send_and_await_answer(
    world: World, served: XdsConfig, variant: ResourceVariant | RawClusterVariant
) -> Answer:
    """Send a variant of the cluster of `served`; return the client's ACK or NACK.

    From here on, an abort counts for the variant's clause.
    """
    world.checks.turn_to(variant.clause)
    changed = variant.of(served.cluster())
    return await world.control.offer(Kind.CLUSTER, changed, label=f"{CLUSTER}, {variant}")


async def send_endpoints_and_await_answer(
    world: World, served: XdsConfig, variant: ResourceVariant
) -> Answer:
    """Send a variant of the endpoints of the cluster of `served`; return the ACK or NACK."""
    world.checks.turn_to(variant.clause)
    changed = variant.of(served.endpoints())
    description = f"endpoints of {CLUSTER}, {variant}"
    return await world.control.offer(Kind.ENDPOINTS, changed, label=description)


async def send_localities_and_await_answer(
    world: World, served: XdsConfig, *localities: Locality
) -> Answer:
    """Send other localities of the cluster of `served`; return the client's ACK or NACK."""
    resource = served.with_localities(*localities).endpoints()
    description = "; ".join(map(str, localities[-FEW:]))
    if len(localities) > FEW:
        description = f"{len(localities)} localities, the last of them {description}"
    return await world.control.offer(Kind.ENDPOINTS, resource, label=description)
