"""Compute how long a client waits before it connects again (gRPC's connection backoff).

The document has an algorithm, and lets an implementation have another one, "in particular different
jitter logic", as long as it does not try substantially more often. A42-PRO-08 has it kept.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

SUBSTANTIALLY: Final = 3
"""How many times as often as by the document is substantially more often: a wide margin, as the
document has no number."""


class Backoff(Struct, frozen=True, kw_only=True):
    """The parameters, by default those of the document (doc/connection-backoff.md of grpc/grpc)."""

    initial: float = 1.0
    """Seconds from the start of the first attempt to that of the second."""
    multiplier: float = 1.6
    longest: float = 120.0
    """Seconds beyond which it does not grow."""
    jitter: float = 0.2
    """By which part of itself a backoff may be shorter, or longer."""
    compounds: bool = True
    """Whether the next backoff is a multiple of this one with its jitter, and not without it."""


def least(gap: int, backoff: Backoff) -> float:
    """Seconds from the start of an attempt to that of the next one, at least.

    Whatever the parameters are, it is not substantially less than the document's first backoff.

    Args:
        gap: how many attempts in a row had failed before the first of the two.
        backoff: the parameters.
    """
    return max(_shortest(gap, backoff), _shortest(0, Backoff()) / SUBSTANTIALLY)


def most(gap: int, backoff: Backoff) -> float:
    """The same, at most: what a client waits until it is to try again."""
    longest = 1 + backoff.jitter
    return _grown(gap, backoff, longest) * longest


def _shortest(gap: int, backoff: Backoff) -> float:
    shortest = 1 - backoff.jitter
    return _grown(gap, backoff, shortest) * shortest


def _grown(gap: int, backoff: Backoff, drawn: float) -> float:
    """What a backoff is before jitter, if all before it were this part of themselves."""
    growth = backoff.multiplier * (drawn if backoff.compounds else 1)
    return min(backoff.initial * growth**gap, backoff.longest)
