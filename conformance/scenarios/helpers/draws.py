"""Search endpoints and rings for what a scenario needs: their ports differ in each run."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from conformance.spec.oracles.ring.values import NoSuchValueError
from conformance.xds_config.config import XdsConfig, weighted_locality
from conformance.xds_config.policies import RingHash

_T = TypeVar("_T")


def first_with(is_suitable: Callable[[_T], bool], candidates: Iterable[_T], *, what: str) -> _T:
    """Return the first suitable candidate.

    Args:
        is_suitable: tells whether a candidate is suitable.
        candidates: enough that all are unsuitable with a chance below 1e-6.
        what: the wanted property, for the error.

    Raises:
        NoSuchValueError: no candidate is suitable.
    """
    count = 0
    for count, candidate in enumerate(candidates, start=1):  # noqa: B007 - used after it
        if is_suitable(candidate):
            return candidate
    raise NoSuchValueError(f"None of {count} candidates is {what}.")


FOR_FEW_ENTRIES: Final = 14
"""Endpoints from which to draw lists of eight. If the order of hash buckets is that of the ports,
or the opposite, it gives the same entries as another order in each list. Linux gives a listener an
odd port, so 14 ports fall into eight buckets. They are in such an order with a chance of
2 x C(21, 7) / 8^14, below 1e-7. Nine ports were once in 4,000 times, by simulation."""

_LISTS: Final = 40


def of_few_entries(rng: random.Random, addresses: Sequence[str]) -> list[XdsConfig]:
    """Return configs of eight endpoints and four entries; for most of them all orders differ."""
    eights = [*itertools.combinations(sorted(addresses, reverse=True), 8)]
    small = RingHash(minimum=2, maximum=4)
    return [
        weighted_locality(dict.fromkeys(eight, 1), policy=small)
        for eight in rng.sample(eights, _LISTS)
    ]
