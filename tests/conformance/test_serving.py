"""What is served, as the resources that the control plane sends."""

from __future__ import annotations

from typing import Any

from envoy.extensions.clusters.aggregate.v3 import cluster_pb2 as aggregate_pb2
from msgspec.structs import replace
from xds.type.v3 import typed_struct_pb2

from conformance.loads import balanced
from conformance.oracles.load import Place
from conformance.oracles.request_hash import HeaderPolicy
from conformance.serving import (
    BY_SESSION,
    Endpoint,
    Locality,
    Route,
    Served,
    TypedRingHash,
)

A, B, C = (f"127.0.0.1:{port}" for port in (34101, 34102, 34103))

OTHER = Served(
    localities=(Locality((Endpoint(B),)),),
    cluster_name="other",
    service_name="service",
    is_reported=True,
    routes=(Route((), path="/s/m"),),
)
SERVED = Served(localities=(Locality((Endpoint(A),), "region/zone/sub_zone"),), beside=(OTHER,))
BY_NAME = Served(localities=(Locality((Endpoint(C),), ""),), is_dns=True, is_reported=True)


def kinds(served: Served) -> list[str]:
    return [type(one).__name__ for one in served.resources()]


def test_several_clusters() -> None:
    assert kinds(SERVED) == [
        "Listener",
        "RouteConfiguration",
        *["Cluster"] * 2,
        *["ClusterLoadAssignment"] * 2,
    ]
    _, routes, other, own, others, owns = SERVED.resources()
    ways = [(one.match.path, one.route.cluster) for one in routes.virtual_hosts[0].routes]
    assert ways == [("/s/m", "other"), ("", "cluster")]
    assert [one.name for one in (other, own)] == ["other", "cluster"]
    assert other.eds_cluster_config.service_name == others.cluster_name == "service"
    assert owns.cluster_name == "cluster"
    assert [one.HasField("lrs_server") for one in (other, own)] == [True, False]
    name: Any = owns.endpoints[0].locality
    assert (name.region, name.zone, name.sub_zone) == ("region", "zone", "sub_zone")
    assert str(OTHER) in str(SERVED)


def test_aggregate() -> None:
    """All that is below it, level by level, has a Cluster; those of EDS have endpoints as well."""
    lower = Served(cluster_name="lower", below=(replace(BY_NAME, cluster_name="by-name"),))
    served = Served(below=(replace(SERVED, cluster_name="leaf", beside=()), lower))
    _, routes, *clusters, endpoints = served.resources()
    assert [one.route.cluster for one in routes.virtual_hosts[0].routes] == ["cluster"]
    assert [one.name for one in clusters] == ["cluster", "leaf", "lower", "by-name"]
    assert endpoints.cluster_name == "leaf"
    made_of = aggregate_pb2.ClusterConfig()
    clusters[0].cluster_type.typed_config.Unpack(made_of)
    assert [*made_of.clusters] == ["leaf", "lower"]
    assert all(one.cluster_name in str(served) for one in served.tree() if one is not served)


def test_drops() -> None:
    served = Served(localities=SERVED.localities, drops={"half": 500_000})
    (drop,) = served.endpoints().policy.drop_overloads
    assert (drop.category, drop.drop_percentage.numerator) == ("half", 500_000)
    assert not SERVED.endpoints().HasField("policy")


def test_cluster_by_dns() -> None:
    assert kinds(BY_NAME) == ["Listener", "RouteConfiguration", "Cluster"]
    cluster = BY_NAME.cluster()
    only = cluster.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address
    assert (only.address, only.port_value) == ("127.0.0.1", 34103)
    assert cluster.HasField("lrs_server")
    assert str(BY_NAME).startswith("LOGICAL_DNS")


def test_whose_load_is_to_be_reported() -> None:
    assert SERVED.reported_clusters() == ("other",)
    assert BY_NAME.reported_clusters() == ("cluster",)


def test_where_load_belongs() -> None:
    assert balanced(SERVED).places == {B: Place("other", "service", "locality")}
    assert balanced(BY_NAME, lossy=True).places == {C: Place("cluster")}


def test_header_that_the_policy_names() -> None:
    named = SERVED.balanced_by(TypedRingHash("tenant", minimum=64))
    only = named.cluster().load_balancing_policy.policies[0].typed_extension_config
    message = typed_struct_pb2.TypedStruct.FromString(only.typed_config.value)
    assert message.type_url.endswith("/ring_hash_experimental")
    assert dict(message.value) == {"requestHashHeader": "tenant", "minRingSize": 64}
    assert named.hashed() == (HeaderPolicy(name="tenant"),)
    assert named.mapping().policies == named.hashed()
    assert named.config().minimum == 64
    for unnamed in (TypedRingHash(), TypedRingHash("")):
        assert SERVED.balanced_by(unnamed).hashed() == BY_SESSION
    assert not dict(TypedRingHash().config())
