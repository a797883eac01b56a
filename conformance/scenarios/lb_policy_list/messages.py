"""A52, xDS LB Policy Registry: the conversion of RingHash, RoundRobin and other messages."""

from functools import partial

import pytest

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    EachServesSome,
    EqualShares,
    Expectation,
    OneEndpoint,
    SeveralEndpoints,
)
from conformance.scenarios.helpers.live_clusters import LiveCluster
from conformance.scenarios.helpers.live_policies import SAME, LivePolicy
from conformance.scenarios.helpers.ring_order import RAISED_CAP, ring_of_5001
from conformance.scenarios.helpers.updates import send_and_await_answer
from conformance.spec.oracles.ring.sizes import DEFAULT_CAP
from conformance.world import ENOUGH_TO_DIFFER, World
from conformance.xds_config import policy_bytes
from conformance.xds_config.config import XdsConfig, one_cluster, single_locality, with_raw_clusters
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import ExtensionRingHash, RingHash
from conformance.xds_config.policy_lists import (
    XX_HASH,
    in_localities,
    least_request,
    pick_first,
    policies,
    ring_hash,
    round_robin,
    weighted_round_robin,
)
from conformance.xds_config.routes import SESSION
from conformance.xds_config.variants import RawClusterVariant, ResourceVariant

BEYOND = 8_388_609


BEYOND_LIMIT = f"maximum_ring_size {{ value: {BEYOND} }}"


SIZES_BEYOND = (BEYOND, 2**31, 2**32 + 1024, 2**63, 2**64 - 1)
"""Sizes above 8M; some have other values in 32 bits, or are negative as signed numbers."""


LARGE = (1_100, DEFAULT_CAP)
"""The least and the most of a minimum that is above the default and within each client's cap."""


MAXIMUM_WEIGHTS = (1, 40, 40, 40)
"""Weights of endpoints. The first one would need a ring above each maximum of A52-RING-02."""


LATER_MAXIMA = (34, 45, 58, 69, 80, 92, 103)
"""Maxima of a ring with these weights at which rounding adds no entry."""


NO_FUNCTION = ""


def ring(clause: str, sizes: RingHash, function: str = XX_HASH) -> ResourceVariant:
    """Return a list of one RingHash; sizes of None are not set."""
    fields = {"minimum_ring_size": sizes.minimum, "maximum_ring_size": sizes.maximum}
    said = (f"{name} {{ value: {size} }}" for name, size in fields.items() if size is not None)
    return ResourceVariant(clause, policies(ring_hash(*said, function=function)))


@scenario("A52-RING-01", "A52-RING-03", "A52-RING-05", seconds=1)
async def test_minimum(world: World) -> None:
    """The client builds the ring with the minimum_ring_size of RingHash, or its default.

    Updates change the size alone.
    """
    live = await LivePolicy.start(world)
    for clause, sizes in (
        ("A52-RING-03", RingHash()),
        ("A52-RING-05", RingHash()),
        ("A52-RING-01", RingHash(minimum=600)),
        ("A52-RING-01", RingHash(minimum=48)),
        ("A52-RING-01", RingHash(minimum=world.rng.randint(*LARGE))),
    ):
        await live.check_accepted(ring(clause, sizes), sizes, exactly=True)


@scenario("A52-RING-02", seconds=1)
async def test_maximum(world: World) -> None:
    """The client builds the ring with the maximum_ring_size of RingHash.

    A light endpoint would need a ring above the maximum. The second update changes the maximum
    alone.
    """
    live = await LivePolicy.start(world, weights=MAXIMUM_WEIGHTS)
    for sizes in (
        RingHash(minimum=8, maximum=12),
        RingHash(minimum=8, maximum=world.rng.choice(LATER_MAXIMA)),
        RingHash(maximum=1025),
    ):
        await live.check_accepted(ring("A52-RING-02", sizes), sizes, exactly=True)


