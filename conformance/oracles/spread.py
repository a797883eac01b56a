"""How random hashes spread over a ring whose entries lie nobody knows where. Pure.

The shares of a ring of m entries, placed by any good hash, are uniform spacings, so an endpoint
with k of them owns a Beta(k, m - k) share of the hash space, and how many of n random hashes it
gets is beta-binomial. No key format, and no address, enters into it.
"""

from __future__ import annotations

import math

from conformance.oracles.statistics import Interval


def beta_binomial_interval(draws: int, own: int, others: int, false_alarm: float) -> Interval:
    """The counts to be accepted of an endpoint with this many entries beside those of others.

    Leaves out at most half the false alarm on each side, so a right client is refused with at
    most that chance over all rings, not for one seed.
    """
    if others == 0:
        return Interval(draws, draws)
    if own == 0:
        return Interval(0, 0)
    chances = [_chance(draws, own, others, count) for count in range(draws + 1)]
    return Interval(_cut(chances, false_alarm / 2), draws - _cut(chances[::-1], false_alarm / 2))


def _cut(chances: list[float], allowed: float) -> int:
    """How many of the first outcomes have, together, no more than the allowed chance."""
    total = 0.0
    for count, chance in enumerate(chances):
        total += chance
        if total > allowed:
            return count
    return len(chances) - 1


def _chance(draws: int, own: int, others: int, count: int) -> float:
    return math.exp(
        _log_choose(draws, count)
        + _log_beta(count + own, draws - count + others)
        - _log_beta(own, others)
    )


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_beta(a: int, b: int) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
