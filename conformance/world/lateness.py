"""How late the suite itself was: the evidence that a deadline passed because of the client."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from conformance import timing


class Lateness:
    """Measures by how much the event loop wakes later than it asked to."""

    def __init__(self) -> None:
        self.worst = 0.0
        """Seconds."""
        self.moments: list[tuple[float, float]] = []
        """When it should have woken, and when it did, where that is worth telling."""
        self._beat: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self._schedule()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._beat is not None:
            self._beat.cancel()

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + timing.HEARTBEAT
        self._beat = loop.call_at(due, self._came, due)

    def _came(self, due: float) -> None:
        now = asyncio.get_running_loop().time()
        self.worst = max(self.worst, now - due)
        if now - due > timing.TOLD_LATENESS:
            self.moments.append((due, now))
        self._schedule()
