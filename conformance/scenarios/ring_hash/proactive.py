"""A42, Aggregated Connectivity State, and A61: proactive connections of ring_hash."""

import itertools
from collections.abc import Sequence
from typing import Final

from conformance import timing
from conformance.judging.aborts import Unsupported
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    AttemptCount,
    AttemptOrder,
    AttemptSpacing,
    DistinctAttempts,
    EndpointsTried,
    EndsWith,
    fits,
)
from conformance.scenarios.helpers.draws import first_with
from conformance.scenarios.helpers.localities import endpoints, ranked, tier
from conformance.scenarios.helpers.ring_order import LARGE, LARGE_SIZE, RingOrder, ring_order
from conformance.spec.oracles.backoff import most
from conformance.world import World
from conformance.xds_config.endpoints import Locality
from conformance.xds_config.policies import RingHash
from test_servers import BackendEndpoint as Member
from test_servers import Close, Hold, Mode, Serve, Stall

CANCEL = ("cancel",)


GAPS = 3
"""Number of intervals between attempts to wait for, within BACKOFFS. By gRPC's document the last
may take 3.1 s, and all together 6.2 s."""


ANOTHER = AttemptCount(total=1, others=True)
"""At least one attempt at the endpoints in question."""


MANY_LISTS = 100
"""Number of candidate lists of five endpoints; the four orders differ in about half of them."""


async def fail_without_requests(
    world: World, *others: Mode, count: int = 1, beside: Sequence[Locality] = ()
) -> RingOrder:
    """Make `count` endpoints fail after their requests have ended, so that no request picks others.

    Two failed endpoints make TRANSIENT_FAILURE. By the first wording of A61 the policy need not
    connect proactively before that.
    """
    order = await ring_order(world, count + len(others), *beside)
    await order.set_modes(*[Hold()] * count, *others)
    failed = [*order][:count]
    for endpoint in failed:
        await world.request_and_cancel(order.beginning_with(endpoint), endpoint)
    for endpoint in failed:
        await endpoint.set_mode(Close())
    return order


async def another_tried(world: World, order: RingOrder, then: str) -> None:
    """With two endpoints failed, check that the client tries another one; then go to clause `then`.

    A61 requires that attempt by A42-PRO-02, A42 by A42-PRO-04. The clause `then` depends on it.
    """
    owed = ("A42-PRO-02", "A42-PRO-04")
    by = {"A42": AttemptCount(), "A61-2023": ANOTHER}
    world.checks.turn_to(owed[world.checks.own("A42-PRO-02", by) is not ANOTHER])
    others = [*order][2:]
    await world.attempts.require(ANOTHER, *others, why="two endpoints have failed")
    for clause in owed:
        await world.check(clause, world.attempts.seen(*others), ANOTHER)
    world.checks.turn_to(then)


@scenario("A42-PRO-01")
async def test_one_ready(world: World) -> None:
    """While the policy reports IDLE or READY, it does not connect without a pick."""
    order = await ring_order(world, 4)
    await order.make_ready(order[0])
    await world.attempts.quiet_from_now(why="one endpoint is READY and no request comes")
    its_own = AttemptCount(least={order[0].address: 1})
    await world.check("A42-PRO-01", world.attempts.seen(), its_own)
    since = world.now
    await order[0].kill()
    await world.attempts.quiet_from_now(why="the only connection was lost: all are IDLE")
    await world.check("A42-PRO-01", world.attempts.seen(since=since), AttemptCount())


@scenario("A42-PRO-03", "A42-PRO-09", needs=CANCEL)
async def test_first_failed(world: World) -> None:
    """After one failure the policy connects to another endpoint, also after the request ended."""
    order = await fail_without_requests(world, Stall(), Stall())
    attempts = await world.attempts.until(ANOTHER, order[1], order[2])
    await world.check("A42-PRO-03", attempts, ANOTHER)
    await world.check("A42-PRO-09", attempts, ANOTHER)


