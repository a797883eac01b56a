"""Divide the scenarios of a run among several machines. Pure but for one table.

Each machine finds the same out for itself: it depends on the scenarios that are selected, on what
is recorded of how long they take, and on nothing of the machine.
"""

from __future__ import annotations

import functools
import hashlib
import heapq
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from conformance.judging.declaration import Declaration
from regular_files import read_bytes

RECORDED: Final = Path(__file__).with_name("durations.json")
"""How many seconds each scenario took; `ci/durations` writes it from reports."""


@functools.cache
def recorded() -> Mapping[str, float]:
    """Return the recorded seconds of each scenario, from the suite's table."""
    return msgspec.json.decode(read_bytes(RECORDED), type=dict[str, float])


def shares(
    scenarios: Mapping[str, Declaration], seconds: Mapping[str, float], of: int
) -> tuple[tuple[str, ...], ...]:
    """Distribute scenarios: the longest first, each to the shard with the least work.

    Those that wait for a timer run beside those that work, so they are dealt out by themselves,
    and the shard that has the most of the one gets the least of the other.

    Args:
        scenarios: all that run, with what they declare; of one that asks nothing: no time.
        seconds: what is recorded of them; of one that is new, what it declares is taken.
        of: how many shards there are.
    """
    takes = {
        name: seconds.get(name, scenario.seconds) if scenario.seconds else 0.0
        for name, scenario in scenarios.items()
    }
    working = {name: takes[name] for name, scenario in scenarios.items() if not scenario.waits}
    waiting = {name: takes[name] for name, scenario in scenarios.items() if scenario.waits}
    most_first = sorted(dealt(working, of), key=lambda pile: -sum(map(takes.__getitem__, pile)))
    least_first = sorted(dealt(waiting, of), key=lambda pile: sum(map(takes.__getitem__, pile)))
    return tuple(
        tuple(sorted((*works, *waits)))
        for works, waits in zip(most_first, least_first, strict=True)
    )


def plan_of(dealt_out: Iterable[Iterable[str]]) -> str:
    """Return a digest of which shard has which scenarios."""
    piles = [sorted(pile) for pile in dealt_out]
    return hashlib.sha256(msgspec.json.encode(piles)).hexdigest()


MOST: Final = 1000
"""The most shards of a run: about the number of scenarios."""


class Shard(msgspec.Struct, frozen=True):
    """One share of a run, counted from 1, and the number of shares."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def parsed(text: str) -> Shard | None:
    """Parse a shard such as `2/4`; None if the text is no shard."""
    said = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    if not said:
        return None
    shard = Shard(int(said[1]), int(said[2]))
    return shard if 1 <= shard.number <= shard.of <= MOST else None


def dealt(seconds: Mapping[str, float], workers: int) -> tuple[tuple[str, ...], ...]:
    """Scenarios for each worker: the longest first, each to the worker with the least to do."""
    piles: list[list[str]] = [[] for _ in range(workers)]
    loads = [(0.0, number) for number in range(workers)]
    for name in sorted(seconds, key=lambda index: (-seconds[index], index)):
        load, number = heapq.heappop(loads)
        piles[number].append(name)
        heapq.heappush(loads, (load + seconds[name], number))
    return tuple(map(tuple, piles))
