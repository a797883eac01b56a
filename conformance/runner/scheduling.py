"""Which worker runs what: scenarios that wait for a timer run beside those that work.

A scenario that waits ten seconds for a timer of the client costs next to no processor time. So
workers of their own take them, and the other workers take the rest, each the longest first. How
long one takes is another thing for each client: so it is dealt out one by one, and workers that are
through with what works help with what waits. While processors are idle all the same, workers are
added. A scenario's process never does both at once, so what
a time is judged by is delayed by no work of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScheduling
from xdist.workermanage import WorkerController

from conformance.runner.growth import Growing

MOST_WAITING: Final = 8
"""Workers for scenarios that wait. Each costs half a second of processor time, its client's too."""

WORTH_A_WORKER: Final = 2.5
"""Seconds that scenarios declare for which a worker is started, whose start takes some 0.7 s of
processor time. Most scenarios take half of what they declare."""


class Waiting(NamedTuple):
    """Scenarios that wait for timers, the longest first, and the number of workers for them."""

    names: tuple[str, ...] = ()
    workers: int = 0


def workers_for(seconds: float) -> int:
    """Return as many workers as are worth their start for scenarios that declare these seconds."""
    return max(1, math.ceil(seconds / WORTH_A_WORKER))


def waiting_of(
    seconds: Mapping[str, float], *, meanwhile: float, most: int = MOST_WAITING
) -> Waiting:
    """As few workers for scenarios that wait as are through with them in time.

    Args:
        seconds: how long each takes.
        meanwhile: for how many seconds the others work.
        most: workers. Without any, all are left to the others.
    """
    if not seconds or not most:
        return Waiting()
    time = max(meanwhile, *seconds.values())
    names = tuple(sorted(seconds, key=lambda index: (-seconds[index], index)))
    return Waiting(names, min(most, math.ceil(sum(seconds.values()) / time)))


def openings(waiting: Waiting) -> tuple[tuple[str, ...], ...]:
    """Return the first two scenarios of each worker: the longest one gets the shortest second.

    A worker begins only when it knows what comes after; what comes then is dealt out as it goes.
    """
    first, then = waiting.names[: waiting.workers], waiting.names[waiting.workers :]
    second = then[: len(first)][::-1]
    alone = len(first) - len(second)
    return (*((index,) for index in first[:alone]), *zip(first[alone:], second, strict=True))


class Overlapping(LoadScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out what is collected: xdist asks for it by ``pytest_xdist_make_scheduler``.

    A worker begins when it has collected, whether the others have or not. The first ones are those
    that have only what waits.

    Args:
        config: of the command.
        log: xdist's.
        waiting: the scenarios that wait.
        growing: decides on more workers or fewer.
        start_another: starts a worker like this one.
    """

    collection: list[str] | None

    def __init__(
        self,
        config: pytest.Config,
        log: Producer | None,
        waiting: Waiting,
        growing: Growing,
        start_another: Callable[[WorkerController], None],
    ) -> None:
        super().__init__(config, log)
        self._growing, self._start_another = growing, start_another
        self._asked_for = self.numnodes
        self._waiting = waiting
        self._openings = list(openings(waiting))
        self._number: dict[str, int] = {}
        self._waits: tuple[int, ...] = ()
        self._begun: set[WorkerController] = set()
        self._only_wait: set[WorkerController] = set()

    @property
    def collection_is_completed(self) -> bool:
        """Return whether a worker has collected its scenarios: then xdist calls `schedule`."""
        return bool(self.node2collection)

    def schedule(self) -> None:
        """Give those that have collected since something to begin with."""
        if self.collection is None:
            self.collection = next(iter(self.node2collection.values()))
            self._number = {name: number for number, name in enumerate(self.collection)}
            self._waits = tuple(self._number[name] for name in self._waiting.names)
            self.pending[:] = range(len(self.collection))
        for node in [node for node in self.node2collection if node not in self._begun]:
            self._begun.add(node)
            if self._openings:
                self._only_wait.add(node)
                self._send(node, [self._number[name] for name in self._openings.pop(0)])
            self.check_schedule(node)

    def check_schedule(self, node: WorkerController, duration: float = 0) -> None:  # noqa: ARG002
        """Keep a worker in one scenario and the knowledge of the next, for which it warms up."""
        if node.shutting_down or node not in self._begun or self._is_given_up(node):
            return
        kept = {self._number[name] for opening in self._openings for name in opening}
        pending, waits = set(self.pending) - kept, set(self._waits)
        works = (
            []
            if node in self._only_wait
            else [index for index in self.pending if index not in waits]
        )
        left = works + [index for index in self._waits if index in pending]
        wanted = max(2 - len(self.node2pending[node]), 0)
        self._send(node, left[:wanted])
        if not left[wanted:]:
            node.shutdown()  # it ends when it is through with what it has

    def _is_given_up(self, node: WorkerController) -> bool:
        """Start more workers if processors are idle; give up this one if they are overloaded."""
        if len(self._begun) < self._asked_for:
            return False
        workers = sum(not each.shutting_down for each in self.nodes)
        change = self._growing.change(workers=workers, left=len(self.pending))
        for _ in range(change):
            self._asked_for += 1
            self._start_another(node)
        if change < 0 and workers > self.numnodes:
            node.shutdown()
        return bool(node.shutting_down)

    def _send(self, node: WorkerController, numbers: list[int]) -> None:
        if numbers:
            self.pending[:] = [number for number in self.pending if number not in numbers]
            self.node2pending[node].extend(numbers)
            node.send_runtest_some(numbers)
