"""The one place where the client gets time and timers of the specifications from."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable
from typing import Final, Protocol

VARIABLE: Final = "XDSPEC_REFERENCE_TIME_SCALE"
"""0.1 makes ten seconds of the specifications pass in one; the default is real time."""


class BadScale(Exception):
    """A time scale that is no positive number."""


class Timer(Protocol):
    """A timer that has been started."""

    def cancel(self) -> None:
        """Make it not fire; no matter if it has."""


class Clock:
    """Seconds of the specifications: backoff, failover, does-not-exist and their like.

    Deadlines of calls and the interval of load reports are not of this kind: they are set by
    others, in their own time, and are taken from the event loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, scale: float = 1.0) -> None:
        self._loop = loop
        self._scale = scale

    @classmethod
    def from_environment(cls, loop: asyncio.AbstractEventLoop) -> Clock:
        """Make a clock with the scale that the environment sets.

        Raises:
            BadScale: it is no positive number.
        """
        text = os.environ.get(VARIABLE, "1")
        try:
            scale = float(text)
        except ValueError:
            scale = 0.0
        if not 0 < scale < math.inf:
            raise BadScale(f"{VARIABLE} must be a positive number such as 0.1, not {text!r}")
        return cls(loop, scale)

    def now(self) -> float:
        """Monotonic seconds."""
        return self._loop.time() / self._scale

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` once, `seconds` from now."""
        return self._loop.call_later(seconds * self._scale, callback)
