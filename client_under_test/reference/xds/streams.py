"""A stream to the control plane that is kept up for as long as it is wanted."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Protocol

from client_under_test.reference.transport.clock import Clock, Timer
from client_under_test.reference.transport.http2 import Connection, Header
from client_under_test.reference.transport.rpc import Rpc
from client_under_test.reference.transport.subchannels import BackoffDelay
from client_under_test.reference.values import BackendMetrics, Status


class StreamUser(Protocol):
    """The protocol that uses the stream."""

    def started(self) -> None:
        """Note that a new stream is up, with no message on it yet."""

    def message(self, data: bytes) -> None:
        """Take a message from the server."""

    def ended(self, status: Status) -> None:
        """Note that the stream is over; another stream follows if one is still wanted."""


class KeptStream:
    """Opens a stream when it is wanted and there is a connection, again after it has ended.

    The delay grows like gRPC's connection backoff and counts from the start of the last stream. A
    response from the server resets it. Depending on the status that ended a stream, no stream
    follows until one is wanted again.
    """

    def __init__(
        self,
        path: str,
        user: StreamUser,
        *,
        authority: str,
        clock: Clock,
        backoff_delay: BackoffDelay,
        rng: random.Random,
        reopens: Callable[[str], bool] = lambda _: True,
        backoff_failures: Callable[[int], int] = lambda failures: failures,
        response_ends_backoff: bool = True,
    ) -> None:
        self._reopens = reopens
        self._backoff_failures = backoff_failures
        self._response_ends_backoff = response_ends_backoff
        self._path = path
        self._user = user
        self._authority = authority
        self._clock = clock
        self._backoff_delay = backoff_delay
        self._rng = rng
        self._is_wanted = False
        self._connection: Connection | None = None
        self._rpc: Rpc | None = None
        self._timer: Timer | None = None
        self._failures = 0
        self._started_at = 0.0

    def want(self, *, wanted: bool) -> None:
        """Set whether a stream is wanted; end an unwanted one at once."""
        self._is_wanted = wanted
        if not wanted and self._rpc is not None:
            rpc, self._rpc = self._rpc, None
            rpc.cancel()
            self._user.ended(Status("CANCELLED", "the stream is not wanted any more"))
        self._open()

    def use(self, connection: Connection | None) -> None:
        """Use this connection from now on. Streams of a lost connection end by themselves."""
        self._connection = connection
        self._open()

    def send(self, message: bytes) -> None:
        """Say something on the stream, which is up."""
        if self._rpc is not None:
            self._rpc.send(message)

    def close(self) -> None:
        """End it for good."""
        self.want(wanted=False)
        if self._timer is not None:
            self._timer.cancel()

    def _open(self) -> None:
        if self._is_wanted and self._connection and self._rpc is None and self._timer is None:
            self._started_at = self._clock.now()
            self._rpc = Rpc(
                self._connection, authority=self._authority, path=self._path, listener=self
            )
            self._user.started()

    # What the RPC reports.

    def opened(self, headers: Sequence[Header]) -> None:
        """Response headers say nothing."""

    def message(self, data: bytes) -> None:
        """Hand it on: a server that answers is a good one."""
        if self._response_ends_backoff:
            self._failures = 0
        self._user.message(data)

    def finished(self, status: Status, _metrics: BackendMetrics | None = None) -> None:
        """Wait for the rest of the backoff, and open the next one."""
        if self._rpc is None:
            return
        self._rpc = None
        if not self._reopens(status.code):
            self._is_wanted = False
        self._failures += 1
        wait = self._backoff_delay(self._backoff_failures(self._failures), self._rng.random())
        left = max(0.0, self._started_at + wait - self._clock.now())
        self._timer = self._clock.call_later(left, self._on_timer)
        self._user.ended(status)

    def _on_timer(self) -> None:
        self._timer = None
        self._open()
