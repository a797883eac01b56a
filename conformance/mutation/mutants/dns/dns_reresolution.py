"""Mutants of the clauses in dns_reresolution.toml."""

from client_under_test.reference.editions.mutants import Mutant

one_name_alone = Mutant(
    clause="A74-CONFIG-07",
    broken="only one of several LOGICAL_DNS clusters is resolved again",
    rules={"resolved_again": lambda names: sorted(names)[:1]},
)


result_lost = Mutant(
    clause="A37-DNS-09",
    broken="the addresses of a name are dropped when it no longer resolves",
    rules={"error_counts": lambda _: True},
    edition="seed",
)


never_resolved_again = Mutant(
    clause="A37-DNS-10",
    broken="a name is resolved once",
    rules={"resolved_again": lambda _: ()},
)


resolved_for_eds = Mutant(
    clause="A37-DNS-11",
    broken="names are resolved again when connections of EDS leaves fail",
    rules={"ignores_reresolution": lambda _: False},
)


lost_when_gone = Mutant(
    clause="A37-DNS-29",
    broken="the addresses of a name are dropped when it no longer exists",
    rules={"error_counts": lambda _: True},
    reports="not served",
)