@scenario("A42-PRO-03", "A42-PRO-09", needs=CANCEL)
async def test_first_lost_and_failed(world: World) -> None:
    """The policy connects to another endpoint if the one that failed was connected before."""
    order = await ring_order(world, 3)
    await order.set_modes(Serve(), Stall(), Stall())
    await order.make_ready(order[0])
    await order[0].set_mode(Hold())
    await order[0].kill()
    await world.attempts.quiet_from_now(why="the only connection was lost")
    await world.request_and_cancel(order.request, order[0], count=2)
    await order[0].set_mode(Close())
    attempts = await world.attempts.until(ANOTHER, order[1], order[2])
    await world.check("A42-PRO-03", attempts, ANOTHER)
    await world.check("A42-PRO-09", attempts, ANOTHER)


@scenario("A42-PRO-09", seconds=1.2, waits=True)
async def test_deadline_before_the_failure(world: World) -> None:
    """The policy connects to another endpoint although the request ended before the failure.

    Backoff counts from the start of an attempt, so the client may retry the failed endpoint at
    once.
    """
    order = await ring_order(world, 3, before_requests=True)
    await order.set_modes(Hold(), Stall(), Stall())
    waiting = await world.start([order.request], deadline=timing.SEVERAL_MOMENTS)
    await world.attempts.require_count(order[0], why="a request picked it")
    await world.check("A42-PRO-09", await waiting.over(), EndsWith("DEADLINE_EXCEEDED"))
    await order[0].set_mode(Close())
    attempts = await world.attempts.until(ANOTHER, order[1], order[2])
    await world.check("A42-PRO-09", attempts, ANOTHER)


@scenario("A42-PRO-02", "A42-PRO-04", "A42-PRO-06", needs=CANCEL, seconds=1.3, waits=True)
async def test_all_failed(world: World) -> None:
    """In TRANSIENT_FAILURE the policy tries one endpoint after another without a pick.

    Two failures make TRANSIENT_FAILURE. By the first wording of A61 the policy need not connect
    proactively before that.
    """
    order = await fail_without_requests(
        world, *[Close()] * 3, beside=[tier(1, await endpoints(world, Serve()))]
    )
    each = AttemptCount(least={endpoint.address: 1 for endpoint in order})
    once, three = (AttemptCount(total=count, others=True) for count in (1, 3))
    attempts = await world.attempts.until(each)
    await world.check("A42-PRO-02", attempts, {"A42": three, "A61-2023": once, "A61": each})
    await world.check("A42-PRO-04", attempts, DistinctAttempts(2))
    since, again = world.now, AttemptCount(least={order[3].address: 1})
    await order[3].set_mode(Serve())
    went_on = await world.attempts.until(again, order[3], since=since)
    repaired = AllServedBy((order[3].address,))
    calls = await world.eventually(repaired, lambda: world.call(world.sessions(5)))
    await world.check("A42-PRO-06", attempts, each)
    await world.check("A42-PRO-06", went_on, again)
    await world.check("A42-PRO-06", calls, repaired)


@scenario("A42-PRO-02", needs=CANCEL)
async def test_two_failed(world: World) -> None:
    """In TRANSIENT_FAILURE the policy connects to a third endpoint without a pick.

    Two endpoints failed for requests that have ended. Their backoff may be over, so the client may
    retry them before it tries the third.
    """
    order = await fail_without_requests(world, Stall(), Stall(), count=2)
    a_third = EndpointsTried(len(order), least=3)
    attempts = await world.attempts.until(a_third)
    await world.check(
        "A42-PRO-02", attempts, {"A42": AttemptCount(total=3, others=True), "A61-2023": a_third}
    )


def orders(order: RingOrder) -> dict[str, AttemptOrder]:
    """Return the known orders of proactive attempts after the first listed endpoint failed."""
    first, *others = order.served.addresses()
    around = [*order.around()]
    place = around.index(first)
    onward = around[place + 1 :] + around[:place]
    around.remove(first)
    choices = {
        "of the list": others,
        "of the addresses": sorted(others),
        "of the ring, from its beginning": around,
        "of the ring, on from the failed one": onward,
    }
    return {name: AttemptOrder((first, *way)) for name, way in choices.items()}


def all_differ(order: RingOrder) -> bool:
    """Return whether no two of the known orders of attempts are the same."""
    known = orders(order)
    return len({*known.values()}) == len(known)


