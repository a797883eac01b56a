"""Requests that are made while an update is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from conformance import timing
from conformance.judging.observations import Calls
from conformance.world import PendingCalls, World


class BackgroundTraffic:
    """Requests from before an update on.

    Those that see whether it is in use are looked at as well, so that none is missing in between.
    """

    def __init__(self, world: World, calls: PendingCalls, before: int) -> None:
        self._world = world
        self._calls = calls
        self._before = before

    @classmethod
    async def begin(cls, world: World, headers: Sequence[Mapping[str, str]]) -> Self:
        """Have one made after the other, with these headers."""
        before = len(world.calls.made)
        return cls(world, await world.start(headers, pace=timing.SOAK_PACE), before)

    async def over(self) -> Calls:
        """All that were made since."""
        await self._calls.over()
        return self._world.calls.made_after(self._before)
