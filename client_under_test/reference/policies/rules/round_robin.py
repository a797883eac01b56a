"""round_robin's order, as a rule."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count


def round_robin_order(members: int, rng: random.Random) -> Iterator[int]:
    """Each member in turn, from any of them on. Clauses: A42-CDS-02, A52-WRR-05."""
    return (turn % members for turn in count(rng.randrange(members)))


@dataclass(frozen=True, kw_only=True)
class RoundRobinRules:
    """The rules of round_robin."""

    round_robin_order: Callable[[int, random.Random], Iterator[int]] = round_robin_order
