"""What is served, as the resources that the control plane sends."""

from __future__ import annotations

from typing import Any

import pytest
from envoy.extensions.clusters.aggregate.v3 import cluster_pb2 as aggregate_pb2
from envoy.extensions.load_balancing_policies.ring_hash.v3 import ring_hash_pb2
from msgspec.structs import replace
from xds.type.v3 import typed_struct_pb2

from conformance.scenarios.helpers.load_reports import balanced
from conformance.spec.oracles.load import LoadKey
from conformance.spec.oracles.request_hash import HeaderPolicy
from conformance.xds_config.clusters import Aggregate, Cluster, Drop, LogicalDns, Threshold
from conformance.xds_config.config import (
    XdsConfig,
    aggregate,
    logical_dns,
    merge,
    one_cluster,
    single_locality,
)
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import ExtensionRingHash, Policy, RingHash, TypedRingHash
from conformance.xds_config.routes import BY_SESSION, Route
from fake_control_plane import Kind, RawResource, resources

A, B, C = (f"127.0.0.1:{port}" for port in (34101, 34102, 34103))

OTHER = one_cluster(
    (Locality((Endpoint(B),)),),
    name="other",
    service_name="service",
    is_reported=True,
    routes=(Route((), path="/s/m", cluster="other"),),
)
OWN = one_cluster((Locality((Endpoint(A),), "region/zone/sub_zone"),))
SERVED = merge(OWN, OTHER)
BY_NAME = logical_dns(C, is_reported=True)


def kinds(served: XdsConfig) -> list[str]:
    return [type(resource).__name__ for resource in served.resources()]


def test_several_clusters() -> None:
    assert kinds(SERVED) == [
        "Listener",
        "RouteConfiguration",
        *["Cluster"] * 2,
        *["ClusterLoadAssignment"] * 2,
    ]
    _, routes, other, own, others, owns = SERVED.resources()
    ways = [(route.match.path, route.route.cluster) for route in routes.virtual_hosts[0].routes]
    assert ways == [("/s/m", "other"), ("", "cluster")]
    assert [cluster.name for cluster in (other, own)] == ["other", "cluster"]
    assert other.eds_cluster_config.service_name == others.cluster_name == "service"
    assert owns.cluster_name == "cluster"
    assert [cluster.HasField("lrs_server") for cluster in (other, own)] == [True, False]
    name: Any = owns.endpoints[0].locality
    assert (name.region, name.zone, name.sub_zone) == ("region", "zone", "sub_zone")
    assert str(OTHER) in str(SERVED)


def test_own_cluster_and_others() -> None:
    assert SERVED.get_cluster().name == "cluster"
    assert SERVED.get_cluster("other").addresses() == (B,)
    assert SERVED.matches_ring(cluster="other").localities == OTHER.matches_ring().localities
    with pytest.raises(LookupError, match="No cluster 'x' is served: there is other, cluster"):
        SERVED.get_cluster("x")
    with pytest.raises(ValueError, match="Two clusters are called 'cluster'"):
        merge(OWN, OWN)


def test_aggregate() -> None:
    """Each cluster of the graph has a resource of its own; those of EDS have endpoints as well."""
    leaf, by_name = (
        replace(OWN.get_cluster(), name="leaf"),
        replace(BY_NAME.get_cluster(), name="by-name"),
    )
    lower = Cluster(name="lower", discovery=Aggregate(("by-name", "leaf", "upper")))
    upper = Cluster(name="upper", discovery=Aggregate(("leaf", "lower", "never-served")))
    route = Route(BY_SESSION, cluster="upper")
    served = XdsConfig(clusters=(upper, leaf, lower, by_name), routes=(route,))
    _, routes, *clusters, endpoints = served.resources()
    assert [entry.route.cluster for entry in routes.virtual_hosts[0].routes] == ["upper"]
    assert [cluster.name for cluster in clusters] == ["upper", "leaf", "lower", "by-name"]
    assert endpoints.cluster_name == "leaf"
    made_of = aggregate_pb2.ClusterConfig()
    clusters[0].cluster_type.typed_config.Unpack(made_of)
    assert [*made_of.clusters] == ["leaf", "lower", "never-served"]
    assert all(cluster.name in str(served) for cluster in served.clusters)
    assert served.addresses() == ()
    assert served.matches_ring(cluster="leaf").localities == OWN.matches_ring().localities


def test_a_leaf_that_two_aggregates_share_is_served_once() -> None:
    leaf = single_locality([A], name="leaf")
    served = aggregate(leaf, leaf)
    assert [cluster.name for cluster in served.clusters] == ["cluster", "leaf"]


def test_drops() -> None:
    drops = [
        Drop("half", 500_000),
        Drop("tenth", 1_000, "TEN_THOUSAND"),
        Drop("all", 100, "HUNDRED"),
    ]
    served = one_cluster(OWN.get_cluster().localities, drops=drops)
    assert [
        (
            overload.category,
            overload.drop_percentage.numerator,
            overload.drop_percentage.denominator,
        )
        for overload in served.endpoints().policy.drop_overloads
    ] == [("half", 500_000, 2), ("tenth", 1_000, 1), ("all", 100, 0)]
    assert "drops 500000 per million; drops 1000 per ten thousand" in str(served)
    assert not OWN.endpoints().HasField("policy")


