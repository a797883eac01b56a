"""From a target to what a channel needs: a config selector, and the update for its policies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Final, Protocol

from client_under_test.reference.policies.configs import ClusterManagerConfig
from client_under_test.reference.policies.interface import PolicyConfig, Update
from client_under_test.reference.resolving.context import ResolverContext
from client_under_test.reference.resolving.dependencies import ClusterTrees, Looked
from client_under_test.reference.resolving.listener_rules import Source
from client_under_test.reference.resolving.selector import (
    FailingSelector,
    PlainSelector,
    RouteSelector,
    Selector,
    find_host,
)
from client_under_test.reference.transport.dns import Result
from client_under_test.reference.values import Endpoint, Status
from client_under_test.reference.xds.client import Watch, XdsClient
from client_under_test.reference.xds.resources.kinds import Kind
from client_under_test.reference.xds.resources.values import (
    Listener,
    RouteConfiguration,
    SessionFilter,
)


class Sink(Protocol):
    """Receives the results of a resolver."""

    def resolved(self, selector: Selector, update: Update) -> None:
        """Use this selector and this update from now on."""


class Resolver(Protocol):
    """Resolves a target, starting when it is created."""

    def resolve_again(self) -> None:
        """Resolve DNS names again."""

    def hold(self, cluster: str) -> None:
        """Keep a cluster while a request that was sent to it is in progress."""

    def release(self, cluster: str) -> None:
        """Note that a request which held the cluster has ended."""

    def close(self) -> None:
        """Tell no more."""


NOWHERE: Final = Update(config=ClusterManagerConfig(children={}))
"""The update for a channel that cannot be used at present."""


def _one_way(policy: PolicyConfig, addresses: Iterable[str]) -> Update:
    """Return the update for a channel whose requests all use one policy, as in `PlainSelector`."""
    return Update(
        config=ClusterManagerConfig(children={"": policy}),
        endpoints=tuple(Endpoint(addresses=(address,), path=("",)) for address in addresses),
    )


class DnsResolver:
    """For `dns:` targets: one policy over what the name resolves to."""

    def __init__(self, name: str, policy: PolicyConfig, means: ResolverContext, sink: Sink) -> None:
        self._policy = policy
        self._sink = sink
        self._has_result = False
        self._name = means.resolve(name, self._on_result)

    def _on_result(self, result: Result) -> None:
        if isinstance(result, Status):
            if not self._has_result:
                self._sink.resolved(FailingSelector(result), NOWHERE)
            return
        self._has_result = True
        self._sink.resolved(PlainSelector(), _one_way(self._policy, result))

    def resolve_again(self) -> None:
        """Ask for a fresh result."""
        self._name.resolve_again()

    def hold(self, cluster: str) -> None:
        """There is nothing to keep."""

    def release(self, cluster: str) -> None:
        """There is nothing to keep."""

    def close(self) -> None:
        """Tell no more."""
        self._name.close()


class XdsResolver:
    """For `xds:` targets: follows LDS and RDS to the routes, and their clusters further (A74).

    Args:
        name: the listener's name, and the name that virtual hosts are chosen by.
        client: where resources come from.
        channel_id: the channel's random number (A42-CHAN-01).
        means: what it works with.
        sink: receives the results.
    """

    def __init__(
        self, name: str, client: XdsClient, *, channel_id: int, means: ResolverContext, sink: Sink
    ) -> None:
        self._name: Final = name
        self._client = client
        self._channel_id = channel_id
        self._means = means
        self._sink = sink
        self._held: Counter[str] = Counter()
        self._in_force: dict[str, None] = {}
        self._is_due = False
        self._is_closed = False
        self._trees = ClusterTrees(client, means, self._resolve_soon)
        self._source: Source | None = None
        self._route_watch: Watch | None = None
        self._session: SessionFilter | None = None
        self._selector: tuple[RouteConfiguration, SessionFilter | None, Selector] | None = None
        self._listener_watch = client.watch(Kind.LISTENER, name, self._resolve_soon)

    def resolve_again(self) -> None:
        """Ask for fresh results of the names of LOGICAL_DNS clusters."""
        self._trees.resolve_again()

    def hold(self, cluster: str) -> None:
        """Keep the cluster while a request is under way, even if no route leads to it any more."""
        self._held[cluster] += 1

    def release(self, cluster: str) -> None:
        """One request less."""
        self._held[cluster] -= 1
        if not self._held[cluster]:
            del self._held[cluster]
            self._resolve_soon()

    def close(self) -> None:
        """End all watches."""
        self._is_closed = True
        self._listener_watch.cancel()
        if self._route_watch is not None:
            self._route_watch.cancel()
        self._trees.close()

    def _resolve_soon(self) -> None:
        """Look once at all that changed in this round of the loop."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._resolve)

    def _resolve(self) -> None:
        self._is_due = False
        if self._is_closed:
            return
        routes = self._routes()
        if routes is None:
            if self._selector is None or self._means.rules.keeps_routes_until_others_come:
                return
            routes = Status.unavailable("the routes have not come")
        if isinstance(routes, Status):
            self._fail(routes)
            return
        host = find_host(routes, self._name, self._means.rules)
        if host is None:
            self._fail(Status.unavailable(f"no virtual host has the domain {self._name}"))
            return
        clusters = {cluster.name: None for route in host.routes for cluster in route.clusters}
        rules = self._means.rules
        for name in rules.clusters_kept_for_requests(self._held):
            clusters[name] = None
        # Until all has come, the routes before are in force and need theirs.
        looked = self._trees.look_at({**clusters, **self._in_force})
        if not rules.routes_are_usable(looked.unfinished):
            return
        if self._in_force.keys() - clusters.keys():
            looked = self._trees.look_at(clusters)
        self._in_force = clusters
        before, session = self._selector, self._session
        if before is None or before[0] is not routes or before[1] != session:
            rng = self._means.rng
            channel_id = rules.channel_id_for_new_routes(self._channel_id, rng)
            selector = RouteSelector(
                host, session=session, channel_id=channel_id, rng=rng, rules=rules
            )
            before = self._selector = routes, session, selector
        self._sink.resolved(before[2], _update(looked))

    def _routes(self) -> RouteConfiguration | Status | None:
        """Return the routes as they are known; None: not received yet."""
        rules = self._means.rules
        listener = rules.resource_or_status(Kind.LISTENER.noun, self._listener_watch.outcome)
        if not isinstance(listener, Listener):
            self._watch_routes(None)
            assert listener is None or isinstance(listener, Status)
            return listener
        self._source = rules.routes_of_listener(listener.routes, self._source)
        self._session = listener.session
        if isinstance(self._source, RouteConfiguration):
            self._watch_routes(None)
            return self._source
        self._watch_routes(self._source)
        assert self._route_watch is not None, "just made"
        routes = rules.resource_or_status(Kind.ROUTE.noun, self._route_watch.outcome)
        assert routes is None or isinstance(routes, RouteConfiguration | Status)
        return routes

    def _watch_routes(self, name: str | None) -> None:
        before = self._route_watch
        if before is not None and before.key[1] == name:
            return
        self._route_watch = None
        if name is not None:
            self._route_watch = self._client.watch(Kind.ROUTE, name, self._resolve_soon)
        if before is not None and self._means.rules.unsubscribes_from_routes(before.key[1]):
            before.cancel()

    def _fail(self, status: Status) -> None:
        """All requests fail from now on, but for those that are under way."""
        self._selector = None
        self._in_force = dict.fromkeys(self._held)
        self._sink.resolved(FailingSelector(status), _update(self._trees.look_at(self._held)))


def _update(looked: Looked) -> Update:
    config = ClusterManagerConfig(children=looked.configs)
    return Update(config=config, endpoints=looked.endpoints, note=looked.note)
