"""Compute bounds for random results from a stated chance of a false alarm.

The chance is that of calling a client wrong that is right; it is per check, and holds for any
ring because the shares that go in are those of the very ring in use. Tails are sums of exact
binomial terms, taken in log space (relative error below 1e-9 up to 10^6 draws); nothing is
assumed to be normal.

What is random: ids of channels (A42-CHAN-02, A42-CHAN-03), hashes of requests that have none of
their own (A42-HASH-10, A42-HASH-12, A76-REQ-03), localities under round_robin (A42-LOC-06).
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from statistics import NormalDist
from typing import Final

from msgspec import Struct

FALSE_ALARM: Final = 1e-6
"""The chance that one statistical check fails a client that is right."""

Share = float | Fraction


class Interval(Struct, frozen=True):
    """Whole numbers from `low` to `high`, both included."""

    low: int
    high: int

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high


def below(draws: int, share: Share, count: int) -> float:
    """Chance that fewer than `count` of the draws meet something with this share."""
    return math.fsum(itertools.islice(_terms(draws, share), max(count, 0)))


def above(draws: int, share: Share, count: int) -> float:
    """Chance that more than `count` of the draws meet something with this share."""
    return below(draws, 1 - share, draws - count)


def interval(draws: int, share: Share, false_alarm: float = FALSE_ALARM) -> Interval:
    """The counts that are to be accepted of something with this share.

    The narrowest interval that a count leaves with a chance of at most half the false alarm on
    each side.
    """
    side = false_alarm / 2
    return Interval(
        quantile(_terms(draws, share), side), draws - quantile(_terms(draws, 1 - share), side)
    )


def quantile(chances: Iterable[float], chance: float) -> int:
    """The largest count such that fewer hits than it have at most this chance.

    Args:
        chances: of 0, 1, … hits.
        chance: for all lesser counts together.
    """
    last = 0
    for last, total in enumerate(itertools.accumulate(chances)):  # noqa: B007 - used after it
        if total > chance:
            break
    return last


def intervals(
    draws: int, shares: Mapping[str, Share], false_alarm: float = FALSE_ALARM
) -> dict[str, Interval]:
    """The counts to be accepted of each of several, all of them in one check.

    By the union bound: each has an equal part of the false alarm.
    """
    return {
        name: interval(draws, share, false_alarm / len(shares)) for name, share in shares.items()
    }


def draws_needed(share: Share, other: Share, false_alarm: float = FALSE_ALARM) -> int:
    """A number of draws that tells two shares apart, near the least.

    With it the intervals of the two do not meet, so whichever is true, the other is refused with
    a chance of at least 1 - `false_alarm`.

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
    """A number of draws whose interval around one share seldom has a count of the other.

    The normal approximation of the arcsine of the root is near enough: only the chance to miss
    what is wrong rests on it, and not that of a false alarm.

    Args:
        right: whose interval is asked, with the usual chance of a false alarm.
        wrong: the other share.
        missed: the chance that a count of it is in that interval.

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
    """Chance that independent draws all meet the same one, for what each one's share is."""
    return math.fsum(float(share) ** draws for share in shares)


def draws_to_differ(shares: Iterable[Share], false_alarm: float = FALSE_ALARM) -> int:
    """The least number of draws that all meet the same one with at most this chance.

    Raises:
        ValueError: one of them has it all.
    """
    known = tuple(shares)
    if max(known) >= 1:
        raise ValueError("Draws of which one has every share never differ.")
    return next(
        draws for draws in itertools.count(1) if all_same_chance(known, draws) <= false_alarm
    )


def draws_to_meet_all(shares: Iterable[Share], false_alarm: float = FALSE_ALARM) -> int:
    """The least number of draws that miss any of these, for what each one's share is, so rarely."""
    known = tuple(shares)
    return next(
        draws
        for draws in itertools.count(1)
        if math.fsum((1 - float(share)) ** draws for share in known) <= false_alarm
    )


def _terms(draws: int, share: Share) -> Iterator[float]:
    """Chances of 0, 1, … `draws` hits."""
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
