"""Mutants of the clauses in eds.toml."""

from __future__ import annotations

from client_under_test.reference.conduct.mutants import Mutant

TOO_MUCH = 2**32

any_sum = Mutant(
    clause="A27-WEIGHT-01",
    broken="weights may add up to any number",
    xds={"too_heavy": lambda _weights: ()},
)

over_all_priorities = Mutant(
    clause="A27-WEIGHT-01",
    broken="weights of all priorities are added up",
    xds={"too_heavy": lambda weights: (0,) if sum(weights.values()) >= TOO_MUCH else ()},
)
