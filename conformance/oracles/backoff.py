"""How long a right client waits before it tries an endpoint again (gRPC's connection backoff).

The document has an algorithm, and lets an implementation have another one, "in particular different
jitter logic", as long as it does not try substantially more often. A42-PRO-08 has it kept.
"""

from __future__ import annotations

from msgspec import Struct


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

    Args:
        gap: how many attempts in a row had failed before the first of the two.
        backoff: the parameters.
    """
    shortest = 1 - backoff.jitter
    growth = backoff.multiplier * (shortest if backoff.compounds else 1)
    return min(backoff.initial * growth**gap, backoff.longest) * shortest
