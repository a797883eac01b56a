"""A113, Computing Endpoint Weights: weight shares instead of products of weights."""

import itertools
from collections.abc import Sequence

from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.judging.expectations import MatchesRing
from conformance.world import World
from conformance.xds_config.config import XdsConfig, one_cluster
from conformance.xds_config.distinguishing import first_distinguished
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash

GUARD = "GRPC_EXPERIMENTAL_PF_WEIGHTED_SHUFFLING"


HALF = 2**31
"""Sum of weights at which an endpoint of weight 1 has half of the smallest share, 2^-31, if its
locality is one of two."""


def two_localities(
    addresses: Sequence[str],
    first_weights: Sequence[int],
    two: Sequence[int],
    policy: RingHash,
    *,
    weight: int = 1,
) -> XdsConfig:
    """Return endpoints of these weights in a locality of weight 1 and in one of weight `weight`."""
    weights = (*first_weights, *two)
    places = [Endpoint(where, weight) for where, weight in zip(addresses, weights, strict=True)]
    first, second = tuple(places[: len(first_weights)]), tuple(places[len(first_weights) :])
    localities = Locality(first, name="one"), Locality(second, name="two", weight=weight)
    return one_cluster(localities, policy=policy)


@scenario("A113-WEIGHT-01")
async def test_fixed_point(world: World) -> None:
    """Weight shares are fixed-point or exact.

    An endpoint with 1/8 of eight entries has one; next to shares of 1/7, rounded down, it has two.
    """
    eighths = (
        two_localities(four, (1, 1), (3, 4), RingHash(minimum=8), weight=3)
        for four in itertools.combinations(await world.addresses(6), 4)
    )
    served, telling = first_distinguished(eighths, ways_of_weighing)
    await world.serve(served)
    calls = await world.call((*telling, *world.values.sessions_to_map()))
    await world.check("A113-WEIGHT-01", calls, ways_of_weighing(served))


def ways_of_weighing(served: XdsConfig) -> dict[str, MatchesRing]:
    """Return the rings by each way of weighting, of at least the minimum size.

    On rings above the minimum, exact shares make the same ring as fixed-point shares.
    """
    choices = {
        "in fixed point": served.matches_ring(weights="A113"),
        "exact": served.matches_ring(weights="envoy"),
        "no shares": served.matches_ring(weights="raw"),
    }
    return {name: replace(way, sizing="at least") for name, way in choices.items()}


@scenario("A113-WEIGHT-02")
async def test_share_of_zero(world: World) -> None:
    """An endpoint whose share would round to zero gets the smallest share above zero.

    With that share the ring needs more entries than the maximum; without it eight are enough.
    """
    addresses = await world.addresses(3)
    served = two_localities(addresses, (1, HALF - 1), (1,), RingHash(minimum=8, maximum=64))
    await world.serve(served)
    calls = await world.call(world.values.telling(served))
    by = {
        "A113": served.matches_ring(weights="A113"),
        "envoy": served.matches_ring(weights="envoy"),
    }
    await world.check("A113-WEIGHT-02", calls, by)


@scenario("A113-WEIGHT-03", alone=True, seconds=1.5)
async def test_environment_guard(world: World) -> None:
    """An environment variable may guard weighting by shares.

    The shares are multiples of 1/4, which are exact in any arithmetic.
    """
    served = two_localities(await world.addresses(4), (3, 1), (2, 6), RingHash())
    await world.serve(served)
    channels = await world.channels.open_by(GUARD, None, "true", "false")
    headers = world.values.telling(served)
    for guard, channel in channels.items():
        choices = {
            f"by shares {guard}": served.matches_ring(weights="A113"),
            f"by products {guard}": served.matches_ring(weights="raw"),
        }
        await world.check("A113-WEIGHT-03", await world.call(headers, channel=channel), choices)
