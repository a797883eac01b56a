"""Mutants of the clauses in dns.toml."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import dns.asyncquery
import dns.asyncresolver
import dns.exception
import dns.flags
import dns.message
import dns.resolver
from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import (
    dns_endpoints,
    dns_policy_a61,
    endpoints_without_data,
)
from client_under_test.reference.clusters.discovery import Leaf
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.transport.dns import look_up_addresses
from client_under_test.reference.values import Locality
from client_under_test.reference.xds.cluster_rules import host_and_port
from conformance import timing
from conformance.mutation.mutants.aggregate.tree import Found, Rule, found_by
from conformance.mutation.mutants.trees import (
    has_localities,
    nothing_behind_in_the_middle,
    of_leaves,
)

LookUp = Callable[[str], Awaitable[tuple[str, ...]]]


def besides(kind: str, prefix: str) -> LookUp:
    """Query another record type first, and ignore the result."""

    async def look_up(name: str) -> tuple[str, ...]:
        with suppress(dns.exception.DNSException):
            await dns.asyncresolver.resolve(f"{prefix}.{name.rpartition(':')[0]}", kind)
        return await look_up_addresses(name)

    return look_up


async def domain_first(name: str) -> tuple[str, ...]:
    """Query the addresses of the domain before those of the name."""
    with suppress(OSError):
        await look_up_addresses(name.partition(".")[2])
    return await look_up_addresses(name)


def never_again() -> LookUp:
    """Never resolve a name again that failed once."""
    failed: dict[str, OSError] = {}

    async def look_up(name: str) -> tuple[str, ...]:
        if name in failed:
            raise failed[name]
        try:
            return await look_up_addresses(name)
        except OSError as trouble:
            failed[name] = trouble
            raise

    return look_up


def first_name_for_good(*, below: bool = False) -> Rule:
    """Keep the first name of each leaf, or only of leaves below an aggregate."""
    first: dict[str, str] = {}

    def unchanged(root: str, found: Found) -> Found:
        return [
            replace(leaf, dns_name=first.setdefault(leaf.name, leaf.dns_name))
            if isinstance(leaf, Leaf) and not (below and leaf.name == root)
            else leaf
            for leaf in found
        ]

    return found_by(unchanged)


async def ipv4_only(name: str) -> tuple[str, ...]:
    """Ignore IPv6 addresses."""
    found = tuple(
        address for address in await look_up_addresses(name) if not address.startswith("[")
    )
    if not found:
        raise OSError("no address of IPv4")
    return found


async def never_over_tcp(name: str) -> tuple[str, ...]:
    """Treat a truncated answer as none."""
    query = dns.message.make_query(name.rpartition(":")[0], "A")
    server = str(dns.resolver.get_default_resolver().nameservers[0])
    answer = await dns.asyncquery.udp(query, server, timeout=timing.EVENT)
    if answer.flags & dns.flags.TC:
        raise OSError("cut short")
    return await look_up_addresses(name)


https_port = Mutant(
    clause="A37-DNS-01",
    broken="the port of LOGICAL_DNS is 443, whatever the Cluster says",
    xds={"host_and_port": lambda written: (*host_and_port(written)[:1], 443)},
)


more_names = Mutant(
    clause="A37-DNS-01",
    broken="the domain of the name is resolved as well",
    rules={"look_up_addresses": domain_first},
)


endpoints_asked_for = Mutant(
    clause="A37-DNS-02",
    broken="endpoints are requested for every cluster with an EDS service name",
    rules={"eds_services": lambda leaf: (leaf.resource_name,)},
    xds={"service_name": lambda _kind, written: written},
)


def kept_services() -> Callable[[Leaf], tuple[str, ...]]:
    """Keep the subscription to the endpoints of a cluster that once was of EDS."""
    first: dict[str, str] = {}

    def services(leaf: Leaf) -> tuple[str, ...]:
        if not leaf.dns_name:
            first[leaf.name] = leaf.resource_name
        return tuple(name for name in (first.get(leaf.name),) if name)

    return services


endpoints_kept = Mutant(
    clause="A37-DNS-02",
    broken="a cluster that an update changes to LOGICAL_DNS stays subscribed to its endpoints",
    rules={"eds_services": kept_services()},
)


locality_by_dns = Mutant(
    clause="A37-DNS-03",
    broken="the locality of LOGICAL_DNS is named dns",
    rules={"dns_locality": lambda: Locality(region="dns")},
)


each_address_by_itself = Mutant(
    clause="A37-DNS-04",
    broken="each address of a DNS name is a separate endpoint",
    rules={"dns_endpoints": dns_endpoints},
)


policy_of_the_cluster = Mutant(
    clause="A37-DNS-04",
    broken="the addresses of LOGICAL_DNS are balanced by the policy of the Cluster",
    rules={"dns_policy": dns_policy_a61},
    variant="seed",
)


service_config = Mutant(
    clause="A37-DNS-05",
    broken="DNS is queried for a service config",
    rules={"look_up_addresses": besides("TXT", "_grpc_config")},
)


balancers = Mutant(
    clause="A37-DNS-06",
    broken="DNS is queried for balancers",
    rules={"look_up_addresses": besides("SRV", "_grpclb._tcp")},
)


unresolved_waits = Mutant(
    clause="A37-DNS-07",
    broken="a tree waits for a name that does not resolve",
    rules={"endpoints_without_data": lambda _: None},
)


unresolved_in_the_middle_ends_the_list = Mutant(
    clause="A37-DNS-07",
    broken="leaves after a middle leaf whose name does not resolve are not used",
    rules={
        "policy_tree": of_leaves(
            nothing_behind_in_the_middle(lambda found: not has_localities(found))
        )
    },
)


unresolved_waits_alone = Mutant(
    clause="A37-DNS-08",
    broken="a cluster waits for its name that does not resolve",
    rules={"endpoints_without_data": lambda _: None},
)


name_for_good = Mutant(
    clause="A37-DNS-12",
    broken="a LOGICAL_DNS cluster keeps its first name",
    rules={"usable_leaves": first_name_for_good()},
)


given_up = Mutant(
    clause="A37-DNS-18",
    broken="a name that failed to resolve once is never resolved",
    rules={"look_up_addresses": never_again()},
    reports="not served",
)


gone_for_good = Mutant(
    clause="A37-DNS-19",
    broken="a name that did not exist once is never resolved",
    rules={"look_up_addresses": never_again()},
    reports="not served",
)


ipv6_is_not_used = Mutant(
    clause="A37-DNS-24",
    broken="IPv6 addresses are not used",
    rules={"look_up_addresses": ipv4_only},
    reports="not served",
)


udp_alone = Mutant(
    clause="A37-DNS-25",
    broken="a name server is not queried over TCP",
    rules={"look_up_addresses": never_over_tcp},
    reports="not served",
)


says_nothing_of_the_name = Mutant(
    clause="A37-DNS-28",
    broken="errors do not say why there are no endpoints",
    rules={"endpoints_without_data": lambda _: endpoints_without_data("")},
    reports="name not told",
)


name_below_an_aggregate_for_good = Mutant(
    clause="A37-DNS-12",
    broken="a LOGICAL_DNS cluster below an aggregate keeps its first name",
    rules={"usable_leaves": first_name_for_good(below=True)},
)


class WrittenLocality:
    """The locality that load_assignment gives to the endpoint of a LOGICAL_DNS cluster."""

    def __init__(self) -> None:
        self._written = Locality()

    def note(self, message: Any, found: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        """Note the locality of a Cluster with load_assignment."""
        for each in message.load_assignment.endpoints:
            named = each.locality
            self._written = Locality(region=named.region, zone=named.zone, sub_zone=named.sub_zone)
        return found

    def locality(self) -> Locality:
        """Return the locality that was noted last."""
        return self._written


WRITTEN = WrittenLocality()

locality_of_load_assignment = Mutant(
    clause="A37-DNS-03",
    broken="the locality of LOGICAL_DNS is the one in load_assignment",
    rules={"dns_locality": WRITTEN.locality},
    xds={"cluster_errors": WRITTEN.note},
)
