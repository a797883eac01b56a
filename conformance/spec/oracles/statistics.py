"""Compute bounds for random results from a stated chance of a false alarm.

A false alarm fails a conforming client. Its chance is per check, and holds for any ring, because
the shares come from the ring in use. Tails are sums of exact binomial terms in log space (relative
error below 1e-9 up to 10^6 draws), without a normal approximation.

Random results: channel ids (A42-CHAN-02, A42-CHAN-03), hashes of requests without a hash policy
that applies (A42-HASH-10, A42-HASH-12, A76-REQ-03), localities under round_robin (A42-LOC-06).
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from statistics import NormalDist
from typing import Final

from msgspec import Struct

FALSE_ALARM: Final = 1e-6
"""The chance that one statistical check fails a conforming client."""

Share = float | Fraction


class Interval(Struct, frozen=True):
    """Whole numbers from `low` to `high`, both included."""

    low: int
    high: int

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high


def below(draws: int, share: Share, count: int) -> float:
    """Return the chance that fewer than `count` of the draws hit an item with this share."""
    return math.fsum(itertools.islice(_terms(draws, share), max(count, 0)))


def above(draws: int, share: Share, count: int) -> float:
    """Return the chance that more than `count` of the draws hit an item with this share."""
    return below(draws, 1 - share, draws - count)


def interval(draws: int, share: Share, false_alarm: float = FALSE_ALARM) -> Interval:
    """Return the counts to accept for an item with this share.

    It is the narrowest interval that a count leaves on each side with a chance of at most half the
    false alarm.
    """
    side = false_alarm / 2
    return Interval(
        quantile(_terms(draws, share), side), draws - quantile(_terms(draws, 1 - share), side)
    )


def quantile(chances: Iterable[float], chance: float) -> int:
    """Return the largest count such that all lesser counts together have at most this chance.

    Args:
        chances: the chances of 0, 1, … hits.
        chance: the limit for all lesser counts together.
    """
    last = 0
    for last, total in enumerate(itertools.accumulate(chances)):  # noqa: B007 - used after it
        if total > chance:
            break
    return last


def intervals(
    draws: int, shares: Mapping[str, Share], false_alarm: float = FALSE_ALARM
) -> dict[str, Interval]:
    """Return the counts to accept for each item, in one check of all of them.

    By the union bound each item has an equal part of the false alarm.
    """
    return {
        name: interval(draws, share, false_alarm / len(shares)) for name, share in shares.items()
    }


def draws_needed(share: Share, other: Share, false_alarm: float = FALSE_ALARM) -> int:
    """Return about the least number of draws that distinguishes two shares.

    With it the intervals of the two do not overlap. So whichever share is true, a check rejects
    the other with a chance of at least 1 - `false_alarm`.

    Raises:
        ValueError: the shares are equal.
    """
    if share == other:
        raise ValueError(f"No number of draws tells the share {share} from itself.")
    low, high = 0, 1
    while not _apart(high, share, other, false_alarm):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _apart(middle, share, other, false_alarm):
            high = middle
        else:
            low = middle
    return high


def draws_that_tell(right: Share, wrong: Share, missed: float) -> int:
    """Return a number of draws that rejects a wrong share with a chance of 1 - `missed`.

    The normal approximation of the arcsine of the root is good enough, because the chance of a
    false alarm does not depend on it.

    Args:
        right: the share that the check accepts, with the usual chance of a false alarm.
        wrong: the share that the check must reject.
        missed: the chance that the check accepts the wrong share.

    Raises:
        ValueError: the shares are equal.
    """
    if right == wrong:
        raise ValueError(f"No number of draws tells the share {right} from itself.")
    usual = NormalDist()
    deviations = usual.inv_cdf(1 - FALSE_ALARM / 2) + usual.inv_cdf(1 - missed)
    distance = math.asin(math.sqrt(right)) - math.asin(math.sqrt(wrong))
    return math.ceil((deviations / (2 * distance)) ** 2)


def all_same_chance(shares: Iterable[Share], draws: int) -> float:
    """Return the chance that independent draws all hit the same item."""
    return math.fsum(float(share) ** draws for share in shares)


def draws_to_meet_all(shares: Iterable[Share]) -> int:
    """Return the least number of draws that miss an item at most as often as FALSE_ALARM."""
    known = tuple(shares)
    return next(
        draws
        for draws in itertools.count(1)
        if math.fsum((1 - float(share)) ** draws for share in known) <= FALSE_ALARM
    )


def _terms(draws: int, share: Share) -> Iterator[float]:
    """Yield the chances of 0, 1, … `draws` hits."""
    p = float(share)
    if p <= 0 or p >= 1:
        certain = draws if p >= 1 else 0
        yield from (1.0 if count == certain else 0.0 for count in range(draws + 1))
        return
    log_hit, log_miss = math.log(p), math.log1p(-p)
    log_ways = math.lgamma(draws + 1)
    for count in range(draws + 1):
        yield math.exp(
            log_ways
            - math.lgamma(count + 1)
            - math.lgamma(draws - count + 1)
            + count * log_hit
            + (draws - count) * log_miss
        )


def _apart(draws: int, share: Share, other: Share, false_alarm: float) -> bool:
    first, second = (interval(draws, share, false_alarm) for share in sorted((share, other)))
    return first.high < second.low
