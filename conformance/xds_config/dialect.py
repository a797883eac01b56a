"""Translate resources for a client that is not a gRPC client. Pure.

Scenarios write resources in gRPC's dialect of xDS, which leaves much implicit. If the client's
manifest names another dialect, the control plane sends the same resources with the fields that
gRPC takes for granted filled in. The meaning of a resource does not change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import config_source_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2,
)
from envoy.extensions.network.dns_resolver.cares.v3 import cares_dns_resolver_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2
from google.protobuf import wrappers_pb2

from fake_control_plane import Kind
from fake_control_plane.resources import AGGREGATE_CLUSTER_TYPE, ROUTER_FILTER

Translate = Callable[[Any], Any]
"""From a resource to the one that is sent in its place."""

MOST_STREAMS: Final = 2**31 - 1
"""That a caller may have open at a proxy: as many as HTTP/2 allows, where Envoy has 1,024."""

MANAGER: Final = "envoy.filters.network.http_connection_manager"
PROTOCOL_OPTIONS: Final = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
RESOLVER: Final = "envoy.network.dns_resolver.cares"
ONE_TRY_OF_A_SECOND: Final = cares_dns_resolver_pb2.CaresDnsResolverConfig(
    query_timeout_seconds=wrappers_pb2.UInt64Value(value=1),
    query_tries=wrappers_pb2.UInt32Value(value=1),
)
"""What others read in resolv.conf. A silent server is else asked for more than a minute, and no
listener is there before the names of the first clusters have been given up."""

LOOPBACK: Final = "127.0.0.1"
V3: Final = config_source_pb2.V3


def of(name: str | None) -> Translate:
    """Return the dialect of this name in manifests; None: gRPC's."""
    return _as_it_is if name is None else _DIALECTS[name]


def _as_it_is(resource: Any) -> Any:
    return resource


def asks_by_name(name: str | None) -> bool:
    """Return whether the load reporting server requests clusters of this dialect by name.

    Envoy does not read lrs_server, so the load reporting server must list the clusters. If the
    server requests all clusters, Envoy also reports those of its bootstrap configuration, and does
    not count requests to a new cluster before its first interval starts. If the server requests a
    cluster by name, Envoy counts from the creation of the cluster.
    """
    return name == "envoy"


def asks_for_all(name: str | None) -> frozenset[Kind]:
    """Return the kinds to which a client of this dialect subscribes with a wildcard."""
    return frozenset({Kind.LISTENER, Kind.CLUSTER} if name == "envoy" else ())


def envoy(resource: Any) -> Any:
    """Return a resource in the form that Envoy, as a proxy, needs; unknown kinds stay as is."""
    for kind, translate in _TO_ENVOY.items():
        if isinstance(resource, kind):
            translated = kind()
            translated.CopyFrom(resource)
            translate(translated)
            return translated
    return resource


def _listener(listener: Any) -> None:
    """Replace gRPC's api_listener by a socket with a filter chain.

    The port is the client's choice. It is not shared: with SO_REUSEPORT two proxies could be given
    the same one.
    """
    if not listener.HasField("api_listener"):
        return
    wrapped = listener.api_listener.api_listener
    manager = http_connection_manager_pb2.HttpConnectionManager()
    if wrapped.Is(manager.DESCRIPTOR):
        wrapped.Unpack(manager)
        _manager(manager)
        wrapped.Pack(manager)
    listener.filter_chains.add().filters.add(name=MANAGER).typed_config.CopyFrom(wrapped)
    listener.ClearField("api_listener")
    listener.address.socket_address.address = LOOPBACK
    listener.address.socket_address.port_value = 0
    listener.enable_reuse_port.value = False


def _manager(manager: Any) -> None:
    """As if the proxy was not there: a gRPC client adds no headers, and limits no streams."""
    manager.stat_prefix = manager.stat_prefix or "xdspec"
    manager.generate_request_id.value = False
    manager.http2_protocol_options.max_concurrent_streams.value = MOST_STREAMS
    for http_filter in manager.http_filters:
        if http_filter.name == ROUTER_FILTER:
            router = router_pb2.Router()
            http_filter.typed_config.Unpack(router)
            router.suppress_envoy_headers = True
            http_filter.typed_config.Pack(router)
    if manager.HasField("rds"):
        manager.rds.config_source.resource_api_version = V3
    if manager.HasField("route_config"):
        _route_configuration(manager.route_config)


def _route_configuration(configuration: Any) -> None:
    """Without Envoy's limit of 15 s: in gRPC a route limits no request unless it says so."""
    for host in configuration.virtual_hosts:
        for route in host.routes:
            if route.HasField("route") and not route.route.HasField("timeout"):
                route.route.timeout.SetInParent()


def _cluster(cluster: Any) -> None:
    """HTTP/2, and balancing by what EDS says, as gRPC does it.

    Weights of localities count only if asked for, which is refused beside load_balancing_policy,
    as there the policies of that list say it; and endpoints that are said to be unhealthy are
    used after all (the panic) unless that is switched off. The LB policy of an aggregate cluster
    must be CLUSTER_PROVIDED, and its leaves keep theirs.
    """
    is_aggregate = cluster.cluster_type.name == AGGREGATE_CLUSTER_TYPE
    if is_aggregate:
        cluster.lb_policy = cluster_pb2.Cluster.CLUSTER_PROVIDED
        cluster.ClearField("lb_config")
        return
    options = http_protocol_options_pb2.HttpProtocolOptions()
    options.explicit_http_config.http2_protocol_options.SetInParent()
    cluster.typed_extension_protocol_options[PROTOCOL_OPTIONS].Pack(options)
    cluster.common_lb_config.healthy_panic_threshold.SetInParent()
    if cluster.HasField("eds_cluster_config"):
        cluster.eds_cluster_config.eds_config.resource_api_version = V3
        if not cluster.HasField("load_balancing_policy"):
            cluster.common_lb_config.locality_weighted_lb_config.SetInParent()
    if cluster.type == cluster_pb2.Cluster.LOGICAL_DNS:
        cluster.dns_lookup_family = cluster_pb2.Cluster.V4_ONLY
        cluster.typed_dns_resolver_config.name = RESOLVER
        cluster.typed_dns_resolver_config.typed_config.Pack(ONE_TRY_OF_A_SECOND)
        cluster.load_assignment.cluster_name = cluster.load_assignment.cluster_name or cluster.name


_TO_ENVOY: Final[dict[Any, Callable[[Any], None]]] = {
    listener_pb2.Listener: _listener,
    route_pb2.RouteConfiguration: _route_configuration,
    cluster_pb2.Cluster: _cluster,
}

_DIALECTS: Final[dict[str, Translate]] = {"envoy": envoy}
