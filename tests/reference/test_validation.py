"""Bad resources, one a row: each is refused in words that name the resource and the field."""

from __future__ import annotations

from typing import Any

import pytest
from envoy.config.core.v3 import config_source_pb2
from envoy.extensions.clusters.aggregate.v3 import cluster_pb2 as aggregate_pb2
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.wrappers_pb2 import StringValue

from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.policies.configs import (
    RingHashConfig,
    RoundRobinConfig,
    WrrLocalityConfig,
)
from client_under_test.reference.xds.resources.kinds import Kind
from client_under_test.reference.xds.resources.reading import Bad, Good
from client_under_test.reference.xds.rules import XdsRules
from fake_control_plane import resources as made
from tests.reference.validation import (
    LARGEST,
    Change,
    changed,
    read,
    refused,
    set_value,
    value,
)

# Clusters.


def ring(change: Change) -> Any:
    cluster = made.eds_cluster("c", policy=made.ring_hash())
    change(cluster.ring_hash_lb_config)
    return cluster


def outliers(change: Change) -> Any:
    return changed(made.eds_cluster("c"), lambda cluster: change(cluster.outlier_detection))


def dns(change: Change) -> Any:
    return changed(made.logical_dns_cluster("c", "host", 80), change)


def first_endpoint(cluster: Any) -> Any:
    return cluster.load_assignment.endpoints[0].lb_endpoints[0].endpoint


def tls(change: Change) -> Any:
    context = tls_pb2.UpstreamTlsContext()
    context.common_tls_context.SetInParent()
    change(context.common_tls_context)
    cluster = made.eds_cluster("c")
    cluster.transport_socket.name = "envoy.transport_sockets.tls"
    cluster.transport_socket.typed_config.Pack(context)
    return cluster


def rooted(context: Any, provider: str = "known") -> Any:
    context.validation_context.ca_certificate_provider_instance.instance_name = provider
    return context.validation_context


def identified(context: Any, provider: str) -> Any:
    context.tls_certificate_provider_instance.instance_name = provider
    return context


