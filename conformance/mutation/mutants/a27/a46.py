"""Mutants of the clauses in a46.toml."""

from __future__ import annotations

from client_under_test.reference.conduct.mutants import Mutant

bad_ones_are_gone = Mutant(
    clause="A46-NACK-03",
    broken="of what is bad in a response nothing is left",
    xds={"refusal_counts": lambda _features: True},
)

all_or_nothing = Mutant(
    clause="A46-NACK-03",
    broken="nothing of a response is used that has a bad resource",
    xds={"uses_good_beside_bad": False},
)
