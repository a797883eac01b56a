"""How long a subchannel waits after a failed attempt (gRPC's connection backoff)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

INITIAL: Final = 1.0
FACTOR: Final = 1.6
JITTER: Final = 0.2
LONGEST: Final = 120.0


def backoff_delay(failures: int, draw: float) -> float:
    """Seconds from the start of the attempt that was the n-th in a row to fail.

    Args:
        failures: how many attempts have failed since the last success, at least 1.
        draw: an even random number from 0 to 1, for the jitter.

    Clauses: A42-PRO-08, A61-PRO-02.
    """
    delay = INITIAL
    for _ in range(failures - 1):
        delay = min(delay * FACTOR, LONGEST)
        if delay == LONGEST:
            break
    return delay * (1 + JITTER * (2 * draw - 1))


@dataclass(frozen=True, kw_only=True)
class BackoffRules:
    """How long subchannels wait."""

    backoff_delay: Callable[[int, float], float] = backoff_delay
