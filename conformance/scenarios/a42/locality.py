"""A42, Background and Child Policy Config: localities and priorities above a ring."""

from collections.abc import Sequence
from functools import partial

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    EachServesSome,
    EndsWith,
    NoAttempts,
    NoneServedBy,
    OnlyTheseMoved,
    Proportions,
)
from conformance.judging.observations import Contrast
from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.building import build_for
from conformance.spec.oracles.ring.variants import CANDIDATES
from conformance.spec.oracles.ring.weights import WeightReading
from conformance.world import ENOUGH_TO_SPREAD, ENOUGH_TO_TELL, World
from conformance.xds_config.config import XdsConfig, one_cluster, with_raw_clusters
from conformance.xds_config.distinguishing import keep_entries
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from conformance.xds_config.policy_lists import in_localities, policies, round_robin
from conformance.xds_config.routes import SESSION
from conformance.xds_config.variants import ClusterVariant
from fake_control_plane import Kind
from test_servers import BackendEndpoint as Member
from test_servers import Refuse


@scenario("A42-LOC-01")
async def test_one_ring_over_all_localities(world: World) -> None:
    a, b, c, d = (Endpoint(address) for address in await world.addresses(4))
    served = one_cluster((Locality((a, b), name="one"), Locality((c, d), name="two")))
    await world.serve(served)
    calls = await world.call(world.values.telling(served))
    await world.check("A42-LOC-01", calls, served.matches_ring())


@scenario("A42-LOC-07")
async def test_weight_of_locality_and_endpoint(world: World) -> None:
    """Shares of 30, 5, 5 and 88 of 128, which any arithmetic has exactly (A113-WEIGHT-01).

    Own weights alone, the locality's alone, their sum, and none at all are each an eighth of the
    ring or more away from products and from shares.
    """
    a, b, c, d = await world.addresses(4)
    three = (Endpoint(a, 6), Endpoint(b, 1), Endpoint(c, 1))
    served = one_cluster(
        (
            Locality(three, name="one", weight=5),
            Locality((Endpoint(d, 2),), name="two", weight=11),
        )
    )
    await world.serve(served)
    calls = await world.call((*world.values.telling(served), *world.sessions(ENOUGH_TO_TELL)))
    readings: dict[str, WeightReading] = {"A42": "raw", "A113": "A113", "envoy": "envoy"}
    await world.check(
        "A42-LOC-07",
        calls,
        {edition: served.matches_ring(weights=reading) for edition, reading in readings.items()},
    )


@scenario("A42-LOC-08")
async def test_endpoint_without_a_weight(world: World) -> None:
    a, b, c = await world.addresses(3)
    served = one_cluster((Locality((Endpoint(a), Endpoint(b, 1), Endpoint(c, 2))),))
    await world.serve(served)
    calls = await world.call(world.values.telling(served))
    await world.check("A42-LOC-08", calls, served.matches_ring())


@scenario("A42-LOC-10")
async def test_locality_without_a_weight(world: World) -> None:
    served, unused = await beside_one_without_weight(world, RingHash())
    await world.serve(served)
    calls = await world.call(world.values.telling(served))
    await world.check("A42-LOC-10", calls, served.matches_ring())
    connections = await world.attempts.quiet(unused, why="calls with many hashes")
    await world.check("A42-LOC-10", connections, NoAttempts())


NOT_BY_HASH = {
    "lb-policy": "lb_policy: ROUND_ROBIN",
    "wrr-locality": f"lb_policy: RING_HASH {policies(in_localities(round_robin()))}",
    "round-robin": f"lb_policy: RING_HASH {policies(round_robin())}",
}


@pytest.mark.parametrize("policy", NOT_BY_HASH.values(), ids=NOT_BY_HASH)
@scenario("A42-LOC-10")
async def test_locality_without_a_weight_by_turns(world: World, policy: str) -> None:
    """Locality weights reach these policies on another way than the ring's.

    Envoy weighs localities below RING_HASH only.
    """
    world.checks.require("A52-WRR-01")
    served, unused = await beside_one_without_weight(world, RoundRobin())
    await world.serve(with_raw_clusters(served, ClusterVariant("", policy).of(served.cluster())))
    both = tuple(endpoint.address for endpoint in served.get_cluster().localities[0].endpoints)
    calls = await world.eventually(
        EachServesSome(both), partial(world.call, world.sessions(ENOUGH_TO_SPREAD))
    )
    await world.check("A42-LOC-10", calls, AllServedBy(both))
    connections = await world.attempts.quiet(unused, why="calls reached both others")
    await world.check("A42-LOC-10", connections, NoAttempts())


async def beside_one_without_weight(world: World, policy: Policy) -> tuple[XdsConfig, Member]:
    """A locality of two endpoints beside one without a weight, and the endpoint of that."""
    (unused,) = await world.endpoints(1)
    a, b, c = (Endpoint(address) for address in (*await world.addresses(2), unused.address))
    localities = (Locality((a, b), name="one"), Locality((c,), name="two", weight=None))
    return one_cluster(localities, policy=policy), unused


