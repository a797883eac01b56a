"""Mutants of the clauses in endpoint_key.toml."""

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.ring import ring_key
from client_under_test.reference.values import Endpoint


def keys_of(endpoints: Sequence[Endpoint]) -> dict[tuple[str, ...], str]:
    """Return the hash keys by address."""
    return {endpoint.addresses: endpoint.hash_key for endpoint in endpoints}


hash_key_ignored = Mutant(
    clause="A76-KEY-01",
    broken="endpoints are placed by their addresses although they have keys",
    rules={"ring_key": ring_key},
)


hash_key_beside_the_address = Mutant(
    clause="A76-KEY-01",
    broken="endpoints are placed by address and key together",
    rules={"ring_key": lambda endpoint: endpoint.addresses[0] + endpoint.hash_key},
)


def those_of_the_first_list(
    before: Sequence[Endpoint], now: Sequence[Endpoint]
) -> Sequence[Endpoint]:
    """Remove the keys of endpoints that join a list."""
    if not before:
        return now
    known = keys_of(before)
    return [
        endpoint if endpoint.addresses in known else replace(endpoint, hash_key="")
        for endpoint in now
    ]


hash_key_of_the_first_list = Mutant(
    clause="A76-KEY-01",
    broken="the keys of endpoints that join a list are ignored",
    rules={"ring_endpoints": those_of_the_first_list},
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
            replace(endpoint, hash_key=keys_of(before).get(endpoint.addresses, endpoint.hash_key))
            for endpoint in now
        ]
    },
)


removed_hash_key_kept = Mutant(
    clause="A76-KEY-03",
    broken="an endpoint keeps its key when the key is removed",
    rules={
        "ring_endpoints": lambda before, now: [
            replace(
                endpoint,
                hash_key=endpoint.hash_key or keys_of(before).get(endpoint.addresses, ""),
            )
            for endpoint in now
        ]
    },
)


new_address_without_key = Mutant(
    clause="A76-KEY-04",
    broken="the key of an address that joins a list is ignored",
    rules={"ring_endpoints": those_of_the_first_list},
)


none_for_a_key_of_two = Mutant(
    clause="A76-KEY-05",
    broken="endpoints that share their key are left out",
    rules={
        "ring_endpoints": lambda _before, now: [
            endpoint for endpoint in now if Counter(keys_of(now).values())[endpoint.hash_key] == 1
        ]
    },
    reports="neither of them",
)


hash_key_switched_off = Mutant(
    clause="A76-KEY-06",
    broken="keys are ignored",
    rules={"ring_key": ring_key},
    reports="ignored",
)


hash_key_off_by_default = Mutant(
    clause="A76-KEY-07",
    broken="keys are ignored while the variable is unset",
    rules={"ring_key": ring_key},
    reports="ignored",
    issue="https://github.com/grpc/grpc-go/pull/8922",
)


def all_or_none(_before: Sequence[Endpoint], now: Sequence[Endpoint]) -> Sequence[Endpoint]:
    """Remove the keys of all endpoints if one of them has none."""
    if all(endpoint.hash_key for endpoint in now):
        return now
    return [replace(endpoint, hash_key="") for endpoint in now]


keys_of_all_or_none = Mutant(
    clause="A76-KEY-01",
    broken="keys count only if each endpoint has one",
    rules={"ring_endpoints": all_or_none},
)


start_of_a_long_key = Mutant(
    clause="A76-KEY-01",
    broken="only the first 16 characters of a key are hashed",
    rules={"ring_key": lambda endpoint: endpoint.hash_key[:16] or ring_key(endpoint)},
)


keys_of_the_first_locality = Mutant(
    clause="A76-KEY-01",
    broken="keys count in the first locality only",
    rules={
        "ring_endpoints": lambda _before, now: [
            endpoint if endpoint.locality == now[0].locality else replace(endpoint, hash_key="")
            for endpoint in now
        ]
    },
)
