"""Listeners and routes: each invalid one is rejected by the name of the resource and field."""

from __future__ import annotations

from typing import Any

import pytest
from envoy.config.route.v3 import route_components_pb2
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.wrappers_pb2 import StringValue

from client_under_test.reference.xds.resources.kinds import Kind
from fake_control_plane import resources as made
from tests.reference.validation import Change, changed, refused, set_value, value

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
        lambda message: message.route.ClearField("cluster"),
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