Weights = tuple[int, int, int, int, int]
"""Those of two endpoints and their locality, and of an endpoint and its locality."""

Reading = tuple[WeightReading | None, Weights]
"""How the weights are multiplied, if that matters, and which weights take their place."""


def two_localities(addresses: Sequence[str], weights: Weights) -> tuple[Locality, ...]:
    """Two endpoints in one locality, one in another."""
    a, b, c = addresses
    of_a, of_b, of_one, of_c, of_two = weights
    return (
        Locality((Endpoint(a, of_a), Endpoint(b, of_b)), name="one", weight=of_one),
        Locality((Endpoint(c, of_c),), name="two", weight=of_two),
    )


def without_zeros(places: Sequence[Locality]) -> tuple[Locality, ...]:
    """What is left when nothing of weight zero is used."""
    return tuple(
        replace(place, endpoints=tuple(endpoint for endpoint in place.endpoints if endpoint.weight))
        for place in places
        if place.weight
    )


@pytest.mark.parametrize(
    ("clause", "weights", "readings"),
    [
        case(
            "endpoint-zero",
            "A42-LOC-09",
            (1, 0, 1, 1, 1),
            {"left out": (None, (1, 0, 1, 1, 1)), "weighs 1": (None, (1, 1, 1, 1, 1))},
        ),
        case(
            "locality-zero",
            "A42-LOC-11",
            (1, 1, 0, 1, 1),
            {"left out": (None, (1, 1, 0, 1, 1)), "weighs 1": (None, (1, 1, 1, 1, 1))},
        ),
        case(
            "product-beyond-32-bits",
            "A42-LOC-12",
            (5 * 2**15, 2**14, 2**15, 2**15, 2**14),
            {
                "kept": ("raw", (10, 1, 1, 1, 1)),
                "no product, but shares": ("A113", (10, 1, 2, 1, 1)),
                "no product, but shares as in Envoy": ("envoy", (10, 1, 2, 1, 1)),
                "cut to 32 bits": ("raw", (2, 1, 1, 1, 1)),
                "the largest of 32 bits": ("raw", (2**32 - 1, 2**29, 1, 2**29, 1)),
                "the largest of 31 bits": ("raw", (2**31 - 1, 2**29, 1, 2**29, 1)),
            },
        ),
    ],
)
async def test_left_open(
    world: World, clause: str, weights: Weights, readings: dict[str, Reading]
) -> None:
    """Such endpoints are rejected, or used by one of these readings."""
    served = await world.plain_ring()
    await world.require_served(world.sessions(1))
    addresses = await world.addresses(3)
    offered = served.with_localities(*two_localities(addresses, weights))
    answer = await world.control.offer(Kind.ENDPOINTS, offered.endpoints())
    if not answer.acked:
        await world.check(clause, answer, {"rejected": AckedOrNacked(acked=False)})
        await world.require_served(world.sessions(10))
        return
    headers = world.sessions(ENOUGH_TO_TELL)
    calls = await world.eventually(NoneServedBy(served.addresses()), lambda: world.call(headers))
    used = {
        name: served.with_localities(*without_zeros(two_localities(addresses, taken))).matches_ring(
            weights=way
        )
        for name, (way, taken) in readings.items()
    }
    await world.check(clause, calls, {**used, "no call succeeds": EndsWith(status="UNAVAILABLE")})


@scenario("A42-LOC-02", seconds=1)
async def test_keys_of_a_lost_endpoint_move_once(world: World) -> None:
    """It is unreachable first, then removed; those of the other locality keep their entries."""
    lost, *others = await world.endpoints(4)
    addresses = [other.address for other in others]
    before, removed = next(
        (full, rest)
        for weight in range(30, 200)
        for full in [lone_endpoint_beside(lost.address, addresses, weight)]
        for rest in [full.with_localities(*full.get_cluster().localities[:1])]
        if keep_entries(full, rest, changed=lost.address)
    )
    await world.serve(before)
    headers = going_on(before, removed, lost.address, world.sessions(ENOUGH_TO_TELL))
    await world.require_served(headers)
    await lost.set_mode(Refuse())
    await lost.kill()
    why = "nobody listens there any more"
    unreachable = await world.rounds.require(
        NoneServedBy((lost.address,)), lambda: world.call(headers), why=why
    )
    await world.serve(removed)
    after = await world.eventually(removed.matches_ring(), lambda: world.call(headers))
    await world.check("A42-LOC-02", Contrast(unreachable, after), OnlyTheseMoved(()))


def lone_endpoint_beside(lone: str, others: list[str], weight: int) -> XdsConfig:
    """Two localities: one of an anchor and heavier ones, one of a single endpoint."""
    anchor, *heavy = others
    endpoints = (Endpoint(anchor, 1), *(Endpoint(address, weight) for address in heavy))
    places = (Locality(endpoints, name="one"), Locality((Endpoint(lone, weight),), name="two"))
    return one_cluster(places, policy=RingHash(minimum=1))


