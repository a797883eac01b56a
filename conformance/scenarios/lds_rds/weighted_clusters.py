"""A28, Response validation: the weights of a route's clusters."""

import pytest
from msgspec.structs import replace

from conformance.judging.aborts import ResourceRejected
from conformance.judging.declaration import scenario
from conformance.judging.expectations import AckedOrNacked, AllServedBy, Proportions
from conformance.judging.observations import Answer
from conformance.world import EMPTY, World
from conformance.xds_config.config import merge, single_locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.routes import BY_SESSION, Route
from conformance.xds_config.trees import subscriptions_of

REQUESTS = 500
"""Enough requests that shares of 100 are out of bounds for all weights below."""


WEIGHTS = {
    "sum-2": (1, 1),
    "sum-60": (30, 30),
    "sum-101": (1, 100),
    "sum-200": (100, 100),
    "sum-4000": (1_000, 3_000),
}
"""Weights of two clusters of a route, by their sum."""


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
async def test_weights(world: World, weights: tuple[int, int]) -> None:
    """Each cluster gets requests in proportion to its weight, or the client rejects the route."""
    first = single_locality(await world.addresses(1), policy=RoundRobin())
    second = single_locality(
        await world.addresses(1), name="other", path=EMPTY, policy=RoundRobin()
    )
    clusters = (first.get_cluster().name, second.get_cluster().name)
    split = Route(BY_SESSION, weighted_clusters=dict(zip(clusters, weights, strict=True)))
    try:
        await world.serve(merge(replace(first, routes=(split,)), second))
        calls = await world.call(world.sessions(REQUESTS))
    except ResourceRejected as refused:
        answer = Answer(kind="RDS", version="", acked=False, error_detail=str(refused))
        await world.check("A28-SPLIT-01", answer, AckedOrNacked(acked=False))
        return
    addresses = (*first.addresses(), *second.addresses())
    shares = {
        where: (weight, sum(weights)) for where, weight in zip(addresses, weights, strict=True)
    }
    await world.check("A28-SPLIT-01", calls, Proportions(shares))
