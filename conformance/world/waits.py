"""Waits that report how they ended: only here a passed deadline is not an exception.

There are two kinds. An *observation* returns what was seen, fitting or not, and the scenario judges
it. A *precondition* that is not reached ends the scenario: it is a failure of the client if the
client had to bring it about, and an error of the suite if the suite had to. Every caller must
examine the result of its wait.
"""

from __future__ import annotations

import asyncio
import collections
import time
from collections.abc import Awaitable, Callable
from typing import Final, Generic, NamedTuple, TypeVar

from client_under_test.contract.exceptions import NotSeen
from conformance import timing
from fake_control_plane import DeadlinePassed
from test_servers import DeadlinePassed as FleetDeadlinePassed

T = TypeVar("T")


class Waited(NamedTuple, Generic[T]):
    """The result of a wait."""

    seen: T
    fits: bool
    """True if `seen` is what the caller waited for; False if the deadline passed."""


class Passed(NamedTuple):
    """A wait whose time was up, by the suite's monotonic clock."""

    began: float
    ended: float
    what: str
    """A description of the awaited event, as far as the wait knows it."""


PASSED: Final = collections.deque[Passed](maxlen=1000)
"""The last passed deadlines of this process, for the evidence of the scenario that it runs; a
process runs one scenario at a time. Older entries have no reader."""


async def came(
    waiting: Awaitable[object], *, within: float | None = None, is_noted: bool = True
) -> bool:
    """Wait until an event comes or its deadline passes; return whether it came.

    Args:
        waiting: the wait for the event.
        within: a deadline in seconds, if the wait has none.
        is_noted: whether the evidence lists the deadline if it passes.
    """
    began = time.monotonic()
    try:
        async with asyncio.timeout(within):
            await waiting
    except (DeadlinePassed, FleetDeadlinePassed, NotSeen, TimeoutError) as passed:
        if is_noted:
            PASSED.append(Passed(began, time.monotonic(), f"{passed}"))
        return False
    return True


async def watched(waiting: Awaitable[object]) -> None:
    """Wait for an event that need not come; the caller reads and judges the observation itself."""
    await came(waiting)


async def until(
    look: Callable[[], Awaitable[T]],
    fits: Callable[[T], bool],
    *,
    within: float,
    what: str = "what fits",
) -> Waited[T]:
    """Look repeatedly until the result fits; the last look starts after `within` seconds.

    Args:
        look: makes an observation.
        fits: returns whether the observation is the awaited one.
        within: the deadline in seconds.
        what: a description of the awaited observation, for the report of a passed deadline.
    """
    since = time.monotonic()
    deadline = since + within
    while True:
        began = time.monotonic()
        seen = await look()
        if fits(seen):
            return Waited(seen, fits=True)
        if began > deadline:
            PASSED.append(Passed(since, time.monotonic(), f"{what}, within {within:g} s"))
            return Waited(seen, fits=False)
        await asyncio.sleep(min(timing.LOOK_AGAIN, (time.monotonic() - since) / 4))