def going_on(
    full: XdsConfig, removed: XdsConfig, lost: str, headers: Sequence[dict[str, str]]
) -> list[dict[str, str]]:
    """Those that go on, when this endpoint is lost, to where they go once it is removed.

    All others have hashes beyond the last entry, which may be that entry's (A42-RING-14): if it is
    one of the lost endpoint, they go on at the other end of the ring, and when it is removed they
    come back to what is the last entry then.
    """
    rings = dict.fromkeys(
        tuple(
            build_for(config.ring_localities(), config.config(), way) for config in (full, removed)
        )
        for way in CANDIDATES
        # Where entries are numbered over all endpoints, only the last one listed may go.
        if way.variant.key_format != "{address}{n}" or way.variant.allotment == "list"
    )
    return [
        header
        for header in headers
        for value in [xxh64(header[SESSION])]
        if all(
            next(where for where in before.preference(value) if where != lost) == after.pick(value)
            for before, after in rings
        )
    ]


@scenario("A42-LOC-06")
async def test_localities_under_round_robin(world: World) -> None:
    """The weights of endpoints do not matter, nor their number.

    So far apart that 160 requests tell them from the same share for each endpoint, or for each
    locality, unless by a chance below 1e-6.
    """
    light, first, two = await world.addresses(3)
    served = one_cluster(
        (
            Locality((Endpoint(light, 9),), name="region/light", weight=1),
            Locality((Endpoint(first, 1), Endpoint(two, 7)), name="region/heavy", weight=19),
        ),
        policy=RoundRobin(),
    )
    await world.serve(served)
    every = EachServesSome(served.addresses())
    await world.rounds.require(
        every, lambda: world.call(world.sessions(30)), why="all of them serve"
    )
    calls = await world.call(world.sessions(160))
    unweighted = Proportions({light: (1, 20), first: (19, 40), two: (19, 40)})
    weighted = Proportions({light: (1, 20), first: (19, 160), two: (133, 160)})
    await world.check("A42-LOC-06", calls, {"A42": unweighted, "envoy": weighted})


@scenario("A42-LOC-03", "A42-LOC-05")
async def test_ring_of_the_first_priority(world: World) -> None:
    served = two_priorities(await world.addresses(2), await world.addresses(2))
    await world.serve(served)
    calls = await world.call(world.values.telling(served))
    await world.check("A42-LOC-03", calls, served.matches_ring(priority=0))
    await world.check("A42-LOC-05", calls, served.matches_ring(priority=0))


@scenario("A42-LOC-04", seconds=0.6)
async def test_failover(world: World) -> None:
    dead = [endpoint.address for endpoint in await world.endpoints(2, mode=Refuse())]
    served = two_priorities(dead, await world.addresses(2))
    await world.serve(served)
    calls = await world.call(world.values.telling(served, priority=1))
    on_its_ring, nowhere = served.matches_ring(priority=1), EndsWith(status="UNAVAILABLE")
    await world.check("A42-LOC-04", calls, {"A42": on_its_ring, "envoy": nowhere})


@scenario("A42-LOC-03", "A42-LOC-05", seconds=0.6)
async def test_ring_of_the_second_priority(world: World) -> None:
    """Those of the first are not healthy."""
    served = two_priorities(await world.addresses(2), await world.addresses(2), health="UNHEALTHY")
    await world.serve(served)
    calls = await world.call(world.values.telling(served, priority=1))
    for clause in ("A42-LOC-03", "A42-LOC-05"):
        await world.check(clause, calls, served.matches_ring(priority=1))


@scenario("A42-LOC-03", "A42-LOC-05", seconds=1)
async def test_priorities_that_take_turns(world: World) -> None:
    """By the health of the first, which has served; the sizes change while the second serves."""
    first, second = await world.addresses(2), await world.addresses(2)
    well = two_priorities(first, second)
    ill = two_priorities(first, second, health="UNHEALTHY")
    other = RingHash(minimum=700)
    turns = ((well, 0), (ill, 1), (ill.with_policy(other), 1), (well.with_policy(other), 0))
    for served, priority in turns:
        await world.serve(served)
        expected = served.matches_ring(priority=priority)
        headers = world.values.telling(served, priority=priority)
        calls = await world.eventually(expected, partial(world.call, headers))
        for clause in ("A42-LOC-03", "A42-LOC-05"):
            await world.check(clause, calls, expected)


def two_priorities(
    first: Sequence[str], second: Sequence[str], *, health: str = "UNKNOWN"
) -> XdsConfig:
    """Two endpoints in each of two priorities, and a ring size that is no default."""
    unlike = tuple(Endpoint(address, health=health) for address in first)
    return one_cluster(
        (
            Locality(unlike, name="one", priority=0),
            Locality(tuple(map(Endpoint, second)), name="two", priority=1),
        ),
        policy=RingHash(minimum=300),
    )
