"""Clusters: how each finds its endpoints, which requests it drops and how many it admits.

A27 for EDS, A37 for aggregate and LOGICAL_DNS clusters, A28 for drops, A32 for limits. A cluster
refers to others by name only. It may therefore be in several aggregates or in itself, and it may
name a cluster that is never served.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.formatting import listed, or_unset
from conformance.xds_config.outlier_detection import OutlierDetection
from conformance.xds_config.policies import Policy, RingHash, policy_resource
from conformance.xds_config.routes import CLUSTER
from fake_control_plane import Locality as LocalityName
from fake_control_plane import resources
from fake_control_plane.session_affinity import set_override_host_status

Denominator = Literal["HUNDRED", "TEN_THOUSAND", "MILLION"]
"""The denominators of xDS's FractionalPercent."""


class Drop(msgspec.Struct, frozen=True):
    """A drop category of EDS, and the fraction of requests that it drops (A28)."""

    category: str
    numerator: int
    denominator: Denominator = "MILLION"

    def __str__(self) -> str:
        return f"drops {self.numerator} per {self.denominator.lower().replace('_', ' ')}"


_OTHER_LIMITS = ("max_connections", "max_connection_pools", "max_pending_requests", "max_retries")


class Threshold(msgspec.Struct, frozen=True):
    """The limit of a circuit breaker for requests of one routing priority (A32)."""

    max_requests: int | None = None
    """None leaves it unset."""
    priority: Literal["DEFAULT", "HIGH"] = "DEFAULT"
    others: int | None = None
    """Every other limit of the threshold: of connections, pools, retries and waiting requests."""

    def __str__(self) -> str:
        words = f"max_requests {or_unset(self.max_requests)} for priority {self.priority}"
        return words if self.others is None else f"{words}, other limits {self.others}"


class Eds(msgspec.Struct, frozen=True, tag="EDS"):
    """Endpoints that come over ADS."""

    localities: tuple[Locality, ...] = ()
    service_name: str | None = None
    """What EDS calls the cluster; None: as CDS does."""
    drops: tuple[Drop, ...] = ()

    def __str__(self) -> str:
        return "; ".join(map(str, (*self.localities, *self.drops)))


class LogicalDns(msgspec.Struct, frozen=True, tag="LOGICAL_DNS"):
    """One endpoint, of whatever addresses a name resolves to."""

    target: str
    """``host:port``."""
    resolved: tuple[str, ...] = ()
    """The addresses, ``ip:port``, that it is to resolve to; none: the host is an address itself."""

    def __str__(self) -> str:
        return f"{self.target}{' as ' if self.resolved else ''}{', '.join(self.resolved)}"

    @property
    def localities(self) -> tuple[Locality, ...]:
        """The one that its endpoint counts as: it has no name."""
        first, *further = self.resolved or (self.target,)
        return (Locality((Endpoint(first, additional_addresses=tuple(further)),), name=""),)


class Aggregate(msgspec.Struct, frozen=True, tag="aggregate"):
    """Other clusters, by name, the most preferred first."""

    clusters: tuple[str, ...]

    def __str__(self) -> str:
        return f"made of {listed(self.clusters)}"


