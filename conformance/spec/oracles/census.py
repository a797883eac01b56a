"""Judge the size of a ring by its arcs, whatever the keys of its entries are.

The suite sends many header values, sorts them by hash, and looks at which endpoint answered each.
With a correct hash and a sorted ring, the answers form arcs: runs of one endpoint. More entries
make more arcs. The census does not need to know how a client hashes an entry. It assumes that
entries lie independently and uniformly on the circle, as the hashes of distinct keys do. The bound
on false alarms is over all such placements, so it holds for any port numbers.

A42-RING-03 lets a client choose its keys. The census judges the ring of a client with unknown keys:
A42-RING-01, A42-RING-02, A42-RING-04 and the sizes, A42-RING-05 to A42-RING-09.
"""

import functools
import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from conformance.spec.oracles.statistics import FALSE_ALARM, Interval, quantile

_SPACE: Final = 2**64
_SLACK: Final = 3  # 1 where the census ends, 2 for a search that does not wrap
# Effort to find the best θ and τ; the bounds hold for any values.
_SAMPLES: Final = 64
_ITERATIONS: Final = 100
_CLOSE: Final = 1e-12
_FINE: Final = 1e-3


class Census(Struct, frozen=True):
    """Counts of the answers to header values, in the order of their hashes.

    Attributes:
        values: number of different hashes.
        changes: number of adjacent hashes that reached different endpoints. The first and the last
            hash are not adjacent.
        met: how many of the values each address answered.
    """

    values: int
    changes: int
    met: dict[str, int]


def census(observed: Iterable[tuple[int, str]]) -> Census:
    """Take the census of pairs of a hash and the address that answered it, in any order.

    Raises:
        ValueError: two addresses answered the same hash.
    """
    pairs = sorted(set(observed))
    if any(first[0] == second[0] for first, second in itertools.pairwise(pairs)):
        raise ValueError("Two addresses answered the same hash: a census needs one for each.")
    owners = [address for _, address in pairs]
    changes = sum(first != second for first, second in itertools.pairwise(owners))
    return Census(len(owners), changes, dict(Counter(owners)))


def expected_changes(counts: Sequence[int], hashes: Iterable[int]) -> float:
    """Return the mean number of changes over all placements of the entries, within 1.

    The 1 is for the two ends. Two adjacent hashes differ if an entry lies between them and the
    next entry of the ring belongs to another endpoint.

    Args:
        counts: number of entries of each endpoint.
        hashes: of the values that are sent.
    """
    total = sum(counts)
    same = sum(count * (count - 1) for count in counts) / max(total * (total - 1), 1)
    gaps, _ = _gaps(hashes)
    return (1 - same) * math.fsum(-math.expm1(total * math.log1p(-gap)) for gap in gaps)


