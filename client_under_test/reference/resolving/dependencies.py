"""The clusters of a channel: what CDS, EDS and DNS say, as configs for the policies (A74)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from client_under_test.reference.clusters import aggregates
from client_under_test.reference.clusters.aggregates import LeafEndpoints, PriorityNames
from client_under_test.reference.clusters.discovery import (
    Aggregate,
    Cluster,
    Discovery,
    Leaf,
    Missing,
    discover,
)
from client_under_test.reference.policies.configs import FailingConfig, WaitingConfig
from client_under_test.reference.policies.interface import PolicyConfig, Update
from client_under_test.reference.resolving.context import ResolverContext
from client_under_test.reference.transport.dns import Result
from client_under_test.reference.values import Endpoint, Status
from client_under_test.reference.xds.ads import Absent
from client_under_test.reference.xds.client import Watch, XdsClient
from client_under_test.reference.xds.resources.kinds import Kind


@dataclass
class _Root:
    """A cluster that routes lead to, and what was made of it last, with what that was made of."""

    names: PriorityNames = field(default_factory=PriorityNames)
    update: Update | None = None
    clusters: tuple[str, ...] = ()
    leaves: tuple[Leaf, ...] = ()
    is_finished: bool = False

    @property
    def is_in_force(self) -> bool:
        """Return whether a cluster tree exists that has not failed."""
        return self.update is not None and not isinstance(self.update.config, FailingConfig)


class Looked(msgspec.Struct, frozen=True):
    """What clusters consist of by now.

    `configs`: one for each; `endpoints`: each with the name of its root first in its path; `note`:
    why there are none; `unfinished`: those of which not all has come that they consist of now.
    """

    configs: dict[str, PolicyConfig]
    endpoints: tuple[Endpoint, ...]
    note: str
    unfinished: frozenset[str]


class _DnsLeaf:
    """The result for a DNS name, as far as it counts."""

    def __init__(self, name: str, means: ResolverContext, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._rules = means.rules
        self.result: Result | None = None
        self.name = means.resolve(name, self._on_result)

    def _on_result(self, result: Result) -> None:
        had_result = isinstance(self.result, tuple)
        if isinstance(result, Status) and not self._rules.dns_error_counts(had_result):
            return
        self.result = result
        self._tell()


class ClusterTrees:
    """All clusters that routes of a channel lead to.

    Args:
        client: where resources come from.
        means: what it works with.
        tell: is called when `look_at` has something new to see.
    """

    def __init__(self, client: XdsClient, means: ResolverContext, tell: Callable[[], None]) -> None:
        self._client = client
        self._means = means
        self._tell = tell
        self._roots: dict[str, _Root] = {}
        self._clusters: dict[str, Watch] = {}
        self._endpoints: dict[str, Watch] = {}
        self._dns: dict[str, _DnsLeaf] = {}
        self._reports_load = False

    def look_at(self, roots: Iterable[str]) -> Looked:
        """Return the current leaves of these clusters; forget all other clusters."""
        self._roots = {name: self._roots.get(name) or _Root() for name in roots}
        wanted_clusters: set[str] = set()
        wanted_leaves: list[Leaf] = []
        for name, root in self._roots.items():
            clusters, leaves = self._follow(name, root)
            wanted_clusters.update(clusters)
            wanted_leaves += leaves
        self._forget_others(wanted_clusters, wanted_leaves)
        self._report_load(any(leaf.reported for leaf in wanted_leaves))
        configs: dict[str, PolicyConfig] = {
            name: WaitingConfig() if root.update is None else root.update.config
            for name, root in self._roots.items()
        }
        endpoints = tuple(
            msgspec.structs.replace(endpoint, path=(name, *endpoint.path))
            for name, root in self._roots.items()
            if root.update is not None
            for endpoint in root.update.endpoints
        )
        notes = [root.update.note for root in self._roots.values() if root.update is not None]
        unfinished = frozenset(name for name, root in self._roots.items() if not root.is_finished)
        return Looked(configs, endpoints, "; ".join(filter(None, notes)), unfinished)

    def resolve_again(self) -> None:
        """Ask for fresh results of DNS names."""
        for name in self._means.rules.names_to_reresolve(tuple(self._dns)):
            self._dns[name].name.resolve_again()

    def close(self) -> None:
        """End all watches."""
        self._roots.clear()
        self._forget_others(set(), [])
        self._report_load(False)

    # A tree.

    def _follow(self, name: str, root: _Root) -> tuple[set[str], list[Leaf]]:
        """Look at one tree; the clusters and leaves that it and its last update need."""
        rules, in_force = self._means.rules, root.is_in_force
        known: dict[str, Cluster] = {}
        found = discover(name, known, rules, in_force=in_force)
        while True:
            there = {
                missing: rules.cluster_in_tree(name, missing, self._known(missing))
                for missing in found.waiting
            }
            new = {missing: cluster for missing, cluster in there.items() if cluster is not None}
            if not new:
                break
            known |= new
            found = discover(name, known, rules, in_force=in_force)
        if found.failure is not None:
            root.update = Update(config=FailingConfig(status=found.failure))
            root.clusters, root.leaves, root.is_finished = found.names, (), True
        elif not found.waiting:
            root.is_finished = found.stays or self._complete(name, root, found, known)
        else:
            root.is_finished = False
        # While something is missing the last update stays in force, with what it needs.
        leaves = [*found.leaves, *root.leaves]
        return {*found.names, *root.clusters}, leaves

    def _complete(
        self, name: str, root: _Root, found: Discovery, known: dict[str, Cluster]
    ) -> bool:
        """Use this tree from now on, if there is data of all of its leaves."""
        as_known = self._means.rules.endpoints_in_tree
        endpoints = [(leaf, as_known(name, leaf, self._found(leaf))) for leaf in found.leaves]
        complete = [(leaf, there) for leaf, there in endpoints if there is not None]
        if len(complete) < len(endpoints):
            return False
        top = known[name]
        aggregate = top if isinstance(top, Aggregate) else None
        root.update = aggregates.make_update(
            name, aggregate, complete, root.names, self._means.rules
        )
        root.clusters, root.leaves = found.names, found.leaves
        return True

    def _known(self, name: str) -> Cluster | None:
        """Return the Cluster resource of a name; None: not received yet."""
        if name not in self._clusters:
            self._clusters[name] = self._client.watch(Kind.CLUSTER, name, self._tell)
        outcome = self._clusters[name].outcome
        if isinstance(outcome, Absent):
            return Missing(name=name, status=outcome.status, is_gone=outcome.is_gone)
        assert outcome is None or isinstance(outcome, Leaf | Aggregate)
        return outcome

    def _found(self, leaf: Leaf) -> LeafEndpoints | None:
        """Return a leaf's endpoints; None: none received yet. A37: no data means no endpoints."""
        for name in self._means.rules.eds_services(leaf):
            if name not in self._endpoints:
                self._endpoints[name] = self._client.watch(Kind.ENDPOINTS, name, self._tell)
        if leaf.dns_name:
            if leaf.dns_name not in self._dns:
                self._dns[leaf.dns_name] = _DnsLeaf(leaf.dns_name, self._means, self._tell)
            result = self._dns[leaf.dns_name].result
            if isinstance(result, tuple):
                return aggregates.found_by_dns(result, self._means.rules)
            return (
                None if result is None else self._means.rules.endpoints_without_data(result.details)
            )
        outcome = self._endpoints[leaf.resource_name].outcome
        if isinstance(outcome, Absent):
            return self._means.rules.endpoints_without_data(outcome.status.details)
        assert outcome is None or isinstance(outcome, LeafEndpoints)
        return outcome

    # What is no longer needed.

    def _forget_others(self, clusters: set[str], leaves: list[Leaf]) -> None:
        """Watches that are not needed end after new ones have begun: make before break."""
        services = {name for leaf in leaves for name in self._means.rules.eds_services(leaf)}
        names = {leaf.dns_name for leaf in leaves if leaf.dns_name}
        for watches, wanted in ((self._clusters, clusters), (self._endpoints, services)):
            for name in self._means.rules.watches_to_end(watches.keys(), wanted):
                watches.pop(name).cancel()
        for name in self._dns.keys() - names:
            self._dns.pop(name).name.close()

    def _report_load(self, reports: bool) -> None:  # noqa: FBT001 - a state to be in
        if reports != self._reports_load:
            self._reports_load = reports
            self._client.report_loads(begin=reports)
