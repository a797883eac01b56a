from __future__ import annotations

from typing import Any

import pytest
from envoy.extensions.clusters.aggregate.v3 import cluster_pb2 as aggregate_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2,
)
from envoy.extensions.load_balancing_policies.round_robin.v3 import round_robin_pb2
from envoy.extensions.load_balancing_policies.wrr_locality.v3 import wrr_locality_pb2
from google.protobuf import json_format

from fake_control_plane import Locality
from fake_control_plane.exceptions import BadResource
from fake_control_plane.resources import (
    RingHash,
    aggregate_cluster,
    drop,
    eds_cluster,
    endpoint,
    endpoints,
    hash_channel_id,
    hash_cookie,
    hash_filter_state,
    hash_header,
    hash_query_parameter,
    hash_source_ip,
    listener,
    load_balancing_policy,
    locality,
    logical_dns_cluster,
    ring_hash,
    route,
    route_configuration,
    typed_struct,
)


def plain(message: Any) -> Any:
    return json_format.MessageToDict(message)


HASH_POLICIES = [
    (hash_header("k"), {"header": {"headerName": "k"}}),
    (
        hash_header("k", regex="a(.)", substitution=r"\1", terminal=True),
        {
            "header": {
                "headerName": "k",
                "regexRewrite": {
                    "pattern": {"googleRe2": {}, "regex": "a(.)"},
                    "substitution": r"\1",
                },
            },
            "terminal": True,
        },
    ),
    (hash_channel_id(), {"filterState": {"key": "io.grpc.channel_id"}}),
    (hash_filter_state("x", terminal=True), {"filterState": {"key": "x"}, "terminal": True}),
    (hash_cookie("c"), {"cookie": {"name": "c"}}),
    (hash_source_ip(), {"connectionProperties": {"sourceIp": True}}),
    (hash_query_parameter("q"), {"queryParameter": {"name": "q"}}),
]


@pytest.mark.parametrize(("policy", "expected"), HASH_POLICIES)
def test_hash_policies(policy: Any, expected: Any) -> None:
    assert plain(policy) == expected


def test_an_empty_rewrite_is_there() -> None:
    rewrite = hash_header("k", regex="").header.regex_rewrite
    assert rewrite.HasField("pattern")


ADS: dict[str, Any] = {"edsConfig": {"ads": {}}}
CLUSTERS = [
    (eds_cluster("c"), {"name": "c", "type": "EDS", "edsClusterConfig": ADS}),
    (
        eds_cluster("c", service_name="s", policy=ring_hash(), lrs=True, max_requests=0),
        {
            "name": "c",
            "type": "EDS",
            "edsClusterConfig": {**ADS, "serviceName": "s"},
            "lbPolicy": "RING_HASH",
            "ringHashLbConfig": {},
            "lrsServer": {"self": {}},
            "circuitBreakers": {"thresholds": [{"maxRequests": 0}]},
        },
    ),
    (
        eds_cluster("c", policy=RingHash(with_config=False)),
        {"name": "c", "type": "EDS", "edsClusterConfig": ADS, "lbPolicy": "RING_HASH"},
    ),
    (
        logical_dns_cluster("c", "host.test", 80, policy=ring_hash(0, 7, "MURMUR_HASH_2")),
        {
            "name": "c",
            "type": "LOGICAL_DNS",
            "lbPolicy": "RING_HASH",
            "ringHashLbConfig": {
                "minimumRingSize": "0",
                "maximumRingSize": "7",
                "hashFunction": "MURMUR_HASH_2",
            },
            "loadAssignment": {
                "clusterName": "c",
                "endpoints": [
                    {
                        "lbEndpoints": [
                            {
                                "endpoint": {
                                    "address": {
                                        "socketAddress": {"address": "host.test", "portValue": 80}
                                    }
                                }
                            }
                        ]
                    }
                ],
            },
        },
    ),
]


@pytest.mark.parametrize(("cluster", "expected"), CLUSTERS)
def test_clusters(cluster: Any, expected: Any) -> None:
    assert plain(cluster) == expected


@pytest.mark.parametrize(
    ("policy", "minimum", "maximum"),
    [(ring_hash(), False, False), (ring_hash(0), True, False), (ring_hash(maximum=0), False, True)],
)
def test_a_size_of_zero_is_not_a_size_left_out(
    *, policy: RingHash, minimum: bool, maximum: bool
) -> None:
    config = eds_cluster("c", policy=policy).ring_hash_lb_config
    assert config.HasField("minimum_ring_size") is minimum
    assert config.HasField("maximum_ring_size") is maximum


def test_a_hash_function_that_the_enum_does_not_have() -> None:
    cluster = eds_cluster("c", policy=ring_hash(hash_function=77))
    assert cluster.ring_hash_lb_config.hash_function == 77
    assert eds_cluster("c", policy=ring_hash(hash_function=None)).HasField("ring_hash_lb_config")
    with pytest.raises(BadResource, match="'SHA' is no hash function; there are XX_HASH"):
        eds_cluster("c", policy=ring_hash(hash_function="SHA"))