def changes_interval(
    counts: Sequence[int], hashes: Iterable[int], false_alarm: float = FALSE_ALARM
) -> Interval:
    """Return the numbers of changes that a ring with these entries may show.

    The chance that a correct ring falls outside is at most `false_alarm`. Proof: give each
    endpoint e, instead of exactly n_e entries, a Poisson number N_e of mean n_e; given that every
    N_e = n_e the entries lie as in the ring, so for any θ > 0, τ > 0, with M = Σ n_e, T = Σ N_e,

        P(C >= c) <= E[exp(θ (C - c)) τ^(T - M)] / Π P(N_e = n_e),

    and likewise for C <= c with θ < 0. The expectation is a product, because the gaps between
    adjacent hashes fill independently and every entry belongs to e with chance w_e = n_e / M:
    a gap that M entries would hit λ times in the mean has the factor
    exp(-λ) (1 + (exp(λ τ) - 1) R), where R is the largest eigenvalue of the matrix
    A[d, e] = w_e exp(θ [d ≠ e]), which is symmetric under the weights w. This C is
    off by at most one, between the last hash and the first. A search that does not wrap adds two,
    at the two ends of the range that then belongs to another endpoint. The code chooses θ and τ
    for the narrowest interval; the bound holds for any.

    Args:
        counts: number of entries of each endpoint.
        hashes: hashes of the values sent; two or more.
        false_alarm: chance for both sides together.

    Raises:
        ValueError: there are fewer than two hashes or no entries.
    """
    entries = [count for count in counts if count]
    gaps, rest = _gaps(hashes)
    if not gaps or not entries:
        raise ValueError("A census needs two hashes or more, and a ring with entries.")
    total = sum(entries)
    shares = [count / total for count in entries]
    circle = _Circle([(total * gap, 1) for gap in gaps], total * rest, total)
    sample = _Circle(_sample(circle.rates), circle.rest, total)
    log_chance = math.log(false_alarm / 2) + sum(map(_log_poisson_at_mean, entries))

    def edge(side: int, circle: _Circle, log_theta: float, log_tau: float) -> float:
        """Return the count beyond which lies at most half the false alarm, by these θ and τ."""
        theta = side * math.exp(log_theta)
        rho = _perron(shares, theta)
        return (circle.log_mean(rho, log_tau) - log_chance) / theta

    def best(side: int) -> float:
        """Return the edge by the best θ and τ; find them on the sample, then use all gaps."""

        def best_tau(log_theta: float) -> float:
            rho = _perron(shares, side * math.exp(log_theta))
            return _argmin(lambda log_tau: sample.log_mean(rho, log_tau))

        log_theta = _argmin(lambda log: side * edge(side, sample, log, best_tau(log)), -6, 2)
        return edge(side, circle, log_theta, best_tau(log_theta))

    low = math.floor(best(-1)) + 1 - _SLACK
    high = math.ceil(best(1)) - 1 + _SLACK
    return Interval(max(low, 0), min(high, len(gaps), total))


class Bounds(Struct, frozen=True):
    """The numbers of changes and of values for each address that a correct ring may show."""

    changes: Interval
    met: dict[str, Interval]

    def hold(self, taken: Census) -> bool:
        """Return whether a census is within the bounds."""
        return taken.changes in self.changes and _are_met(taken, self.met)


def bounds_of(
    rings: Sequence[Mapping[str, int]],
    taken: Census,
    hashes: Iterable[int],
) -> Bounds:
    """Return the bounds of the first ring that the census fits, else of the first ring.

    A conforming client has one of the rings, so several rings do not raise the chance of a false
    alarm. Send at least as many values as a ring has entries: then the mean census of a ring of
    half or twice the size is out of bounds. Half of the chance of a false alarm is for the changes,
    half for the addresses.

    Args:
        rings: number of entries of each address, by each allowed reading of the text.
        taken: the census.
        hashes: hashes of the values sent.

    Raises:
        ValueError: there is no ring, fewer than two hashes, or a ring without entries.
    """
    if not rings:
        raise ValueError("A census needs one ring or more to compare with.")
    sent = tuple(hashes)
    changes = functools.cache(lambda counts: changes_interval(counts, sent, FALSE_ALARM / 2))
    met = [met_intervals(counts, taken.values, FALSE_ALARM / 2) for counts in rings]
    for counts, bound in zip(rings, met, strict=True):
        if _are_met(taken, bound):
            found = Bounds(changes(tuple(sorted(counts.values()))), bound)
            if found.hold(taken):
                return found
    return Bounds(changes(tuple(sorted(rings[0].values()))), met[0])


def _are_met(taken: Census, bounds: Mapping[str, Interval]) -> bool:
    """Return whether each address is within its bounds and no other address answered."""
    within = all(taken.met.get(where, 0) in bound for where, bound in bounds.items())
    return within and set(taken.met) <= set(bounds)


def met_intervals(
    counts: Mapping[str, int], values: int, false_alarm: float = FALSE_ALARM
) -> dict[str, Interval]:
    """Return how many of the values each address may answer, in one check of all addresses.

    Over the placements, an endpoint with n of M entries owns a Beta(n, M - n) part of the circle.
    So the number of values that it answers is beta-binomial, if their hashes are independent.
    If a search does not wrap, the circle is a line of M + 1 pieces: one for each entry, and one
    more for the last entry. The part is then Beta(n + 1, M - n) if the last entry belongs to the
    endpoint, and Beta(n, M + 1 - n) if not. The least and the greatest of the three bound every
    case. By the union bound each address has an equal part of the false alarm, half for each side.

    Clauses: A42-CHAN-03, A42-HASH-09, A42-HASH-11, A42-HASH-12, A76-REQ-03.

    Args:
        counts: number of entries of each address.
        values: number of different values sent.
        false_alarm: chance for all addresses together.
    """
    total = sum(counts.values())
    side = false_alarm / len(counts) / 2
    return {
        address: _met_interval(values, count, total - count, side)
        for address, count in counts.items()
    }