@scenario("A52-RING-04", "A52-RING-06", "A37-VALID-29", "A46-NACK-03")
async def test_rejected_ring_hash(world: World) -> None:
    """The client rejects a RingHash with a maximum above 8M or another hash function."""
    live = await LiveCluster.start(world, "EDS")
    functions = [f"hash_function: {function}" for function in ("MURMUR_HASH_2", "7")]
    await live.check_all_rejected(
        [
            *(ring("A52-RING-04", RingHash(maximum=size)) for size in SIZES_BEYOND),
            ResourceVariant("A52-RING-04", policies(in_localities(ring_hash(BEYOND_LIMIT)))),
            *(ring("A52-RING-06", RingHash(), function) for function in functions),
            ResourceVariant(
                "A52-RING-06", policies(in_localities(ring_hash(function=functions[0])))
            ),
        ]
    )


@scenario("A37-VALID-29")
@pytest.mark.parametrize(
    ("clause", "sizes"),
    [
        case("minimum-above-maximum", "A52-RING-08", RingHash(minimum=64, maximum=32)),
        case("default-above-maximum", "A52-RING-08", RingHash(maximum=8)),
        case("minimum-beyond-8m", "A52-RING-08", RingHash(minimum=BEYOND)),
        case("minimum-zero", "A52-RING-09", RingHash(minimum=0)),
        case("maximum-zero", "A52-RING-09", RingHash(maximum=0)),
    ],
)
async def test_unspecified_sizes(world: World, clause: str, sizes: RingHash) -> None:
    """The text does not say how a client handles these sizes."""
    live = await LiveCluster.start(world, "EDS")
    await live.report_choice(ring(clause, sizes), used=False)


@scenario("A52-RING-07")
async def test_no_hash_function(world: World) -> None:
    """The client accepts or rejects a RingHash without a hash function.

    The ring before has another size, so that requests show whether the new one is in use, by XXH64.
    """
    served = await world.plain_ring(ring=RingHash(minimum=400))
    await world.require_served(world.sessions(1))
    sizes = RingHash(minimum=600)
    answer = await send_and_await_answer(world, served, ring("A52-RING-07", sizes, NO_FUNCTION))
    if not answer.acked:
        await world.check("A52-RING-07", answer, {"refused": AckedOrNacked(acked=False)})
        return
    changed = served.with_policy(sizes)
    calls = partial(world.call, world.values.telling(changed, apart_from=served))
    seen = await world.eventually(changed.matches_ring(), calls)
    await world.check("A52-RING-07", seen, {"accepted": changed.matches_ring()})


SLOW_START = "slow_start_config { slow_start_window { seconds: 60 } }"


WEIGHED = "locality_lb_config { locality_weighted_lb_config {} }"


@scenario("A52-ROUND-01", "A52-ROUND-02")
async def test_round_robin(world: World) -> None:
    """RoundRobin spreads requests in turn over all endpoints, whatever its fields are."""
    heavy, *three = (Endpoint(address) for address in await world.addresses(4))
    served = one_cluster(
        [Locality((heavy,), "heavy", 9), Locality(tuple(three), "light", 1)], policy=RingHash()
    )
    ring = served.matches_ring()
    for clause, fields in (("A52-ROUND-01", ""), ("A52-ROUND-02", f"{SLOW_START} {WEIGHED}")):
        variant = ResourceVariant(clause, policies(round_robin(fields)))
        world.checks.turn_to(clause)
        await world.serve(served)
        mapped = partial(world.call, world.sessions(ENOUGH_TO_DIFFER))
        await world.rounds.require(ring, mapped, why="a Cluster with RING_HASH was served")
        await world.serve(with_raw_clusters(served, variant.of(served.cluster())))
        calls = await world.rounds.eventually_stable(
            EqualShares(served.addresses()), lambda: world.call(SAME * 40, concurrency=1)
        )
        await world.check(clause, calls, EqualShares(served.addresses()))


@scenario("A52-LIST-14")
async def test_pick_first(world: World) -> None:
    """The client skips PickFirst (A52), or uses pick_first for it (A62)."""
    served = single_locality(await world.addresses(4))
    both = ResourceVariant("A52-LIST-14", policies(pick_first(), round_robin()))
    await world.serve(with_raw_clusters(served, both.of(served.cluster())))
    choices: dict[str, Expectation] = {"A52": EqualShares(served.addresses()), "A62": OneEndpoint()}
    calls = await world.rounds.eventually_stable(
        world.checks.own("A52-LIST-14", choices),
        lambda: world.call(world.sessions(40), concurrency=1),
    )
    await world.check("A52-LIST-14", calls, choices)


