"""Requests that stay open, begun one after the other: each finds those before it counted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from conformance import timing
from conformance.judging.endings import ClientStuck
from conformance.world import World
from conformance.world.under_way import UnderWay
from test_servers import DeadlinePassed

KEPT_OPEN = {"rpc-behavior": "keep-open"}
"""Has a backend never answer."""


async def opened(
    world: World, headers: Sequence[Mapping[str, str]], *, deadline: float = timing.CALL
) -> list[UnderWay]:
    """Begin a request with each of these headers that no backend answers, one after the other.

    Each has reached a backend, or ended, before the next one begins. Circuit breaking looks and
    counts in two steps: of several at once too many may pass.

    Args:
        world: of the scenario, whose client has the capability `kept_open`.
        headers: of each.
        deadline: of each.

    Raises:
        ClientStuck: one did neither in time.
    """
    begun = []
    for one in headers:
        known = len(world.fleet.ledger.rpcs)
        started = await world.start([{**one, **KEPT_OPEN}], deadline=deadline)
        begun.append(started)
        arrival = world.fleet.ledger.wait(lambda _: True, since=known, deadline=timing.EVENT)
        either = [asyncio.ensure_future(anext(started.ends(), 0)), asyncio.ensure_future(arrival)]
        try:
            done, _ = await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                await each
        except DeadlinePassed as passed:
            raise ClientStuck(f"{passed}: a request neither reached a backend nor ended") from None
        finally:
            for each in either:
                each.cancel()
            await asyncio.gather(*either, return_exceptions=True)
    return begun
