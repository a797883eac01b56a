"""A42, Background and Child Policy Config: localities and priorities of a ring."""

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
from conformance.scenarios.helpers.aggregates import aggregate_config, aggregates, leaf
from conformance.scenarios.helpers.localities import AT_LEAST, endpoints
from conformance.scenarios.helpers.routing import calls_to
from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.building import build_for
from conformance.spec.oracles.ring.variants import CANDIDATES
from conformance.spec.oracles.ring.weights import WeightReading
from conformance.world import ENOUGH_TO_SPREAD, ENOUGH_TO_TELL, World
from conformance.xds_config.clusters import Eds
from conformance.xds_config.config import XdsConfig, one_cluster, with_raw_clusters
from conformance.xds_config.distinguishing import keep_entries
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from conformance.xds_config.policy_lists import in_localities, policies, round_robin
from conformance.xds_config.routes import SESSION
from conformance.xds_config.variants import ResourceVariant
from fake_control_plane import Kind
from test_servers import BackendEndpoint as Member
from test_servers import Close, Refuse, Serve


@scenario("A42-LOC-01")
async def test_one_ring_over_all_localities(world: World) -> None:
    """The ring holds the endpoints of all localities of a priority."""
    a, b, c, d = (Endpoint(address) for address in await world.addresses(4))
    two, three = Locality((c,), name="two"), Locality((d,), name="three")
    served = one_cluster((Locality((a, b), name="one"), two, three))
    await world.serve(served)
    calls = await world.call(world.values.telling(served))
    await world.check("A42-LOC-01", calls, served.matches_ring())