class _Circle(Struct, frozen=True):
    """The gaps between adjacent hashes, by the mean number of ring entries in each.

    Attributes:
        rates: mean number of entries in a gap, and the number of such gaps.
        rest: mean number of entries between the last hash and the first.
        total: number of entries.
    """

    rates: Sequence[tuple[float, float]]
    rest: float
    total: int

    def log_mean(self, rho: float, log_tau: float) -> float:
        """Return the logarithm of the mean of exp(θ C) τ^(T - M), where `rho` belongs to θ."""
        tau = math.exp(log_tau)
        log, exp = math.log, math.exp
        filled = math.fsum(
            times * (rate * (tau - 1) + log(rho + exp(-rate * tau) * (1 - rho)))
            for rate, times in self.rates
        )
        return filled + self.rest * (tau - 1) - self.total * log_tau


def _gaps(hashes: Iterable[int]) -> tuple[list[float], float]:
    """Return the parts of the circle between adjacent hashes, and between last and first."""
    ordered = sorted(set(hashes))
    gaps = [(second - first) / _SPACE for first, second in itertools.pairwise(ordered)]
    return gaps, 1 - math.fsum(gaps)


def _sample(rates: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return fewer rates that approximate all, to make the search for θ and τ cheap."""
    ordered = sorted(rate for rate, _ in rates)
    step = max(len(ordered) // _SAMPLES, 1)
    parts = (ordered[start : start + step] for start in range(0, len(ordered), step))
    return [(math.fsum(part) / len(part), len(part)) for part in parts]


def _log_poisson_at_mean(count: int) -> float:
    """Return the logarithm of the chance that a Poisson number equals its mean `count`."""
    return count * math.log(count) - count - math.lgamma(count + 1)


def _perron(shares: Sequence[float], theta: float) -> float:
    """Return a close upper bound of the largest eigenvalue of w_e exp(θ [d ≠ e]).

    For any positive vector v the eigenvalue is at most max (A v)_d / v_d (Collatz and Wielandt).
    """
    factor = math.exp(theta)
    vector = [1.0] * len(shares)
    bound = math.inf
    for _ in range(_ITERATIONS):
        whole = factor * math.fsum(map(operator.mul, shares, vector))
        image = [
            whole + (1 - factor) * share * value
            for share, value in zip(shares, vector, strict=True)
        ]
        ratios = [after / before for after, before in zip(image, vector, strict=True)]
        bound = min(bound, max(ratios))
        if max(ratios) - min(ratios) <= _CLOSE * bound:
            break
        largest = max(image)
        vector = [value / largest for value in image]
    return bound


def _argmin(function: Callable[[float], float], low: float = -2, high: float = 2) -> float:
    """Return the minimum of a function with one valley, by golden-section search."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > _FINE:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    return (low + high) / 2


def _met_interval(values: int, own: int, others: int, side: float) -> Interval:
    """Return the bounds of `met_intervals` for an endpoint with `own` entries."""
    if not own or not others:
        certain = values if own else 0
        return Interval(certain, certain)
    return Interval(
        quantile(_beta_binomial(values, own, others + 1), side),
        values - quantile(_beta_binomial(values, others, own + 1), side),
    )


def _beta_binomial(draws: int, hits: int, misses: int) -> Iterator[float]:
    """Yield the chances of 0, 1, … `draws` hits if the share is Beta(hits, misses)."""
    lgamma = math.lgamma
    fixed = (
        lgamma(draws + 1)
        + lgamma(hits + misses)
        - lgamma(hits)
        - lgamma(misses)
        - lgamma(draws + hits + misses)
    )
    for count in range(draws + 1):
        rest = draws - count
        yield math.exp(
            fixed
            - lgamma(count + 1)
            - lgamma(rest + 1)
            + lgamma(count + hits)
            + lgamma(rest + misses)
        )