def aggregate(change: Change) -> Any:
    return changed(made.aggregate_cluster("c", "a"), lambda cluster: change(cluster.cluster_type))


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (ring(lambda c: set_value(c.minimum_ring_size, LARGEST + 1)), "minimum_ring_size: 8388609"),
        (ring(lambda c: set_value(c.maximum_ring_size, LARGEST + 1)), "maximum_ring_size: 8388609"),
        (ring(lambda c: set_value(c.minimum_ring_size, 2**64 - 1)), "minimum_ring_size"),
        (ring(lambda c: set_value(c.minimum_ring_size, 0)), "minimum_ring_size: 0"),
        (ring(lambda c: set_value(c.maximum_ring_size, 0)), "maximum_ring_size: 0"),
        (ring(lambda c: set_value(c.maximum_ring_size, 1000)), "1024 is more than"),
        (ring(lambda c: setattr(c, "hash_function", 1)), "ring_hash_lb_config.hash_function"),
        (ring(lambda c: setattr(c, "hash_function", 7)), "ring_hash_lb_config.hash_function"),
        (changed(made.eds_cluster("c"), lambda c: setattr(c, "lb_policy", 5)), "lb_policy"),
        (
            changed(made.eds_cluster("c"), lambda c: c.ClearField("eds_cluster_config")),
            "eds_cluster_config.eds_config",
        ),
        (
            changed(made.eds_cluster("c"), lambda c: c.eds_cluster_config.ClearField("eds_config")),
            "eds_cluster_config.eds_config",
        ),
        (
            changed(
                made.eds_cluster("c"),
                lambda c: setattr(c.eds_cluster_config.eds_config, "path", "file"),
            ),
            "eds_cluster_config.eds_config",
        ),
        (changed(made.eds_cluster("c"), lambda c: c.ClearField("type")), "type: must be"),
        (changed(made.eds_cluster("c"), lambda c: setattr(c, "type", 4)), "type: must be"),
        (
            changed(made.eds_cluster("c"), lambda c: c.lrs_server.ads.SetInParent()),
            "lrs_server: must be self",
        ),
        (
            changed(made.eds_cluster("c"), lambda c: c.transport_socket.SetInParent()),
            "transport_socket.typed_config: nothing is not supported",
        ),
        (
            changed(
                made.eds_cluster("c"),
                lambda c: c.transport_socket.typed_config.Pack(StringValue(value="x")),
            ),
            "StringValue is not supported",
        ),
        (tls(lambda _: None), "common_tls_context.validation_context: is missing"),
        (
            tls(lambda t: t.validation_context.SetInParent()),
            "validation_context.ca_certificate_provider_instance: is missing",
        ),
        (
            tls(lambda t: t.combined_validation_context.SetInParent()),
            "default_validation_context.ca_certificate_provider_instance: is missing",
        ),
        (tls(lambda t: rooted(t, "other")), "'other' is no provider"),
        (tls(lambda t: rooted(t).crl.SetInParent()), "validation_context.crl"),
        (
            tls(lambda t: rooted(t).verify_certificate_hash.append("x")),
            "verify_certificate_hash: is not supported",
        ),
        (tls(lambda t: (rooted(t), t.tls_params.SetInParent())), "common_tls_context.tls_params"),
        (
            tls(lambda t: (rooted(t), t.tls_certificates.add())),
            "tls_certificates: is not supported",
        ),
        (
            tls(
                lambda t: (
                    rooted(t),
                    identified(t, "other"),
                )
            ),
            "tls_certificate_provider_instance: 'other'",
        ),
        (
            changed(made.eds_cluster("c"), lambda c: c.transport_socket_matches.add()),
            "transport_socket_matches",
        ),
        (outliers(lambda o: setattr(o.interval, "seconds", -1)), "outlier_detection.interval"),
        (
            outliers(lambda o: setattr(o.base_ejection_time, "nanos", -1)),
            "outlier_detection.base_ejection_time",
        ),
        (
            outliers(lambda o: setattr(o.max_ejection_time, "seconds", 2**62)),
            "outlier_detection.max_ejection_time",
        ),
        (
            outliers(lambda o: set_value(o.max_ejection_percent, 101)),
            "outlier_detection.max_ejection_percent",
        ),
        (dns(lambda c: c.ClearField("load_assignment")), "load_assignment: is missing"),
        (
            dns(lambda c: c.load_assignment.ClearField("endpoints")),
            "load_assignment.endpoints: must have one entry, not 0",
        ),
        (dns(lambda c: c.load_assignment.endpoints.add()), "must have one entry, not 2"),
        (
            dns(lambda c: c.load_assignment.endpoints[0].ClearField("lb_endpoints")),
            "endpoints[0].lb_endpoints: must have one entry, not 0",
        ),
        (
            dns(lambda c: c.load_assignment.endpoints[0].lb_endpoints.add()),
            "endpoints[0].lb_endpoints: must have one entry, not 2",
        ),
        (
            dns(lambda c: c.load_assignment.endpoints[0].lb_endpoints[0].ClearField("endpoint")),
            "lb_endpoints[0].endpoint: is missing",
        ),
        (dns(lambda c: first_endpoint(c).ClearField("address")), "endpoint.address: is missing"),
        (
            dns(lambda c: first_endpoint(c).address.pipe.SetInParent()),
            "socket_address: is missing",
        ),
        (
            dns(lambda c: setattr(first_endpoint(c).address.socket_address, "address", "")),
            "socket_address.address: must not be empty",
        ),
        (
            dns(lambda c: setattr(first_endpoint(c).address.socket_address, "resolver_name", "x")),
            "socket_address.resolver_name",
        ),
        (
            dns(lambda c: first_endpoint(c).address.socket_address.ClearField("port_value")),
            "socket_address.port_value",
        ),
        (aggregate(lambda c: c.ClearField("typed_config")), "cluster_type.typed_config"),
        (aggregate(lambda c: c.typed_config.Pack(StringValue(value="x"))), "StringValue"),
        (
            aggregate(lambda c: c.typed_config.Pack(aggregate_pb2.ClusterConfig())),
            "typed_config.clusters: must not be empty",
        ),
        (
            aggregate(lambda c: setattr(c.typed_config, "value", b"\x0f")),
            "typed_config: is no ClusterConfig",
        ),
    ],
)
def test_bad_cluster(cluster: Any, words: str) -> None:
    refused(Kind.CLUSTER, cluster, "c", words)


def test_every_field_that_is_wrong_is_named() -> None:
    cluster = ring(lambda c: set_value(c.minimum_ring_size, LARGEST + 1))
    cluster.ring_hash_lb_config.hash_function = 1
    cluster.ClearField("eds_cluster_config")
    refused(Kind.CLUSTER, cluster, "c", "minimum_ring_size", "hash_function", "eds_cluster_config")


@pytest.mark.parametrize(
    "change",
    [
        rooted,
        lambda t: (
            rooted(t),
            t.tls_certificates.add(),
            identified(t, "known"),
        ),
        lambda t: setattr(
            t.combined_validation_context.default_validation_context.ca_certificate_provider_instance,
            "instance_name",
            "known",
        ),
        lambda t: rooted(t).trusted_ca.SetInParent(),
    ],
)
def test_transport_sockets_that_are_accepted(change: Change) -> None:
    assert isinstance(value(Kind.CLUSTER, tls(change)), Leaf)


def test_a75_ignores_the_policy_of_an_aggregate() -> None:
    message = changed(made.aggregate_cluster("c", "a"), lambda c: setattr(c, "lb_policy", 6))
    refused(Kind.CLUSTER, message, "c", "lb_policy: 6 is not supported")
    found = read(Kind.CLUSTER, message, XdsRules(policy_of_aggregate_counts=False))
    assert isinstance(found, Good)
    (alone,) = (made.eds_cluster("c"),)
    alone.lb_policy = 6
    assert isinstance(read(Kind.CLUSTER, alone, XdsRules(policy_of_aggregate_counts=False)), Bad)


