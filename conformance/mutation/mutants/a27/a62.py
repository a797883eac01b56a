"""Mutants of the clauses in a62.toml."""

from collections.abc import Callable

from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.interface import Account
from client_under_test.reference.policies.rules.admission import LoadKey, counted_for
from client_under_test.reference.values import Locality, State


def first_locality_by_name() -> Callable[[Account], LoadKey | None]:
    """Count all requests of a cluster for one locality."""
    return lambda account: counted_for(replace(account, locality=Locality("one")))


idle_ones_connect = Mutant(
    clause="A62-TARGET-01",
    broken="a locality that becomes IDLE connects at once",
    rules={"leaves_alone": lambda state: state is not State.IDLE},
    reports="connects",
)

idle_ones_wait = Mutant(
    clause="A62-TARGET-02",
    broken="requests wait while no locality is READY, and connect none of them",
    rules={"idle_ones_are_asked": False},
)

first_locality_counts = Mutant(
    clause="A62-LOAD-01",
    broken="requests of pick_first count for its first locality",
    rules={"counted_for": first_locality_by_name()},
)

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
    rules={"addresses_tried": lambda addresses: addresses[:9]},
)
