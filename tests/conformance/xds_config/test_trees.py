"""What is served, as inputs of the oracle of trees."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

from conformance.scenarios.helpers.aggregates import aggregate_config, aggregates
from conformance.xds_config.broken import rejected_cluster, rejected_endpoints
from conformance.xds_config.clusters import Cluster, Eds
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.trees import at_the_first

A, B = "127.0.0.1:1", "127.0.0.1:2"


def leaf(name: str, address: str, health: str) -> Cluster:
    place = Locality((Endpoint(address, health=health),), "locality")
    return Cluster(name=name, discovery=Eds((place,)), policy=RoundRobin())


@pytest.mark.parametrize(
    ("first", "second", "degraded", "usable"),
    [
        ("DEGRADED", "HEALTHY", False, (((),), ((B,),))),
        ("DEGRADED", "HEALTHY", True, (((),), ((B,),))),
        ("UNHEALTHY", "DEGRADED", False, (((),), ((),))),
        ("UNHEALTHY", "DEGRADED", True, (((),), ((B,),))),
    ],
)
def test_degraded_endpoints_are_the_last(
    first: str,
    second: str,
    degraded: bool,  # noqa: FBT001
    usable: object,
) -> None:
    leaves = (leaf("a", A, first), leaf("b", B, second))
    served = aggregate_config(["m"], (*aggregates({"m": "a b"}), *leaves))
    wanted = at_the_first(served, "m", degraded=degraded)
    assert (wanted.endpoints["a"], wanted.endpoints["b"]) == usable


def test_what_is_refused_is_so_by_envoy_too() -> None:
    leaf_cluster = leaf("a", A, "HEALTHY")
    cluster, endpoints = rejected_cluster(leaf_cluster), rejected_endpoints(leaf_cluster)
    assert (cluster.type, cluster.HasField("eds_cluster_config")) == (cluster.STATIC, True)
    said = text_format.MessageToString(endpoints)
    assert [place.priority for place in endpoints.endpoints] == [1], said
    assert len(endpoints.policy.drop_overloads) > 1, said
