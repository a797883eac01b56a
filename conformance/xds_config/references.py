"""Find references between resources that a client ignores, and that it follows. Pure.

A resource refers to others: a listener to a route configuration, a route to clusters, an aggregate
cluster to clusters, an EDS cluster to endpoints. A client that implements little may never request
what some kind of resource refers to. Then no request through such a resource can be served,
whatever else the scenario is about. So this is one cause of many results.

A reference counts as ignored only if the client requested *none* of all the resources that it
names. A client that requests some of them understands it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from conformance.judging.verdicts import Cause
from conformance.xds_config.clusters import Aggregate, Cluster, Eds, LogicalDns
from conformance.xds_config.config import LISTENER, XdsConfig
from conformance.xds_config.routes import Route
from fake_control_plane import Event, Kind, Request, Response, Service, StreamOpened
from fake_control_plane.stream import WILDCARD

Named = tuple[Kind, str]
"""The kind and the name of a resource."""

NO_ROUTES: Final = Cause(
    resource="route",
    words="the client never requests the route configuration that a listener names",
)
NO_CLUSTERS: Final = Cause(
    resource="cluster", words="the client never requests a cluster that a route names"
)
NO_CHILDREN: Final = Cause(
    resource="cluster", words="the client never requests a cluster that an aggregate cluster names"
)
NO_ENDPOINTS: Final = Cause(
    resource="endpoints", words="the client never requests the endpoints of an EDS cluster"
)
EDS_FOR_DNS: Final = Cause(
    resource="cluster", words="the client requests the EDS endpoints of a LOGICAL_DNS cluster"
)
NO_LOAD_STREAM: Final = Cause(
    resource="cluster", words="the client never opens a stream for load reports"
)
"""The client has a cluster with `lrs_server`."""


class Ignored(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of reference that the client has not followed so far."""

    cause: Cause
    since: float
    """When the newest resource with such a reference was sent, by the suite's monotonic clock."""
    kind: Kind | None = None
    """The kind of resource that the client does not request, if that is what it does wrong."""
    roots: frozenset[str] = frozenset()
    """Clusters of routes that cannot serve a request without it."""
    names: tuple[str, ...] = ()
    """What the client should have requested, or should not have requested."""

    def __str__(self) -> str:
        """Describe it for a failure message."""
        return (
            f"{self.cause.words} ({', '.join(self.names[:3])})" if self.names else self.cause.words
        )


class _Reference(NamedTuple):
    """One kind of reference in a configuration."""

    cause: Cause
    holders: frozenset[Named]
    """The resources that refer to others in this way."""
    names: frozenset[Named]
    """What they refer to; of EDS_FOR_DNS, what nothing refers to."""
    roots: frozenset[str]


def ignored(served: XdsConfig, events: Collection[Event]) -> tuple[Ignored, ...]:
    """Return each kind of reference that the client ignores, the most basic first.

    Args:
        served: what is served now.
        events: all events at the control plane so far.
    """
    found = []
    seen = _Seen(events)
    for reference in _references(served):
        since = seen.sent(reference.holders)
        if since is not None and seen.ignores(reference):
            found.append(
                Ignored(
                    cause=reference.cause,
                    since=since,
                    kind=None if reference.cause == EDS_FOR_DNS else _kind_of(reference),
                    roots=reference.roots,
                    names=tuple(sorted(name for _, name in reference.names)),
                )
            )
    if (since := seen.sent(_reporting(served))) is not None and not seen.has_load_stream:
        found.append(Ignored(cause=NO_LOAD_STREAM, since=since))
    return tuple(found)


def followed(
    served: XdsConfig,
    events: Collection[Event],
    *,
    before: float,
    earlier: Collection[XdsConfig] = (),
) -> frozenset[Cause]:
    """Return the causes that `ignored` never names for this client: it follows such references.

    Args:
        served: what is served now.
        events: all events at the control plane so far.
        before: only resources sent before this moment count, by the suite's monotonic clock.
        earlier: what was served before. A cluster to which one of its routes led proves nothing.
    """
    seen = _Seen(events)
    found = set[Cause]()
    routed = {
        (Kind.CLUSTER, name)
        for config in earlier
        for route in config.routes
        for name in route.targets()
    }
    for reference in _references(served):
        since = seen.sent(reference.holders)
        of_its_own = reference._replace(names=reference.names - routed)
        if reference.cause == NO_CLUSTERS:
            of_its_own = reference
        if not of_its_own.names or since is None or since >= before:
            continue
        if seen.follows(of_its_own):
            found.add(reference.cause)
    if seen.has_load_stream:
        found.add(NO_LOAD_STREAM)
    return frozenset(found)


def changed_clusters(configs: Collection[XdsConfig]) -> frozenset[str]:
    """Return the clusters whose type of discovery differs between these configurations.

    While such a cluster changes, a client may use it as it was before.
    """
    types: dict[str, set[type]] = {}
    for config in configs:
        for cluster in config.clusters:
            types.setdefault(cluster.name, set()).add(type(cluster.discovery))
    return frozenset(name for name, seen in types.items() if len(seen) > 1)


def target_of(
    served: XdsConfig, path: str, metadata: Iterable[tuple[str, str | bytes]]
) -> frozenset[str]:
    """Return the clusters to which a call may be routed; none if no route matches."""
    headers: Mapping[str, Any] = dict(metadata)
    for route in served.routes:
        if _matches(route, path, headers):
            return frozenset(route.targets())
    return frozenset()


