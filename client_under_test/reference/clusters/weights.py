"""What an endpoint weighs on the ring, of its own weight and that of its locality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

_ONE: Final = 1 << 31  # 1 in UQ1.31


class Weights(msgspec.Struct, frozen=True):
    """A locality of a priority: its weight, and those of its endpoints."""

    locality: int
    endpoints: tuple[int, ...]


def endpoint_weights(localities: Sequence[Weights]) -> tuple[tuple[int, ...], ...]:
    """Multiply each endpoint's weight by the weight of its locality, without a limit.

    Clauses: A42-LOC-07, A42-LOC-12.
    """
    return tuple(
        tuple(weight * locality.locality for weight in locality.endpoints)
        for locality in localities
    )


def endpoint_weights_a113(localities: Sequence[Weights]) -> tuple[tuple[int, ...], ...]:
    """Share in its locality times the locality's share.

    In UQ1.31, rounded down at each step; a share that comes to nothing is the smallest one.

    Clauses: A42-LOC-01, A42-LOC-07, A42-LOC-12 (A113), A113-WEIGHT-01, A113-WEIGHT-02,
    A113-WEIGHT-03.
    """
    all_localities = sum(locality.locality for locality in localities)
    return tuple(
        tuple(
            max(
                1,
                (locality.locality * _ONE // all_localities)
                * (weight * _ONE // (sum(locality.endpoints) or 1))
                >> 31,
            )
            for weight in locality.endpoints
        )
        for locality in localities
    )
