"""Good Clusters with a change, as text says it."""

from __future__ import annotations

import pytest

from conformance.xds_config.variants import TYPE, ResourceVariant, given_bytes, packed
from fake_control_plane import resources

SOCKET = "load_assignment.endpoints.lb_endpoints.endpoint.address.socket_address"
AGGREGATE = "envoy.extensions.clusters.aggregate.v3.ClusterConfig"


def test_the_good_one_stays_as_it_is() -> None:
    good = resources.eds_cluster("c")
    before = good.SerializeToString()
    assert ResourceVariant("", "type: STATIC", less="eds_cluster_config").of(good) != good
    assert good.SerializeToString() == before
    assert ResourceVariant("").of(good) == good


def test_what_is_taken_away_and_what_is_set() -> None:
    odd = ResourceVariant("", "type: 17 lb_policy: MAGLEV", less="eds_cluster_config")
    changed = odd.of(resources.eds_cluster("c"))
    assert (changed.type, changed.lb_policy) == (17, changed.MAGLEV)
    assert not changed.HasField("eds_cluster_config")


def test_within_a_message_that_is_repeated() -> None:
    good = resources.logical_dns_cluster("c", "a.test", 80)
    place = ResourceVariant("", "named_port: 'http'", within=SOCKET).of(good)
    socket = place.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address
    assert (socket.address, socket.named_port) == ("a.test", "http")


@pytest.mark.parametrize(
    ("more", "type_url", "value"),
    [
        (packed(AGGREGATE, "clusters: ['', 'b']"), f"{TYPE}/{AGGREGATE}", b"\n\0\n\1b"),
        (given_bytes(f"{TYPE}/a.B", r"\377"), f"{TYPE}/a.B", b"\377"),
        (given_bytes(""), "", b""),
        (f"typed_config {{ type_url: '{TYPE}/a.B' }}", f"{TYPE}/a.B", b"\n\1a"),
    ],
)
def test_what_an_any_holds(more: str, type_url: str, value: bytes) -> None:
    config = (
        ResourceVariant("", more, within="cluster_type")
        .of(resources.aggregate_cluster("c", "a"))
        .cluster_type.typed_config
    )
    assert (config.type_url, config.value) == (type_url, value)


def test_words() -> None:
    whole = ResourceVariant("", "a {}\n b {}", less="c", within="d")
    assert str(whole) == "but in d without c and with a {} b {}"
    assert str(ResourceVariant("")) == "as it is"
