"""Mutants of the clauses in assignments.toml."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from client_under_test.reference.editions.mutants import Mutant
from conformance.mutation.mutants.findings import Finding, Weigh, overlooking, refusing

TOO_MUCH = 2**32


any_sum = Mutant(
    clause="A27-WEIGHT-01",
    broken="locality weights may add up to any number",
    xds={"overweight_priorities": lambda _weights: ()},
)


over_all_priorities = Mutant(
    clause="A27-WEIGHT-01",
    broken="the weights of all priorities are added up",
    xds={
        "overweight_priorities": lambda weights: (0,) if sum(weights.values()) >= TOO_MUCH else ()
    },
)


first_priority_alone = Mutant(
    clause="A27-WEIGHT-01",
    broken="the weights of the first priority alone are added up",
    xds={"overweight_priorities": lambda weights: (0,) if weights.get(0, 0) >= TOO_MUCH else ()},
)


def has_a_locality_twice(message: Any) -> bool:
    """Return whether a locality is listed twice, in any priorities."""
    names = [endpoint.locality.region for endpoint in message.endpoints]
    return len({*names}) < len(names)


twice_is_fine = Mutant(
    clause="A27-VALID-01",
    broken="a locality may be listed twice in a priority",
    xds={"endpoint_errors": overlooking("locality", "twice")},
)


no_locality_in_two_priorities = Mutant(
    clause="A27-VALID-01",
    broken="a locality may not be listed in two priorities",
    xds={"endpoint_errors": refusing(has_a_locality_twice)},
)


def overlooked_apart(message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
    """Accept a locality listed twice, unless its entries follow each other."""
    names = [endpoint.locality.SerializeToString() for endpoint in message.endpoints]
    if any(name == after for name, after in pairwise(names)):
        return found
    return overlooking("locality", "twice")(message, found)


def overlooked_below(message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
    """Accept a locality listed twice in any priority but the first."""
    names = [each.locality.SerializeToString() for each in message.endpoints if not each.priority]
    if len({*names}) < len(names):
        return found
    return overlooking("locality", "twice")(message, found)


twice_apart_is_fine = Mutant(
    clause="A27-VALID-01",
    broken="a locality may be listed twice in a priority with another one between",
    xds={"endpoint_errors": overlooked_apart},
)


twice_in_a_lower_priority_is_fine = Mutant(
    clause="A27-VALID-01",
    broken="a locality may be listed twice in any priority but the first",
    xds={"endpoint_errors": overlooked_below},
)


def has_a_zone_twice(message: Any) -> bool:
    """Return whether two localities differ at most in their sub_zone."""
    names = [
        (each.priority, each.locality.region, each.locality.zone) for each in message.endpoints
    ]
    return len({*names}) < len(names)


sub_zone_ignored = Mutant(
    clause="A27-VALID-01",
    broken="localities that differ in sub_zone alone are the same",
    xds={"endpoint_errors": refusing(has_a_zone_twice)},
)


def repeated(message: Any, *, place: Callable[[Any], object]) -> bool:
    """Return whether an address is listed twice in the same place."""
    listed = [
        (place(locality), each.endpoint.address.SerializeToString())
        for locality in message.endpoints
        for each in locality.lb_endpoints
    ]
    return len({*listed}) < len(listed)


def overlooked_elsewhere(place: Callable[[Any], object]) -> Weigh:
    """Accept an address listed twice, unless both are in the same place."""

    def weigh(message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
        if repeated(message, place=place):
            return found
        return overlooking("address", "twice")(message, found)

    return weigh


address_twice_is_fine = Mutant(
    clause="A27-VALID-10",
    broken="an address may be listed twice",
    xds={"endpoint_errors": overlooking("address", "twice")},
    issue="https://github.com/grpc/grpc-go/issues/5710",
)


address_in_two_localities_is_fine = Mutant(
    clause="A27-VALID-10",
    broken="an address may be listed in two localities",
    xds={"endpoint_errors": overlooked_elsewhere(lambda each: each.locality.SerializeToString())},
)


address_in_two_priorities_is_fine = Mutant(
    clause="A27-VALID-10",
    broken="an address may be listed in two priorities",
    xds={"endpoint_errors": overlooked_elsewhere(lambda each: each.priority)},
)


entry_without_endpoint = Mutant(
    clause="A27-VALID-02",
    broken="entries without an endpoint are skipped",
    xds={"endpoint_errors": overlooking(".endpoint")},
    reports="accepted",
)


endpoint_without_address = Mutant(
    clause="A27-VALID-03",
    broken="endpoints without an address are skipped",
    xds={"endpoint_errors": overlooking(".endpoint.address")},
    reports="accepted",
)


address_of_another_kind = Mutant(
    clause="A27-VALID-04",
    broken="addresses that are not a socket_address are skipped",
    xds={"endpoint_errors": overlooking(".socket_address", "missing")},
    reports="accepted",
)


no_port = Mutant(
    clause="A27-VALID-05",
    broken="an address may have no port",
    xds={"endpoint_errors": overlooking(".port_value", "0 is")},
    reports="accepted",
)


names_are_taken = Mutant(
    clause="A27-VALID-06",
    broken="addresses that are not IP addresses are skipped",
    xds={"endpoint_errors": overlooking(".socket_address.address")},
    reports="accepted",
)


no_locality = Mutant(
    clause="A27-VALID-07",
    broken="the field locality may be missing",
    xds={"endpoint_errors": overlooking(".locality", "missing")},
    reports="accepted",
)


any_sum_of_endpoints = Mutant(
    clause="A27-VALID-08",
    broken="weights of endpoints may add up to any number",
    xds={"endpoint_errors": overlooking(".lb_endpoints", "add up")},
    reports="accepted",
)


any_port = Mutant(
    clause="A27-VALID-09",
    broken="any number is accepted as a port",
    xds={"endpoint_errors": overlooking(".port_value", "is no port")},
    reports="accepted",
)