def test_policies_of_the_extension_field() -> None:
    inner = load_balancing_policy(typed_struct("my.Policy", {"n": 2}), round_robin_pb2.RoundRobin())
    localities = wrr_locality_pb2.WrrLocality(endpoint_picking_policy=inner)
    cluster = eds_cluster("c", policy=load_balancing_policy(localities))
    (only,) = plain(cluster)["loadBalancingPolicy"]["policies"]
    picking = only["typedExtensionConfig"]["typedConfig"]["endpointPickingPolicy"]
    own, other = (policy["typedExtensionConfig"]["typedConfig"] for policy in picking["policies"])
    assert own["typeUrl"] == "type.googleapis.com/my.Policy"
    assert own["value"] == {"n": 2}
    assert other["@type"].endswith(".RoundRobin")
    assert cluster.lb_policy == eds_cluster("c").lb_policy


def test_aggregate() -> None:
    cluster = aggregate_cluster("c", "a", "b")
    assert cluster.cluster_type.name == "envoy.clusters.aggregate"
    config = aggregate_pb2.ClusterConfig()
    assert cluster.cluster_type.typed_config.Unpack(config)
    assert list(config.clusters) == ["a", "b"]
    assert not cluster.HasField("type")


@pytest.mark.parametrize("inline", [False, True])
def test_listener(*, inline: bool) -> None:
    routes = route_configuration("r", cluster="c")
    message = listener("l", route_config=routes if inline else "r")
    manager = http_connection_manager_pb2.HttpConnectionManager()
    assert message.api_listener.api_listener.Unpack(manager)
    assert [http_filter.name for http_filter in manager.http_filters] == [
        "envoy.filters.http.router"
    ]
    if inline:
        assert manager.route_config == routes
    else:
        assert plain(manager.rds) == {"configSource": {"ads": {}}, "routeConfigName": "r"}


def test_routes() -> None:
    configuration = route_configuration(
        "r",
        route(path="/a/b", cluster="x", hash_policies=[hash_header("h")]),
        route(prefix="/a", cluster="y"),
        cluster="z",
        hash_policies=[hash_channel_id()],
    )
    [host] = configuration.virtual_hosts
    assert list(host.domains) == ["*"]
    assert [plain(entry) for entry in host.routes] == [
        {
            "match": {"path": "/a/b"},
            "route": {"cluster": "x", "hashPolicy": [{"header": {"headerName": "h"}}]},
        },
        {"match": {"prefix": "/a"}, "route": {"cluster": "y"}},
        {
            "match": {"prefix": ""},
            "route": {
                "cluster": "z",
                "hashPolicy": [{"filterState": {"key": "io.grpc.channel_id"}}],
            },
        },
    ]


def test_endpoints() -> None:
    message = endpoints(
        "c",
        locality("near", endpoint("127.0.0.1:1", "[::1]:2", weight=3, health="DRAINING")),
        locality(Locality("far", "z", "s"), weight=None, priority=1),
        locality("nothing", endpoint("127.0.0.1:3", hash_key="k"), weight=0),
        drops=[drop("lb", 1500)],
    )
    near, far, nothing = (plain(entry) for entry in message.endpoints)
    assert near == {
        "locality": {"region": "near"},
        "loadBalancingWeight": 1,
        "lbEndpoints": [
            {
                "endpoint": {
                    "address": {"socketAddress": {"address": "127.0.0.1", "portValue": 1}},
                    "additionalAddresses": [
                        {"address": {"socketAddress": {"address": "::1", "portValue": 2}}}
                    ],
                },
                "healthStatus": "DRAINING",
                "loadBalancingWeight": 3,
            }
        ],
    }
    assert far == {"locality": {"region": "far", "zone": "z", "subZone": "s"}, "priority": 1}
    assert nothing["loadBalancingWeight"] == 0
    [placed] = nothing["lbEndpoints"]
    assert placed["metadata"] == {"filterMetadata": {"envoy.lb": {"hash_key": "k"}}}
    assert plain(message.policy) == {
        "dropOverloads": [
            {"category": "lb", "dropPercentage": {"numerator": 1500, "denominator": "MILLION"}}
        ]
    }


@pytest.mark.parametrize("per", ["HUNDRED", "TEN_THOUSAND", "MILLION"])
def test_denominators_of_a_drop(per: str) -> None:
    made = plain(drop("lb", 7, per=per))["dropPercentage"]
    assert {"denominator": "HUNDRED"} | made == {"numerator": 7, "denominator": per}


def test_what_is_no_denominator() -> None:
    with pytest.raises(BadResource, match="there are HUNDRED, TEN_THOUSAND, MILLION"):
        drop("lb", 7, per="DOZEN")


@pytest.mark.parametrize(
    "address", ["", "1.2.3.4", ":80", "1.2.3.4:", "::1:80", "[::1]", "[1.2.3.4]:80", "a:b", "a:²"]
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(BadResource, match="is no address"):
        endpoint(address)


def test_an_endpoint_needs_an_address_and_a_known_health() -> None:
    with pytest.raises(BadResource, match="needs an address"):
        endpoint()
    with pytest.raises(BadResource, match="'FINE' is no health status; there are UNKNOWN, HEALTHY"):
        endpoint("127.0.0.1:1", health="FINE")


def test_an_endpoint_may_have_a_health_of_any_number() -> None:
    assert endpoint("127.0.0.1:1", health=17).health_status == 17
