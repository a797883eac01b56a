"""A52, xDS WRR Locality Load Balancer: choosing localities by their weights."""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    EachServesSome,
    EndpointsTried,
    EqualShares,
    NoneServedBy,
    Proportions,
)
from conformance.scenarios.helpers.updates import send_localities_and_await_answer
from conformance.spec.oracles.statistics import draws_needed
from conformance.world import World
from conformance.xds_config.config import XdsConfig, one_cluster, with_raw_clusters
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.policy_lists import in_localities, policies, round_robin
from conformance.xds_config.routes import SESSION
from conformance.xds_config.variants import ResourceVariant
from fake_control_plane import Kind
from test_servers import Refuse, Stall

LARGEST = 2**32 - 1


THREE_QUARTERS = 3 * 2**30
"""Nearly three quarters of the largest weight; its low 30 bits are zero."""


BELOW_WRR = ResourceVariant("", f"lb_policy: RING_HASH {policies(in_localities(round_robin()))}")
"""A client that ignores the list uses a ring, whose weights depend on endpoints as well."""


THOUSAND = 1_000


TO_TELL_A_QUARTER = draws_needed(0.25, 0.5)
"""Number of calls that distinguishes a locality's share of 1/4 from 1/2."""


def locality(name: str, weight: int, *addresses: str, priority: int = 0) -> Locality:
    """Return a locality of equal endpoints; names differ in their last part only."""
    return Locality(
        tuple(map(Endpoint, addresses)), f"region/zone/{name}", weight=weight, priority=priority
    )


async def begin(
    world: World, *localities: Locality, serving: tuple[str, ...] | None = None
) -> XdsConfig:
    """Serve these localities below WrrLocality; wait until the `serving` endpoints (or all) serve.

    No policy is in use before, so none can be mistaken for WrrLocality.
    """
    served = one_cluster(localities, policy=RoundRobin())
    used = serving or served.addresses()
    await world.serve(with_raw_clusters(served, BELOW_WRR.of(served.cluster())))
    calls = partial(world.call, world.sessions(8 * len(used)))
    await world.rounds.require(EachServesSome(used), calls, why="all of them are reachable")
    return served


def each(addresses: Sequence[str], part: int, of: int) -> dict[str, tuple[int, int]]:
    """Return each endpoint's share if its locality has `part` of `of`."""
    return dict.fromkeys(addresses, (part, of * len(addresses)))


@scenario("A52-WRR-01", "A52-WRR-02", "A52-WRR-03", seconds=1)
async def test_changed_weights(world: World) -> None:
    """Below WrrLocality the client chooses a locality by its weight, also after weights change.

    The update adds a locality, which shows when the new weights are in use. The lighter locality
    has more endpoints: a client that counts endpoints would send it half of the requests.
    """
    members = await world.endpoints(4)
    (b, *three), (new,) = [member.address for member in members], await world.addresses(1)
    served = await begin(world, locality("a", 1, *three), locality("b", 3, b))
    calls = await world.call(world.sessions(TO_TELL_A_QUARTER))
    await world.check("A52-WRR-01", calls, Proportions({**each(three, 1, 4), b: (3, 4)}))

    changed_at = world.now
    await send_localities_and_await_answer(
        world, served, locality("a", 3, *three), locality("b", 1, b), locality("c", 4, new)
    )
    make_calls = partial(world.call, world.sessions(8))
    await world.rounds.require(
        EachServesSome((new,)), make_calls, why="an update added its locality"
    )
    calls = await world.call(world.sessions(TO_TELL_A_QUARTER))
    shares = Proportions({**each(three, 3, 8), b: (1, 8), new: (4, 8)})
    await world.check("A52-WRR-02", calls, shares)
    attempts = world.attempts.seen(*members, since=changed_at)
    await world.check("A52-WRR-03", attempts, EndpointsTried(0))


@scenario("A52-WRR-04")
async def test_large_weights(world: World) -> None:
    """The weight of a locality counts as an unsigned 32-bit number.

    The weights are 1 and nearly 2^32, then about 3/4 and 1/4 of their sum. At first a request goes
    to the light locality with a chance of 2^-32. A client that ignores weights sends all requests
    of a round to the heavy locality with a chance of 2^-60, and there are at most 1,000 rounds
    until the client applies the update.
    """
    a, b, new = await world.addresses(3)
    served = await begin(world, locality("a", 1, a), locality("b", 1, b))
    make_calls = partial(world.call, world.sessions(60))
    uneven = locality("a", 1, a), locality("b", LARGEST - 1, b)
    answer = await send_localities_and_await_answer(world, served, *uneven)
    await world.check("A52-WRR-04", answer, AckedOrNacked(acked=True))
    at_heavy = AllServedBy((b,))
    await world.check("A52-WRR-04", await world.eventually(at_heavy, make_calls), at_heavy)
    rest = LARGEST - THREE_QUARTERS
    replaced = locality("a", THREE_QUARTERS, a), locality("new", rest, new)
    await send_localities_and_await_answer(world, served, *replaced)
    why = "an update replaced the heavy locality"
    await world.rounds.require(AllServedBy((a, new)), make_calls, why=why)
    calls = await world.call(world.sessions(TO_TELL_A_QUARTER))
    shares = Proportions({a: (THREE_QUARTERS, LARGEST), new: (rest, LARGEST)})
    await world.check("A52-WRR-04", calls, shares)


