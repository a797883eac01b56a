"""Waits that tell how they ended: the one place where a deadline that passes is no exception.

There are two kinds. An *observation* ends in what was seen, which is judged, whether it fits or
time was up. A *precondition* that is not reached ends the scenario: what a right client had to
bring about is a failure of the client, what this suite had to is an error of the suite. Nothing is
passed over: whoever uses one of these waits looks at what it says.
"""

from __future__ import annotations

import asyncio
import collections
import time
from collections.abc import Awaitable, Callable
from typing import Final, Generic, NamedTuple, TypeVar

from client_under_test.contract.exceptions import NotSeen
from fake_control_plane import DeadlinePassed
from test_servers import DeadlinePassed as FleetDeadlinePassed

T = TypeVar("T")


class Waited(NamedTuple, Generic[T]):
    """What a wait ended in."""

    seen: T
    fits: bool
    """Whether it is what was waited for; else time was up."""


class Passed(NamedTuple):
    """A wait whose time was up, by the suite's monotonic clock."""

    began: float
    ended: float
    what: str
    """What was waited for, as far as the wait knows."""


PASSED: Final = collections.deque[Passed](maxlen=1000)
"""The last ones of this process, for the evidence of the scenario in which they were; a process has
one scenario at a time. More than these nobody looks at."""


async def came(waiting: Awaitable[object], *, within: float | None = None) -> bool:
    """Wait for something that has a deadline, or else `within` so many seconds; whether it came."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(within):
            await waiting
    except (DeadlinePassed, FleetDeadlinePassed, NotSeen, TimeoutError) as passed:
        PASSED.append(Passed(began, time.monotonic(), f"{passed}"))
        return False
    return True


async def watched(waiting: Awaitable[object]) -> None:
    """Wait for something that need not come: what did is told elsewhere, and judged."""
    await came(waiting)


async def until(
    look: Callable[[], Awaitable[T]],
    fits: Callable[[T], bool],
    *,
    within: float,
    what: str = "what fits",
) -> Waited[T]:
    """Look again and again until it fits; the last look begins when so many seconds have passed.

    Args:
        look: takes a look.
        fits: whether what it saw is what is awaited.
        within: those seconds.
        what: is awaited, for who reads that it did not come.
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