@scenario("A42-PRO-05", needs=CANCEL)
async def test_order(world: World) -> None:
    """The order of proactive attempts is left to the client.

    Five of seven endpoints are listed such that all known orders differ.
    """
    key_format = world.checks.key_format
    fives = itertools.permutations(await world.endpoints(7), 5)
    walks = (
        RingOrder(world, five, ranked(five).with_policy(LARGE), key_format)
        for five in world.rng.sample([*fives], MANY_LISTS)
    )
    order = first_with(all_differ, walks, what="listed such that the known orders differ")
    await world.serve(order.served)
    await order.set_modes(Hold(), *[Close()] * 4)
    await world.request_and_cancel(order.request, order[0])
    await order[0].set_mode(Close())
    each = AttemptCount(least={endpoint.address: 1 for endpoint in order})
    attempts = await world.attempts.until(each)
    await world.check("A42-PRO-05", attempts, orders(order))


@scenario("A42-PRO-02", "A42-PRO-04", "A42-PRO-07", needs=CANCEL, seconds=4, waits=True)
async def test_stops_at_ready(world: World) -> None:
    """Once one endpoint is READY, the policy does not connect to further IDLE endpoints."""
    order = await fail_without_requests(world, *[Hold()] * 3, count=2)
    await another_tried(world, order, "A42-PRO-07")
    held = next(endpoint for endpoint in [*order][2:] if endpoint.attempts)
    idle = [endpoint for endpoint in order if not endpoint.attempts]
    if not idle:
        raise Unsupported("the client tried all five endpoints before one was READY")
    for endpoint in [*order][2:]:
        await endpoint.set_mode(Serve())
    there, picks = AllServedBy((held.address,)), [order.beginning_with(held)]
    await world.rounds.require(there, lambda: world.call(picks), why="it was CONNECTING and serves")
    await world.attempts.quiet_from_now(why="attempts in flight have arrived by then")
    never = [
        endpoint for endpoint in idle if not endpoint.attempts
    ] or idle  # or all of them as one was READY
    why = "the failed endpoint retries, and those never tried need not connect"
    await world.attempts.quiet_from_now(*never, why=why, seconds=timing.A_FEW_BACKOFFS)
    await world.check("A42-PRO-07", world.attempts.seen(*never), AttemptCount())


@scenario("A42-PRO-08", seconds=5.5, waits=True)
async def test_backoff_with_requests(world: World) -> None:
    """The client does not retry a failed endpoint before its backoff is over.

    Requests come all the time, and do not shorten the backoff. An update of the ring size, after
    the first failure, does not either.
    """
    gaps, within = backoffs(world)
    order = await ring_order(world, 2)
    await order.set_modes(Close(), Close())
    await world.attempts.until(ANOTHER, order[0], meanwhile=[order.request])
    one_more_for_each = RingHash(minimum=LARGE_SIZE + len(order))
    await world.serve(order.served.with_policy(one_more_for_each))
    often = AttemptCount(least={order[0].address: gaps + 1}, others=True)
    attempts = await world.attempts.until(often, meanwhile=[order.request], within=within)
    await world.check("A42-PRO-08", attempts, backed_off(world, gaps, needed=gaps))


@scenario("A42-PRO-08", needs=CANCEL, seconds=5.5, waits=True)
async def test_backoff_without_requests(world: World) -> None:
    """The client does not retry a failed endpoint before its backoff is over, without requests.

    A42 allows a client to have only one attempt in progress; it then tries each endpoint less
    often.
    """
    gaps, within = backoffs(world)
    order = await fail_without_requests(world, count=2)
    often = AttemptCount(least={order[0].address: gaps + 1}, others=True)
    attempts = await world.attempts.until(often, within=within)
    await world.check("A42-PRO-08", attempts, backed_off(world, gaps, needed=1))


def backoffs(world: World) -> tuple[int, float]:
    """Return the number of backoffs to wait for, and the deadline for them in seconds.

    Raises:
        Unsupported: the client's first backoff is too long to wait for.
    """
    ends = [*itertools.accumulate(most(gap, world.client.backoff) for gap in range(GAPS))]
    awaited = [end for end in ends if end <= timing.BACKOFFS]
    if not awaited:
        raise Unsupported(f"its manifest states a first backoff of up to {ends[0]:.0f} s")
    return len(awaited), max(timing.ATTEMPT, awaited[-1] + timing.EVENT)


