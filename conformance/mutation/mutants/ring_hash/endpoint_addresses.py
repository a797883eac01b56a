"""Mutants of the clauses in endpoint_addresses.toml."""

from collections.abc import Sequence

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import (
    Leaves,
    dns_endpoints,
    dns_endpoints_a61,
    used_addresses,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.values import Endpoint
from conformance.mutation.mutants.trees import of_leaves_below


def weighed_by_addresses(
    _before: Sequence[Endpoint], now: Sequence[Endpoint]
) -> Sequence[Endpoint]:
    """Multiply the weight of each endpoint by its number of addresses."""
    return [replace(endpoint, weight=endpoint.weight * len(endpoint.addresses)) for endpoint in now]


weight_for_each_address = Mutant(
    clause="A61-RING-01",
    broken="an endpoint has its weight once for each address",
    rules={"ring_endpoints": weighed_by_addresses},
)


placed_by_the_last_address = Mutant(
    clause="A61-RING-02",
    broken="an endpoint is placed by the last of its addresses",
    rules={"ring_key": lambda endpoint: endpoint.addresses[-1]},
)


placed_by_the_lower_address = Mutant(
    clause="A61-RING-02",
    broken="an endpoint is placed by the lowest of its addresses",
    rules={"ring_key": lambda endpoint: min(endpoint.addresses)},
)


first_address_only = Mutant(
    clause="A61-RING-03",
    broken="additional addresses are not used, though A61 is declared",
    rules={"used_addresses": used_addresses},
)


placed_by_the_lowest_address = Mutant(
    clause="A61-RING-04",
    broken="an endpoint is placed by the lowest of its addresses, whichever is first",
    rules={"ring_key": lambda endpoint: min(endpoint.addresses)},
)


failed_with_its_first_address = Mutant(
    clause="A61-SUB-01",
    broken="an endpoint has failed as soon as its first address has",
    rules={"used_addresses": used_addresses},
)


each_address_an_endpoint = Mutant(
    clause="A61-DNS-01",
    broken="each address of a DNS name is a separate endpoint",
    rules={"dns_endpoints": dns_endpoints},
)


def separate_by_dns(leaves: Leaves) -> Leaves:
    """Make an endpoint of each address of a LOGICAL_DNS cluster."""
    changed = []
    for leaf, found in leaves:
        separate = found
        if leaf.dns_name and any(found.priorities):
            ((place,),) = found.priorities
            addresses = tuple(a for endpoint in place.endpoints for a in endpoint.addresses)
            several = replace(place, endpoints=dns_endpoints(addresses))
            separate = replace(found, priorities=((several,),))
        changed.append((leaf, separate))
    return changed


each_address_an_endpoint_of_a_leaf = Mutant(
    clause="A61-DNS-01",
    broken="each address of a DNS name is a separate endpoint below an aggregate",
    rules={"policy_tree": of_leaves_below(separate_by_dns)},
)


name_without_addresses = Mutant(
    clause="A61-DNS-01",
    broken="no address of a DNS name is used",
    rules={"dns_endpoints": lambda _addresses: ()},
)


guarded = Mutant(
    clause="A61-GUARD-01",
    broken="additional addresses are not used",
    rules={"used_addresses": used_addresses},
    reports="not used when unset, not used when false",
)


two_addresses_at_most = Mutant(
    clause="A61-SUB-01",
    broken="only two addresses of an endpoint are used",
    rules={"used_addresses": lambda addresses: addresses[:2]},
)


two_addresses_on_the_ring = Mutant(
    clause="A61-RING-03",
    broken="an endpoint whose first two addresses have failed is skipped",
    rules={"used_addresses": lambda addresses: addresses[:2]},
)


def several_are_light(_before: Sequence[Endpoint], now: Sequence[Endpoint]) -> Sequence[Endpoint]:
    """Give endpoints with several addresses the weight of the lightest endpoint."""
    least = min((endpoint.weight for endpoint in now), default=1)
    return [
        replace(endpoint, weight=least) if endpoint.addresses[1:] else endpoint for endpoint in now
    ]


several_addresses_weigh_one = Mutant(
    clause="A61-RING-01",
    broken="an endpoint with several addresses weighs as little as the lightest one",
    rules={"ring_endpoints": several_are_light},
)


first_two_addresses = Mutant(
    clause="A61-DNS-01",
    broken="only the first two addresses of a DNS name are used",
    rules={"dns_endpoints": lambda addresses: dns_endpoints_a61(addresses[:2])},
)


first_address_alone = Mutant(
    clause="A61-DNS-01",
    broken="only the first address of a DNS name is used",
    rules={"dns_endpoints": lambda addresses: dns_endpoints_a61(addresses[:1])},
)
