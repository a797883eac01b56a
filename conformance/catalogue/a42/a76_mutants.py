"""Mutants of the clauses in a76.toml."""

from collections.abc import Sequence

from msgspec.structs import replace

from client_under_test.reference.mutants import Mutant
from client_under_test.reference.policies.interface import Endpoint
from client_under_test.reference.policies.ring import place_by_address


def keys_of(endpoints: Sequence[Endpoint]) -> dict[tuple[str, ...], str]:
    """The hash keys by address."""
    return {one.addresses: one.hash_key for one in endpoints}


hash_key_ignored = Mutant(
    clause="A76-KEY-01",
    broken="endpoints are placed by their addresses although they have keys",
    rules={"ring_key": place_by_address},
)

hash_key_beside_the_address = Mutant(
    clause="A76-KEY-01",
    broken="endpoints are placed by address and key together",
    rules={"ring_key": lambda endpoint: endpoint.addresses[0] + endpoint.hash_key},
)

empty_hash_key_used = Mutant(
    clause="A76-KEY-02",
    broken="endpoints are placed by their key even if it is empty",
    rules={"ring_key": lambda endpoint: endpoint.hash_key},
)

old_hash_key_kept = Mutant(
    clause="A76-KEY-03",
    broken="an address keeps the key that it had when it was first listed",
    rules={
        "ring_endpoints": lambda before, now: [
            replace(one, hash_key=keys_of(before).get(one.addresses, one.hash_key)) for one in now
        ]
    },
)

new_address_without_key = Mutant(
    clause="A76-KEY-04",
    broken="the key of an address that joins a list is not looked at",
    rules={
        "ring_endpoints": lambda before, now: [
            one if not before or one.addresses in keys_of(before) else replace(one, hash_key="")
            for one in now
        ]
    },
)

hash_key_off_by_default = Mutant(
    clause="A76-KEY-07",
    broken="keys are ignored while the switch is unset",
    rules={"ring_key": place_by_address},
    reports="ignored",
    issue="https://github.com/grpc/grpc-go/pull/8922",
)
