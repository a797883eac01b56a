"""Which worker runs what: scenarios that wait for a timer run beside those that work.

A scenario that waits ten seconds for a timer of the client costs next to no processor time. So all
of them are dealt out at the start to workers of their own, and the other workers take the rest one
by one, the longest first. A scenario's process never does both at once, so what a time is judged by
is delayed by no work of its own.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping
from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScheduling
from xdist.workermanage import WorkerController

MOST_WAITING: Final = 8
"""Workers for scenarios that wait. Each costs half a second of processor time, its client's too."""


def piles_of(
    waiting: Mapping[str, float], *, meanwhile: float, most: int = MOST_WAITING
) -> tuple[tuple[str, ...], ...]:
    """Deal scenarios that wait out to as few workers as are through with them in time.

    Args:
        waiting: how many seconds each takes.
        meanwhile: for how many seconds the others work.
        most: workers. Without any, all are left to the others.
    """
    if not waiting or not most:
        return ()
    time = max(meanwhile, *waiting.values())
    return dealt(waiting, min(most, math.ceil(sum(waiting.values()) / time)))


def dealt(seconds: Mapping[str, float], workers: int) -> tuple[tuple[str, ...], ...]:
    """Scenarios for each worker: the longest first, each to the worker with the least to do."""
    piles: list[list[str]] = [[] for _ in range(workers)]
    loads = [(0.0, number) for number in range(workers)]
    for name in sorted(seconds, key=lambda one: (-seconds[one], one)):
        load, number = heapq.heappop(loads)
        piles[number].append(name)
        heapq.heappush(loads, (load + seconds[name], number))
    return tuple(map(tuple, piles))


class Overlapping(LoadScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out what is collected: xdist asks for it by ``pytest_xdist_make_scheduler``.

    A worker begins when it has collected, whether the others have or not. The first ones get what
    waits: so nobody else is handed any of it.

    Args:
        config: of the command.
        log: xdist's.
        piles: of scenarios that wait, by node id: one for each worker that is to have nothing else.
    """

    collection: list[str] | None

    def __init__(
        self, config: pytest.Config, log: Producer | None, piles: Iterable[tuple[str, ...]]
    ) -> None:
        super().__init__(config, log)
        self._names = tuple(piles)
        self._piles: list[list[int]] = []
        self._begun: set[WorkerController] = set()

    @property
    def collection_is_completed(self) -> bool:
        """Whether something can be handed out: xdist calls `schedule` if so."""
        return bool(self.node2collection)

    def schedule(self) -> None:
        """Give those that have collected since their share."""
        if self.collection is None:
            self.collection = next(iter(self.node2collection.values()))
            self.pending[:] = range(len(self.collection))
            index = {name: number for number, name in enumerate(self.collection)}
            self._piles = [[index[name] for name in pile] for pile in self._names]
        for node in [one for one in self.node2collection if one not in self._begun]:
            self._begun.add(node)
            if self._piles:
                self._send(node, self._piles.pop(0))
                node.shutdown()  # it ends when it is through with its pile
            else:
                self.check_schedule(node)

    def check_schedule(self, node: WorkerController, duration: float = 0) -> None:  # noqa: ARG002
        """Keep a worker in one scenario and the knowledge of the next, for which it warms up."""
        if node.shutting_down or node not in self._begun:
            return
        self._send(node, self.pending[: max(2 - len(self.node2pending[node]), 0)])
        if not self.pending:
            node.shutdown()

    def _send(self, node: WorkerController, numbers: list[int]) -> None:
        if numbers:
            self.pending[:] = [number for number in self.pending if number not in numbers]
            self.node2pending[node].extend(numbers)
            node.send_runtest_some(numbers)