@scenario("A42-LOC-07")
async def test_weight_of_locality_and_endpoint(world: World) -> None:
    """An endpoint's weight is the product of its weight and its locality's, or of their shares.

    The shares are 30, 5, 5 and 88 of 128, which are exact in any arithmetic (A113-WEIGHT-01). Rings
    by the endpoint's weight alone, the locality's alone, their sum, or no weight differ from that
    in 1/8 of the ring or more.
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
    """An endpoint without load_balancing_weight has weight 1, in a locality of any weight."""
    a, b, c = await world.addresses(3)
    served = one_cluster((Locality((Endpoint(a), Endpoint(b, 1), Endpoint(c, 2)), weight=3),))
    await world.serve(served)
    calls = await world.call(world.values.telling(served))
    await world.check("A42-LOC-08", calls, served.matches_ring())


@scenario("A42-LOC-10")
async def test_locality_without_a_weight(world: World) -> None:
    """The client skips a locality without load_balancing_weight, at first and after an update."""
    served, unused = await beside_one_without_weight(world, RingHash())
    await world.serve(served)
    calls = await world.call(world.values.telling(served))
    await world.check("A42-LOC-10", calls, served.matches_ring())
    connections = await world.attempts.quiet(unused, why="the client made calls with many hashes")
    await world.check("A42-LOC-10", connections, NoAttempts())
    first, second = served.get_cluster().localities
    weighted = served.with_localities(first, replace(second, weight=1))
    for changed in (weighted, served):
        await world.serve(changed)
        headers = world.values.telling(changed)
        calls = await world.eventually(changed.matches_ring(), partial(world.call, headers))
    await world.check("A42-LOC-10", calls, served.matches_ring())


NOT_BY_HASH = {
    "lb-policy": "lb_policy: ROUND_ROBIN",
    "wrr-locality": f"lb_policy: RING_HASH {policies(in_localities(round_robin()))}",
    "round-robin": f"lb_policy: RING_HASH {policies(round_robin())}",
}


@pytest.mark.parametrize("policy", NOT_BY_HASH.values(), ids=NOT_BY_HASH)
@scenario("A42-LOC-10")
async def test_locality_without_a_weight_under_round_robin(world: World, policy: str) -> None:
    """The client skips a locality without load_balancing_weight under other policies, too.

    Other policies get locality weights in another way than ring_hash. Envoy weights localities
    under RING_HASH only.
    """
    world.checks.require("A52-WRR-01")
    served, unused = await beside_one_without_weight(world, RoundRobin())
    await world.serve(with_raw_clusters(served, ResourceVariant("", policy).of(served.cluster())))
    both = tuple(endpoint.address for endpoint in served.get_cluster().localities[0].endpoints)
    calls = await world.eventually(
        EachServesSome(both), partial(world.call, world.sessions(ENOUGH_TO_SPREAD))
    )
    await world.check("A42-LOC-10", calls, AllServedBy(both))
    connections = await world.attempts.quiet(unused, why="calls reached both other endpoints")
    await world.check("A42-LOC-10", connections, NoAttempts())


@scenario("A42-LOC-10")
async def test_priorities_without_weights(world: World) -> None:
    """The client skips localities without load_balancing_weight in each priority of each leaf.

    The first leaf has no other localities. The first priority of the second leaf fails; the second
    one has a locality with a weight, and one without.
    """
    world.checks.require("A52-WRR-01")
    failed, used, *unused = await endpoints(world, Close(), *[Serve()] * 4)
    above, below, *others = (
        Locality((Endpoint(member.address),), f"place-{number}")
        for number, member in enumerate((failed, used, *unused))
    )
    first, second, third = (replace(place, weight=None) for place in others)
    lower = (replace(place, priority=1) for place in (below, third))
    leaves = leaf("x", discovery=Eds((first, second))), leaf("y", discovery=Eds((above, *lower)))
    await world.serve(aggregate_config(("m",), (*aggregates({"m": "x y"}), *leaves)))
    there = AllServedBy((used.address,))
    calls = await world.eventually(there, partial(calls_to, world, "m", AT_LEAST))
    await world.check("A42-LOC-10", calls, there)
    connections = await world.attempts.quiet(*unused, why="calls reached another endpoint")
    await world.check("A42-LOC-10", connections, NoAttempts())


async def beside_one_without_weight(world: World, policy: Policy) -> tuple[XdsConfig, Member]:
    """Return a config with a locality without a weight, and the endpoint of that locality."""
    (unused,) = await world.endpoints(1)
    a, b, c = (Endpoint(address) for address in (*await world.addresses(2), unused.address))
    localities = (Locality((a, b), name="one"), Locality((c,), name="two", weight=None))
    return one_cluster(localities, policy=policy), unused


Weights = tuple[int, int, int, int, int]
"""Weights of two endpoints and their locality, and of one endpoint and its locality."""


Reading = tuple[WeightReading | None, Weights]
"""How to multiply the weights (None if it does not matter), and the weights to use instead."""


def two_localities(addresses: Sequence[str], weights: Weights) -> tuple[Locality, ...]:
    """Return a locality of two endpoints and a locality of one."""
    a, b, c = addresses
    of_a, of_b, of_one, of_c, of_two = weights
    return (
        Locality((Endpoint(a, of_a), Endpoint(b, of_b)), name="one", weight=of_one),
        Locality((Endpoint(c, of_c),), name="two", weight=of_two),
    )


def without_zeros(places: Sequence[Locality]) -> tuple[Locality, ...]:
    """Return the localities and endpoints whose weight is not zero."""
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
async def test_unspecified_weights(
    world: World, clause: str, weights: Weights, readings: dict[str, Reading]
) -> None:
    """The client rejects such endpoints, or uses them by one of these readings."""
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
    """Keys that left an unreachable endpoint stay when an update removes that endpoint.

    The endpoints of the other locality keep their entries.
    """
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
    why = "the endpoint refuses connections"
    unreachable = await world.rounds.require(
        NoneServedBy((lost.address,)), lambda: world.call(headers), why=why
    )
    await world.serve(removed)
    after = await world.eventually(removed.matches_ring(), lambda: world.call(headers))
    await world.check("A42-LOC-02", Contrast(unreachable, after), OnlyTheseMoved(()))


def lone_endpoint_beside(lone: str, others: list[str], weight: int) -> XdsConfig:
    """Return a config with a locality of an anchor and heavier endpoints, and one of `lone`."""
    anchor, *heavy = others
    endpoints = (Endpoint(anchor, 1), *(Endpoint(address, weight) for address in heavy))
    places = (Locality(endpoints, name="one"), Locality((Endpoint(lone, weight),), name="two"))
    return one_cluster(places, policy=RingHash(minimum=1))


def going_on(
    full: XdsConfig, removed: XdsConfig, lost: str, headers: Sequence[dict[str, str]]
) -> list[dict[str, str]]:
    """Return the headers whose next endpoint after `lost` is their endpoint once it is removed.

    The others have hashes beyond the last entry, which may belong to that entry (A42-RING-14). If
    it is an entry of the lost endpoint, such requests continue at the other end of the ring. Once
    it is removed, they belong to the new last entry.
    """
    rings = dict.fromkeys(
        tuple(
            build_for(config.ring_localities(), config.config(), way) for config in (full, removed)
        )
        for way in CANDIDATES
        # If entries are numbered over all endpoints, only the last listed endpoint may go.
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
    """Under ROUND_ROBIN the client chooses a locality by its weight, then its endpoints in turn.

    The weights and the number of endpoints do not matter. 160 requests distinguish the expected
    shares from equal shares of endpoints or localities, except with a chance below 1e-6.
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
        every, lambda: world.call(world.sessions(30)), why="all endpoints serve"
    )
    calls = await world.call(world.sessions(160))
    unweighted = Proportions({light: (1, 20), first: (19, 40), two: (19, 40)})
    weighted = Proportions({light: (1, 20), first: (19, 160), two: (133, 160)})
    await world.check("A42-LOC-06", calls, {"A42": unweighted, "envoy": weighted})


