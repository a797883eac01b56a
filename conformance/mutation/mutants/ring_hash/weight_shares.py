"""Mutants of the clauses in weight_shares.toml."""

from collections.abc import Sequence
from math import prod

from client_under_test.reference.clusters.weights import (
    Weights,
    endpoint_weights,
    endpoint_weights_a113,
)
from client_under_test.reference.editions.mutants import Mutant


def exact_shares(localities: Sequence[Weights]) -> tuple[tuple[int, ...], ...]:
    """Return exact shares over a common denominator, without that of the localities."""
    sums = [sum(locality.endpoints) for locality in localities]
    return tuple(
        tuple(weight * locality.locality * prod(sums) // own_sum for weight in locality.endpoints)
        for locality, own_sum in zip(localities, sums, strict=True)
    )


def nothing_for_the_smallest(localities: Sequence[Weights]) -> tuple[tuple[int, ...], ...]:
    """Return the shares, with the smallest share set to zero."""
    return tuple(
        tuple(weight - (weight == 1) for weight in share)
        for share in endpoint_weights_a113(localities)
    )


not_rounded = Mutant(
    clause="A113-WEIGHT-01",
    broken="shares are not rounded",
    rules={"endpoint_weights": exact_shares},
    reports="exact",
)


smallest_left_out = Mutant(
    clause="A113-WEIGHT-02",
    broken="an endpoint whose share rounds to zero is not on the ring",
    rules={"endpoint_weights": nothing_for_the_smallest},
)


guarded = Mutant(
    clause="A113-WEIGHT-03",
    broken="weights are multiplied, without shares",
    rules={"endpoint_weights": endpoint_weights},
    reports="by products when unset",
)
