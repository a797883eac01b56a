"""Names to addresses, again when asked, but not too often."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable
from typing import Final

from client_under_test.reference.transport.clock import Clock, Timer
from client_under_test.reference.transport.subchannels import BackoffDelay
from client_under_test.reference.values import Status

MIN_INTERVAL: Final = 30.0
"""Seconds from one resolution to the next, unless the application sets another time."""

_DEFAULT_PORT: Final = "443"

Result = tuple[str, ...] | Status
"""Addresses as "ip:port", at least one, or why there are none."""

LookUp = Callable[[str], Awaitable[tuple[str, ...]]]
"""Gives the addresses of a "host:port", or raises OSError or ValueError."""


class Name:
    """A "host:port" and what it resolves to at present.

    Args:
        name: the host and port.
        clock: where timers come from.
        min_interval: seconds between resolutions that were asked for.
        backoff_delay: times between resolutions that failed.
        rng: where jitter comes from.
        tell: is called, never from within, with each result.
        look_up: finds the addresses.
    """

    def __init__(
        self,
        name: str,
        *,
        clock: Clock,
        min_interval: float,
        backoff_delay: BackoffDelay,
        rng: random.Random,
        tell: Callable[[Result], None],
        look_up: LookUp | None = None,
    ) -> None:
        self._look_up = look_up or look_up_addresses
        self._name = name
        self._clock = clock
        self._min_interval = min_interval
        self._backoff_delay = backoff_delay
        self._rng = rng
        self._tell = tell
        self._failures = 0
        self._resolved_at = 0.0
        self._timer: Timer | None = None
        self._task: asyncio.Task[None] | None = None
        self._start()

    def resolve_again(self) -> None:
        """Ask for a fresh result, as soon as it may be."""
        if self._task is None and self._timer is None:
            self._start_after(self._resolved_at + self._min_interval - self._clock.now())

    def close(self) -> None:
        """Tell no more."""
        self._tell = _nobody
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _start_after(self, seconds: float) -> None:
        self._timer = self._clock.call_later(max(0.0, seconds), self._start)

    def _start(self) -> None:
        self._timer = None
        self._task = asyncio.get_running_loop().create_task(self._resolve())

    async def _resolve(self) -> None:
        self._resolved_at = self._clock.now()
        try:
            result: Result = await self._look_up(self._name)
        except (OSError, ValueError) as trouble:
            result = Status.unavailable(f"{self._name} cannot be resolved: {trouble}")
        self._task = None
        if isinstance(result, Status):
            self._failures += 1
            wait = self._backoff_delay(self._failures, self._rng.random())
            self._start_after(self._resolved_at + wait - self._clock.now())
        else:
            self._failures = 0
        self._tell(result)


async def look_up_addresses(name: str) -> tuple[str, ...]:
    """Ask for addresses, and for nothing else (A37).

    Clauses: A37-DNS-01, A37-DNS-05, A37-DNS-06, A37-DNS-15, A37-DNS-18, A37-DNS-19,
    A37-DNS-22, A37-DNS-24, A37-DNS-25.

    Raises:
        OSError, ValueError: there is none.
    """
    host, colon, port = name.rpartition(":")
    if not colon or (host.count(":") and not host.endswith("]")):
        host, port = name, _DEFAULT_PORT
    found = await asyncio.get_running_loop().getaddrinfo(
        host.removeprefix("[").removesuffix("]"), port, type=socket.SOCK_STREAM
    )
    if not found:
        raise OSError("no address")
    return tuple(dict.fromkeys(_text(family, *address[:2]) for family, _, _, _, address in found))


def _text(family: int, host: str | int, port: str | int | bytes) -> str:
    return f"[{host}]:{port!s}" if family == socket.AF_INET6 else f"{host}:{port!s}"


def _nobody(_result: Result) -> None:
    """Tells nobody."""
