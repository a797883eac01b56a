"""Mutants of the clauses in dns_names.toml."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from client_under_test.reference.clusters.discovery import Cluster, Leaf
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.transport.dns import look_up_addresses
from client_under_test.reference.xds.cluster_rules import host_and_port
from conformance.mutation.mutants.trees import (
    has_localities,
    nothing_behind_in_the_middle,
    of_leaves,
)


def refuses(is_bad: Callable[[str], bool]) -> Callable[[Any], Any]:
    """Reject further names besides empty ones."""

    def read(address: Any) -> Any:
        bad = is_bad(address.address)
        return [("address", "is no name")] if bad else host_and_port(address)

    return read


async def bracketed(name: str) -> tuple[str, ...]:
    """Put an IPv6 address into brackets before resolving it."""
    host, _, port = name.rpartition(":")
    return await look_up_addresses(f"[{host}]:{port}" if ":" in host else name)


def none_with_a_space(
    _root: str, met: Sequence[str], known: Mapping[str, Cluster]
) -> Sequence[str]:
    """Return no leaves if one of them has a name with a space."""
    leaves = (known[name] for name in met)
    return () if any(isinstance(leaf, Leaf) and " " in leaf.dns_name for leaf in leaves) else met


LONGEST = 253
"""The most characters of a name without its final dot (RFC 1035, 2.3.4)."""


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
    rules={"look_up_addresses": bracketed},
    reports="served",
)


no_tree_with_a_bad_name = Mutant(
    clause="A37-DNS-23",
    broken="a tree with a name with a space has no leaves",
    rules={"leaf_order": none_with_a_space},
)


waits_for_a_new_name = Mutant(
    clause="A37-DNS-26",
    broken="a tree uses the old name of a leaf until the new one resolves",
    rules={"endpoints_without_data": lambda _: None},
)


def none_behind_a_name(
    _root: str, met: Sequence[str], known: Mapping[str, Cluster]
) -> Sequence[str]:
    """Return the leaves up to the first whose name is no IPv4 address."""
    for number, name in enumerate(met):
        host = getattr(known[name], "dns_name", "").rpartition(":")[0]
        if host and not host.replace(".", "").isdecimal():
            return met[: number + 1]
    return met


bad_name_ends_the_list = Mutant(
    clause="A37-DNS-23",
    broken="leaves after one with a name that cannot be resolved are not used",
    rules={"leaf_order": none_behind_a_name},
)


new_name_in_the_middle_ends_the_list = Mutant(
    clause="A37-DNS-26",
    broken="leaves after a middle leaf whose new name does not resolve are not used",
    rules={
        "policy_tree": of_leaves(
            nothing_behind_in_the_middle(lambda found: not has_localities(found))
        )
    },
)


waits_for_a_new_name_alone = Mutant(
    clause="A37-DNS-27",
    broken="a cluster uses its old name until the new one resolves",
    rules={"endpoints_without_data": lambda _: None},
)
