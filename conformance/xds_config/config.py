"""What is served to the client in one scenario, as one frozen noun.

The resources that the control plane sends and the inputs of the oracles are both made from it, so
that the two cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from conformance.judging.expectations import AllEndpointsServe, MatchesRing, RandomOverRing
from conformance.spec.oracles.request_hash import HashPolicy, TerminalReading, policies_in_use
from conformance.spec.oracles.ring.sizes import OWN_DEFAULT_MAXIMUM, RingConfig
from conformance.spec.oracles.ring.weights import RingEndpoint, RingLocality, WeightReading
from conformance.xds_config.clusters import (
    Aggregate,
    Cluster,
    Drop,
    Eds,
    LogicalDns,
    Threshold,
)
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.formatting import MOST_LISTED, listed, shortened
from conformance.xds_config.policies import Policy, RingHash, RoundRobin, TypedRingHash
from conformance.xds_config.routes import BY_SESSION, CLUSTER, Route, hash_policy_resource
from conformance.xds_config.sessions import SessionCookie
from fake_control_plane import Kind, RawResource, resources
from fake_control_plane.session_affinity import add_filter, override_session

LISTENER = "xdspec.test"
ROUTE = "route"


def _host_name(domains: Sequence[str]) -> str:
    return "all" if tuple(domains) == ("*",) else " ".join(domains)


class XdsConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Routes, and the clusters that they lead to: a flat map, by the clusters' names.

    Most scenarios serve one cluster. What is not told which cluster is meant means the one that the
    last route leads to.
    """

    clusters: tuple[Cluster, ...]
    """Each with a name of its own. Routes and aggregates may name others, which are not served."""
    routes: tuple[Route, ...] = (Route(BY_SESSION),)
    cap: int = 4096
    """The client's local cap on ring sizes, an input of the oracle alone."""
    given: tuple[RawResource, ...] = ()
    """Resources as bytes, each in place of the one of its kind and name, or beside the others."""
    rds: str | None = ROUTE
    """The name of the route configuration; None: the Listener holds it."""
    session: SessionCookie | None = None
    """The cookie of the filter for session affinity (A55); None: the filter is not there."""
    unsent: tuple[tuple[Kind, str], ...] = ()
    """What is never sent though it is here: a client that asks for it gets no answer."""

    def __post_init__(self) -> None:
        """Refuse two clusters of one name."""
        known = set[str]()
        for cluster in self.clusters:
            if cluster.name in known:
                raise ValueError(
                    f"Two clusters are called {cluster.name!r}: give each its own name."
                )
            known.add(cluster.name)

    def __str__(self) -> str:
        """Describe the configuration in a line, for a reader of a failure."""
        own = self.get_cluster()
        words = own.words(self._routed(own))
        others = [cluster for cluster in self.clusters if cluster.name != own.name]
        alike: dict[str, list[str]] = {}
        for cluster in others[:MOST_LISTED]:
            routed = self._routed(cluster)
            name = f"{'also cluster ' if routed else ''}{shortened(cluster.name)}"
            alike.setdefault(cluster.words(routed), []).append(name)
        words += "".join(f"; {', '.join(names)}: {said}" for said, names in alike.items())
        if len(others) > MOST_LISTED:
            words += f"; {len(others) - MOST_LISTED} more clusters"
        if self.rds != ROUTE:
            words += f"; routes by the name {self.rds}" if self.rds else "; routes in the Listener"
        words += "" if self.session is None else f"; {self.session}"
        words += "".join(
            f"; {resource.kind.value} {resource.name} as {len(resource.body)} given bytes"
            for resource in self.given
        )
        for kind in dict.fromkeys(kind for kind, _ in self.unsent):
            names = [name for each, name in self.unsent if each is kind]
            words += f"; {kind.value} {listed(names)} never sent"
        return words

    def get_cluster(self, name: str | None = None) -> Cluster:
        """Return the cluster of this name, or the first cluster of the last route.

        Raises:
            LookupError: it is not served.
        """
        wanted = self.routes[-1].targets()[0] if name is None else name
        for cluster in self.clusters:
            if cluster.name == wanted:
                return cluster
        listed = ", ".join(cluster.name for cluster in self.clusters) or "none at all"
        raise LookupError(f"No cluster {wanted!r} is served: there is {listed}.")

    def resources_by_name(self) -> dict[tuple[Kind, str], Any]:
        """Every resource, by its kind and name, in the order in which they are sent."""
        routes = self.route_configuration()
        listener = resources.listener(LISTENER, route_config=self.rds or routes)
        if self.session is not None:
            listener = add_filter(listener, self.session.resource())
        made: dict[tuple[Kind, str], Any] = {(Kind.LISTENER, LISTENER): listener}
        if self.rds:
            made[Kind.ROUTE, self.rds] = routes
        made |= {(Kind.CLUSTER, cluster.name): cluster.resource() for cluster in self.clusters}
        made |= {
            (Kind.ENDPOINTS, cluster.endpoints_name): cluster.endpoints()
            for cluster in self.clusters
            if cluster.endpoints_name is not None
        }
        made |= {(resource.kind, resource.name): resource for resource in self.given}
        unsent = set(self.unsent)
        return {what: resource for what, resource in made.items() if what not in unsent}

    def resources(self) -> tuple[Any, ...]:
        """Return the resources that the control plane sends."""
        return tuple(self.resources_by_name().values())

    def reported_clusters(self) -> tuple[str, ...]:
        """Return the names of the clusters whose load the client must report."""
        return tuple(cluster.name for cluster in self.clusters if cluster.is_reported)

    def route_configuration(self) -> Any:
        """Return the routes, as the RDS resource or as the Listener holds them."""
        hosts: dict[tuple[str, ...], list[Any]] = {}
        for route in self.routes:
            message = resources.route(
                path=route.path,
                headers=dict([route.when] if route.when else []),
                match=route.match,
                cluster=route.weighted_clusters or route.cluster,
                hash_policies=[hash_policy_resource(policy) for policy in route.policies],
            )
            if route.session is not None:
                override_session(message, route.session.resource())
            hosts.setdefault(route.domains, []).append(message)
        return resources.route_configuration(
            self.rds or ROUTE,
            *(
                resources.virtual_host(_host_name(domains), domains, *routes)
                for domains, routes in hosts.items()
            ),
        )

    def cluster(self) -> Any:
        """Return the CDS resource."""
        return self.get_cluster().resource()

    def endpoints(self) -> Any:
        """Return the EDS resource."""
        return self.get_cluster().endpoints()

    def addresses(self) -> tuple[str, ...]:
        """Return the addresses of all endpoints, in the order of EDS."""
        return self.get_cluster().addresses()

    def config(self, cluster: str | None = None) -> RingConfig:
        """Return the ring's sizes, for the oracle."""
        policy = self.get_cluster(cluster).policy
        if isinstance(policy, RoundRobin):
            raise TypeError("ROUND_ROBIN has no ring")
        maximum = policy.maximum
        if maximum is None and isinstance(policy, TypedRingHash):
            maximum = OWN_DEFAULT_MAXIMUM
        return RingConfig(minimum=policy.minimum, maximum=maximum, cap=self.cap)

    def ring_localities(
        self, priority: int = 0, *, cluster: str | None = None, hash_keys: bool = False
    ) -> tuple[RingLocality, ...]:
        """Return the localities with a weight of one priority, for the oracle."""
        return tuple(
            RingLocality(
                name=place.name,
                weight=place.weight,
                endpoints=tuple(
                    RingEndpoint(
                        address=endpoint.address,
                        weight=1 if endpoint.weight is None else endpoint.weight,
                        hash_key=endpoint.hash_key if hash_keys else None,
                    )
                    for endpoint in place.endpoints
                ),
            )
            for place in self.get_cluster(cluster).localities
            if place.priority == priority and place.weight
        )

    def matches_ring(  # noqa: PLR0913 - all that a reading of the text may fix
        self,
        *,
        cluster: str | None = None,
        route: int = -1,
        priority: int = 0,
        weights: WeightReading | None = None,
        terminal: TerminalReading = "A42",
        hash_keys: bool = False,
        search: str | None = None,
        key_format: str | None = None,
        allotment: str | None = None,
        failed: Iterable[str] = (),
    ) -> MatchesRing:
        """Each call where the ring of this priority maps it, by these readings of the text."""
        policy = self.get_cluster(cluster).policy
        named = policy.request_hash_header if isinstance(policy, TypedRingHash) else None
        return MatchesRing(
            localities=self.ring_localities(priority, cluster=cluster, hash_keys=hash_keys),
            config=self.config(cluster),
            policies=policies_in_use(self.routes[route].policies, named or ""),
            weights=weights,
            terminal=terminal,
            search=search,
            key_format=key_format,
            allotment=allotment,
            failed=tuple(failed),
        )

    def random_over_ring(self) -> RandomOverRing:
        """Return the expectation for random hashes on the ring of the first priority."""
        return RandomOverRing(localities=self.ring_localities(), config=self.config())

    def all_endpoints_serve(self) -> AllEndpointsServe:
        """Return the expectation that calls reach every endpoint of the first priority."""
        return AllEndpointsServe(localities=self.ring_localities(), config=self.config())

    def with_hash_policies(self, *policies: HashPolicy) -> XdsConfig:
        """Return the configuration with a single route that has these hash policies."""
        return msgspec.structs.replace(
            self, routes=(Route(policies, cluster=self.get_cluster().name),)
        )

    def with_policy(self, policy: Policy, cluster: str | None = None) -> XdsConfig:
        """Return the configuration with another LB policy for a cluster."""
        return self._with(msgspec.structs.replace(self.get_cluster(cluster), policy=policy))

    def with_ring_cap(self, cap: int) -> XdsConfig:
        """Return the configuration for the oracle of a client with this local cap on ring sizes."""
        return msgspec.structs.replace(self, cap=cap)

    def with_localities(self, *localities: Locality) -> XdsConfig:
        """Return the configuration with other localities in its only cluster."""
        return self._with(self.get_cluster().with_localities(*localities))

    def _with(self, changed: Cluster) -> XdsConfig:
        clusters = tuple(
            changed if cluster.name == changed.name else cluster for cluster in self.clusters
        )
        return msgspec.structs.replace(self, clusters=clusters)

    def _routed(self, cluster: Cluster) -> str:
        """Describe the routes to a cluster; a route to several counts for the first of them."""
        return "; ".join(str(route) for route in self.routes if route.targets()[0] == cluster.name)


