from __future__ import annotations

from typing import Any

import pytest
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2,
)
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2
from google.protobuf import json_format

from conformance.xds_config import dialect
from conformance.xds_config.config import one_cluster, single_locality
from conformance.xds_config.policies import RingHash
from fake_control_plane import Kind, resources

SERVED = single_locality(["127.0.0.1:1"])
LISTENER = SERVED.resources()[0]
EDS = resources.eds_cluster("c", policy=resources.ring_hash(7))
LISTED = resources.eds_cluster(
    "l", policy=resources.load_balancing_policy(resources.ring_hash_extension(7))
)
DNS = resources.logical_dns_cluster("d", "host.test", 80)
ROUTES = resources.route_configuration("r", cluster="c")


def fields(message: Any) -> Any:
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def added(resource: Any) -> Any:
    """What the translation has that the resource has not, and nothing that it has otherwise."""
    return _more(fields(resource), fields(dialect.envoy(resource)))


def _more(before: Any, after: Any) -> Any:
    if isinstance(before, dict):
        assert before.keys() <= after.keys()
        found = {
            key: more
            for key in after
            if (more := _more(before[key], after[key]) if key in before else after[key]) is not None
        }
        return found or None
    if isinstance(before, list):
        assert len(before) == len(after)
        pairs = [_more(*pair) for pair in zip(before, after, strict=True)]
        return pairs if any(pair is not None for pair in pairs) else None
    assert before == after
    return None


HTTP2 = {
    "typed_extension_protocol_options": {
        dialect.PROTOCOL_OPTIONS: {
            "@type": f"type.googleapis.com/{dialect.PROTOCOL_OPTIONS}",
            "explicit_http_config": {"http2_protocol_options": {}},
        }
    }
}
ONE_TRY = {
    "name": dialect.RESOLVER,
    "typed_config": {
        "@type": "type.googleapis.com/"
        "envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig",
        "query_timeout_seconds": "1",
        "query_tries": 1,
    },
}
NO_PANIC: dict[str, Any] = {"healthy_panic_threshold": {}}

ADDITIONS = [
    pytest.param(
        EDS,
        {
            **HTTP2,
            "eds_cluster_config": {"eds_config": {"resource_api_version": "V3"}},
            "common_lb_config": {**NO_PANIC, "locality_weighted_lb_config": {}},
        },
        id="a cluster by EDS",
    ),
    pytest.param(
        LISTED,
        {
            **HTTP2,
            "eds_cluster_config": {"eds_config": {"resource_api_version": "V3"}},
            "common_lb_config": NO_PANIC,
        },
        id="a cluster by EDS with a list of policies",
    ),
    pytest.param(
        DNS,
        {
            **HTTP2,
            "common_lb_config": NO_PANIC,
            "dns_lookup_family": "V4_ONLY",
            "typed_dns_resolver_config": ONE_TRY,
        },
        id="a cluster by DNS",
    ),
    pytest.param(
        resources.aggregate_cluster("a", "c", "d"),
        {"lb_policy": "CLUSTER_PROVIDED"},
        id="an aggregate cluster",
    ),
    pytest.param(
        ROUTES,
        {"virtual_hosts": [{"routes": [{"route": {"timeout": "0s"}}]}]},
        id="routes",
    ),
    pytest.param(SERVED.endpoints(), None, id="endpoints"),
    pytest.param(router_pb2.Router(), None, id="what is none of the four"),
]


@pytest.mark.parametrize(("resource", "expected"), ADDITIONS)
def test_what_is_added(resource: Any, expected: Any) -> None:
    assert added(resource) == expected


def test_a_policy_of_an_aggregate_cluster_is_none_in_envoy() -> None:
    cluster = resources.aggregate_cluster("a", "c", policy=resources.ring_hash(7))
    translated = dialect.envoy(cluster)
    assert translated.lb_policy == translated.CLUSTER_PROVIDED
    assert not translated.HasField("ring_hash_lb_config")
    assert translated.cluster_type == cluster.cluster_type


def test_a_cluster_by_dns_names_its_endpoints() -> None:
    unnamed = resources.logical_dns_cluster("d", "host.test", 80)
    unnamed.load_assignment.cluster_name = ""
    assert dialect.envoy(unnamed).load_assignment.cluster_name == "d"


def test_a_timeout_that_a_route_has_is_kept() -> None:
    routes = resources.route_configuration("r", cluster="c")
    routes.virtual_hosts[0].routes[0].route.timeout.seconds = 3
    assert dialect.envoy(routes) == routes


def manager(listener: Any) -> Any:
    """The connection manager of a listener that has been translated."""
    ((http_filter,),) = ([*chain.filters] for chain in listener.filter_chains)
    assert http_filter.name == dialect.MANAGER
    unpacked = http_connection_manager_pb2.HttpConnectionManager()
    assert http_filter.typed_config.Unpack(unpacked)
    return unpacked


def test_a_listener_has_a_socket_of_its_own() -> None:
    """Its port is not one that somebody else has: a free one, and no SO_REUSEPORT."""
    listener = dialect.envoy(LISTENER)
    assert listener.name == LISTENER.name
    assert not listener.HasField("api_listener")
    assert listener.address.socket_address.address == "127.0.0.1"
    assert listener.address.socket_address.WhichOneof("port_specifier") == "port_value"
    assert listener.enable_reuse_port.value is False
    assert listener.HasField("enable_reuse_port")


def test_routes_of_a_listener_come_over_ads() -> None:
    rds = manager(dialect.envoy(LISTENER)).rds
    assert rds.route_config_name == "route"
    assert fields(rds.config_source) == {"ads": {}, "resource_api_version": "V3"}


def test_routes_within_a_listener_are_translated_too() -> None:
    listener = dialect.envoy(resources.listener("l", route_config=ROUTES))
    assert manager(listener).route_config == dialect.envoy(ROUTES)


def test_the_proxy_adds_no_headers() -> None:
    made = manager(dialect.envoy(LISTENER))
    assert made.HasField("generate_request_id")
    assert made.generate_request_id.value is False
    router = router_pb2.Router()
    assert made.http_filters[0].typed_config.Unpack(router)
    assert router.suppress_envoy_headers


def test_a_listener_that_has_a_socket_stays() -> None:
    listener = dialect.envoy(LISTENER)
    assert dialect.envoy(listener) == listener


def test_an_api_listener_of_something_else_is_left_to_the_client() -> None:
    listener = SERVED.resources()[0]
    listener.api_listener.api_listener.Pack(http_protocol_options_pb2.HttpProtocolOptions())
    (chain,) = dialect.envoy(listener).filter_chains
    assert chain.filters[0].typed_config == listener.api_listener.api_listener


def test_nothing_that_was_given_is_changed() -> None:
    served = one_cluster(SERVED.get_cluster().localities, policy=RingHash(minimum=9))
    for resource in served.resources():
        before = type(resource)()
        before.CopyFrom(resource)
        dialect.envoy(resource)
        assert resource == before


def test_dialects_by_name() -> None:
    assert dialect.of("envoy") is dialect.envoy
    assert dialect.of(None)(EDS) is EDS
    assert dialect.asks_by_name("envoy")
    assert not dialect.asks_by_name(None)
    assert dialect.asks_for_all("envoy") == {Kind.LISTENER, Kind.CLUSTER}
    assert not dialect.asks_for_all(None)
