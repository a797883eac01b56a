"""Resolution of LOGICAL_DNS names: lookups, re-resolution, and errors (A37)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from client_under_test.reference.clusters.discovery import Leaf
from client_under_test.reference.transport.dns import LookUp, look_up_addresses


def eds_services(leaf: Leaf) -> tuple[str, ...]:
    """A37: the EDS resources to request for a leaf; none for a LOGICAL_DNS cluster.

    Clauses: A37-DNS-02, A37-TREE-08, A37-TREE-09.
    """
    return () if leaf.dns_name else (leaf.resource_name,)


def dns_error_counts(had_result: bool) -> bool:  # noqa: FBT001 - a state
    """A37: an error counts only if there was no result before.

    Clauses: A37-DNS-09, A37-DNS-29 (our choice: that a name does not exist is an error).
    """
    return not had_result


def names_to_reresolve(names: Sequence[str]) -> Sequence[str]:
    """A74: a re-resolution request resolves all names again. In A37, only those of its tree.

    Clauses: A37-DNS-10, A74-CONFIG-07.
    """
    return names


@dataclass(frozen=True, kw_only=True)
class NameRules:
    """The rules for resolving names."""

    look_up_addresses: LookUp = look_up_addresses
    """The addresses of a "host:port"."""
    eds_services: Callable[[Leaf], Collection[str]] = eds_services
    dns_error_counts: Callable[[bool], bool] = dns_error_counts
    """Takes whether an earlier resolution of the name succeeded."""
    names_to_reresolve: Callable[[Sequence[str]], Sequence[str]] = names_to_reresolve
    """Takes the names of all LOGICAL_DNS clusters of a channel, when one cluster requests
    re-resolution."""
