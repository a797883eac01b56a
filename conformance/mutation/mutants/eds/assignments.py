"""Mutants of the clauses in assignments.toml."""

from __future__ import annotations

from typing import Any

from client_under_test.reference.editions.mutants import Mutant
from conformance.mutation.mutants.findings import overlooking, refusing

TOO_MUCH = 2**32


any_sum = Mutant(
    clause="A27-WEIGHT-01",
    broken="locality weights may add up to any number",
    xds={"too_heavy": lambda _weights: ()},
)


over_all_priorities = Mutant(
    clause="A27-WEIGHT-01",
    broken="the weights of all priorities are added up",
    xds={"too_heavy": lambda weights: (0,) if sum(weights.values()) >= TOO_MUCH else ()},
)


def has_a_locality_twice(message: Any) -> bool:
    """Return whether a locality is listed twice, in any priorities."""
    names = [endpoint.locality.region for endpoint in message.endpoints]
    return len({*names}) < len(names)


twice_is_fine = Mutant(
    clause="A27-VALID-01",
    broken="a locality may be listed twice in a priority",
    xds={"wrong_with_endpoints": overlooking("locality", "twice")},
)


no_locality_in_two_priorities = Mutant(
    clause="A27-VALID-01",
    broken="a locality may not be listed in two priorities",
    xds={"wrong_with_endpoints": refusing(has_a_locality_twice)},
)


entry_without_endpoint = Mutant(
    clause="A27-VALID-02",
    broken="entries without an endpoint are skipped",
    xds={"wrong_with_endpoints": overlooking(".endpoint")},
    reports="accepted",
)


endpoint_without_address = Mutant(
    clause="A27-VALID-03",
    broken="endpoints without an address are skipped",
    xds={"wrong_with_endpoints": overlooking(".endpoint.address")},
    reports="accepted",
)


address_of_another_kind = Mutant(
    clause="A27-VALID-04",
    broken="addresses that are not a socket_address are skipped",
    xds={"wrong_with_endpoints": overlooking(".socket_address", "missing")},
    reports="accepted",
)


no_port = Mutant(
    clause="A27-VALID-05",
    broken="an address may have no port",
    xds={"wrong_with_endpoints": overlooking(".port_value", "0 is")},
    reports="accepted",
)


names_are_taken = Mutant(
    clause="A27-VALID-06",
    broken="addresses that are not IP addresses are skipped",
    xds={"wrong_with_endpoints": overlooking(".socket_address.address")},
    reports="accepted",
)


no_locality = Mutant(
    clause="A27-VALID-07",
    broken="the field locality may be missing",
    xds={"wrong_with_endpoints": overlooking(".locality", "missing")},
    reports="accepted",
)


any_sum_of_endpoints = Mutant(
    clause="A27-VALID-08",
    broken="weights of endpoints may add up to any number",
    xds={"wrong_with_endpoints": overlooking(".lb_endpoints", "add up")},
    reports="accepted",
)


any_port = Mutant(
    clause="A27-VALID-09",
    broken="any number is accepted as a port",
    xds={"wrong_with_endpoints": overlooking(".port_value", "is no port")},
    reports="accepted",
)
