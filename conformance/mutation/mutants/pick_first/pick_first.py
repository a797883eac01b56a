"""Mutants of the clauses in pick_first.toml."""

from client_under_test.reference.editions.mutants import Mutant

failed_before_the_list = Mutant(
    clause="A62-RETRY-01",
    broken="an address that is in backoff when a new list comes is never tried again",
    rules={"tries_address": lambda before_the_list, _before_its_turn: not before_the_list},
    issue="https://github.com/grpc/grpc/pull/38714",
)


failed_before_its_turn = Mutant(
    clause="A62-RETRY-01",
    broken="an address that fails before its turn in a new list is never tried again",
    rules={"tries_address": lambda _before_the_list, before_its_turn: not before_its_turn},
    issue="https://github.com/grpc/grpc/pull/40162",
)


nine_at_most = Mutant(
    clause="A62-RETRY-01",
    broken="pick_first tries the first nine addresses of its list",
    rules={"addresses_to_try": lambda addresses: addresses[:9]},
)


last_alone_retried = Mutant(
    clause="A62-RETRY-01",
    broken="once all addresses have failed, only the last is tried again",
    rules={"retries_address": lambda position, addresses: position == addresses - 1},
)
