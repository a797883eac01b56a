"""Trees of clusters behind routes of their own, and what a client is asked to follow of them."""

from __future__ import annotations

from msgspec.structs import replace

from conformance.scenarios.helpers.aggregates import (
    aggregate_config,
    aggregates,
    leaf,
    leaf_names,
    prefixed,
)
from conformance.spec.oracles import cluster_tree
from conformance.xds_config.clusters import Cluster, LogicalDns
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.subscriptions import subscriptions
from conformance.xds_config.trees import endpoints_by_priority, known_clusters
from fake_control_plane import Kind, RawResource

SHAPE = {"m": "b n", "n": "a b"}


def served() -> XdsConfig:
    return aggregate_config(("m", "b"), (*aggregates(SHAPE), *map(leaf, leaf_names(SHAPE))))


def test_names() -> None:
    assert leaf_names(SHAPE) == ("b", "a")
    assert prefixed(SHAPE, "x") == {"x-m": "x-b x-n", "x-n": "x-a x-b"}


def test_each_root_has_a_route_by_a_header() -> None:
    routes = served().route_configuration().virtual_hosts[0].routes
    assert [(route.match.headers[0].name, route.route.cluster) for route in routes] == [
        ("to", "m"),
        ("to", "b"),
    ]
    assert [route.match.headers[0].exact_match for route in routes] == ["m", "b"]
    assert "all requests with the header to: m hashed by header session" in str(served().routes[0])


def test_what_a_client_gets_to_know() -> None:
    config = replace(
        served(),
        unsent=((Kind.CLUSTER, "a"), (Kind.ENDPOINTS, "b")),
        given=(RawResource(Kind.CLUSTER, "n", b"\x0f"),),
    )
    known = known_clusters(config)
    assert known.keys() == {"m", "n", "b"}
    assert known["n"] == cluster_tree.Refused()
    assert endpoints_by_priority(config).keys() == {"a"}
    assert {(kind, name) for kind, name in config.resources_by_name() if kind is Kind.CLUSTER} == {
        (Kind.CLUSTER, name) for name in "mnb"
    }
    assert (Kind.CLUSTER, "a") not in subscriptions(config)
    assert (Kind.ENDPOINTS, "b") in subscriptions(config)
    told = "cluster n as 1 given bytes; cluster a never sent; endpoints b never sent"
    assert str(config).endswith(told)


def test_endpoints_that_can_be_used() -> None:
    def place(priority: int, *endpoints: Endpoint, weight: int | None = 1) -> Locality:
        return Locality(endpoints, f"{priority}", weight, priority)

    places = (
        place(1, Endpoint("3")),
        place(0, Endpoint("1", health="UNHEALTHY"), Endpoint("2", health="HEALTHY")),
        place(1, Endpoint("4"), weight=None),
    )
    by_name = Cluster(name="d", discovery=LogicalDns("127.0.0.1:1"))
    config = aggregate_config(("c", "d"), (leaf("c").with_localities(*places), by_name))
    assert endpoints_by_priority(config) == {"c": (("2",), ("3",)), "d": (("127.0.0.1:1",),)}
    assert known_clusters(config)["d"] == cluster_tree.Leaf()