def _matches(route: Route, path: str, headers: Mapping[str, Any]) -> bool:
    is_meant = route.when is None or headers.get(route.when[0]) == route.when[1]
    return is_meant and route.path in {None, path}


def _references(served: XdsConfig) -> Iterator[_Reference]:
    """Yield each kind of reference that is in a configuration."""
    targets = frozenset(name for route in served.routes for name in route.targets())
    by_name = {cluster.name: cluster for cluster in served.clusters}
    raw = {(resource.kind, resource.name) for resource in served.given} | set(served.unsent)

    def reference(
        cause: Cause, holders: Iterable[Named], names: Iterable[Named], roots: Iterable[str]
    ) -> Iterator[_Reference]:
        held, named = frozenset(holders), frozenset(names)
        if held and named and raw.isdisjoint(held):
            yield _Reference(cause, held, named, frozenset(roots))

    def of_type(kind: type) -> tuple[Cluster, ...]:
        return tuple(each for each in by_name.values() if isinstance(each.discovery, kind))

    def named(clusters: Iterable[Cluster]) -> frozenset[Named]:
        return frozenset((Kind.CLUSTER, cluster.name) for cluster in clusters)

    def roots(clusters: Iterable[Cluster]) -> frozenset[str]:
        return targets & {cluster.name for cluster in clusters}

    listener, routes = [(Kind.LISTENER, LISTENER)], [(Kind.ROUTE, served.rds)] if served.rds else []
    yield from reference(NO_ROUTES, listener, routes, targets)
    by_route = frozenset((Kind.CLUSTER, name) for name in targets)
    yield from reference(NO_CLUSTERS, routes or listener, by_route, targets)
    above, dns, eds = of_type(Aggregate), of_type(LogicalDns), of_type(Eds)
    below = frozenset(
        (Kind.CLUSTER, name)
        for cluster in above
        if isinstance(cluster.discovery, Aggregate)
        for name in cluster.discovery.clusters
    )
    yield from reference(NO_CHILDREN, named(above), below - by_route, roots(above))
    services = {
        (Kind.ENDPOINTS, cluster.endpoints_name) for cluster in eds if cluster.endpoints_name
    }
    yield from reference(NO_ENDPOINTS, named(eds), services, roots(eds))
    mistaken = {(Kind.ENDPOINTS, cluster.name) for cluster in dns} - services
    yield from reference(EDS_FOR_DNS, named(dns), mistaken, roots(dns))


def _reporting(served: XdsConfig) -> frozenset[Named]:
    return frozenset((Kind.CLUSTER, name) for name in served.reported_clusters())


def _kind_of(reference: _Reference) -> Kind:
    return next(kind for kind, _ in reference.names)


class _Seen:
    """What the events at a control plane say about references."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.has_load_stream = False
        self._first_sent: dict[Named, float] = {}
        self._last_sent: dict[Named, float] = {}
        self._first_requested: dict[Named, float] = {}
        self._last_requested: dict[Named, float] = {}
        self._all_of: set[Kind] = set()
        self._rejected: set[Kind] = set()
        for event in events:
            if isinstance(event, StreamOpened):
                self.has_load_stream |= event.service is Service.LRS
            elif isinstance(event, Response) and event.kind is not None:
                for name in event.names:
                    self._last_sent[event.kind, name] = event.at
                    self._first_sent.setdefault((event.kind, name), event.at)
            elif isinstance(event, Request) and event.kind is not None:
                for name in event.names:
                    self._last_requested[event.kind, name] = event.at
                    self._first_requested.setdefault((event.kind, name), event.at)
                if WILDCARD in event.subscribed:
                    self._all_of.add(event.kind)
                if event.error_detail or event.error_code:
                    self._rejected.add(event.kind)

    def sent(self, holders: Collection[Named]) -> float | None:
        """Return when the newest of these was sent; None: none was, or one may be rejected."""
        if any(kind in self._rejected for kind, _ in holders):
            return None
        times = (self._last_sent[each] for each in holders if each in self._last_sent)
        return max(times, default=None)

    def ignores(self, reference: _Reference) -> bool:
        """Return whether the client does not follow any reference of a kind."""
        if reference.cause == EDS_FOR_DNS:
            return any(self._asks_for_endpoints_of(name) for _, name in reference.names)
        if any(kind in self._all_of for kind, _ in reference.names):
            return False
        return reference.names.isdisjoint(self._first_requested)

    def follows(self, reference: _Reference) -> bool:
        """Return whether the client follows such references.

        A request proves it only if it is the first for that name, and comes after the reference:
        another resource may have led to the name before.
        """
        if reference.cause == EDS_FOR_DNS:
            return reference.names.isdisjoint(self._first_requested)
        if any(kind in self._all_of for kind, _ in reference.names):
            return True
        since = self._since(reference)
        return any(self._first_requested.get(name, -1.0) >= since for name in reference.names)

    def _asks_for_endpoints_of(self, cluster: str) -> bool:
        """Return whether the client requested its endpoints after it was sent."""
        sent = self._first_sent.get((Kind.CLUSTER, cluster), math.inf)
        return self._last_requested.get((Kind.ENDPOINTS, cluster), -1.0) >= sent

    def _since(self, reference: _Reference) -> float:
        return min(self._first_sent[each] for each in reference.holders if each in self._first_sent)
