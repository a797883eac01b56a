"""The clusters of a channel: what CDS, EDS and DNS say, as configs for the policies (A74)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from client_under_test.reference.clusters import aggregates
from client_under_test.reference.clusters.aggregates import (
    Aggregate,
    Cluster,
    Found,
    Leaf,
    Missing,
    PriorityNames,
)
from client_under_test.reference.policies.configs import FailingConfig, WaitingConfig
from client_under_test.reference.policies.interface import PolicyConfig, Update
from client_under_test.reference.resolving.means import Means
from client_under_test.reference.transport.dns import Result
from client_under_test.reference.values import Endpoint, Status
from client_under_test.reference.xds.client import Watch, XdsClient
from client_under_test.reference.xds.resources.kinds import Kind


@dataclass
class _Root:
    """A cluster that routes lead to, and what was made of it last, with what that was made of."""

    names: PriorityNames = field(default_factory=PriorityNames)
    update: Update | None = None
    clusters: tuple[str, ...] = ()
    leaves: tuple[Leaf, ...] = ()


class _DnsLeaf:
    """The result for a DNS name. A37: an error counts only if there was no result before."""

    def __init__(self, name: str, means: Means, tell: Callable[[], None]) -> None:
        self._tell = tell
        self.result: Result | None = None
        self.name = means.resolve(name, self._on_result)

    def _on_result(self, result: Result) -> None:
        if isinstance(result, Status) and isinstance(self.result, tuple):
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

    def __init__(self, client: XdsClient, means: Means, tell: Callable[[], None]) -> None:
        self._client = client
        self._means = means
        self._tell = tell
        self._roots: dict[str, _Root] = {}
        self._clusters: dict[str, Watch] = {}
        self._endpoints: dict[str, Watch] = {}
        self._dns: dict[str, _DnsLeaf] = {}
        self._reports_load = False

    def look_at(
        self, roots: Iterable[str]
    ) -> tuple[dict[str, PolicyConfig], tuple[Endpoint, ...], str]:
        """What these clusters consist of by now; all others are forgotten.

        Returns:
            A config for each; their endpoints, each with the name of its root first in its path;
            and notes on why there are none.
        """
        self._roots = {name: self._roots.get(name) or _Root() for name in roots}
        wanted_clusters: set[str] = set()
        wanted_leaves: list[Leaf] = []
        for name, root in self._roots.items():
            clusters, leaves = self._follow(name, root)
            wanted_clusters.update(clusters)
            wanted_leaves += leaves
        self._forget_others(wanted_clusters, wanted_leaves)
        self._report_load(any(leaf.reported for leaf in wanted_leaves))
        children = {
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
        return children, endpoints, "; ".join(filter(None, notes))

    def resolve_again(self) -> None:
        """Ask for fresh results of all DNS names."""
        for leaf in self._dns.values():
            leaf.name.resolve_again()

    def close(self) -> None:
        """End all watches."""
        self._roots.clear()
        self._forget_others(set(), [])
        self._report_load(False)

    # A tree.

    def _follow(self, name: str, root: _Root) -> tuple[set[str], list[Leaf]]:
        """Look at one tree; the clusters and leaves that it and its last update need."""
        known: dict[str, Cluster] = {}
        found = aggregates.discover(name, known, self._means.rules)
        while True:
            for missing in found.waiting - known.keys():
                cluster = self._known(missing)
                if cluster is not None:
                    known[missing] = cluster
            before, found = found, aggregates.discover(name, known, self._means.rules)
            if found == before:
                break
        if found.failure is not None:
            root.update = Update(config=FailingConfig(status=found.failure))
            root.clusters, root.leaves = found.names, ()
        elif not found.waiting:
            self._complete(name, root, found, known)
        # While something is missing the last update stays in force, with what it needs.
        leaves = [*found.leaves, *root.leaves]
        return {*found.names, *root.clusters}, leaves

    def _complete(
        self,
        name: str,
        root: _Root,
        found: aggregates.Discovery,
        known: dict[str, Cluster],
    ) -> None:
        endpoints = [(leaf, self._found(leaf)) for leaf in found.leaves]
        complete = [(leaf, there) for leaf, there in endpoints if there is not None]
        if len(complete) < len(endpoints):
            return
        top = known[name]
        aggregate = top if isinstance(top, Aggregate) else None
        root.update = aggregates.make_update(
            name, aggregate, complete, root.names, self._means.rules
        )
        root.clusters, root.leaves = found.names, found.leaves

    def _known(self, name: str) -> Cluster | None:
        """What CDS says of a cluster; None: nothing yet."""
        if name not in self._clusters:
            self._clusters[name] = self._client.watch(Kind.CLUSTER, name, self._tell)
        outcome = self._clusters[name].outcome
        if isinstance(outcome, Status):
            return Missing(name=name, status=outcome)
        assert outcome is None or isinstance(outcome, Leaf | Aggregate)
        return outcome

    def _found(self, leaf: Leaf) -> Found | None:
        """The endpoints of a leaf; None: nothing yet. A37: no data counts as no endpoints."""
        if leaf.dns_name:
            if leaf.dns_name not in self._dns:
                self._dns[leaf.dns_name] = _DnsLeaf(leaf.dns_name, self._means, self._tell)
            result = self._dns[leaf.dns_name].result
            if isinstance(result, tuple):
                return aggregates.found_by_dns(result, self._means.rules)
            return None if result is None else aggregates.nothing_found(result.details)
        name = leaf.resource_name
        if name not in self._endpoints:
            self._endpoints[name] = self._client.watch(Kind.ENDPOINTS, name, self._tell)
        outcome = self._endpoints[name].outcome
        if isinstance(outcome, Status):
            return aggregates.nothing_found(outcome.details)
        assert outcome is None or isinstance(outcome, Found)
        return outcome

    # What is no longer needed.

    def _forget_others(self, clusters: set[str], leaves: list[Leaf]) -> None:
        """Watches that are not needed end after new ones have begun: make before break."""
        services = {leaf.resource_name for leaf in leaves if not leaf.dns_name}
        names = {leaf.dns_name for leaf in leaves if leaf.dns_name}
        for watches, wanted in ((self._clusters, clusters), (self._endpoints, services)):
            for name in watches.keys() - wanted:
                watches.pop(name).cancel()
        for name in self._dns.keys() - names:
            self._dns.pop(name).name.close()

    def _report_load(self, reports: bool) -> None:  # noqa: FBT001 - a state to be in
        if reports != self._reports_load:
            self._reports_load = reports
            self._client.report_loads(begin=reports)
