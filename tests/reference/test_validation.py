"""Bad resources, one a row: each is refused in words that name the resource and the field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import config_source_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.clusters.aggregate.v3 import cluster_pb2 as aggregate_pb2
from envoy.extensions.load_balancing_policies.pick_first.v3 import pick_first_pb2
from envoy.extensions.load_balancing_policies.ring_hash.v3 import ring_hash_pb2
from envoy.extensions.load_balancing_policies.round_robin.v3 import round_robin_pb2
from envoy.extensions.load_balancing_policies.wrr_locality.v3 import wrr_locality_pb2
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.wrappers_pb2 import StringValue
from udpa.type.v1 import typed_struct_pb2 as udpa_pb2
from xds.type.v3 import typed_struct_pb2 as xds_pb2

from client_under_test.reference.clusters.aggregates import LeafEndpoints
from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.policies.configs import (
    PickFirstConfig,
    RingHashConfig,
    RoundRobinConfig,
    WrrLocalityConfig,
)
from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.values import Locality
from client_under_test.reference.xds.policy_list_rules import asked_by_a62
from client_under_test.reference.xds.resources.kinds import Kind
from client_under_test.reference.xds.resources.reading import Bad, Good, read_resources
from client_under_test.reference.xds.rules import XdsRules
from fake_control_plane import resources as made

LARGEST = 8 * 1024 * 1024
Change = Callable[[Any], object]


RULES = XdsRules(certificate_providers=frozenset({"known"}))


def read(kind: Kind, message: Any, rules: XdsRules = RULES) -> Good | Bad:
    packed = Packed()
    packed.Pack(message)
    (resource,) = read_resources(kind, [packed], rules)
    return resource


def value(kind: Kind, message: Any) -> Any:
    resource = read(kind, message)
    assert isinstance(resource, Good), resource.words
    return resource.value


def refused(kind: Kind, message: Any, name: str, *words: str) -> None:
    resource = read(kind, message)
    assert isinstance(resource, Bad)
    assert resource.name == name
    for word in (name, *words):
        assert word in resource.words


def changed(message: Any, change: Change) -> Any:
    change(message)
    return message


def set_value(wrapper: Any, number: int) -> None:
    wrapper.value = number


def set_port(address: Any, port: int) -> None:
    address.port_value = port


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

    rules = XdsRules(wrong_with_cluster=overlooks)
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


# load_balancing_policy (A52).


def policies(*configs: Any) -> Any:
    message = cluster_pb2.Cluster().load_balancing_policy
    message.SetInParent()
    for config in configs:
        message.policies.add().typed_extension_config.typed_config.Pack(config)
    return message


def with_policy(*configs: Any) -> Any:
    cluster = made.eds_cluster("c")
    cluster.load_balancing_policy.CopyFrom(policies(*configs))
    return cluster


def in_localities(*configs: Any) -> Any:
    return wrr_locality_pb2.WrrLocality(endpoint_picking_policy=policies(*configs))


def nested(levels: int) -> Any:
    config = round_robin_pb2.RoundRobin()
    for _ in range(levels - 1):
        config = in_localities(config)
    return config


def struct(kind: Any, name: str, **fields: Any) -> Any:
    message = kind.TypedStruct(type_url=f"type.googleapis.com/{name}")
    message.value.update(fields)
    return message


XX = ring_hash_pb2.RingHash(hash_function=ring_hash_pb2.RingHash.XX_HASH)
ROBIN = round_robin_pb2.RoundRobin()


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ([XX], RingHashConfig(minimum=1024, maximum=LARGEST)),
        ([ROBIN], RoundRobinConfig()),
        ([pick_first_pb2.PickFirst(), ROBIN], RoundRobinConfig()),
        ([in_localities(ROBIN)], WrrLocalityConfig(child=RoundRobinConfig())),
        ([StringValue(value="unknown"), ROBIN, XX], RoundRobinConfig()),
        (
            [in_localities(StringValue(value="x"), ROBIN)],
            WrrLocalityConfig(child=RoundRobinConfig()),
        ),
        ([struct(xds_pb2, "round_robin")], RoundRobinConfig()),
        ([struct(udpa_pb2, "round_robin")], RoundRobinConfig()),
        ([struct(xds_pb2, "myorg.Unknown"), ROBIN], RoundRobinConfig()),
        (
            [struct(xds_pb2, "ring_hash_experimental", minRingSize=5, maxRingSize="9")],
            RingHashConfig(minimum=5, maximum=9),
        ),
    ],
)
def test_load_balancing_policy(configs: list[Any], expected: PolicyConfig) -> None:
    cluster = with_policy(*configs)
    cluster.lb_policy = cluster_pb2.Cluster.MAGLEV  # is not looked at
    assert value(Kind.CLUSTER, cluster).policy == expected


def test_pick_first_is_of_a62() -> None:
    cluster = with_policy(pick_first_pb2.PickFirst(shuffle_address_list=True))
    refused(Kind.CLUSTER, cluster, "c", "has no policy that is supported")
    found = read(Kind.CLUSTER, cluster, XdsRules(supports=asked_by_a62))
    assert isinstance(found, Good)
    assert isinstance(found.value, Leaf)
    assert found.value.policy == PickFirstConfig(shuffle=True)


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ([], "load_balancing_policy.policies: has no policy that is supported"),
        ([StringValue(value="x")], "has no policy that is supported"),
        ([struct(xds_pb2, "myorg.Unknown")], "has no policy that is supported"),
        ([wrr_locality_pb2.WrrLocality()], "endpoint_picking_policy: is missing"),
        ([in_localities(StringValue(value="x"))], "has no policy that is supported"),
        ([ring_hash_pb2.RingHash()], "typed_config.hash_function"),
        (
            [ring_hash_pb2.RingHash(hash_function=ring_hash_pb2.RingHash.MURMUR_HASH_2), ROBIN],
            "typed_config.hash_function",
        ),
        (
            [struct(xds_pb2, "ring_hash_experimental", minRingSize=9e6)],
            "ring_hash_experimental.minRingSize",
        ),
        (
            [struct(xds_pb2, "ring_hash_experimental", minRingSize=float("nan"))],
            "typed_config.value: cannot be written as JSON",
        ),
        ([nested(17)], "is a list of level 17"),
    ],
)
def test_bad_load_balancing_policy(configs: list[Any], words: str) -> None:
    refused(Kind.CLUSTER, with_policy(*configs), "c", "load_balancing_policy", words)


def test_sixteen_levels_are_allowed() -> None:
    assert isinstance(read(Kind.CLUSTER, with_policy(nested(16))), Good)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda entry: entry.ClearField("typed_extension_config"),
            "typed_extension_config: is missing",
        ),
        (
            lambda entry: entry.typed_extension_config.ClearField("typed_config"),
            "typed_config: is missing",
        ),
        (
            lambda entry: setattr(entry.typed_extension_config.typed_config, "value", b"\x0f"),
            "typed_config: is no RoundRobin",
        ),
    ],
)
def test_entries_without_what_they_need(change: Change, words: str) -> None:
    cluster = with_policy(ROBIN)
    entry = cluster.load_balancing_policy.policies[0]
    entry.typed_extension_config.name = "x"
    change(entry)
    refused(Kind.CLUSTER, cluster, "c", words)


# Endpoints.

ONE = made.locality("one", made.endpoint("127.0.0.1:1"))


def endpoints(*localities: Any, **of: Any) -> Any:
    return made.endpoints("e", *localities, **of)


def place(*members: Any, **of: Any) -> Any:
    return made.locality("one", *members, **of)


def member(change: Change) -> Any:
    return endpoints(place(changed(made.endpoint("127.0.0.1:1"), change)))


def overload(change: Change) -> Any:
    return endpoints(ONE, drops=[changed(made.drop("d", 1), change)])


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (endpoints(ONE, made.locality("two", priority=2)), "priority 1 has no localities"),
        (endpoints(made.locality("two", priority=1)), "priority 0 has no localities"),
        (endpoints(ONE, ONE), "127.0.0.1:1 is there twice"),
        (
            endpoints(place(made.endpoint("127.0.0.1:1", "127.0.0.1:1"))),
            "additional_addresses[0].address.socket_address: 127.0.0.1:1 is there twice",
        ),
        (endpoints(place(), place()), "endpoints[1].locality: is twice in priority 0"),
        (
            endpoints(changed(place(), lambda message: message.ClearField("locality"))),
            "endpoints[0].locality: is missing",
        ),
        (
            endpoints(place(made.endpoint("127.0.0.1:1", weight=0))),
            "lb_endpoints[0].load_balancing_weight",
        ),
        (
            endpoints(
                place(
                    made.endpoint("127.0.0.1:1", weight=2**32 - 1),
                    made.endpoint("127.0.0.1:2", weight=1),
                )
            ),
            "weights of the endpoints add up beyond 32 bits",
        ),
        (
            endpoints(place(weight=2**32 - 1), made.locality("two", weight=1)),
            "weights of the localities of priority 0",
        ),
        (endpoints(place(made.endpoint("localhost:1"))), "'localhost' is no IP address"),
        (
            member(lambda message: message.ClearField("endpoint")),
            "lb_endpoints[0].endpoint: is missing",
        ),
        (
            member(lambda message: message.endpoint.address.pipe.SetInParent()),
            "lb_endpoints[0].endpoint.address.socket_address: is missing",
        ),
        (
            member(lambda message: set_port(message.endpoint.address.socket_address, 65536)),
            "socket_address.port_value: 65536",
        ),
        (
            member(
                lambda message: message.endpoint.address.socket_address.ClearField("port_value")
            ),
            "socket_address.port_value: 0",
        ),
        (
            member(lambda message: message.endpoint.additional_addresses.add()),
            "additional_addresses[0].address: is missing",
        ),
        (overload(lambda message: message.ClearField("category")), "drop_overloads[0].category"),
        (
            overload(lambda message: message.ClearField("drop_percentage")),
            "drop_percentage: is missing",
        ),
        (
            overload(lambda message: setattr(message.drop_percentage, "denominator", 9)),
            "drop_overloads[0].denominator: 9",
        ),
    ],
)
def test_bad_endpoints(message: Any, words: str) -> None:
    refused(Kind.ENDPOINTS, message, "e", words)


def test_good_endpoints() -> None:
    message = endpoints(
        made.locality(
            "one",
            made.endpoint("127.0.0.1:1", "[::1]:2", weight=5, hash_key="key"),
            made.endpoint("127.0.0.1:3", health="DRAINING"),
            weight=3,
        ),
        made.locality("two", weight=None, priority=1),
        drops=[made.drop("d", 5)],
    )
    found = value(Kind.ENDPOINTS, message)
    assert isinstance(found, LeafEndpoints)
    (first,), (second,) = found.priorities
    (only,) = first.endpoints
    assert (only.addresses, only.weight, only.hash_key) == (("127.0.0.1:1", "[::1]:2"), 5, "key")
    assert (first.weight, second.weight) == (3, 0)
    assert second.locality == Locality("two")
    assert [(drop.category, drop.per_million) for drop in found.drops] == [("d", 5)]


@pytest.mark.parametrize("health", ["UNHEALTHY", "DRAINING", "TIMEOUT", "DEGRADED"])
def test_endpoints_that_are_not_healthy_are_not_used(health: str) -> None:
    found = value(Kind.ENDPOINTS, endpoints(place(made.endpoint("127.0.0.1:1", health=health))))
    assert found.priorities[0][0].endpoints == ()


@pytest.mark.parametrize(
    ("numerator", "denominator", "per_million"),
    [(50, 0, 500_000), (50, 1, 5_000), (50, 2, 50), (200, 0, 1_000_000)],
)
def test_denominators_of_drops(numerator: int, denominator: int, per_million: int) -> None:
    def change(category: Any) -> None:
        category.drop_percentage.numerator = numerator
        category.drop_percentage.denominator = denominator

    message = overload(change)
    (drop,) = value(Kind.ENDPOINTS, message).drops
    assert drop.per_million == per_million


# Listeners and routes.


def listener(change: Change) -> Any:
    """A listener whose connection manager was changed."""
    message = made.listener("l", route_config="r")
    manager = message.api_listener.api_listener
    unpacked = _manager(manager)
    change(unpacked)
    manager.Pack(unpacked)
    return message


def _manager(packed: Any) -> Any:
    from envoy.extensions.filters.network.http_connection_manager.v3 import (  # noqa: PLC0415
        http_connection_manager_pb2,
    )

    return http_connection_manager_pb2.HttpConnectionManager.FromString(packed.value)


def filters(*names: str, optional: bool = False) -> Change:
    def change(manager: Any) -> None:
        router = manager.http_filters[0].typed_config
        kept = Packed.FromString(router.SerializeToString())
        del manager.http_filters[:]
        for name in names:
            added = manager.http_filters.add(name=name, is_optional=optional)
            if name.startswith("router"):
                added.typed_config.CopyFrom(kept)
            else:
                added.typed_config.Pack(StringValue(value="x"))

    return change


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            changed(
                made.listener("l", route_config="r"),
                lambda message: message.ClearField("api_listener"),
            ),
            "api_listener.api_listener: nothing instead of an HttpConnectionManager",
        ),
        (
            changed(
                made.listener("l", route_config="r"),
                lambda message: setattr(message.api_listener.api_listener, "value", b"\x0f"),
            ),
            "is no HttpConnectionManager",
        ),
        (listener(lambda message: message.ClearField("rds")), "route_specifier"),
        (listener(lambda message: message.scoped_routes.SetInParent()), "route_specifier"),
        (
            listener(lambda message: setattr(message.rds, "route_config_name", "")),
            "rds.route_config_name: must not be empty",
        ),
        (listener(lambda message: message.rds.ClearField("config_source")), "rds.config_source"),
        (
            listener(lambda message: setattr(message, "xff_num_trusted_hops", 1)),
            "xff_num_trusted_hops",
        ),
        (
            listener(lambda message: message.original_ip_detection_extensions.add()),
            "original_ip_detection_extensions",
        ),
        (listener(filters()), "http_filters: must have the router"),
        (listener(filters("unknown", "router")), "http_filters[0].typed_config"),
        (listener(filters("router", "unknown", optional=True)), "the last one must be the router"),
        (listener(filters("router", "router2")), "the router must be the last one"),
        (listener(filters("router", "router")), "http_filters[1].name: router is there twice"),
        (listener(filters("router", "")), "http_filters[1].name: must not be empty"),
    ],
)
def test_bad_listener(message: Any, words: str) -> None:
    refused(Kind.LISTENER, message, "l", words)


def test_good_listeners() -> None:
    assert value(Kind.LISTENER, made.listener("l", route_config="r")).routes == "r"
    assert value(Kind.LISTENER, listener(filters("unknown", "router", optional=True))).routes == "r"
    inline = made.listener("l", route_config=made.route_configuration("r", cluster="c"))
    (host,) = value(Kind.LISTENER, inline).routes.virtual_hosts
    assert host.routes[0].clusters[0].name == "c"


def routes(change: Change) -> Any:
    """A route configuration whose one route was changed."""
    message = made.route_configuration("r", made.route(cluster="c"))
    change(message.virtual_hosts[0].routes[0])
    return message


def with_header(**of: Any) -> Any:
    return routes(lambda message: message.match.headers.add(**{"name": "h", **of}))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            routes(lambda message: message.match.ClearField("prefix")),
            "virtual_hosts[0].routes[0].match.path_specifier",
        ),
        (
            routes(lambda message: setattr(message.match.safe_regex, "regex", "(")),
            "safe_regex.regex",
        ),
        (routes(lambda message: message.route.ClearField("cluster")), "route.cluster_specifier"),
        (routes(lambda message: setattr(message.route, "cluster", "")), "route.cluster"),
        (
            routes(lambda message: message.route.weighted_clusters.SetInParent()),
            "weighted_clusters.clusters: weights add up to 0",
        ),
        (
            routes(
                lambda message: message.route.hash_policy.append(made.hash_header("h", regex="("))
            ),
            "header.regex_rewrite.pattern.regex",
        ),
        (with_header(), "match.headers[0].header_match_specifier"),
        (with_header(name="", exact_match="x"), "match.headers[0].name"),
        (
            routes(
                lambda message: setattr(
                    message.match.runtime_fraction.default_value, "denominator", 9
                )
            ),
            "runtime_fraction.default_value",
        ),
        (
            changed(
                made.route_configuration("r", cluster="c"),
                lambda message: message.virtual_hosts[0].ClearField("domains"),
            ),
            "virtual_hosts[0].domains",
        ),
        (
            changed(
                made.route_configuration("r", cluster="c"),
                lambda message: message.virtual_hosts[0].domains.append("a*b"),
            ),
            "'a*b' is no pattern",
        ),
        (
            changed(
                made.route_configuration("r", cluster="c"),
                lambda message: message.virtual_hosts.add(name="x", domains=["*"]),
            ),
            "virtual_hosts[1].domains: * is there twice",
        ),
    ],
)
def test_bad_routes(message: Any, words: str) -> None:
    refused(Kind.ROUTE, message, "r", words)


@pytest.mark.parametrize(
    "change",
    [
        lambda message: message.match.query_parameters.add(name="q"),
        lambda message: message.match.connect_matcher.SetInParent(),
        lambda message: setattr(message.route, "cluster_header", "h"),
    ],
)
def test_routes_that_ask_for_what_there_is_not_are_passed_by(change: Change) -> None:
    (host,) = value(Kind.ROUTE, routes(change)).virtual_hosts
    assert host.routes == ()


def test_weighted_clusters() -> None:
    weighted = route_components_pb2.WeightedCluster()
    for name, weight in (("a", 1), ("b", 0), ("c", 3)):
        set_value(weighted.clusters.add(name=name).weight, weight)
    message = routes(lambda message: message.route.weighted_clusters.CopyFrom(weighted))
    (host,) = value(Kind.ROUTE, message).virtual_hosts
    assert [(cluster.name, cluster.weight) for cluster in host.routes[0].clusters] == [
        ("a", 1),
        ("c", 3),
    ]


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
