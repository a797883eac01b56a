"""Mutants of the clauses in ads.toml."""

from client_under_test.reference.editions.mutants import Mutant

no_wrappers = Mutant(
    clause="A27-ADS-01",
    broken="what comes as a Resource message is taken for a message of another type",
    xds={"is_wrapper": lambda _: False},
)