def with_raw_clusters(served: XdsConfig, *messages: Any) -> XdsConfig:
    """Return the configuration with these Cluster messages sent unchanged, as bytes."""
    raw = (
        RawResource(Kind.CLUSTER, message.name, message.SerializeToString()) for message in messages
    )
    return msgspec.structs.replace(served, given=tuple(raw))


def one_cluster(
    localities: Sequence[Locality],
    *,
    name: str = CLUSTER,
    policy: Policy = RingHash(),  # noqa: B008 - frozen
    routes: Sequence[Route] = (),
    service_name: str | None = None,
    is_reported: bool = False,
    drops: Sequence[Drop] = (),
    thresholds: Sequence[Threshold] = (),
    cap: int = 4096,
) -> XdsConfig:
    """One cluster of EDS, and the routes to it; none: all calls, hashed by the session."""
    discovery = Eds(tuple(localities), service_name, tuple(drops))
    cluster = Cluster(
        name=name,
        discovery=discovery,
        policy=policy,
        is_reported=is_reported,
        thresholds=tuple(thresholds),
    )
    ways = tuple(routes) or (Route(BY_SESSION, cluster=name),)
    return XdsConfig(clusters=(cluster,), routes=ways, cap=cap)


def single_locality(
    addresses: Sequence[str],
    *,
    name: str = CLUSTER,
    policy: Policy = RingHash(),  # noqa: B008 - frozen
    policies: tuple[HashPolicy, ...] = BY_SESSION,
    path: str | None = None,
) -> XdsConfig:
    """One cluster with one locality of equal endpoints, for calls of this path, or of all."""
    place = Locality(tuple(Endpoint(address) for address in addresses))
    return one_cluster(
        (place,), name=name, policy=policy, routes=(Route(policies, path, cluster=name),)
    )


