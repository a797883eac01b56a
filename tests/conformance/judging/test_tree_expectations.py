"""Trees of clusters: attempts in the order of their leaves, calls at the first that can serve."""

from __future__ import annotations

import pytest

from conformance.judging.expectations import FirstUsablePriority, LeafOrder
from conformance.judging.observations import Attempt, Attempts, Call, Calls
from conformance.spec.oracles.cluster_tree import Aggregate, Cluster, Leaf

CLUSTERS: dict[str, Cluster] = {
    "root": Aggregate(("b", "low")),
    "low": Aggregate(("a", "b")),
    "a": Leaf(service_name="a"),
    "b": Leaf(service_name="b"),
}
ENDPOINTS = {"a": (("1",), ("2",)), "b": (("3", "4"),)}


@pytest.mark.parametrize(
    ("order", "holds"),
    [
        ("3412", True),
        ("4312", True),
        ("34x123", True),
        ("3142", False),
        ("1234", False),
        ("341", False),
        ("", False),
    ],
)
def test_attempts(order: str, *, holds: bool) -> None:
    seen = Attempts(tuple(Attempt(address, at) for at, address in enumerate(order)))
    found = LeafOrder(root="root", clusters=CLUSTERS, endpoints=ENDPOINTS).finding(seen)
    assert found.holds == holds
    assert found.wanted == "first attempts at 3 or 4, then 1, then 2"


@pytest.mark.parametrize(
    ("failed", "where", "holds"),
    [
        ("", "34", True),
        ("", "31", False),
        ("3", "4", True),
        ("3", "3", False),
        ("34", "1", True),
        ("1234", "", True),
        ("1234", "1", False),
    ],
)
def test_calls(failed: str, where: str, *, holds: bool) -> None:
    expected = FirstUsablePriority(
        root="root", clusters=CLUSTERS, endpoints=ENDPOINTS, failed=tuple(failed)
    )
    made: list[tuple[str | None, str]] = [(address, "OK") for address in where] or [
        (None, "UNAVAILABLE")
    ]
    seen = Calls(
        tuple(
            Call(id=str(n), channel="c", path="/s/m", metadata=(), status=status, endpoint=address)
            for n, (address, status) in enumerate(made)
        )
    )
    assert expected.finding(seen).holds == holds
