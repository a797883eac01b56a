"""Subchannels: one address each, connected on request, with explicit states and backoff.

`ConnectionAttempt` is the I/O of one connection, `LiveSubchannel` the rules of when there is one.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final

from client_under_test.reference.transport.clock import Clock, Timer
from client_under_test.reference.transport.http2 import Connection
from client_under_test.reference.values import State, Status

CONNECT_TIMEOUT: Final = 20.0
"""Seconds for an attempt to get READY, unless the application sets another time."""

BackoffDelay = Callable[[int, float], float]
"""Seconds to wait, by the number of attempts that failed in a row and an even draw from 0 to 1."""


class ConnectionAttempt:
    """A connection on its way to READY, and then the connection."""

    def __init__(
        self,
        address: str,
        *,
        clock: Clock,
        timeout: float,
        on_ready: Callable[[], None],
        on_over: Callable[[str], None],
    ) -> None:
        self._on_ready = on_ready
        self._on_over = on_over
        self._is_over = False
        self.connection: Final = Connection(self)
        words = f"{address} did not get ready within {timeout:g} s"
        self._timer: Timer | None = clock.call_later(timeout, lambda: self._end(words))
        self._task = asyncio.get_running_loop().create_task(self._connect(address))

    async def _connect(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(
                lambda: self.connection, host.removeprefix("[").removesuffix("]"), int(port)
            )
        except (OSError, ValueError) as trouble:
            self._end(f"cannot connect to {address}: {trouble}")

    def close(self, *, gently: bool = False) -> None:
        """Give it up, at whatever stage; nothing is reported. Gently: streams may end first."""
        self._is_over = True
        self._stop_timer()
        self._task.cancel()
        if gently:
            self.connection.close_when_unused()
        else:
            self.connection.close()

    def _end(self, reason: str, *, gently: bool = False) -> None:
        if not self._is_over:
            self.close(gently=gently)
            self._on_over(reason)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # What the connection reports.

    def ready(self) -> None:
        """Note that the server's SETTINGS have arrived."""
        self._stop_timer()
        self._on_ready()

    def draining(self) -> None:
        """End the subchannel's connection: the server accepts no more streams."""
        self._end("the server is going away", gently=True)

    def closed(self, reason: str) -> None:
        """Note that the connection is gone."""
        self._end(reason)


class LiveSubchannel:
    """IDLE until asked, then CONNECTING; READY until the connection is lost, then IDLE.

    A failed attempt means TRANSIENT_FAILURE for the time of its backoff, and IDLE after it: only a
    new `connect` makes a new attempt.

    Args:
        address: "ip:port" or "[v6]:port".
        clock: where its timers come from.
        backoff_delay: how long to wait from the start of a failed attempt.
        connect_timeout: seconds for an attempt.
        rng: where jitter comes from.
        on_change: receives each new state, with the status of a failure.
    """

    def __init__(
        self,
        address: str,
        *,
        clock: Clock,
        backoff_delay: BackoffDelay,
        connect_timeout: float = CONNECT_TIMEOUT,
        rng: random.Random,
        on_change: Callable[[State, Status | None], None],
    ) -> None:
        self._address = address
        self._clock = clock
        self._backoff_delay = backoff_delay
        self._connect_timeout = connect_timeout
        self._rng = rng
        self._on_change = on_change
        self.state = State.IDLE
        self.failure: Status | None = None
        self._failures = 0
        self._attempted_at = 0.0
        self._attempt: ConnectionAttempt | None = None
        self._timer: Timer | None = None

    @property
    def connection(self) -> Connection | None:
        """The connection, while READY."""
        if self.state is State.READY and self._attempt is not None:
            return self._attempt.connection
        return None

    def connect(self) -> None:
        """Make an attempt, if IDLE."""
        if self.state is State.IDLE:
            self._attempted_at = self._clock.now()
            wait = self._backoff_delay(self._failures + 1, self._rng.random())
            self._attempt = ConnectionAttempt(
                self._address,
                clock=self._clock,
                # A server that is slow to answer gets at least as long as the next wait is.
                timeout=max(wait, self._connect_timeout),
                on_ready=self._on_ready,
                on_over=lambda reason: self._on_over(reason, wait),
            )
            self._become(State.CONNECTING)

    def close(self) -> None:
        """Give an attempt up, or close a connection once it is unused; no callback follows."""
        if self._timer is not None:
            self._timer.cancel()
        if self._attempt is not None:
            self._attempt.close(gently=self.state is State.READY)
        self._on_change = _nobody

    def _become(self, state: State, status: Status | None = None) -> None:
        self.state, self.failure = state, status
        self._on_change(state, status)

    def _on_ready(self) -> None:
        self._failures = 0
        self._become(State.READY)

    def _on_over(self, reason: str, wait: float) -> None:
        self._attempt = None
        if self.state is State.READY:
            self._become(State.IDLE)
            return
        self._failures += 1
        left = max(0.0, self._attempted_at + wait - self._clock.now())
        self._timer = self._clock.call_later(left, self._on_backoff_over)
        self._become(State.TRANSIENT_FAILURE, Status.unavailable(f"{self._address}: {reason}"))

    def _on_backoff_over(self) -> None:
        self._timer = None
        self._become(State.IDLE)


def _nobody(_state: State, _status: Status | None) -> None:
    """Tells nobody."""
