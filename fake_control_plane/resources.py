"""Short builders for the resources that scenarios serve.

Each returns a plain protobuf message, so that what a builder has no word for can be set on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import health_check_pb2
from envoy.config.endpoint.v3 import endpoint_components_pb2, endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.extensions.clusters.aggregate.v3 import cluster_pb2 as aggregate_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2,
)
from envoy.extensions.load_balancing_policies.ring_hash.v3 import ring_hash_pb2
from envoy.type.v3 import percent_pb2
from xds.type.v3 import typed_struct_pb2

from fake_control_plane.exceptions import BadResource
from fake_control_plane.loads import Locality
from fake_control_plane.route_matches import HeaderMatch, RouteMatch

CHANNEL_ID_KEY: Final = "io.grpc.channel_id"
"""The filter state key that selects the channel ID (A42, "Hash Policy")."""

ROUTER_FILTER: Final = "envoy.filters.http.router"
AGGREGATE_CLUSTER_TYPE: Final = "envoy.clusters.aggregate"


class RingHash(msgspec.Struct, frozen=True, kw_only=True):
    """The RING_HASH policy of a cluster.

    Sizes that are None are left out; `with_config` False leaves out the whole config message.
    """

    minimum: int | None = None
    maximum: int | None = None
    hash_function: str | int | None = "XX_HASH"
    """A name of the enum, or a number to send one that it does not have; None: left out."""
    with_config: bool = True


class RoundRobin(msgspec.Struct, frozen=True):
    """The ROUND_ROBIN policy of a cluster."""


Policy = RingHash | RoundRobin | Any
"""The last is what `load_balancing_policy` builds; the older `lb_policy` then stays unset."""

ROUND_ROBIN: Final = RoundRobin()


def ring_hash(
    minimum: int | None = None,
    maximum: int | None = None,
    hash_function: str | int | None = "XX_HASH",
) -> RingHash:
    """Return the RING_HASH policy with a config message; None leaves a field out."""
    return RingHash(minimum=minimum, maximum=maximum, hash_function=hash_function)


def load_balancing_policy(*policies: Any) -> Any:
    """Return a list of policies (A52), for a cluster or for the config of a policy.

    Args:
        policies: The config message of each, most preferred first; its type tells which it is.
    """
    message = cluster_pb2.LoadBalancingPolicy()
    for policy in policies:
        config = message.policies.add().typed_extension_config
        config.name = policy.DESCRIPTOR.full_name
        config.typed_config.Pack(policy)
    return message


def ring_hash_extension(minimum: int | None = None, maximum: int | None = None) -> Any:
    """Return the config of ring_hash for `load_balancing_policy`; None leaves a size out."""
    message = ring_hash_pb2.RingHash(hash_function=ring_hash_pb2.RingHash.XX_HASH)
    _set_optional(message.minimum_ring_size, minimum)
    _set_optional(message.maximum_ring_size, maximum)
    return message


def typed_struct(policy: str, config: Mapping[str, Any]) -> Any:
    """Return the config of a policy without its own message, as an xds.type.v3.TypedStruct.

    Args:
        policy: The name under which the client registers the policy.
        config: Its config, as in a service config.
    """
    message = typed_struct_pb2.TypedStruct(type_url=f"type.googleapis.com/{policy}")
    message.value.SetInParent()  # an empty config is an empty Struct, and not none at all
    message.value.update(dict(config))
    return message


def listener(name: str, *, route_config: str | Any) -> Any:
    """Return a listener for gRPC clients: an api_listener with an HTTP connection manager.

    Args:
        name: Its name, which is the client's target.
        route_config: The name of a RouteConfiguration to be asked for over ADS, or one inline.
    """
    manager = http_connection_manager_pb2.HttpConnectionManager()
    if isinstance(route_config, str):
        manager.rds.route_config_name = route_config
        manager.rds.config_source.ads.SetInParent()
    else:
        manager.route_config.CopyFrom(route_config)
    manager.http_filters.add(name=ROUTER_FILTER).typed_config.Pack(router_pb2.Router())
    message = listener_pb2.Listener(name=name)
    message.api_listener.api_listener.Pack(manager)
    return message


def route_configuration(
    name: str, *routes: Any, cluster: str | None = None, hash_policies: Iterable[Any] = ()
) -> Any:
    """Return a route configuration with one virtual host for every domain.

    Args:
        name: Its name.
        routes: Routes, first match first; or virtual hosts, which then are all that there are.
        cluster: A cluster for all that no route matches.
        hash_policies: The hash policies on the way to that cluster.
    """
    if routes and isinstance(routes[0], route_components_pb2.VirtualHost):
        return route_pb2.RouteConfiguration(name=name, virtual_hosts=routes)
    every = [] if cluster is None else [route(cluster=cluster, hash_policies=hash_policies)]
    return route_pb2.RouteConfiguration(
        name=name, virtual_hosts=[virtual_host("all", ["*"], *routes, *every)]
    )


def virtual_host(name: str, domains: Iterable[str], *routes: Any) -> Any:
    """Return a virtual host for `route_configuration`.

    Args:
        name: Its name.
        domains: The domains that it is for; a pattern may begin or end with ``*``.
        routes: Routes, first match first.
    """
    return route_components_pb2.VirtualHost(name=name, domains=domains, routes=routes)


def route(
    *,
    cluster: str | Mapping[str, int],
    prefix: str = "",
    path: str | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
    match: RouteMatch | None = None,
    hash_policies: Iterable[Any] = (),
) -> Any:
    """Return a route to a cluster, by a prefix of the path or by the whole path.

    Args:
        cluster: Its name, or the names and weights of several.
        prefix: With which the path begins.
        path: The whole path, instead.
        headers: What must be there besides, each with this whole value.
        match: All of the match, in place of the three.
        hash_policies: What makes the hash of a request.
    """
    if match is None:
        by = tuple(HeaderMatch(name=name, exact=value) for name, value in headers.items())
        match = RouteMatch(prefix=prefix if path is None else None, path=path, headers=by)
    message = route_components_pb2.Route(match=match.resource())
    if isinstance(cluster, str):
        message.route.cluster = cluster
    else:
        for name, weight in cluster.items():
            message.route.weighted_clusters.clusters.add(name=name).weight.value = weight
    message.route.hash_policy.extend(hash_policies)
    return message


def hash_header(
    name: str, *, terminal: bool = False, regex: str | None = None, substitution: str = ""
) -> Any:
    """Hash a request header, rewritten by a regular expression if there is one."""
    policy = _hash_policy(terminal)
    policy.header.header_name = name
    if regex is not None:
        policy.header.regex_rewrite.pattern.regex = regex
        # The only engine, which had to be named once: grpc-java up to 1.72 leaves the rewrite out.
        policy.header.regex_rewrite.pattern.google_re2.SetInParent()
        policy.header.regex_rewrite.substitution = substitution
    return policy


def hash_filter_state(key: str, *, terminal: bool = False) -> Any:
    """Hash a filter state."""
    policy = _hash_policy(terminal)
    policy.filter_state.key = key
    return policy


def hash_channel_id(*, terminal: bool = False) -> Any:
    """Hash what is the same for all requests of a channel."""
    return hash_filter_state(CHANNEL_ID_KEY, terminal=terminal)


def hash_cookie(name: str, *, terminal: bool = False) -> Any:
    """Hash a cookie."""
    policy = _hash_policy(terminal)
    policy.cookie.name = name
    return policy


def hash_source_ip(*, terminal: bool = False) -> Any:
    """Hash the address that the request comes from."""
    policy = _hash_policy(terminal)
    policy.connection_properties.source_ip = True
    return policy


def hash_query_parameter(name: str, *, terminal: bool = False) -> Any:
    """Hash a parameter of the URL."""
    policy = _hash_policy(terminal)
    policy.query_parameter.name = name
    return policy


def eds_cluster(
    name: str,
    *,
    service_name: str | None = None,
    policy: Policy = ROUND_ROBIN,
    lrs: bool = False,
    max_requests: int | None = None,
) -> Any:
    """Return a cluster whose endpoints come over ADS.

    Args:
        name: Its name.
        service_name: The name of its endpoints resource; None: the cluster's.
        policy: How its endpoints are picked.
        lrs: Whether its load is reported to this control plane.
        max_requests: The limit of its circuit breaker.
    """
    message = _cluster(name, policy, lrs=lrs, max_requests=max_requests)
    message.type = cluster_pb2.Cluster.EDS
    message.eds_cluster_config.eds_config.ads.SetInParent()
    message.eds_cluster_config.service_name = service_name or ""
    return message


def logical_dns_cluster(
    name: str,
    host: str,
    port: int,
    *,
    policy: Policy = ROUND_ROBIN,
    lrs: bool = False,
    max_requests: int | None = None,
) -> Any:
    """Return a cluster of a DNS name; arguments as of `eds_cluster`."""
    message = _cluster(name, policy, lrs=lrs, max_requests=max_requests)
    message.type = cluster_pb2.Cluster.LOGICAL_DNS
    message.load_assignment.cluster_name = name
    only = message.load_assignment.endpoints.add().lb_endpoints.add()
    _set_socket_address(only.endpoint.address, host, port)
    return message


def aggregate_cluster(name: str, *clusters: str, policy: Policy = ROUND_ROBIN) -> Any:
    """Return a cluster of clusters, the most preferred first."""
    message = _cluster(name, policy)
    message.cluster_type.name = AGGREGATE_CLUSTER_TYPE
    message.cluster_type.typed_config.Pack(aggregate_pb2.ClusterConfig(clusters=clusters))
    return message


def endpoints(cluster_name: str, *localities: Any, drops: Iterable[Any] = ()) -> Any:
    """Return the endpoints of a cluster (or EDS service name), with its drop categories."""
    message = endpoint_pb2.ClusterLoadAssignment(cluster_name=cluster_name, endpoints=localities)
    for overload in drops:
        message.policy.drop_overloads.append(overload)
    return message


def locality(
    name: str | Locality, *endpoints: Any, weight: int | None = 1, priority: int = 0
) -> Any:
    """Return a locality and its endpoints.

    Args:
        name: Its whole name, or just its region.
        endpoints: What `endpoint` builds.
        weight: Its weight, or None to leave it out.
        priority: 0 is the most preferred.
    """
    called = Locality(region=name) if isinstance(name, str) else name
    message = endpoint_components_pb2.LocalityLbEndpoints(lb_endpoints=endpoints, priority=priority)
    message.locality.region = called.region
    message.locality.zone = called.zone
    message.locality.sub_zone = called.sub_zone
    _set_optional(message.load_balancing_weight, weight)
    return message


def endpoint(
    *addresses: str,
    weight: int | None = None,
    health: str | int = "UNKNOWN",
    hash_key: str | None = None,
) -> Any:
    """Return an endpoint with one or more addresses.

    Args:
        addresses: "127.0.0.1:1234" or "[::1]:1234"; those after the first are additional ones.
        weight: Its weight, or None to leave it out.
        health: A name of envoy.config.core.v3.HealthStatus, or any number.
        hash_key: What places it on a ring instead of its address (A76).

    Raises:
        BadResource: an address or the health status is not of that form.
    """
    if not addresses:
        raise BadResource("An endpoint needs an address.")
    message = endpoint_components_pb2.LbEndpoint()
    _set_socket_address(message.endpoint.address, *_split(addresses[0]))
    for address in addresses[1:]:
        additional = message.endpoint.additional_addresses.add()
        _set_socket_address(additional.address, *_split(address))
    _set_optional(message.load_balancing_weight, weight)
    try:
        message.health_status = (
            health_check_pb2.HealthStatus.Value(health) if isinstance(health, str) else health
        )
    except ValueError:
        known = ", ".join(health_check_pb2.HealthStatus.keys())
        raise BadResource(f"{health!r} is no health status; there are {known}.") from None
    if hash_key is not None:
        message.metadata.filter_metadata["envoy.lb"].update({"hash_key": hash_key})
    return message


def drop(category: str, numerator: int, *, per: str = "MILLION") -> Any:
    """Return a drop category, which drops `numerator` of a million requests.

    Args:
        category: Its name.
        numerator: How many requests to drop.
        per: The denominator: HUNDRED, TEN_THOUSAND or MILLION.

    Raises:
        BadResource: there is no such denominator.
    """
    overload = endpoint_pb2.ClusterLoadAssignment.Policy.DropOverload(category=category)
    overload.drop_percentage.numerator = numerator
    denominators = percent_pb2.FractionalPercent.DenominatorType
    if per not in denominators.keys():  # noqa: SIM118 - an enum wrapper is no mapping
        known = ", ".join(denominators.keys())
        raise BadResource(f"{per!r} is no denominator; there are {known}.")
    overload.drop_percentage.denominator = denominators.Value(per)
    return overload


def _hash_policy(terminal: bool) -> Any:  # noqa: FBT001 - the callers' keyword, passed on
    return route_components_pb2.RouteAction.HashPolicy(terminal=terminal)


def _cluster(
    name: str, policy: Policy, *, lrs: bool = False, max_requests: int | None = None
) -> Any:
    message = cluster_pb2.Cluster(name=name)
    if lrs:
        message.lrs_server.self.SetInParent()
    if max_requests is not None:
        message.circuit_breakers.thresholds.add().max_requests.value = max_requests
    if isinstance(policy, RingHash):
        message.lb_policy = cluster_pb2.Cluster.RING_HASH
        if policy.with_config:
            _set_ring_hash_config(message.ring_hash_lb_config, policy)
    elif not isinstance(policy, RoundRobin):
        message.load_balancing_policy.CopyFrom(policy)
    return message


def _set_ring_hash_config(config: Any, policy: RingHash) -> None:
    config.SetInParent()
    _set_optional(config.minimum_ring_size, policy.minimum)
    _set_optional(config.maximum_ring_size, policy.maximum)
    match policy.hash_function:
        case str(name):
            functions = cluster_pb2.Cluster.RingHashLbConfig.HashFunction
            if name not in functions.keys():  # noqa: SIM118 - an enum wrapper is no mapping
                known = ", ".join(functions.keys())
                raise BadResource(f"{name!r} is no hash function; there are {known}.")
            config.hash_function = functions.Value(name)
        case int(number):
            config.hash_function = number


def _set_optional(wrapper: Any, value: int | None) -> None:
    """Set a wrapped number; zero counts as set."""
    if value is not None:
        wrapper.SetInParent()
        wrapper.value = value


def _set_socket_address(address: Any, host: str, port: int) -> None:
    address.socket_address.address = host
    address.socket_address.port_value = port


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not bare or not port.isascii() or not port.isdecimal() or (":" in bare) == (bare == host):
        raise BadResource(f'{address!r} is no address: write "ip:port", or "[ip]:port" for IPv6.')
    return bare, int(port)
