"""Mutants of the clauses in dns.toml."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
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
    an_endpoint_for_each_address,
    cluster_impl,
    nothing_found,
    own_policy,
)
from client_under_test.reference.clusters.discovery import Cluster, Leaf
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import ClusterImplConfig
from client_under_test.reference.policies.rules.admission import DropCategory
from client_under_test.reference.transport.dns import addresses_of
from client_under_test.reference.values import Locality
from client_under_test.reference.xds.cluster_rules import as_found, host_and_port
from conformance import timing
from conformance.mutation.mutants.a37.tree import Found, Leaves, found_by
from conformance.mutation.mutants.a37.trouble import (
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
        return await addresses_of(name)

    return look_up


async def domain_first(name: str) -> tuple[str, ...]:
    """Query the addresses of the domain before those of the name."""
    with suppress(OSError):
        await addresses_of(name.partition(".")[2])
    return await addresses_of(name)


async def never_localhost(name: str) -> tuple[str, ...]:
    """Fail to resolve localhost."""
    if name.startswith("localhost:"):
        raise OSError("no such name")
    return await addresses_of(name)


def never_again() -> LookUp:
    """Never resolve a name again that failed once."""
    failed: dict[str, OSError] = {}

    async def look_up(name: str) -> tuple[str, ...]:
        if name in failed:
            raise failed[name]
        try:
            return await addresses_of(name)
        except OSError as trouble:
            failed[name] = trouble
            raise

    return look_up


def first_name_for_good() -> Callable[[str, Found, bool], Leaves]:
    """Keep the first name of each leaf."""
    first: dict[str, str] = {}

    def unchanged(_root: str, found: Found) -> Found:
        return [
            replace(leaf, dns_name=first.setdefault(leaf.name, leaf.dns_name))
            if isinstance(leaf, Leaf)
            else leaf
            for leaf in found
        ]

    return found_by(unchanged)


def by_dns_last(_root: str, met: Sequence[str], known: Mapping[str, Cluster]) -> Sequence[str]:
    """Put EDS leaves before the others."""

    def is_by_dns(name: str) -> bool:
        leaf = known[name]
        return isinstance(leaf, Leaf) and bool(leaf.dns_name)

    return sorted(met, key=is_by_dns)


def refuses(is_bad: Callable[[str], bool]) -> Callable[[Any], Any]:
    """Reject further names besides empty ones."""

    def read(address: Any) -> Any:
        bad = is_bad(address.address)
        return [("address", "is no name")] if bad else host_and_port(address)

    return read


async def bracketed(name: str) -> tuple[str, ...]:
    """Put an IPv6 address into brackets before resolving it."""
    host, _, port = name.rpartition(":")
    return await addresses_of(f"[{host}]:{port}" if ":" in host else name)


def none_with_a_space(
    _root: str, met: Sequence[str], known: Mapping[str, Cluster]
) -> Sequence[str]:
    """Return no leaves if one of them has a name with a space."""
    leaves = (known[name] for name in met)
    return () if any(isinstance(leaf, Leaf) and " " in leaf.dns_name for leaf in leaves) else met


def without_its_limit(aggregate: Any, leaf: Leaf, found: Any, child: Any) -> ClusterImplConfig:
    """Ignore the limit of a LOGICAL_DNS cluster."""
    config = cluster_impl(aggregate, leaf, found, child)
    return replace(config, max_requests=1024) if leaf.dns_name else config


def counted_by_its_name(aggregate: Any, leaf: Leaf, found: Any, child: Any) -> ClusterImplConfig:
    """Use the DNS name of a LOGICAL_DNS cluster as its service name."""
    config = cluster_impl(aggregate, leaf, found, child)
    return replace(config, service_name=leaf.dns_name) if leaf.dns_name else config


async def ipv4_only(name: str) -> tuple[str, ...]:
    """Ignore IPv6 addresses."""
    found = tuple(address for address in await addresses_of(name) if not address.startswith("["))
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
    return await addresses_of(name)


def dropped_as_assigned() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a rule that reads the drops of load_assignment, and one that applies them."""
    drops: dict[str, tuple[DropCategory, ...]] = {}

    def read(message: Any, found: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        drops[message.name] = tuple(
            DropCategory(overload.category, overload.drop_percentage.numerator * 10_000)
            for overload in message.load_assignment.policy.drop_overloads
        )
        return as_found(message, found)

    def used(aggregate: Any, leaf: Leaf, found: Any, child: Any) -> ClusterImplConfig:
        config = cluster_impl(aggregate, leaf, found, child)
        return replace(config, drops=drops.get(leaf.name, ()))

    return read, used


LONGEST = 253
"""The most characters of a name without its final dot (RFC 1035, 2.3.4)."""

READ_DROPS, USED_DROPS = dropped_as_assigned()

https_port = Mutant(
    clause="A37-DNS-01",
    broken="the port of LOGICAL_DNS is 443, whatever the Cluster says",
    xds={"host_and_port": lambda written: (*host_and_port(written)[:1], 443)},
)

more_names = Mutant(
    clause="A37-DNS-01",
    broken="the domain of the name is resolved as well",
    rules={"look_up": domain_first},
)

endpoints_asked_for = Mutant(
    clause="A37-DNS-02",
    broken="endpoints are requested for every cluster with an EDS service name",
    rules={"services": lambda leaf: (leaf.resource_name,)},
    xds={"service_name": lambda _kind, written: written},
)

locality_by_dns = Mutant(
    clause="A37-DNS-03",
    broken="the locality of LOGICAL_DNS is named dns",
    rules={"dns_locality": lambda: Locality(region="dns")},
)

each_address_by_itself = Mutant(
    clause="A37-DNS-04",
    broken="each address of a DNS name is a separate endpoint",
    rules={"dns_endpoints": an_endpoint_for_each_address},
)

policy_of_the_cluster = Mutant(
    clause="A37-DNS-04",
    broken="the addresses of LOGICAL_DNS are balanced by the policy of the Cluster",
    rules={"dns_policy": own_policy},
    edition="seed",
)

service_config = Mutant(
    clause="A37-DNS-05",
    broken="DNS is queried for a service config",
    rules={"look_up": besides("TXT", "_grpc_config")},
)

balancers = Mutant(
    clause="A37-DNS-06",
    broken="DNS is queried for balancers",
    rules={"look_up": besides("SRV", "_grpclb._tcp")},
)

unresolved_waits = Mutant(
    clause="A37-DNS-07",
    broken="a tree waits for a name that does not resolve",
    rules={"nothing_found": lambda _: None},
)

unresolved_in_the_middle_ends_the_list = Mutant(
    clause="A37-DNS-07",
    broken="leaves after a middle leaf whose name does not resolve are not used",
    rules={
        "tree": of_leaves(nothing_behind_in_the_middle(lambda found: not has_localities(found)))
    },
)

unresolved_waits_alone = Mutant(
    clause="A37-DNS-08",
    broken="a cluster waits for its name that does not resolve",
    rules={"nothing_found": lambda _: None},
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

name_for_good = Mutant(
    clause="A37-DNS-12",
    broken="a LOGICAL_DNS cluster keeps its first name",
    rules={"leaves": first_name_for_good()},
)

dns_last = Mutant(
    clause="A37-DNS-13",
    broken="leaves of EDS come before those of LOGICAL_DNS",
    rules={"leaf_order": by_dns_last},
)

no_limit = Mutant(
    clause="A37-DNS-14",
    broken="a LOGICAL_DNS cluster has no limit",
    rules={"cluster_impl": without_its_limit},
)

counted_by_name = Mutant(
    clause="A37-DNS-14",
    broken="another name of a LOGICAL_DNS cluster resets its count",
    rules={"cluster_impl": counted_by_its_name},
)

no_localhost = Mutant(
    clause="A37-DNS-15",
    broken="localhost is not resolved",
    rules={"look_up": never_localhost},
)

drops_of_the_assignment = Mutant(
    clause="A37-DNS-17",
    broken="drop_overloads in the load_assignment of a LOGICAL_DNS cluster apply",
    rules={"cluster_impl": USED_DROPS},
    xds={"wrong_with_cluster": READ_DROPS},
)

given_up = Mutant(
    clause="A37-DNS-18",
    broken="a name that failed to resolve once is never resolved",
    rules={"look_up": never_again()},
    reports="not served",
)

gone_for_good = Mutant(
    clause="A37-DNS-19",
    broken="a name that did not exist once is never resolved",
    rules={"look_up": never_again()},
    reports="not served",
)

spaces_are_refused = Mutant(
    clause="A37-DNS-16",
    broken="a name with a space is rejected",
    xds={"host_and_port": refuses(lambda host: " " in host)},
    reports="refused",
)

too_long_is_refused = Mutant(
    clause="A37-DNS-20",
    broken="a name of more than 253 characters is rejected",
    xds={"host_and_port": refuses(lambda host: len(host) > LONGEST)},
    reports="refused",
)

underscore_is_refused = Mutant(
    clause="A37-DNS-21",
    broken="a name with an underscore is rejected",
    xds={"host_and_port": refuses(lambda host: "_" in host)},
    reports="refused",
)

ipv6_is_served = Mutant(
    clause="A37-DNS-22",
    broken="an IPv6 address is put into brackets before it is resolved",
    rules={"look_up": bracketed},
    reports="served",
)

no_tree_with_a_bad_name = Mutant(
    clause="A37-DNS-23",
    broken="a tree with a name with a space has no leaves",
    rules={"leaf_order": none_with_a_space},
)

ipv6_is_not_used = Mutant(
    clause="A37-DNS-24",
    broken="IPv6 addresses are not used",
    rules={"look_up": ipv4_only},
    reports="not served",
)

udp_alone = Mutant(
    clause="A37-DNS-25",
    broken="a name server is not queried over TCP",
    rules={"look_up": never_over_tcp},
    reports="not served",
)

waits_for_a_new_name = Mutant(
    clause="A37-DNS-26",
    broken="a tree uses the old name of a leaf until the new one resolves",
    rules={"nothing_found": lambda _: None},
)

waits_for_a_new_name_alone = Mutant(
    clause="A37-DNS-27",
    broken="a cluster uses its old name until the new one resolves",
    rules={"nothing_found": lambda _: None},
)

says_nothing_of_the_name = Mutant(
    clause="A37-DNS-28",
    broken="errors do not say why there are no endpoints",
    rules={"nothing_found": lambda _: nothing_found("")},
    reports="name not told",
)

lost_when_gone = Mutant(
    clause="A37-DNS-29",
    broken="the addresses of a name are dropped when it no longer exists",
    rules={"error_counts": lambda _: True},
    reports="not served",
)
