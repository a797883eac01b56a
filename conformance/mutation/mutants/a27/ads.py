"""Mutants of the clauses in ads.toml."""

from client_under_test.reference.editions.mutants import Mutant

no_wrappers = Mutant(
    clause="A27-ADS-01",
    broken="a Resource message is treated as a message of another type",
    xds={"is_wrapper": lambda _: False},
)

nonce_forgotten = Mutant(
    clause="A27-ADS-02",
    broken="the nonce of a type is lost once no resource of the type is subscribed to",
    xds={"keeps_nonce": lambda is_wanted: is_wanted},
    issue="https://github.com/grpc/grpc-node/issues/2875",
)
