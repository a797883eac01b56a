"""What a client asks for: just what its trees take, each once, and for as long as it is needed."""

from __future__ import annotations

import pytest

from conformance.judging.expectations import (
    Fails,
    SendsNewestNonce,
    StaysSubscribed,
    SubscribesBesidesClusters,
    SubscribesOnce,
    SubscribesTo,
    WrongKind,
)
from conformance.judging.observations import Call, Calls, SubscriptionRequest, Subscriptions
from conformance.spec.oracles.cluster_tree import Aggregate, Cluster, Leaf

CLUSTERS: dict[str, Cluster] = {
    "m": Aggregate(("b", "n")),
    "n": Aggregate(("a", "b")),
    "a": Leaf(service_name="s"),
    "b": Leaf(service_name="b"),
}


def asked(*requests: str, kind: str = "CLUSTER", streams: int = 1) -> Subscriptions:
    return Subscriptions(
        tuple(
            SubscriptionRequest(kind, tuple(names), 1 + n % streams)
            for n, names in enumerate(requests)
        )
    )


@pytest.mark.parametrize(
    ("requests", "ever", "holds"),
    [
        (("m", "mbn", "mbna"), True, True),
        (("m", "mbnax", "mbna"), False, True),
        (("m", "mbnax", "mbna"), True, False),
        (("m", "mbn"), False, False),
        (("mbnax",), False, False),
        ((), False, False),
    ],
)
def test_asks_for(requests: tuple[str, ...], *, ever: bool, holds: bool) -> None:
    expected = SubscribesTo(kind="CLUSTER", roots=("m",), clusters=CLUSTERS, ever=ever)
    assert expected.finding(asked(*requests)).holds == holds


def test_asks_for_endpoints_of_leaves() -> None:
    expected = SubscribesTo(kind="ENDPOINTS", roots=("m", "a"), clusters=CLUSTERS)
    assert expected.finding(asked("bs", kind="ENDPOINTS")).holds
    assert not expected.finding(asked("bs")).holds
    with pytest.raises(WrongKind):
        expected.finding(Calls(()))


@pytest.mark.parametrize(
    ("seen", "holds"),
    [
        (asked("m", "mb"), True),
        (asked("m", "mbm"), False),
        (asked("m", "mb", streams=2), False),
        (asked(), False),
    ],
)
def test_asks_once(seen: Subscriptions, *, holds: bool) -> None:
    assert SubscribesOnce().finding(seen).holds == holds


@pytest.mark.parametrize(
    ("streams", "holds"),
    [
        ((("CLUSTER", 1), ("ENDPOINTS", 1)), True),
        ((("CLUSTER", 1), ("ENDPOINTS", 1), ("ENDPOINTS", 2), ("CLUSTER", 2)), True),
        ((("CLUSTER", 1), ("ENDPOINTS", 2)), False),
        ((("CLUSTER", 1), ("ENDPOINTS", 1), ("ENDPOINTS", 2)), False),
        ((("CLUSTER", 1),), False),
        ((), False),
    ],
)
def test_asks_beside_clusters(streams: tuple[tuple[str, int], ...], *, holds: bool) -> None:
    seen = Subscriptions(
        tuple(SubscriptionRequest(kind, ("a",), stream) for kind, stream in streams)
    )
    assert SubscribesBesidesClusters().finding(seen).holds == holds


def test_goes_on_asking() -> None:
    expected = StaysSubscribed("CLUSTER", "a")
    assert expected.finding(asked("ma", "a")).holds
    assert not expected.finding(asked("ma", "m", "a")).holds
    assert not expected.finding(asked()).holds


def test_many_names_are_not_all_told() -> None:
    names = {f"leaf-{number}": Leaf(service_name="s") for number in range(40)}
    expected = SubscribesTo(
        kind="CLUSTER", roots=("m",), clusters={**names, "m": Aggregate(tuple(names))}
    )
    assert expected.finding(asked("m")).wanted.endswith(" and 29 more")


@pytest.mark.parametrize(
    ("status", "endpoint", "holds"),
    [
        ("UNAVAILABLE", None, True),
        ("INTERNAL", None, True),
        ("DEADLINE_EXCEEDED", None, False),
        ("OK", "1", False),
        ("INTERNAL", "1", False),
    ],
)
def test_fails(status: str, endpoint: str | None, *, holds: bool) -> None:
    call = Call(id="1", channel="c", path="/s/m", metadata=(), status=status, endpoint=endpoint)
    assert Fails().finding(Calls((call,))).holds == holds


@pytest.mark.parametrize(
    ("nonce", "due", "end"),
    [
        (None, "", "names cluster"),
        ("", "1.2", "names cluster and has no nonce instead of 1.2"),
        ("1.1", "1.2", "names cluster and has nonce 1.1 instead of 1.2"),
    ],
)
def test_an_outdated_nonce_is_named(nonce: str | None, due: str, end: str) -> None:
    """Evidence of before nonces were recorded has none."""
    request = SubscriptionRequest(
        "CLUSTER", ("cluster",), 1, is_outdated=True, nonce=nonce, due=due
    )
    saw = SendsNewestNonce().finding(Subscriptions((request,))).saw
    assert saw == f"1 of 1 have no nonce, or an older one: one for CLUSTER {end}"
