"""Make requests wait for resources that are never sent, and check the time until they end."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from msgspec.structs import replace

from conformance import timing
from conformance.judging.expectations import Duration
from conformance.scenarios.helpers.updates import require_subscribed
from conformance.world import PendingCalls, World
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.routes import CLUSTER_HEADER
from fake_control_plane import Kind

THE_WHOLE_TIME: Final = Duration(
    least=timing.ABSENCE - timing.ABSENCE_EARLY,
    most=timing.NO_SUCH_RESOURCE,
    allowance=timing.BELIEVED,
)


async def waiting_for_all(world: World, kind: Kind, lacks: XdsConfig) -> dict[str, PendingCalls]:
    """Start requests to each root; wait until the client has subscribed to all of this kind."""
    await world.serve(lacks)
    roots = [name for route in lacks.routes for name in route.targets()]
    waiting = {root: await started(world, root) for root in roots}
    await require_subscribed(world, kind, lacks, within=timing.NO_SUCH_RESOURCE)
    return waiting


TWICE_THE_TIME: Final = replace(
    THE_WHOLE_TIME,
    least=timing.LONG_ABSENCE - timing.ABSENCE_EARLY,
    most=timing.LONG_ABSENCE + timing.APPLY,
)
"""The time of A88."""


async def started(
    world: World, root: str, *, deadline: float = timing.AFTER_ABSENCE
) -> PendingCalls:
    """Start requests to a root that wait until the missing resources are known to be missing."""
    return await world.start([{CLUSTER_HEADER: root}] * 3, deadline=deadline)


async def check_time(
    world: World,
    kind: Kind,
    missing: Collection[str],
    waited: Iterable[PendingCalls],
    *,
    clause: str = "A57-TIMER-01",
    time: Duration = THE_WHOLE_TIME,
    beyond: int = 0,
    since: int = 0,
) -> None:
    """Check that none of these requests ended too early or too late.

    Args:
        world: the scenario's world.
        kind: kind of the missing resources.
        missing: names of the missing resources.
        waited: requests that have ended.
        clause: the clause to check.
        time: the expected duration.
        beyond: number of the last stream that does not count.
        since: mark of the control plane before which no request counts.
    """
    asked = world.control.first_asked(kind, *missing, beyond=beyond, since=since)
    ended = [end for wait in waited for _, end in wait.spans.values()]
    for which, choose in (("first", min), ("last", max)):
        took = world.clock.elapsed(
            f"the {which} request for a resource that is never sent",
            world.clock.at(choose(asked)),
            f"the {which} end of a call",
            choose(ended),
        )
        await world.check(clause, took, time)