def test_limits() -> None:
    limits = [Threshold(7), Threshold(priority="HIGH")]
    served = one_cluster((), thresholds=limits)
    normal, high = served.cluster().circuit_breakers.thresholds
    assert (normal.priority, normal.max_requests.value) == (0, 7)
    assert (high.priority, high.HasField("max_requests")) == (1, False)
    assert "max_requests 7 for priority DEFAULT; max_requests unset for priority HIGH" in str(
        served
    )
    assert not OWN.cluster().HasField("circuit_breakers")


def test_resources_as_given_bytes() -> None:
    """In place of one that would be made, or beside all of them."""
    garbage = RawResource(Kind.CLUSTER, "cluster", b"\x0f")
    stray = RawResource(Kind.ENDPOINTS, "stray", b"")
    served = replace(OWN, given=(garbage, stray))
    listener, routes, cluster, endpoints, added = served.resources()
    assert (listener, routes, endpoints) == (*OWN.resources()[:2], OWN.endpoints())
    assert (cluster, added) == (garbage, stray)
    assert "cluster cluster as 1 given bytes" in str(served)


def test_cluster_by_dns() -> None:
    assert kinds(BY_NAME) == ["Listener", "RouteConfiguration", "Cluster"]
    cluster = BY_NAME.cluster()
    only = cluster.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address
    assert (only.address, only.port_value) == ("127.0.0.1", 34103)
    assert cluster.HasField("lrs_server")
    assert str(BY_NAME).startswith("LOGICAL_DNS")
    assert BY_NAME.addresses() == (C,)
    resolved = logical_dns("host.test:80", (A, B)).get_cluster()
    assert resolved.resource().load_assignment.endpoints[0].lb_endpoints[0].endpoint.address == (
        resources.logical_dns_cluster("x", "host.test", 80)
        .load_assignment.endpoints[0]
        .lb_endpoints[0]
        .endpoint.address
    )
    (place,) = resolved.localities
    assert (place.name, place.endpoints) == ("", (Endpoint(A, additional_addresses=(B,)),))
    with pytest.raises(TypeError, match="no cluster of EDS"):
        resolved.endpoints()


def test_whose_load_is_to_be_reported() -> None:
    assert SERVED.reported_clusters() == ("other",)
    assert BY_NAME.reported_clusters() == ("cluster",)


def test_where_load_belongs() -> None:
    assert balanced(SERVED).places == {B: LoadKey("other", "service", "locality")}
    assert balanced(BY_NAME, lossy=True).places == {C: LoadKey("cluster")}


def test_where_load_of_leaves_belongs() -> None:
    """Of an aggregate nothing is reported, and drops are of the leaf that has them."""
    first = one_cluster(
        (Locality((Endpoint(A, additional_addresses=(B,)),)),),
        name="first",
        is_reported=True,
        drops=[Drop("half", 50, "HUNDRED"), Drop("tenth", 10, "HUNDRED")],
    )
    second = Cluster(name="second", discovery=LogicalDns("host.test:80", (C,)), is_reported=True)
    upper = Cluster(discovery=Aggregate(("first", "second", "first")))
    expected = balanced(XdsConfig(clusters=(upper, *first.clusters, second)))
    here = LoadKey("first", "", "locality")
    assert expected.places == {A: here, B: here, C: LoadKey("second")}
    assert expected.drops == {"first": ("half", "tenth")}


def test_header_that_the_policy_names() -> None:
    named = OWN.with_policy(TypedRingHash("tenant", minimum=64))
    only = named.cluster().load_balancing_policy.policies[0].typed_extension_config
    message = typed_struct_pb2.TypedStruct.FromString(only.typed_config.value)
    assert message.type_url.endswith("/ring_hash_experimental")
    assert dict(message.value) == {"requestHashHeader": "tenant", "minRingSize": 64}
    assert named.matches_ring().policies == (HeaderPolicy(name="tenant"),)
    assert named.config().minimum == 64
    for unnamed in (TypedRingHash(), TypedRingHash("")):
        assert OWN.with_policy(unnamed).matches_ring().policies == BY_SESSION
    assert not dict(TypedRingHash().config())


def test_sizes_that_are_left_out() -> None:
    def sizes(policy: Policy) -> tuple[int, int]:
        return SERVED.with_policy(policy).with_ring_cap(2**23).config().sizes()

    assert sizes(RingHash()) == sizes(ExtensionRingHash()) == (1024, 2**23)
    assert sizes(TypedRingHash()) == (1024, 4096)
    extension = SERVED.with_policy(ExtensionRingHash(maximum=7)).cluster()
    packed = extension.load_balancing_policy.policies[0].typed_extension_config.typed_config
    message = ring_hash_pb2.RingHash.FromString(packed.value)
    assert packed.Is(message.DESCRIPTOR)
    assert message.hash_function == ring_hash_pb2.RingHash.XX_HASH
    assert (message.HasField("minimum_ring_size"), message.maximum_ring_size.value) == (False, 7)


def test_route_to_weighted_clusters() -> None:
    both = Route(BY_SESSION, weighted_clusters={"cluster": 3, "other": 1})
    assert str(both).endswith(", to cluster (weight 3), other (weight 1)")
    (host,) = replace(SERVED, routes=(both,)).route_configuration().virtual_hosts
    action = host.routes[-1].route
    weighted = [
        (cluster.name, cluster.weight.value) for cluster in action.weighted_clusters.clusters
    ]
    assert weighted == [("cluster", 3), ("other", 1)]
    assert len(action.hash_policy) == 1