Discovery = Eds | LogicalDns | Aggregate
"""Where the endpoints of a cluster come from."""


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster: its CDS resource and, if its type is EDS, its EDS resource."""

    name: str = CLUSTER
    """With a different name the client starts over, with LB policies that were never used."""
    discovery: Discovery
    policy: Policy = RingHash()
    is_reported: bool = False
    """True if the cluster names this control plane as its load reporting server."""
    metrics: tuple[str, ...] = ()
    """The backend metrics that the client must report with the cluster's load (A85)."""
    thresholds: tuple[Threshold, ...] = ()
    override_host_status: tuple[str, ...] | None = None
    """The health statuses of endpoints that cookies may lead to (A55); None leaves it unset."""
    outlier_detection: OutlierDetection | None = None
    """Which endpoints are ejected (A50); None leaves it unset."""

    def words(self, routed: str = "") -> str:
        """Return a description of the cluster and the routes to it for a failure message."""
        balanced = f"{'LOGICAL_DNS, ' * isinstance(self.discovery, LogicalDns)}{self.policy}"
        wants = f"metrics {listed(self.metrics)}" if self.metrics else ""
        statuses = self.override_host_status
        hosts = "" if statuses is None else f"override_host_status {listed(statuses)}"
        outliers = "" if self.outlier_detection is None else str(self.outlier_detection)
        limits = map(str, self.thresholds)
        parts = (balanced, routed, str(self.discovery), *limits, wants, hosts, outliers)
        return "; ".join(part for part in parts if part)

    @property
    def localities(self) -> tuple[Locality, ...]:
        """The cluster's own localities; an aggregate has none."""
        return () if isinstance(self.discovery, Aggregate) else self.discovery.localities

    @property
    def endpoints_name(self) -> str | None:
        """The name of the cluster's EDS resource, or None if its type is not EDS."""
        if isinstance(self.discovery, Eds):
            return self.discovery.service_name or self.name
        return None

    def addresses(self) -> tuple[str, ...]:
        """Return the first address of every endpoint, in the order of the EDS resource."""
        return tuple(endpoint.address for place in self.localities for endpoint in place.endpoints)

    def with_localities(self, *localities: Locality) -> Cluster:
        """Return the cluster with these localities in place of its own.

        Raises:
            TypeError: the cluster's type is not EDS.
        """
        discovery = msgspec.structs.replace(self._eds(), localities=localities)
        return msgspec.structs.replace(self, discovery=discovery)

    def known_as(self, service_name: str | None) -> Cluster:
        """Return the cluster with this EDS service name; None means the name of the cluster.

        Raises:
            TypeError: the cluster's type is not EDS.
        """
        discovery = msgspec.structs.replace(self._eds(), service_name=service_name)
        return msgspec.structs.replace(self, discovery=discovery)

    def resource(self) -> Any:
        """Return the CDS resource."""
        policy = policy_resource(self.policy)
        match self.discovery:
            case Eds(service_name=service):
                message = resources.eds_cluster(
                    self.name, service_name=service, policy=policy, lrs=self.is_reported
                )
            case LogicalDns(target=target):
                host, _, port = target.rpartition(":")
                message = resources.logical_dns_cluster(
                    self.name, host, int(port), policy=policy, lrs=self.is_reported
                )
            case Aggregate(clusters=names):
                message = resources.aggregate_cluster(self.name, *names, policy=policy)
                if self.is_reported:
                    message.lrs_server.self.SetInParent()
        message.lrs_report_endpoint_metrics.extend(self.metrics)
        if self.override_host_status is not None:
            set_override_host_status(message, self.override_host_status)
        if self.outlier_detection is not None:
            message.outlier_detection.CopyFrom(self.outlier_detection.resource())
        for threshold in self.thresholds:
            added = message.circuit_breakers.thresholds.add(priority=threshold.priority)
            others = dict.fromkeys(_OTHER_LIMITS, threshold.others)
            for name, limit in {**others, "max_requests": threshold.max_requests}.items():
                if limit is not None:
                    getattr(added, name).value = limit
        return message

    def endpoints(self) -> Any:
        """Return the EDS resource.

        Raises:
            TypeError: the cluster's type is not EDS.
        """
        discovery = self._eds()
        return resources.endpoints(
            discovery.service_name or self.name,
            *(
                resources.locality(
                    LocalityName(*place.name.split("/")),
                    *(
                        resources.endpoint(
                            endpoint.address,
                            *endpoint.additional_addresses,
                            weight=endpoint.weight,
                            health=endpoint.health,
                            hash_key=endpoint.hash_key,
                        )
                        for endpoint in place.endpoints
                    ),
                    weight=place.weight,
                    priority=place.priority,
                )
                for place in discovery.localities
            ),
            drops=[
                resources.drop(drop.category, drop.numerator, per=drop.denominator)
                for drop in discovery.drops
            ],
        )

    def _eds(self) -> Eds:
        if not isinstance(self.discovery, Eds):
            raise TypeError(f"{self.name} is no cluster of EDS, so it has no EDS resource.")
        return self.discovery
