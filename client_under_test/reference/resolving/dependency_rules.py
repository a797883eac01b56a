"""Which resources a channel needs, and when what they say is used (A37, A74)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from client_under_test.reference.clusters.aggregates import LeafEndpoints
from client_under_test.reference.clusters.discovery import Cluster, Leaf


def routes_are_usable(_unfinished: Collection[str]) -> bool:
    """Before A74 each cluster is by itself: requests that go the way of a new one wait for it."""
    return True


def routes_are_usable_a74(unfinished: Collection[str]) -> bool:
    """A74: nothing of it is used before all has come that the routes lead to.

    Clauses: A74-CONFIG-01, A74-CONFIG-02, A74-CONFIG-03.
    """
    return not unfinished


def watches_to_end(watched: AbstractSet[str], needed: AbstractSet[str]) -> AbstractSet[str]:
    """A37: watch only the clusters in use and the clusters below them.

    Clauses: A37-TREE-27, A37-TREE-28, A74-CONFIG-02.
    """
    return watched - needed


def cluster_in_tree(_root: str, _name: str, cluster: Cluster | None) -> Cluster | None:
    """A37: the newest Cluster resource applies to each tree that contains it; None: wait.

    Clauses: A74-CONFIG-03, A37-TREE-32, A37-TROUBLE-01, A37-TROUBLE-04, A88-DATA-02.
    """
    return cluster


def endpoints_in_tree(_root: str, _leaf: Leaf, found: LeafEndpoints | None) -> LeafEndpoints | None:
    """A37: the newest endpoints of a leaf apply to each tree that contains it; None: wait.

    Clauses: A74-CONFIG-02, A37-TROUBLE-06.
    """
    return found


def clusters_kept_for_requests(held: Collection[str]) -> Collection[str]:
    """A74: watch a cluster until no request needs it, even if no route leads to it.

    Clauses: A74-CONFIG-02.
    """
    return held


@dataclass(frozen=True, kw_only=True)
class DependencyRules:
    """The rules for following routes to endpoints."""

    cluster_in_tree: Callable[[str, str, Cluster | None], Cluster | None] = cluster_in_tree
    """Takes the root of the tree, the cluster's name, and the cluster; None if unknown."""
    endpoints_in_tree: Callable[[str, Leaf, LeafEndpoints | None], LeafEndpoints | None] = (
        endpoints_in_tree
    )
    """Takes the root of the tree, the leaf, and the leaf's endpoints; None if unknown."""

    routes_are_usable: Callable[[Collection[str]], bool] = routes_are_usable
    """Takes the clusters of routes for which some resource is still missing."""
    clusters_kept_for_requests: Callable[[Collection[str]], Collection[str]] = (
        clusters_kept_for_requests
    )
    """Takes the clusters of requests in progress. Returns those that stay in use for them."""
    watches_to_end: Callable[[AbstractSet[str], AbstractSet[str]], AbstractSet[str]] = (
        watches_to_end
    )
    """Takes the watched and the needed names, of clusters or of EDS resources. Returns the names
    whose watches end."""
