"""Mutants of the clauses in hash_policy.toml."""

from client_under_test.reference.hashing import xxh64
from client_under_test.reference.mutants import Mutant

hash_of_32_bits = Mutant(
    clause="A42-HDR-02",
    broken="the hash keeps its lower 32 bits only",
    rules={"hash_value": lambda value: xxh64(value) & 0xFFFFFFFF},
)

unsupported_is_terminal = Mutant(
    clause="A42-HASH-17",
    broken="terminal ends the list on an unsupported kind, too",
    rules={"ends_the_list": lambda _policy, _result, gathered: gathered is not None},
    reports="ends the list",
)
