"""Compare how often two samples of runs showed a failure. Pure."""

from __future__ import annotations

import math
from typing import Final

import msgspec

BY_CHANCE: Final = 0.01
"""The largest p-value with which a difference counts. Few differences are tested at once, so one
of a hundred comparisons at most finds a difference that is none."""


class Rate(msgspec.Struct, frozen=True):
    """In how many runs something was seen."""

    count: int
    runs: int

    def __str__(self) -> str:
        return f"{self.count} of {self.runs}"


def p_value(more: Rate, less: Rate) -> float:
    """Return the probability of a difference at least this large if both samples are alike.

    Fisher's exact test, one-sided: of all ways to distribute what was seen over the runs of both
    samples, those that give the first sample as much as it has, or more.
    """
    count, runs = more.count + less.count, more.runs + less.runs
    ways = sum(
        math.comb(more.runs, here) * math.comb(less.runs, count - here)
        for here in range(more.count, min(count, more.runs) + 1)
    )
    return ways / math.comb(runs, count)
