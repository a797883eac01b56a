"""Compute the leaves of a cluster in order, and which resources they need.

A37 ("CDS LB Policy Support for Aggregate and Logical DNS Clusters"): an aggregate is followed to
the clusters that it is made of, depth first, and a leaf counts once, where it is met first.

Clauses: A37-TREE-01, A37-TREE-02, A37-TREE-03, A37-TREE-04, A37-TREE-05, A37-TREE-06.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

DEEPEST = 16
"""Names on a way from the root to a leaf, both counted, that any reading of A37's limit allows."""


class Leaf(Struct, frozen=True, tag="leaf", kw_only=True):
    """A cluster with endpoints of its own."""

    service_name: str | None = None
    """What EDS calls it; None: there is no EDS resource of it (LOGICAL_DNS)."""


class Aggregate(Struct, frozen=True, tag="aggregate"):
    """A cluster that is made of others, the most preferred first."""

    clusters: tuple[str, ...]


class Refused(Struct, frozen=True, tag="refused"):
    """A cluster whose resource a client cannot use, and never had a good one of."""


Cluster = Leaf | Aggregate | Refused
Clusters = Mapping[str, Cluster]
"""All that exist, by name: what is not in it is missing."""


class Tree(Struct, frozen=True, kw_only=True):
    """What following a root leads to."""

    clusters: tuple[str, ...]
    """The names of all, in the order in which they are met first: what CDS is asked for."""
    leaves: tuple[str, ...]
    """Those of them that have endpoints of their own, in the same order: it is A37's."""
    without: tuple[str, ...]
    """Those that are missing or refused."""
    services: tuple[str, ...]
    """The names by which EDS is asked for the endpoints of the leaves, each once."""
    depth: int
    """The most names on a way from the root to a cluster that leads no further, each name once."""
    has_cycle: bool
    """Whether a cluster is met on the way from itself."""

    @property
    def fits(self) -> Literal["yes", "either", "no"]:
        """Whether it is within A37's limit of depth, which implementations count from two ends."""
        if self.depth <= DEEPEST:
            return "yes"
        return "either" if self.depth == DEEPEST + 1 else "no"


def tree(root: str, clusters: Clusters) -> Tree:
    """Follow a root. Each cluster is looked into once, however many ways lead to it."""
    met: dict[str, None] = {}
    depths: dict[str, int] = {}
    has_cycle = False
    # A stack of its own: a chain of a thousand clusters is to be followed as well.
    way: dict[str, Iterator[str]] = {}
    ahead = [root]
    while ahead or way:
        if ahead:
            name = ahead.pop()
            if name in way:
                has_cycle = True
            elif name not in depths:
                met.setdefault(name)
                way[name] = iter(_below(name, clusters))
        name = next(reversed(way))
        below = next(way[name], None)
        if below is not None:
            ahead.append(below)
            continue
        del way[name]
        # One that stands on the way already leads no further here.
        lower = (depths.get(cluster, 0) for cluster in _below(name, clusters))
        depths[name] = 1 + max(lower, default=0)
    leaves = tuple(name for name in met if isinstance(clusters.get(name), Leaf))
    services = (node.service_name for name in leaves if isinstance(node := clusters[name], Leaf))
    return Tree(
        clusters=tuple(met),
        leaves=leaves,
        without=tuple(
            cluster for cluster in met if not isinstance(clusters.get(cluster), Leaf | Aggregate)
        ),
        services=tuple(dict.fromkeys(service for service in services if service is not None)),
        depth=depths[root],
        has_cycle=has_cycle,
    )


def _below(name: str, clusters: Clusters) -> tuple[str, ...]:
    node = clusters.get(name)
    return node.clusters if isinstance(node, Aggregate) else ()


Priorities = Sequence[Collection[str]]
"""The addresses of a cluster's endpoints, by priority."""


def joined(
    root: str, clusters: Clusters, endpoints: Mapping[str, Priorities]
) -> tuple[tuple[str, ...], ...]:
    """The priorities of all leaves in a row: those of the first leaf, then those of the next."""
    leaves = tree(root, clusters).leaves
    return tuple(tuple(priority) for leaf in leaves for priority in endpoints.get(leaf, ()))


def first_usable(
    root: str,
    clusters: Clusters,
    endpoints: Mapping[str, Priorities],
    failed: Collection[str] = (),
    *,
    as_a_whole: bool = False,
) -> tuple[str, ...]:
    """The endpoints that serve: those of the first priority in which one has not failed.

    None: requests fail. `as_a_whole`: as they do where any cluster of the tree cannot be had (A37);
    else such a cluster is passed over (A74).
    """
    if as_a_whole and tree(root, clusters).without:
        return ()
    for priority in joined(root, clusters, endpoints):
        if usable := tuple(address for address in priority if address not in failed):
            return usable
    return ()
