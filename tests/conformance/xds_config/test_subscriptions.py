"""What a right client asks for, by tables."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from conformance.spec.oracles.request_hash import HashPolicy
from conformance.xds_config.clusters import Aggregate, Cluster, Eds, LogicalDns
from conformance.xds_config.config import LISTENER, ROUTE, XdsConfig, single_locality
from conformance.xds_config.routes import Route
from conformance.xds_config.subscriptions import subscriptions
from fake_control_plane import Kind, RawResource

NO_POLICIES: tuple[HashPolicy, ...] = ()


def eds(name: str, service_name: str | None = None) -> Cluster:
    return Cluster(name=name, discovery=Eds(service_name=service_name))


def dns(name: str) -> Cluster:
    return Cluster(name=name, discovery=LogicalDns("127.0.0.1:1"))


def made_of(name: str, *parts: str) -> Cluster:
    return Cluster(name=name, discovery=Aggregate(parts))


def to(cluster: str, *clusters: Cluster) -> XdsConfig:
    return XdsConfig(clusters=clusters, routes=(Route(NO_POLICIES, cluster=cluster),))


WEIGHTED = XdsConfig(
    clusters=(eds("a"), eds("b"), eds("c"), eds("never")),
    routes=(
        Route(NO_POLICIES, path="/s/m", cluster="c"),
        Route(NO_POLICIES, weighted_clusters={"a": 1, "b": 0}),
    ),
)


@pytest.mark.parametrize(
    ("served", "clusters", "endpoints"),
    [
        pytest.param(to("a", eds("a")), "a", "a", id="one"),
        pytest.param(to("a", eds("a", "s")), "a", "s", id="service name"),
        pytest.param(to("a", eds("a"), eds("b")), "a", "a", id="one that no route leads to"),
        pytest.param(to("a", dns("a")), "a", "", id="no endpoints of LOGICAL_DNS"),
        pytest.param(to("a", eds("b")), "a", "", id="never served"),
        pytest.param(WEIGHTED, "abc", "abc", id="several routes, weights of which one is 0"),
        pytest.param(
            to("a", made_of("a", "b", "c"), eds("b", "s"), dns("c")), "abc", "s", id="aggregate"
        ),
        pytest.param(
            to("a", made_of("a", "b", "c"), made_of("b", "d"), made_of("c", "d"), eds("d")),
            "abcd",
            "d",
            id="a shared leaf",
        ),
        pytest.param(
            to("a", made_of("a", "b", "c"), made_of("b", "a"), eds("c")), "abc", "c", id="a circle"
        ),
        pytest.param(to("a", made_of("a", "a")), "a", "", id="made of itself"),
        pytest.param(
            to("a", made_of("a", "b", "x"), eds("b")), "abx", "b", id="a leaf never served"
        ),
    ],
)
def test_clusters_and_endpoints(served: XdsConfig, clusters: str, endpoints: str) -> None:
    assert subscriptions(served) == {
        (Kind.LISTENER, LISTENER),
        (Kind.ROUTE, ROUTE),
        *((Kind.CLUSTER, name) for name in clusters),
        *((Kind.ENDPOINTS, name) for name in endpoints),
    }


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ((Kind.LISTENER, LISTENER), 1),
        ((Kind.ROUTE, ROUTE), 2),
        ((Kind.CLUSTER, "cluster"), 3),
        ((Kind.ENDPOINTS, "cluster"), 4),
        ((Kind.CLUSTER, "other"), 4),
    ],
)
def test_nothing_follows_from_given_bytes(given: tuple[Kind, str], asked: int) -> None:
    raw = RawResource(*given, b"\x0f")
    assert len(subscriptions(replace(single_locality(["127.0.0.1:1"]), given=(raw,)))) == asked