def weighted_locality(weights: dict[str, int | None], *, policy: Policy = RingHash()) -> XdsConfig:  # noqa: B008
    """One locality of endpoints with these weights, by address."""
    endpoints = tuple(Endpoint(address, weight) for address, weight in weights.items())
    return one_cluster((Locality(endpoints),), policy=policy)


def logical_dns(
    target: str, resolved: Sequence[str] = (), *, name: str = CLUSTER, is_reported: bool = False
) -> XdsConfig:
    """One LOGICAL_DNS cluster of ``host:port``, which is to resolve to these addresses."""
    discovery = LogicalDns(target, tuple(resolved))
    cluster = Cluster(name=name, discovery=discovery, is_reported=is_reported)
    return XdsConfig(clusters=(cluster,), routes=(Route(BY_SESSION, cluster=name),))


def aggregate(*parts: XdsConfig, policy: Policy = RingHash()) -> XdsConfig:  # noqa: B008 - frozen
    """One aggregate cluster, made of the own clusters of these, the most preferred first.

    The routes to these count for nothing.
    """
    above = Cluster(
        discovery=Aggregate(tuple(part.get_cluster().name for part in parts)), policy=policy
    )
    below = dict.fromkeys(cluster for part in parts for cluster in part.clusters)
    return XdsConfig(clusters=(above, *below))


def merge(served: XdsConfig, *others: XdsConfig) -> XdsConfig:
    """All of them; the routes of the others come first."""
    together = (*others, served)
    return msgspec.structs.replace(
        served,
        clusters=tuple(cluster for config in together for cluster in config.clusters),
        routes=tuple(route for config in together for route in config.routes),
    )
