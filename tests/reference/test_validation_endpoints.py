"""ClusterLoadAssignments: each invalid one is rejected by the name of the resource and field."""

from __future__ import annotations

from typing import Any

import pytest

from client_under_test.reference.clusters.aggregates import LeafEndpoints
from client_under_test.reference.values import Locality
from client_under_test.reference.xds.resources.kinds import Kind
from fake_control_plane import resources as made
from tests.reference.validation import (
    Change,
    changed,
    endpoints,
    refused,
    value,
)


def set_port(address: Any, port: int) -> None:
    address.port_value = port


# Endpoints.

ONE = made.locality("one", made.endpoint("127.0.0.1:1"))


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