BAD_RING = ring_hash(function="hash_function: MURMUR_HASH_2")
"""A client that reads this entry rejects the Cluster."""


SUBSET = policy_bytes.policies(
    policy_bytes.random_subsetting(2), policy_bytes.ring_hash_of_another_function()
)


SUBSET_OR_TURNS = policy_bytes.policies(
    policy_bytes.random_subsetting(2), policy_bytes.round_robin()
)


USED, SKIPPED = AckedOrNacked(acked=True), AckedOrNacked(acked=False)
"""The answer to a list whose other entries are invalid."""


async def ring_in_use(world: World) -> XdsConfig:
    """Serve a ring: a client that keeps it sends equal requests to one endpoint."""
    served = await world.plain_ring()
    await world.require_served(world.sessions(1))
    return served


@scenario("A52-LIST-16")
async def test_weighted_round_robin_of_a58(world: World) -> None:
    """The client skips ClientSideWeightedRoundRobin in the list, or uses it by its edition."""
    served = await ring_in_use(world)
    weighted = ResourceVariant("A52-LIST-16", policies(weighted_round_robin(), BAD_RING))
    answer = await send_and_await_answer(world, served, weighted)
    await world.check("A52-LIST-16", answer, {"A52": SKIPPED, "A58": USED})
    if answer.acked:
        every = EachServesSome(served.addresses())
        calls = await world.eventually(every, partial(world.call, SAME * 40, concurrency=1))
        await world.check("A52-LIST-16", calls, world.checks.alike("A52-LIST-16", every))


@scenario("A52-LIST-17")
async def test_subset_of_a68(world: World) -> None:
    """The client skips a subset policy in the list, or uses it by its edition."""
    served = await ring_in_use(world)
    subset = RawClusterVariant("A52-LIST-17", "a subset of two", SUBSET)
    answer = await send_and_await_answer(world, served, subset)
    await world.check("A52-LIST-17", answer, {"A52": SKIPPED, "A68": USED})
    turns = RawClusterVariant("A52-LIST-17", "a subset of two, before RoundRobin", SUBSET_OR_TURNS)
    await send_and_await_answer(world, served, turns)
    every = EachServesSome(served.addresses())
    calls = await world.eventually(every, partial(world.call, SAME * 40, concurrency=1))
    await world.check("A52-LIST-17", calls, {"A52": every, "A68": SeveralEndpoints()})


@scenario("A52-LIST-15")
async def test_least_request_of_a48(world: World) -> None:
    """The client uses LeastRequest in the list, or skips it."""
    served = await ring_in_use(world)
    least = ResourceVariant("A52-LIST-15", policies(least_request(), BAD_RING))
    answer = await send_and_await_answer(world, served, least)
    await world.check("A52-LIST-15", answer, {"used": USED, "passed over": SKIPPED})
    await world.require_served(world.sessions(16))


@scenario("A52-RING-01", "A42-CDS-07", knobs={"ring_size_cap": RAISED_CAP})
async def test_raised_cap_and_no_maximum_in_the_extension(world: World) -> None:
    """If RingHash sets no maximum, only the local cap limits the ring, as under lb_policy.

    A client that rejects a RingHash with a minimum is not judged by the maximum.
    """
    world.preconditions.policies_by_list()
    served = ring_of_5001(await world.addresses(3), ExtensionRingHash(minimum=1))
    await world.serve(served)
    headers = world.values.telling(served, apart_from=served.with_ring_cap(DEFAULT_CAP))
    calls = await world.call((*headers, *headers[:ENOUGH_TO_DIFFER]))
    await world.check("A52-RING-01", calls, OneEndpoint(each_value_of=SESSION))
    await world.check("A42-CDS-07", calls, served.matches_ring())
