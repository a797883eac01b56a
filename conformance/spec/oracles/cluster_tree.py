"""Compute the leaves of a cluster in order, and which resources they need.

A37 ("CDS LB Policy Support for Aggregate and Logical DNS Clusters"): the client expands an
aggregate into its underlying clusters, depth first. A leaf counts once, at its first occurrence.

Clauses: A37-TREE-01, A37-TREE-02, A37-TREE-03, A37-TREE-04, A37-TREE-05, A37-TREE-06.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

DEEPEST = 16
"""The most names on a path from root to leaf, both included, by every reading of A37's limit."""


class Leaf(Struct, frozen=True, tag="leaf", kw_only=True):
    """A cluster with endpoints of its own."""

    service_name: str | None = None
    """The name of its EDS resource; None if it has none (LOGICAL_DNS)."""


class Aggregate(Struct, frozen=True, tag="aggregate"):
    """A cluster that lists underlying clusters, the most preferred first."""

    clusters: tuple[str, ...]


class Refused(Struct, frozen=True, tag="refused"):
    """A cluster whose resource the client rejected, and of which it never had a valid version."""


Cluster = Leaf | Aggregate | Refused
Clusters = Mapping[str, Cluster]
"""All clusters that the control plane has, by name; any other cluster does not exist."""


class Tree(Struct, frozen=True, kw_only=True):
    """The clusters below a root."""

    clusters: tuple[str, ...]
    """The names of the CDS resources that the client requests, in order of first occurrence."""
    leaves: tuple[str, ...]
    """The names of clusters with endpoints, in A37's order (depth first)."""
    without: tuple[str, ...]
    """The names of clusters that do not exist or that the client rejected."""
    services: tuple[str, ...]
    """The names of the EDS resources that the client requests for the leaves, each once."""
    depth: int
    """The most names on a path from the root to a cluster without children, each name once."""
    has_cycle: bool
    """True if a path leads from a cluster back to itself."""

    @property
    def fits(self) -> Literal["yes", "either", "no"]:
        """Return whether the depth is within A37's limit, which implementations count two ways."""
        if self.depth <= DEEPEST:
            return "yes"
        return "either" if self.depth == DEEPEST + 1 else "no"


def tree(root: str, clusters: Clusters) -> Tree:
    """Expand a root cluster. Expand each cluster once, however many paths lead to it."""
    met: dict[str, None] = {}
    depths: dict[str, int] = {}
    has_cycle = False
    # An explicit stack, because a chain of 1,000 clusters would exceed Python's recursion limit.
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
        # A cluster that is already on the path adds no depth.
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
    """Return the priorities of all leaves: those of the first leaf, then those of the next."""
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
    """Return the usable endpoints of the first priority that has any; none if requests fail.

    By A37 (`as_a_whole`) all requests fail if any cluster of the tree is unavailable. By A74 the
    client skips such a cluster.
    """
    if as_a_whole and tree(root, clusters).without:
        return ()
    for priority in joined(root, clusters, endpoints):
        if usable := tuple(address for address in priority if address not in failed):
            return usable
    return ()
