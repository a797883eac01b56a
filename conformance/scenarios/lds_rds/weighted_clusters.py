"""A28, Response validation: the weights of a route's clusters."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.judging.aborts import ResourceRejected
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    EndsWith,
    Proportions,
)
from conformance.judging.observations import Answer
from conformance.scenarios.helpers.live_policies import requests_meanwhile
from conformance.scenarios.helpers.routing import (
    HEADER,
    MATCHED,
    OTHER,
    calls_of,
    routed_to,
    to,
    two_clusters,
    with_routes,
)
from conformance.world import UNARY, World
from conformance.xds_config.config import XdsConfig, single_locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.routes import BY_SESSION, Route
from conformance.xds_config.trees import subscriptions_of
from fake_control_plane import HeaderMatch, Kind, RouteMatch

REQUESTS = 500
"""Enough requests that shares of 100 are out of bounds for all weights below."""


WEIGHTS = {
    "sum-2": (1, 1),
    "sum-60": (30, 30),
    "sum-101": (1, 100),
    "sum-200": (100, 100),
    "sum-4000": (1_000, 3_000),
    "largest-sum": (2**31, 2**31 - 1),
    "three": (100, 300, 400),
}
"""Weights of the clusters of a route, most of them by their sum."""


OTHER_WEIGHT = (100, 1_000)
"""The least and the largest weight beside the 0; `WEIGHTS` has smaller sums."""


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
@scenario("A28-SPLIT-01", "A28-SPLIT-02")
async def test_weight_zero(world: World, is_first: bool) -> None:  # noqa: FBT001
    """A cluster of weight 0 gets no request; the client may subscribe to it or not."""
    none = single_locality(await world.addresses(1), name="none", policy=RoundRobin())
    some = single_locality(await world.addresses(1), name="some", policy=RoundRobin())
    weights = {"none": 0, "some": world.rng.randint(*OTHER_WEIGHT)}
    names = ("none", "some") if is_first else ("some", "none")
    split = Route(BY_SESSION, weighted_clusters={name: weights[name] for name in names})
    served = replace(none, clusters=(*none.clusters, *some.clusters), routes=(split,))
    await world.serve(served)
    calls = await world.call(world.sessions(REQUESTS))
    await world.check("A28-SPLIT-01", calls, AllServedBy(some.addresses()))
    both = subscriptions_of(served, "CLUSTER")
    choices = {"subscribes": both, "does not subscribe": replace(both, roots=("some",))}
    await world.check("A28-SPLIT-02", world.control.asked(), choices)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@scenario("A28-SPLIT-01")
async def test_weights(world: World, weights: tuple[int, ...]) -> None:
    """Each cluster gets requests in proportion to its weight, or the client rejects the route."""
    clusters = {
        f"cluster-{number}": single_locality(
            await world.addresses(1), name=f"cluster-{number}", policy=RoundRobin()
        ).get_cluster()
        for number in range(len(weights))
    }
    split = Route(BY_SESSION, weighted_clusters=dict(zip(clusters, weights, strict=True)))
    try:
        await world.serve(with_routes(clusters, split))
        calls = await world.call(world.sessions(REQUESTS))
    except ResourceRejected as refused:
        answer = Answer(kind="RDS", version="", acked=False, error_detail=str(refused))
        await world.check("A28-SPLIT-01", answer, AckedOrNacked(acked=False))
        return
    shares = {
        cluster.addresses()[0]: (weight, sum(weights))
        for cluster, weight in zip(clusters.values(), weights, strict=True)
    }
    await world.check("A28-SPLIT-01", calls, Proportions(shares))


ENOUGH_TO_REACH_BOTH = 20
"""Requests, so that both clusters are connected; nothing depends on it."""

BEFORE, AFTER = (20, 80), (80, 20)
"""Weights of two clusters, which add up to 100: older clients reject others (A28-SPLIT-01)."""


@scenario("A28-SPLIT-03", "A28-SPLIT-04")
async def test_changed_weights(world: World) -> None:
    """While requests run, an update changes the weights: none fails, and the shares are the new.

    The update also leads requests with a header of their own to the other cluster. Once they reach
    it, the client has applied the update.
    """
    clusters = await two_clusters(world)
    by_header = RouteMatch(prefix="", headers=(HeaderMatch(name=HEADER, exact="marked"),))

    def weighted(marked: str, weights: tuple[int, int]) -> XdsConfig:
        split = Route(BY_SESSION, weighted_clusters=dict(zip(clusters, weights, strict=True)))
        return with_routes(clusters, to(marked, by_header), split)

    await world.serve(weighted(MATCHED, BEFORE))
    await world.require_served(world.sessions(ENOUGH_TO_REACH_BOTH))
    running = await requests_meanwhile(world)
    await world.serve(weighted(OTHER, AFTER))
    applied = routed_to(clusters, OTHER)
    await world.rounds.require(
        applied,
        lambda: calls_of(world, [(UNARY, {HEADER: "marked"})]),
        why="the update does",
    )
    calls = await world.call(world.sessions(REQUESTS))
    addresses = (cluster.addresses()[0] for cluster in clusters.values())
    shares = {where: (weight, 100) for where, weight in zip(addresses, AFTER, strict=True)}
    await world.check("A28-SPLIT-03", calls, Proportions(shares))
    await world.check("A28-SPLIT-04", await running.over(), EndsWith("OK"))


UNKNOWN_FIELD = b"\xfa\x3e\x03new"
"""Field 1007, a string."""


def with_header(action: Any) -> None:
    """Choose the cluster by a header, which gRPC does not support."""
    action.cluster_header = HEADER


def with_unknown_field(action: Any) -> None:
    """Add a field that no client knows, as one of a later cluster_specifier would be."""
    action.ClearField("cluster")
    action.MergeFromString(UNKNOWN_FIELD)


SPECIFIERS = {
    "cluster_header": with_header,
    "unknown": with_unknown_field,
    "unset": lambda action: action.ClearField("cluster"),
}


@pytest.mark.parametrize("change", SPECIFIERS.values(), ids=SPECIFIERS)
@scenario("A28-ACTION-01")
async def test_specifiers(world: World, change: Callable[[Any], None]) -> None:
    """The client ignores a route without a cluster_specifier that it supports."""
    clusters = await two_clusters(world)
    await world.serve(with_routes(clusters, to(MATCHED)))
    await world.require_served(world.sessions(1))
    routes = with_routes(clusters, to(MATCHED), to(OTHER)).route_configuration()
    change(routes.virtual_hosts[0].routes[0].route)
    answer = await world.control.offer(Kind.ROUTE, routes)
    await world.check("A28-ACTION-01", answer, AckedOrNacked(acked=True))
    if not answer.acked:
        return
    expected = routed_to(clusters, OTHER)
    calls = await world.eventually(expected, lambda: calls_of(world, [(UNARY, {})]))
    await world.check("A28-ACTION-01", calls, expected)


@pytest.mark.parametrize(
    ("clause", "weight"),
    [case("zero", "A28-SPLIT-05", 0), case("beyond-32-bits", "A28-SPLIT-06", 2**31)],
)
async def test_weight_sums(world: World, clause: str, weight: int) -> None:
    """The text does not say whether a client rejects two clusters of this weight each."""
    clusters = await two_clusters(world)
    await world.serve(with_routes(clusters, to(MATCHED)))
    await world.require_served(world.sessions(1))
    both = Route((), weighted_clusters=dict.fromkeys((MATCHED, OTHER), weight))
    answer = await world.control.offer(
        Kind.ROUTE, with_routes(clusters, both).route_configuration()
    )
    choices = {"refused": AckedOrNacked(acked=False), "accepted": AckedOrNacked(acked=True)}
    await world.check(clause, answer, choices)
