"""Names of LOGICAL_DNS clusters: what is asked, when it is asked again, and what counts (A37)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from client_under_test.reference.clusters.discovery import Leaf
from client_under_test.reference.transport.dns import LookUp, addresses_of


def services(leaf: Leaf) -> tuple[str, ...]:
    """A37: the EDS resources that are asked for of a leaf; none of a LOGICAL_DNS cluster.

    Clauses: A37-DNS-02.
    """
    return () if leaf.dns_name else (leaf.resource_name,)


def error_counts(had_result: bool) -> bool:  # noqa: FBT001 - that is all that it goes by
    """A37: an error counts only if there was no result before.

    Clauses: A37-DNS-09, A37-DNS-29 (our choice: that a name does not exist is an error).
    """
    return not had_result


def all_of_them(names: Sequence[str]) -> Sequence[str]:
    """A74: all names are resolved again when one is to be. A37 has those of its tree resolved.

    Clauses: A37-DNS-10, A74-CONFIG-07.
    """
    return names


@dataclass(frozen=True, kw_only=True)
class NameRules:
    """What names are resolved by."""

    look_up: LookUp = addresses_of
    """The addresses of a "host:port"."""
    services: Callable[[Leaf], Collection[str]] = services
    error_counts: Callable[[bool], bool] = error_counts
    """Of whether there was a result of the name before."""
    resolved_again: Callable[[Sequence[str]], Sequence[str]] = all_of_them
    """Of the names of all LOGICAL_DNS clusters of a channel, when one of them asks for it."""
