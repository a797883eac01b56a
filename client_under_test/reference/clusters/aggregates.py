"""From leaves and their endpoints to a tree of policies (A37, as amended by A61, A74 and A75).

`make_update` turns them into the config and the endpoints of the policy of a cluster; what the
leaves are is found in discovery.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from client_under_test.reference.clusters.discovery import Aggregate, DiscoveryRules, Leaf
from client_under_test.reference.clusters.weights import Weights, endpoint_weights
from client_under_test.reference.policies.configs import (
    ClusterImplConfig,
    ClusterResolverConfig,
    FailingConfig,
    Mechanism,
    OutlierDetectionConfig,
    OverrideHostConfig,
    PickFirstConfig,
    PriorityChild,
    PriorityConfig,
)
from client_under_test.reference.policies.interface import PolicyConfig, Update
from client_under_test.reference.policies.rules.admission import DropCategory
from client_under_test.reference.values import Endpoint, HierarchicalPath, Locality, Status

# What is known of endpoints.


class LocalityEndpoints(msgspec.Struct, frozen=True, kw_only=True):
    """A locality of a priority; weight 0 if it has none."""

    locality: Locality
    weight: int
    endpoints: tuple[Endpoint, ...]


class LeafEndpoints(msgspec.Struct, frozen=True, kw_only=True):
    """The endpoints of a leaf: localities by priority, highest first. `note`: why none."""

    priorities: tuple[tuple[LocalityEndpoints, ...], ...] = ((),)
    drops: tuple[DropCategory, ...] = ()
    note: str = ""


def endpoints_without_data(note: str) -> LeafEndpoints:
    """A37: without data, and none before, a leaf counts as one priority without endpoints.

    Clauses: A37-TROUBLE-20, A37-TROUBLE-25, A37-DNS-07, A37-DNS-08, A37-DNS-26, A37-DNS-27,
    A37-DNS-28.
    """
    return LeafEndpoints(note=note)


def found_by_dns(addresses: Sequence[str], rules: ClusterRules) -> LeafEndpoints:
    """A37, A42-LOAD-03: DNS gives one priority with one locality, whose name is empty."""
    endpoints = rules.dns_endpoints(tuple(addresses))
    only = LocalityEndpoints(locality=rules.dns_locality(), weight=1, endpoints=endpoints)
    return LeafEndpoints(priorities=((only,),))


def dns_locality() -> Locality:
    """A37: the fields of the locality are empty.

    Clauses: A37-DNS-03.
    """
    return Locality()


def dns_endpoints(addresses: tuple[str, ...]) -> tuple[Endpoint, ...]:
    """A37: what DNS gives are single addresses."""
    return tuple(Endpoint(addresses=(address,)) for address in addresses)


def dns_endpoints_a61(addresses: tuple[str, ...]) -> tuple[Endpoint, ...]:
    """A61-DNS-01, A37-DNS-04: all that DNS gives is one endpoint."""
    return (Endpoint(addresses=addresses),) if addresses else ()


def dns_policy(_policy: PolicyConfig) -> PolicyConfig:
    """A37-DNS-04: a LOGICAL_DNS cluster is balanced by pick_first, whatever its policy."""
    return PickFirstConfig()


def dns_policy_a61(policy: PolicyConfig) -> PolicyConfig:
    """A61-DNS-01: a LOGICAL_DNS cluster is balanced by the policy that holds for any other."""
    return policy


def ignores_reresolution(leaf: Leaf) -> bool:
    """A37: that connections of an EDS leaf fail is no reason to resolve the names of others.

    Clauses: A37-DNS-11.
    """
    return not leaf.dns_name


def used_addresses(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """A42: an endpoint has one address."""
    return addresses[:1]


def used_addresses_a61(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """A61: an endpoint has one or more addresses.

    Clauses: A61-GUARD-01, A61-RING-03, A61-SUB-01.
    """
    return addresses


def locality_is_used(locality: LocalityEndpoints) -> bool:
    """Return whether a locality has a weight; without one, its endpoints are not used.

    Clauses: A42-LOC-10, A42-LOC-11.
    """
    return locality.weight > 0


# The tree.


class PriorityNames:
    """Names for priorities that go with their localities from update to update (A56, A74).

    A priority keeps the name of an earlier one that goes on in it, so that its policy and
    connections go on if it moves up or down.
    """

    def __init__(self) -> None:
        self._named: dict[str, dict[str, frozenset[Locality]]] = {}
        self._made = 0

    def assign(
        self,
        cluster: str,
        priorities: Sequence[frozenset[Locality]],
        goes_on: Callable[[frozenset[Locality], frozenset[Locality]], bool],
    ) -> tuple[str, ...]:
        """Name the priorities of a cluster as it is now."""
        free = dict(self._named.get(cluster, {}))
        names = []
        for localities in priorities:
            shared = (name for name, before in free.items() if goes_on(before, localities))
            name = next(shared, "") or self._new(cluster)
            free.pop(name, None)
            names.append(name)
        self._named[cluster] = dict(zip(names, priorities, strict=True))
        return tuple(names)

    def _new(self, cluster: str) -> str:
        self._made += 1
        return f"{cluster}#{self._made}"


def keeps_priority_name(before: frozenset[Locality], now: frozenset[Locality]) -> bool:
    """A37: names of priorities are preserved across updates, with the localities below them.

    Clauses: A37-FAILOVER-11, A42-SUB-14, A27-PRIO-11 (our choice: the first name that shares
    a locality).
    """
    return bool(before & now) or before == now


Leaves = Sequence[tuple[Leaf, LeafEndpoints]]


def make_update(
    root: str,
    aggregate: Aggregate | None,
    leaves: Leaves,
    names: PriorityNames,
    rules: ClusterRules,
) -> Update:
    """Make the config and endpoints for the policy of a cluster, all of whose data has come.

    Args:
        root: the cluster that a route leads to.
        aggregate: that cluster, if it is an aggregate.
        leaves: the leaves in their order, with what was found for each.
        names: kept by the caller for as long as the policy lives.
        rules: the edition.
    """
    if not leaves:
        failure = Status.unavailable(f"cluster {root} has no leaf clusters")
        return Update(config=FailingConfig(status=failure))
    update = rules.policy_tree(aggregate, leaves, names, rules)
    config = rules.enclosing_policy([leaf for leaf, _ in leaves], update.config)
    return msgspec.structs.replace(update, config=config)


def policy_tree(
    aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: ClusterRules
) -> Update:
    """A37: the priorities of all leaves in one list, a cluster_impl for each.

    Clauses: A42-LOC-03, A42-LOC-04, A42-LOC-05, A42-LOC-13, A42-CDS-28,
    A37-DROP-04, A37-FAILOVER-04, A37-FAILOVER-12.
    """
    children: dict[str, PriorityChild] = {}
    endpoints: list[Endpoint] = []
    for leaf, found in leaves:
        policy = _policy(aggregate, leaf, rules)
        for name, localities in _named_priorities(leaf, found, names, rules):
            child = rules.cluster_impl(aggregate, leaf, found, policy)
            children[name] = PriorityChild(
                child, ignore_reresolution=rules.ignores_reresolution(leaf)
            )
            endpoints += endpoints_of(localities, (name,), rules)
    config = PriorityConfig(children=children, priorities=tuple(children))
    return Update(config=config, endpoints=tuple(endpoints), note=_note(leaves))


def policy_tree_a75(
    aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: ClusterRules
) -> Update:
    """A75: an aggregate is a priority policy over its leaves, each with priorities of its own.

    A27-DROP-11 is our choice.
    """
    children: dict[str, PriorityChild] = {}
    endpoints: list[Endpoint] = []
    for leaf, found in leaves:
        policy = _policy(aggregate, leaf, rules)
        ignores = rules.ignores_reresolution(leaf)
        priorities: dict[str, PriorityChild] = {}
        for name, localities in _named_priorities(leaf, found, names, rules):
            priorities[name] = PriorityChild(policy, ignore_reresolution=ignores)
            path = (name,) if aggregate is None else (leaf.name, name)
            endpoints += endpoints_of(localities, path, rules)
        below = PriorityConfig(children=priorities, priorities=tuple(priorities))
        config = rules.above_cluster(leaf, rules.cluster_impl(aggregate, leaf, found, below))
        if aggregate is None:
            return Update(config=config, endpoints=tuple(endpoints), note=found.note)
        children[leaf.name] = PriorityChild(config, ignore_reresolution=ignores)
    top = PriorityConfig(children=children, priorities=tuple(children))
    return Update(config=top, endpoints=tuple(endpoints), note=_note(leaves))


def policy_of_leaf(aggregate: Aggregate | None, leaf: Leaf) -> PolicyConfig:
    """A42-CDS-25, A52-CHANGE-03: the policy of the aggregate holds for all of its leaves."""
    return leaf.policy if aggregate is None else aggregate.policy


def policy_of_leaf_a75(_aggregate: Aggregate | None, leaf: Leaf) -> PolicyConfig:
    """A42-CDS-25, A52-CHANGE-03 (A75): each leaf has its own policy.

    Clauses: A37-FAILOVER-10, A42-LOC-01, A42-LOC-06, A75-LEAF-01, A75-LEAF-04 (our choice).
    """
    return leaf.policy


def _policy(aggregate: Aggregate | None, leaf: Leaf, rules: ClusterRules) -> PolicyConfig:
    policy = rules.policy_of_leaf(aggregate, leaf)
    return rules.dns_policy(policy) if leaf.dns_name else policy


def _named_priorities(
    leaf: Leaf, found: LeafEndpoints, names: PriorityNames, rules: ClusterRules
) -> list[tuple[str, tuple[LocalityEndpoints, ...]]]:
    localities = [
        frozenset(locality.locality for locality in priority) for priority in found.priorities
    ]
    assigned = names.assign(leaf.name, localities, rules.keeps_priority_name)
    return list(zip(assigned, found.priorities, strict=True))


def enclosing_policy(leaves: Sequence[Leaf], config: PolicyConfig) -> PolicyConfig:
    """A37: xds_cluster_resolver, which is switched gracefully when its list of leaves changes."""
    mechanisms = tuple(Mechanism(leaf.name, leaf.service_name, leaf.dns_name) for leaf in leaves)
    return ClusterResolverConfig(mechanisms=mechanisms, child=config)


def enclosing_policy_a74(_leaves: Sequence[Leaf], config: PolicyConfig) -> PolicyConfig:
    """A74: there is no xds_cluster_resolver; what is below takes other leaves as it is."""
    return config


def cluster_impl(
    _aggregate: Aggregate | None, leaf: Leaf, found: LeafEndpoints, child: PolicyConfig
) -> ClusterImplConfig:
    """A37, A75: circuit breaking, drops and load belong to the leaf, not to the aggregate.

    Clauses: A32-CB-08, A32-CB-16, A32-CB-17, A32-CB-18, A32-CB-22, A37-CB-01, A37-CB-02,
    A37-CB-07, A37-DNS-14, A37-DNS-17, A27-DROP-09, A37-DROP-01, A37-DROP-02, A37-DROP-05,
    A37-LOAD-01, A37-LOAD-04, A37-LOAD-05, A42-LOAD-03, A52-CUSTOM-15.
    """
    return ClusterImplConfig(
        cluster=leaf.name,
        service_name=leaf.service_name,
        reported=leaf.reported,
        metrics=leaf.metrics,
        max_requests=leaf.max_requests,
        drops=found.drops,
        child=child,
    )


def cluster_impl_a55(
    aggregate: Aggregate | None, leaf: Leaf, found: LeafEndpoints, child: PolicyConfig
) -> ClusterImplConfig:
    """A55: xds_override_host is the child of xds_cluster_impl.

    With A75 that is above the priorities (A75-SESSION-01).
    """
    below = OverrideHostConfig(statuses=leaf.override_host_status, child=child)
    return cluster_impl(aggregate, leaf, found, below)


def above_cluster(_leaf: Leaf, config: PolicyConfig) -> PolicyConfig:
    """Without A50, there is no policy above xds_cluster_impl."""
    return config


def above_cluster_a50(leaf: Leaf, config: PolicyConfig) -> PolicyConfig:
    """A75: outlier_detection is above xds_cluster_impl and the priorities of a cluster.

    Clauses: A50-XDS-01.
    """
    return OutlierDetectionConfig(settings=leaf.outlier_detection, child=config)


def endpoints_of(
    localities: Sequence[LocalityEndpoints], path: HierarchicalPath, rules: ClusterRules
) -> list[Endpoint]:
    """Return the endpoints of all localities of a priority as one list.

    Each with its weight on the ring, and with the name and weight of its locality.

    Clauses: A42-LOC-01, A42-LOC-07, A42-LOC-08, A42-LOAD-10.
    """
    used = [
        locality
        for locality in localities
        if rules.locality_is_used(locality) and locality.endpoints
    ]
    weights = rules.endpoint_weights(
        [
            Weights(locality.weight, tuple(each.weight for each in locality.endpoints))
            for locality in used
        ]
    )
    return [
        msgspec.structs.replace(
            endpoint,
            addresses=rules.used_addresses(endpoint.addresses),
            weight=weight,
            locality=locality.locality,
            locality_weight=locality.weight,
            path=path,
        )
        for locality, in_locality in zip(used, weights, strict=True)
        for endpoint, weight in zip(locality.endpoints, in_locality, strict=True)
    ]


def _note(leaves: Leaves) -> str:
    return "; ".join(found.note for _, found in leaves if found.note)


MakeTree = Callable[[Aggregate | None, Leaves, PriorityNames, "ClusterRules"], Update]


@dataclass(frozen=True, kw_only=True)
class ClusterRules(DiscoveryRules):
    """Clusters, their endpoints and the tree of policies."""

    policy_of_aggregate_counts: bool = True
    """Set if the policy of an aggregate must be supported (A52-CHANGE-05); A75 ignores it."""
    policy_of_leaf: Callable[[Aggregate | None, Leaf], PolicyConfig] = policy_of_leaf
    policy_tree: MakeTree = policy_tree
    enclosing_policy: Callable[[Sequence[Leaf], PolicyConfig], PolicyConfig] = enclosing_policy
    cluster_impl: Callable[
        [Aggregate | None, Leaf, LeafEndpoints, PolicyConfig], ClusterImplConfig
    ] = cluster_impl
    above_cluster: Callable[[Leaf, PolicyConfig], PolicyConfig] = above_cluster
    """Takes the policy of a leaf cluster."""
    keeps_priority_name: Callable[[frozenset[Locality], frozenset[Locality]], bool] = (
        keeps_priority_name
    )
    """Returns whether a priority of these localities keeps the name of one of those before."""
    endpoints_without_data: Callable[[str], LeafEndpoints | None] = endpoints_without_data
    """Takes the reason why a leaf has no endpoint data; None: the channel waits for the data."""
    dns_endpoints: Callable[[tuple[str, ...]], tuple[Endpoint, ...]] = dns_endpoints
    dns_policy: Callable[[PolicyConfig], PolicyConfig] = dns_policy
    dns_locality: Callable[[], Locality] = dns_locality
    ignores_reresolution: Callable[[Leaf], bool] = ignores_reresolution
    used_addresses: Callable[[tuple[str, ...]], tuple[str, ...]] = used_addresses
    locality_is_used: Callable[[LocalityEndpoints], bool] = locality_is_used
    endpoint_weights: Callable[[Sequence[Weights]], tuple[tuple[int, ...], ...]] = endpoint_weights