def test_the_service_name_is_of_eds_only() -> None:
    message = made.logical_dns_cluster("c", "host", 80)
    message.eds_cluster_config.service_name = "service"
    assert value(Kind.CLUSTER, message).service_name == ""


def test_what_is_wrong_can_be_overlooked_and_found() -> None:
    def overlooks(message: Any, found: Any) -> Any:
        kept = [
            complaint for complaint in found if complaint[0] != "cluster_type.typed_config.clusters"
        ]
        return [*kept, ("name", "is bad")] if message.name == "bad" else kept

    rules = XdsRules(cluster_errors=overlooks)
    empty = aggregate(lambda c: c.typed_config.Pack(aggregate_pb2.ClusterConfig()))
    found = read(Kind.CLUSTER, empty, rules)
    assert isinstance(found, Good)
    assert isinstance(found.value, Aggregate)
    assert found.value.clusters == ()
    resource = read(Kind.CLUSTER, made.eds_cluster("bad"), rules)
    assert isinstance(resource, Bad)
    assert resource.words == "Cluster bad: name: is bad"


def test_an_xdstp_name_needs_a_service_name() -> None:
    name = "xdstp://authority/envoy.config.cluster.v3.Cluster/c"
    refused(Kind.CLUSTER, made.eds_cluster(name), name, "eds_cluster_config.service_name")
    assert value(Kind.CLUSTER, made.eds_cluster(name, service_name="s")).service_name == "s"


def test_good_clusters() -> None:
    leaf = value(Kind.CLUSTER, made.eds_cluster("c", service_name="s", lrs=True, max_requests=7))
    robin = WrrLocalityConfig(child=RoundRobinConfig())
    assert leaf == Leaf(name="c", policy=robin, service_name="s", reported=True, max_requests=7)
    dns_leaf = value(Kind.CLUSTER, made.logical_dns_cluster("c", "host", 80))
    assert dns_leaf == Leaf(name="c", policy=robin, dns_name="host:80")
    tree = value(Kind.CLUSTER, made.aggregate_cluster("c", "b", "a"))
    assert tree == Aggregate(name="c", policy=robin, clusters=("b", "a"))


def test_self_is_as_good_as_ads() -> None:
    cluster = made.eds_cluster("c")
    source = config_source_pb2.ConfigSource()
    source.self.SetInParent()
    cluster.eds_cluster_config.eds_config.CopyFrom(source)
    assert isinstance(read(Kind.CLUSTER, cluster), Good)


@pytest.mark.parametrize(
    ("policy", "minimum", "maximum"),
    [
        (made.RingHash(with_config=False), 1024, LARGEST),
        (made.ring_hash(), 1024, LARGEST),
        (made.ring_hash(minimum=7), 7, LARGEST),
        (made.ring_hash(maximum=2000), 1024, 2000),
        (made.ring_hash(minimum=LARGEST, maximum=LARGEST), LARGEST, LARGEST),
        (made.ring_hash(hash_function=None), 1024, LARGEST),
    ],
)
def test_sizes_of_rings(policy: Any, minimum: int, maximum: int) -> None:
    cluster = value(Kind.CLUSTER, made.eds_cluster("c", policy=policy))
    assert cluster.policy == RingHashConfig(minimum=minimum, maximum=maximum)


def test_only_a_threshold_for_default_priority_limits_requests() -> None:
    cluster = made.eds_cluster("c")
    high = cluster.circuit_breakers.thresholds.add(priority=1)
    set_value(high.max_requests, 3)
    assert value(Kind.CLUSTER, cluster).max_requests == 1024
    cluster.circuit_breakers.thresholds.add()
    assert value(Kind.CLUSTER, cluster).max_requests == 1024
    set_value(cluster.circuit_breakers.thresholds[1].max_requests, 0)
    assert value(Kind.CLUSTER, cluster).max_requests == 0


# Any resource.


def test_wrapped() -> None:
    wrapper = discovery_pb2.Resource(name="other")
    wrapper.resource.Pack(made.eds_cluster("c"))
    assert read(Kind.CLUSTER, wrapper).name == "c"


def test_wrapped_wrongly() -> None:
    wrapper = discovery_pb2.Resource(name="c")
    wrapper.resource.Pack(made.eds_cluster("c"))
    wrapper.resource.value = b"\x0f"
    refused(Kind.CLUSTER, wrapper, "c", "cannot be decoded as a Cluster")


def test_another_type() -> None:
    resource = read(Kind.CLUSTER, made.endpoints("e"))
    assert isinstance(resource, Bad)
    assert "ClusterLoadAssignment, not a Cluster" in resource.words


def test_no_name() -> None:
    resource = read(Kind.CLUSTER, made.eds_cluster(""))
    assert isinstance(resource, Bad)
    assert "the Cluster has no name" in resource.words
