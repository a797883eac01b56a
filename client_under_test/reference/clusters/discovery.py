"""From Cluster resources to the leaves of a tree of clusters (A37, as amended by A74 and A75)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.policies.rules.admission import MAX_REQUESTS
from client_under_test.reference.policies.rules.outlier_detection import OutlierSettings
from client_under_test.reference.values import Status

DEPTH_LIMIT: Final = 16  # A37, CDS LB Policy Support for Aggregate and Logical DNS Clusters


# What is known of clusters.


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster with endpoints of its own: EDS, or LOGICAL_DNS if it has a `dns_name` "host:port".

    `service_name` is empty if the Cluster has none; `reported` says whether it has an lrs_server,
    and `metrics` what of its backends' own it wants reported (A85).
    """

    name: str
    policy: PolicyConfig
    service_name: str = ""
    dns_name: str = ""
    reported: bool = False
    metrics: tuple[str, ...] = ()
    max_requests: int = MAX_REQUESTS
    override_host_status: frozenset[int] = frozenset()
    """A55: the health statuses of endpoints that cookies may lead to."""

    outlier_detection: OutlierSettings = OutlierSettings()
    """A50: which endpoints are ejected."""

    @property
    def resource_name(self) -> str:
        """The name of its EDS resource."""
        return self.service_name or self.name