@scenario("A42-LOC-03", "A42-LOC-05")
async def test_ring_of_the_first_priority(world: World) -> None:
    """Each priority has its own ring: requests use that of the first."""
    served = two_priorities(await world.addresses(3), await world.addresses(3))
    await world.serve(served)
    calls = await world.call(world.values.telling(served))
    await world.check("A42-LOC-03", calls, served.matches_ring(priority=0))
    await world.check("A42-LOC-05", calls, served.matches_ring(priority=0))


@scenario("A42-LOC-04", seconds=0.6)
async def test_failover(world: World) -> None:
    """After failover the client places requests on the ring of the next priority."""
    dead = [endpoint.address for endpoint in await world.endpoints(3, mode=Refuse())]
    served = two_priorities(dead, await world.addresses(3))
    await world.serve(served)
    calls = await world.call(world.values.telling(served, priority=1))
    on_its_ring, nowhere = served.matches_ring(priority=1), EndsWith(status="UNAVAILABLE")
    await world.check("A42-LOC-04", calls, {"A42": on_its_ring, "envoy": nowhere})


@scenario("A42-LOC-03", "A42-LOC-05", seconds=0.6)
async def test_ring_of_the_second_priority(world: World) -> None:
    """Each priority has its own ring: requests use that of the second.

    The endpoints of the first priority are unhealthy.
    """
    served = two_priorities(await world.addresses(3), await world.addresses(3), health="UNHEALTHY")
    await world.serve(served)
    calls = await world.call(world.values.telling(served, priority=1))
    for clause in ("A42-LOC-03", "A42-LOC-05"):
        await world.check(clause, calls, served.matches_ring(priority=1))


@scenario("A42-LOC-03", "A42-LOC-05", seconds=1)
async def test_alternating_priorities(world: World) -> None:
    """Each priority has its own ring, with the current config of the Cluster.

    The first priority becomes unhealthy and healthy again. The ring sizes change while the second
    serves.
    """
    first, second = await world.addresses(3), await world.addresses(3)
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
    """Return a config with a light and two heavy endpoints in each of two priorities.

    Their weights ask for 501 entries, which is more than the maximum.
    """
    weights = 1, 250, 250
    preferred = (
        Endpoint(at, weight, health=health) for at, weight in zip(first, weights, strict=True)
    )
    others = map(Endpoint, second, weights)
    return one_cluster(
        (
            Locality(tuple(preferred), name="one", priority=0),
            Locality(tuple(others), name="two", priority=1),
        ),
        policy=RingHash(minimum=300, maximum=350),
    )
