"""Which endpoint least_request takes, and of how many, as rules (A48)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

FEWEST: Final = 2
MOST: Final = 10


def choice_count(written: int | None) -> int | None:
    """A48: two endpoints are compared if nothing is said, and never more than ten; one is an error.

    Clauses: A48-LEAST-02, A48-LEAST-03, A48-LEAST-04, A48-LEAST-05, A48-LEAST-06.
    """
    if written is None:
        return FEWEST
    return min(written, MOST) if written >= FEWEST else None


def least_loaded(running: list[int], _random: random.Random) -> int:
    """A48: of those that were drawn the first that no other has fewer requests than.

    Clauses: A48-LEAST-01, A48-LEAST-02.
    """
    return running.index(min(running))


@dataclass(frozen=True, kw_only=True)
class LeastRequestRules:
    """The rules of least_request."""

    least_loaded: Callable[[list[int], random.Random], int] = least_loaded
    """Takes the requests in flight of each drawn endpoint; returns the index to pick."""