@scenario("A52-WRR-05")
async def test_round_robin_within_locality(world: World) -> None:
    """Each locality has its own endpoint-picking policy."""
    three, two = await world.addresses(3), await world.addresses(2)
    served = await begin(world, locality("three", 1, *three), locality("two", 1, *two))
    calls = await world.rounds.eventually_stable(
        EachServesSome(served.addresses()),
        lambda: world.call([{SESSION: "same"}] * 60, concurrency=1),
    )
    for group in (three, two):
        there = tuple(call for call in calls if call.endpoint in group or call.endpoint is None)
        await world.check("A52-WRR-05", replace(calls, calls=there), EqualShares(group))


@scenario("A52-WRR-06", seconds=1)
async def test_locality_fails_and_returns(world: World) -> None:
    """Requests go to the localities that serve, by their weights."""
    failing = await world.endpoints(2)
    lost = [endpoint.address for endpoint in failing]
    a, b, new = await world.addresses(3)
    stays = (locality("a", 1, a), locality("b", 1, b))
    served = await begin(world, *stays, locality("failing", 2, *lost))
    for endpoint in failing:
        await endpoint.set_mode(Refuse())
        await endpoint.kill()
    make_calls = partial(world.call, world.sessions(40))
    left = EachServesSome((a, b))
    for localities in (None, stays):
        if localities is not None:
            answer = await send_localities_and_await_answer(world, served, *localities)
            world.control.require_accepted(Kind.ENDPOINTS, answer)
        calls = await world.eventually(NoneServedBy(tuple(lost)), make_calls)
        await world.check("A52-WRR-06", calls, AllServedBy((a, b)))
        await world.check("A52-WRR-06", calls, left)
    await send_localities_and_await_answer(world, served, *stays, locality("new", 2, new))
    every = EachServesSome((a, b, new))
    await world.check("A52-WRR-06", await world.eventually(every, make_calls), every)
    calls = await world.call(world.sessions(TO_TELL_A_QUARTER))
    await world.check("A52-WRR-06", calls, Proportions({a: (1, 4), b: (1, 4), new: (2, 4)}))


@scenario("A52-WRR-07", seconds=1)
async def test_localities_in_two_priorities(world: World) -> None:
    """A locality has different weights in two priorities, which A52 does not support."""
    dead = [endpoint.address for endpoint in await world.endpoints(2, mode=Refuse())]
    a, b = await world.addresses(2)
    both = (
        locality("a", 1, dead[0]),
        locality("b", 3, dead[1]),
        locality("a", 3, a, priority=1),
        locality("b", 1, b, priority=1),
    )
    await begin(world, *both, serving=(a, b))
    choices = {
        "those of each priority": Proportions({a: (3, 4), b: (1, 4)}),
        "those of the first priority": Proportions({a: (1, 4), b: (3, 4)}),
        "none": Proportions({a: (1, 2), b: (1, 2)}),
    }
    await world.check("A52-WRR-07", await world.call(world.sessions(TO_TELL_A_QUARTER)), choices)


@scenario("A52-WRR-08", seconds=8)
async def test_a_thousand_localities(world: World) -> None:
    """The client chooses by weight among all localities that serve, however many there are.

    All but two localities stay CONNECTING, because failed ones would retry all the time.
    """
    silent = await world.endpoints(THOUSAND - 2, mode=Stall())
    a, new = await world.addresses(2)
    served = await begin(world, locality("a", 1, a))
    without = (
        locality(f"silent {number}", 5, endpoint.address) for number, endpoint in enumerate(silent)
    )
    answer = await send_localities_and_await_answer(
        world, served, *without, locality("a", 1, a), locality("new", 3, new)
    )
    await world.check("A52-WRR-08", answer, AckedOrNacked(acked=True))
    every, make_calls = EachServesSome((a, new)), partial(world.call, world.sessions(16))
    await world.check(
        "A52-WRR-08", await world.eventually(every, make_calls, within=timing.MANY), every
    )
    calls = await world.call(world.sessions(TO_TELL_A_QUARTER))
    await world.check("A52-WRR-08", calls, Proportions({a: (1, 4), new: (3, 4)}))