def backed_off(world: World, gaps: int, *, needed: int) -> AttemptSpacing:
    """Expect attempts that are as far apart as the client's backoff."""
    backoff = world.client.backoff
    return AttemptSpacing(backoff=backoff, gaps=gaps, needed=needed, allowance=timing.SEEN_LATE)


@scenario("A42-PRO-10")
async def test_ready_endpoint_lost(world: World) -> None:
    """If the only READY endpoint is lost while others have failed, the policy connects again."""
    order = await ring_order(world, 4)
    await order.arrange("TRANSIENT_FAILURE", "TRANSIENT_FAILURE", "READY", "IDLE")
    await order[2].set_mode(Close())
    since = world.now
    await order[2].kill()
    attempts = await world.attempts.until(ANOTHER, order[2], order[3], since=since)
    by = {"A42": ANOTHER, "A61-2023": AttemptCount(), "A61": ANOTHER}
    await world.check("A42-PRO-10", attempts, by)


@scenario("A42-PRO-10")
async def test_ready_endpoint_lost_beside_one_failed(world: World) -> None:
    """If the only READY endpoint is lost while one other has failed, the policy connects again."""
    order = await ring_order(world, 3)
    await order.arrange("TRANSIENT_FAILURE", "READY", "IDLE")
    await order[1].set_mode(Close())
    since = world.now
    await order[1].kill()
    attempts = await world.attempts.until(ANOTHER, order[1], order[2], since=since)
    by = {"A42": ANOTHER, "A61-2023": AttemptCount(), "A61": ANOTHER}
    await world.check("A42-PRO-10", attempts, by)


TO_AND_FRO: Final = 18
"""Endpoints to draw from. The rings of any three share their hashes. None of them starts with one
endpoint, another and the first again if, on the ring of all n, each endpoint's first entry follows
that of another at once: a chance of (n - 1)! / (n - 1)^(n - 1), below 1e-6 from 18 on."""


def left_to_and_fro(world: World, members: Sequence[Member]) -> Sequence[Member]:
    """Return three endpoints whose ring starts with the first, the second and the first again.

    A client that tries the next entry of the ring after a failure never leaves these two.
    """
    threes = [*itertools.combinations(members, 3)]
    rings = (
        RingOrder(world, three, ranked(three).with_policy(LARGE), world.checks.key_format)
        for three in world.rng.sample(threes, len(threes))
    )
    ring = first_with(RingOrder.returns_to_its_start, rings, what="three such endpoints")
    two = ring.turns(2)
    return sorted(ring, key=lambda each: (*two, each.address).index(each.address))


@scenario("A42-PRO-11")
async def test_ready_endpoint_removed(world: World) -> None:
    """If an update removes the READY endpoint while others have failed, the policy connects."""
    members = await world.endpoints(TO_AND_FRO)
    first, second, idle = left_to_and_fro(world, members)
    ready = next(endpoint for endpoint in members if endpoint not in {first, second, idle})
    four = (first, second, ready, idle)
    order = RingOrder(world, four, ranked(four).with_policy(LARGE), world.checks.key_format)
    await world.serve(order.served)
    await order.arrange("TRANSIENT_FAILURE", "TRANSIENT_FAILURE", "READY", "IDLE")
    await world.serve(order.without(order[2]))
    tried = AttemptCount(least={order[3].address: 1})
    attempts = await world.attempts.until(tried, order[3])
    await world.check(
        "A42-PRO-11", attempts, {"A42": tried, "A61-2023": AttemptCount(), "A61": tried}
    )


@scenario("A42-PRO-11")
async def test_ready_endpoint_removed_beside_one_failed(world: World) -> None:
    """If an update removes the READY endpoint while one other has failed, the policy connects."""
    order = await ring_order(world, 3)
    await order.arrange("TRANSIENT_FAILURE", "READY", "IDLE")
    await world.serve(order.without(order[1]))
    attempts = await world.attempts.until(ANOTHER, order[2])
    by = {"A42": ANOTHER, "A61-2023": AttemptCount(), "A61": ANOTHER}
    await world.check("A42-PRO-11", attempts, by)


