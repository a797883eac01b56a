"""Which resources a channel needs, and when what they say is used (A37, A74)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from client_under_test.reference.clusters.aggregates import LeafEndpoints
from client_under_test.reference.clusters.discovery import Cluster, Leaf


def each_by_itself(_unfinished: Collection[str]) -> bool:
    """Before A74 each cluster is by itself: requests that go the way of a new one wait for it."""
    return True


def all_at_once(unfinished: Collection[str]) -> bool:
    """A74: nothing of it is used before all has come that the routes lead to.

    Clauses: A74-CONFIG-01, A74-CONFIG-02, A74-CONFIG-03.
    """
    return not unfinished


def no_longer_needed(watched: AbstractSet[str], needed: AbstractSet[str]) -> AbstractSet[str]:
    """A37: watch only the clusters in use and the clusters below them.

    Clauses: A37-TREE-27, A37-TREE-28, A74-CONFIG-02.
    """
    return watched - needed


def cluster_as_known(_root: str, _name: str, cluster: Cluster | None) -> Cluster | None:
    """A37: the newest Cluster resource applies to each tree that contains it; None: wait.

    Clauses: A74-CONFIG-03, A37-TREE-32, A37-TROUBLE-01, A37-TROUBLE-04, A88-DATA-02.
    """
    return cluster


def endpoints_as_known(
    _root: str, _leaf: Leaf, found: LeafEndpoints | None
) -> LeafEndpoints | None:
    """A37: the newest endpoints of a leaf apply to each tree that contains it; None: wait.

    Clauses: A74-CONFIG-02, A37-TROUBLE-06.
    """
    return found


def kept_for_requests(held: Collection[str]) -> Collection[str]:
    """A74: watch a cluster until no request needs it, even if no route leads to it.

    Clauses: A74-CONFIG-02.
    """
    return held


@dataclass(frozen=True, kw_only=True)
class DependencyRules:
    """The rules for following routes to endpoints."""

    cluster_as_known: Callable[[str, str, Cluster | None], Cluster | None] = cluster_as_known
    """Takes the root of the tree, the cluster's name, and the cluster; None if unknown."""
    endpoints_as_known: Callable[[str, Leaf, LeafEndpoints | None], LeafEndpoints | None] = (
        endpoints_as_known
    )
    """Takes the root of the tree, the leaf, and the leaf's endpoints; None if unknown."""

    may_be_used: Callable[[Collection[str]], bool] = each_by_itself
    """Takes the clusters of routes for which some resource is still missing."""
    held: Callable[[Collection[str]], Collection[str]] = kept_for_requests
    """Takes the clusters of requests in progress. Returns those that stay in use for them."""
    let_go: Callable[[AbstractSet[str], AbstractSet[str]], AbstractSet[str]] = no_longer_needed
    """Takes the watched and the needed names, of clusters or of EDS resources. Returns the names
    whose watches end."""
