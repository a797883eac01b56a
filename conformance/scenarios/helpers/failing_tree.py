"""What trouble of a tree means for its requests, wherever it comes from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from conformance import timing
from conformance.judging.expectations import EndsInState, EndsWith, Fails
from conformance.judging.observations import Calls
from conformance.scenarios.helpers.aggregates import calls_to
from conformance.world import World
from conformance.xds_config.routes import TO

FAILS = Fails()
"""Requests to what is in TRANSIENT_FAILURE: no text names their status (A37-TROUBLE-36)."""

STATUSES: Mapping[str, EndsWith] = {code: EndsWith(code) for code in ("UNAVAILABLE", "INTERNAL")}
"""The statuses with which clients have been seen to fail them."""


async def errors_and_waits(
    world: World,
    root: str,
    mend: Callable[[], Awaitable[None]],
    *,
    within: float = timing.CALL,
) -> Calls:
    """Judge the channel's state, and requests that wait, while its only tree is in trouble.

    Args:
        world: of a scenario that needs the capabilities `watch` and `wait_for_ready`.
        root: of the tree that all routes lead to.
        mend: ends the trouble.
        within: seconds after which a request that has waited is served then.

    Returns:
        The one that was still waiting when the trouble ended.
    """
    watched = await world.states.watch()
    await world.check("A37-TROUBLE-34", await calls_to(world, root), FAILS)
    states = await world.states.until(watched, "TRANSIENT_FAILURE")
    await world.check("A37-TROUBLE-33", states, EndsInState(("TRANSIENT_FAILURE",)))
    waits = await world.start([{TO: root}], wait_for_ready=True, deadline=timing.HELD)
    await world.check("A37-TROUBLE-34", await waits.over(), EndsWith("DEADLINE_EXCEEDED"))
    waits = await world.start([{TO: root}], wait_for_ready=True, deadline=within)
    await mend()
    served = await waits.over()
    # Not all that mends it need come at once: any leaf may serve it.
    await world.check("A37-TROUBLE-34", served, EndsWith("OK"))
    return served