class Aggregate(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster made of others, the first preferred.

    `reported` and `max_requests` are kept, but no gRFC makes a client use them.
    """

    name: str
    policy: PolicyConfig
    clusters: tuple[str, ...]
    reported: bool = False
    max_requests: int = MAX_REQUESTS


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster without a resource that can be used.

    `is_gone`: it does not exist. If False, the cause may pass: the client rejected the resource,
    or lost the control plane. A cluster that existed before becomes missing only if it is gone.
    """

    name: str
    status: Status
    is_gone: bool = True


Cluster = Leaf | Aggregate | Missing


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from the clusters known so far.

    `names`: all clusters to watch, in the order of traversal; `waiting`: the unknown clusters
    among them. If none is unknown, the result is one of three: `leaves`, the clusters that requests
    go to; `failure`; or `stays`: the client keeps the previous result.
    """

    names: tuple[str, ...]
    waiting: frozenset[str] = frozenset()
    leaves: tuple[Leaf, ...] = ()
    failure: Status | None = None
    stays: bool = False


def discover(
    root: str, known: Mapping[str, Cluster], rules: DiscoveryRules, *, in_force: bool = False
) -> Discovery:
    """A37: follow aggregates to their leaves, each of which counts where it appears first.

    Args:
        root: the cluster that a route leads to.
        known: what is known of clusters, by name.
        rules: the edition.
        in_force: whether a tree of this root has been in use, and did not fail since.
    """
    met: dict[str, int] = {}
    too_deep = _meet(root, (), known, met, rules)
    names = tuple(met)
    if too_deep:
        failure = Status.unavailable(f"aggregate cluster {root} is more than {DEPTH_LIMIT} deep")
        return Discovery(names=names, failure=failure)
    waiting = frozenset(name for name in names if name not in known)
    if waiting:
        return Discovery(names=names, waiting=waiting)
    ordered = rules.leaf_order(root, names, known)
    found = [node for name in ordered if not isinstance(node := known[name], Aggregate)]
    leaves = rules.usable_leaves(root, found, in_force)
    if leaves is None:
        return Discovery(names=names, stays=True)
    if isinstance(leaves, Status):
        return Discovery(names=names, failure=leaves)
    top = known[root]
    aggregate = top if isinstance(top, Aggregate) else None
    reported = (
        msgspec.structs.replace(leaf, reported=rules.reports_load(aggregate, leaf))
        for leaf in leaves
    )
    return Discovery(names=names, leaves=tuple(reported))


def _meet(
    name: str,
    way: tuple[str, ...],
    known: Mapping[str, Cluster],
    met: dict[str, int],
    rules: DiscoveryRules,
) -> bool:
    """Note the names in order, each with its deepest level; tell whether the limit is exceeded."""
    if rules.is_cycle(name, way):
        return False
    if rules.is_too_deep(len(way) + 1):
        return True
    if met.get(name, -1) >= len(way):
        return False
    met[name] = len(way)
    cluster = known.get(name)
    if not isinstance(cluster, Aggregate):
        return False
    below = [_meet(child, (*way, name), known, met, rules) for child in cluster.clusters]
    return any(below)


# The rules.


def is_cycle(name: str, way: Sequence[str]) -> bool:
    """Return whether a cluster is its own ancestor: then it adds nothing there.

    Our choice: A37 does not speak of circles (A37-TREE-22). No other cluster is left out
    (A37-TREE-18).
    """
    return name in way


def circles_are_followed(_name: str, _way: Sequence[str]) -> bool:
    """Take A37 at its word: a tree with a circle in it is deeper than any limit."""
    return False


def is_too_deep(names: int) -> bool:
    """A37: no more than 16 names may stand one below the other, the leaf's own counted.

    Clauses: A37-TREE-16, A37-TREE-17, A37-TREE-18, A37-TREE-19 (our choice), A37-TREE-20.
    """
    return names > DEPTH_LIMIT


def leaf_order(_root: str, met: Sequence[str], _known: Mapping[str, Cluster]) -> Sequence[str]:
    """A37: depth first, in the order of the lists; who appears again counts where it was first.

    Clauses: A37-TREE-01, A37-TREE-02, A37-TREE-04, A37-TREE-05, A37-TREE-06, A37-TREE-16,
    A37-TREE-35, A37-DNS-13, A37-DNS-23.
    """
    return met


def usable_leaves(
    root: str,
    found: Sequence[Leaf | Missing],
    in_force: bool,  # noqa: FBT001 - a state
    /,
) -> tuple[Leaf, ...] | Status | None:
    """A37: if any cluster of an aggregate does not exist, the aggregate has failed.

    Another error makes it fail only if there was no tree before; else that one stays, as `None`
    says.

    Clauses: A37-TROUBLE-01, A37-TROUBLE-07, A37-TROUBLE-11, A37-TROUBLE-17.
    """
    missing = [leaf for leaf in found if isinstance(leaf, Missing)]
    for leaf in missing:
        if leaf.is_gone:
            return leaf.status
    if missing:
        return None if in_force else missing[0].status
    return _some(root, [leaf for leaf in found if isinstance(leaf, Leaf)])


def usable_leaves_a74(
    root: str,
    found: Sequence[Leaf | Missing],
    _in_force: bool,  # noqa: FBT001 - a state
    /,
) -> tuple[Leaf, ...] | Status | None:
    """A74: clusters that cannot be used are passed over; if all are, the aggregate has failed.

    Otherwise it consists of all clusters that it lists now, even if other aggregates share them.

    Our choices are A37-TREE-36, A37-TREE-37 and A37-TROUBLE-36.
    """
    if len(found) == 1 and isinstance(found[0], Missing):
        return found[0].status
    return _some(root, [leaf for leaf in found if isinstance(leaf, Leaf)])


def _some(root: str, leaves: Sequence[Leaf]) -> tuple[Leaf, ...] | Status:
    return tuple(leaves) or Status.unavailable(f"cluster {root} has no leaf clusters")


def reports_load(_aggregate: Aggregate | None, leaf: Leaf) -> bool:
    """Report the load of a leaf whose own Cluster has an lrs_server.

    Our choice: A37 has that field in the list of leaves, and says elsewhere that it is not used.
    """
    return leaf.reported


@dataclass(frozen=True, kw_only=True)
class DiscoveryRules:
    """Which clusters a cluster is made of."""

    is_cycle: Callable[[str, Sequence[str]], bool] = is_cycle
    is_too_deep: Callable[[int], bool] = is_too_deep
    leaf_order: Callable[[str, Sequence[str], Mapping[str, Cluster]], Sequence[str]] = leaf_order
    """Takes the root, all names in the order of traversal, and the known clusters by name. Returns
    the names in the order of priority of the leaves."""
    usable_leaves: Callable[
        [str, Sequence[Leaf | Missing], bool], tuple[Leaf, ...] | Status | None
    ] = usable_leaves
    reports_load: Callable[[Aggregate | None, Leaf], bool] = reports_load
