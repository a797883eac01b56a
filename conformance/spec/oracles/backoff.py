"""Compute how long a client waits before it connects again (gRPC's connection backoff).

The document describes an algorithm. An implementation may use another one, "in particular different
jitter logic", if it does not reconnect substantially more often. A42-PRO-08 requires this backoff.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

SUBSTANTIALLY: Final = 3
"""The factor that counts as substantially more often. The document has no number, so it is wide."""


class Backoff(Struct, frozen=True, kw_only=True):
    """Backoff parameters; the defaults are those of grpc/grpc's doc/connection-backoff.md."""

    initial: float = 1.0
    """Seconds from the start of the first attempt to that of the second."""
    multiplier: float = 1.6
    longest: float = 120.0
    """Seconds beyond which a backoff does not grow."""
    jitter: float = 0.2
    """The largest fraction by which a backoff may be shorter or longer."""
    compounds: bool = True
    """True if a backoff is a multiple of the last one with its jitter; False: without."""


def least(gap: int, backoff: Backoff) -> float:
    """Return the fewest seconds from the start of an attempt to the start of the next one.

    They are never substantially fewer than the document's first backoff.

    Args:
        gap: the number of consecutive failed attempts before the first of the two.
        backoff: the client's parameters.
    """
    return max(_shortest(gap, backoff), _shortest(0, Backoff()) / SUBSTANTIALLY)


def most(gap: int, backoff: Backoff) -> float:
    """Return the most seconds from the start of an attempt to the start of the next one."""
    longest = 1 + backoff.jitter
    return _grown(gap, backoff, longest) * longest


def _shortest(gap: int, backoff: Backoff) -> float:
    shortest = 1 - backoff.jitter
    return _grown(gap, backoff, shortest) * shortest


def _grown(gap: int, backoff: Backoff, drawn: float) -> float:
    """Return a backoff before jitter if each earlier one was multiplied by `drawn`."""
    growth = backoff.multiplier * (drawn if backoff.compounds else 1)
    return min(backoff.initial * growth**gap, backoff.longest)