@scenario("A42-PRO-02", "A42-PRO-04", "A42-PRO-11", needs=CANCEL)
async def test_connecting_endpoint_removed(world: World) -> None:
    """If an update removes the CONNECTING endpoint while others have failed, the policy connects.

    The policy has chosen which endpoint it connects.
    """
    order = await fail_without_requests(world, *[Stall()] * 3, count=2)
    await another_tried(world, order, "A42-PRO-11")
    left = [endpoint for endpoint in order if not endpoint.attempts]
    if not left:
        raise Unsupported("the client tried all five endpoints once two had failed")
    await world.serve(order.without(*(endpoint for endpoint in [*order][2:] if endpoint.attempts)))
    attempts = await world.attempts.until(ANOTHER, *left)
    by = {"A42": ANOTHER, "A61-2023": AttemptCount(), "A61": ANOTHER}
    await world.check("A42-PRO-11", attempts, by)


@scenario(
    "A42-PRO-02", "A42-PRO-04", "A42-PRO-12", "A61-PRO-01", needs=CANCEL, seconds=1.2, waits=True
)
async def test_concurrent_attempts(world: World) -> None:
    """The policy connects proactively only while no endpoint is CONNECTING (A61), or to several."""
    order = await fail_without_requests(world, *[Stall()] * 3, count=2)
    await another_tried(world, order, "A61-PRO-01")
    stalled = [*order][2:]
    await world.attempts.quiet_from_now(
        *stalled, why="one of them is CONNECTING", seconds=timing.SEVERAL_MOMENTS
    )
    attempts = world.attempts.seen(*stalled)
    at_most_one = EndpointsTried(1, least=1)
    await world.check("A61-PRO-01", attempts, at_most_one)
    await world.check(
        "A42-PRO-12", attempts, {"one": at_most_one, "several": AttemptCount(total=2, others=True)}
    )


@scenario("A61-PRO-01")
async def test_picked_endpoint_connecting(world: World) -> None:
    """The policy connects no endpoint proactively while one that a request picked is CONNECTING."""
    order = await ring_order(world, 3)
    await order.set_modes(Hold(), Close(), Hold())
    await order.make_connecting(order[0])
    await world.start([order.beginning_with(order[1], order[0])])
    await world.attempts.require_count(order[1], why="a request picked it")
    await world.attempts.quiet_from_now(order[2], why="one has failed, and one is CONNECTING")
    await world.check("A61-PRO-01", world.attempts.seen(order[2]), AttemptCount())


@scenario("A61-PRO-02", needs=CANCEL, seconds=4, waits=True)
async def test_failed_endpoints_retry(world: World) -> None:
    """Each failed endpoint keeps retrying while the next one is tried.

    The check needs three attempts: a client that retries only once stops after the second.
    """
    order = await fail_without_requests(world, Close(), Close(), Close())
    thrice = AttemptCount(least={endpoint.address: 3 for endpoint in order})
    await world.check("A61-PRO-02", await world.attempts.until(thrice), thrice)


@scenario("A61-PRO-03")
async def test_endpoint_added(world: World) -> None:
    """The policy checks after each new list whether to connect to an IDLE endpoint.

    Retries of failed endpoints are held, so that only the new list can cause the attempt. With one
    failed endpoint of two the policy is CONNECTING, with two of three TRANSIENT_FAILURE.
    """
    *added, failed = await endpoints(world, Hold(), Hold(), Hold())
    listed = [failed]
    await world.serve(ranked(listed))
    unavailable, picks = EndsWith("UNAVAILABLE"), world.sessions(5)
    for member in added:
        await listed[0].set_mode(Close())
        why = "all listed endpoints have failed"
        await world.rounds.require(unavailable, lambda: world.call(picks), why=why)
        await listed[0].set_mode(Hold())
        listed.insert(0, member)
        await world.serve(ranked(listed))
        tried = AttemptCount(least={member.address: 1})
        attempts = await world.attempts.until(tried, member)
        if not fits(tried, attempts):
            break
    await world.check("A61-PRO-03", attempts, tried)
