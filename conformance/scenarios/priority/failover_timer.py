"""A42, Aggregated Connectivity State, and A56: the priority policy and its failover timer."""

from collections.abc import Sequence
from functools import partial

import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.aborts import Unsupported
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    Duration,
    EndsInState,
    EndsWith,
    ErrorNamesOnly,
    KeepsConnection,
    NeverInState,
    NoAttempts,
    fits,
)
from conformance.judging.observations import Attempt, Attempts, Calls, Elapsed
from conformance.scenarios.helpers.localities import endpoints, fail, ranked, serve_again, tier
from conformance.scenarios.helpers.ring_order import (
    LARGE,
    RingOrder,
    ring_order,
    serve_before_requests,
)
from conformance.world import StateWatch, World, waits
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from test_servers import BackendEndpoint as Member
from test_servers import Close, Hold, Refuse, Serve, Stall

AFTER_THE_TIMER = Duration(
    least=timing.FAILOVER.seconds - timing.FAILOVER_EARLY,
    most=timing.FAILOVER.seconds + timing.FAILOVER_LATE,
    allowance=timing.FAILOVER_EARLY,  # A late observation of the start shortens the time.
)


AT_ONCE = Duration(most=timing.FAR_FROM_FAILOVER, allowance=timing.BELIEVED)


async def given_up(world: World, began: Attempt, lower: Sequence[Member]) -> Elapsed:
    """Return the time from that attempt to the first attempt at a lower priority."""
    why = "the priority above has not connected"
    ended = await world.attempts.require_one(
        *lower, why=why, since=began.at, within=timing.AFTER_FAILOVER
    )
    return world.clock.elapsed(
        f"the attempt at {began.address}", began.at, f"that at {ended.address}", ended.at
    )


@scenario("A42-FAIL-12", timed=("A42-FAIL-04", "A56-TIMER-01"), seconds=10.7, waits=True)
async def test_stalled_priority(world: World) -> None:
    """When the failover timer of a CONNECTING priority fires, the client uses the next one."""
    first, second = await endpoints(world, Stall(), Stall()), await endpoints(world, Serve())
    await world.serve(ranked(first, second))
    patience = world.failover.seconds + timing.FAR_FROM_FAILOVER
    waiting = await world.start(world.sessions(5), deadline=patience)
    began = await world.attempts.require_one(*first, why="requests came")
    took = await given_up(world, began, second)
    await world.check("A42-FAIL-04", took, AFTER_THE_TIMER)
    await world.check("A56-TIMER-01", took, AFTER_THE_TIMER)
    await world.check("A42-FAIL-12", await waiting.over(), AllServedBy((second[0].address,)))


@scenario("A42-FAIL-01")
async def test_ready_priority(world: World) -> None:
    """Requests go to the highest priority that is READY or IDLE."""
    first, second = await endpoints(world, Serve(), Serve()), await endpoints(world, Serve())
    await world.serve(ranked(first, second))
    calls = await world.call(world.sessions(50))
    await world.check(
        "A42-FAIL-01", calls, AllServedBy(tuple(endpoint.address for endpoint in first))
    )


@scenario("A42-FAIL-03")
async def test_lower_priority_untouched(world: World) -> None:
    """The client creates the policy of a lower priority only when it leaves the one above.

    ROUND_ROBIN connects as soon as it exists, which shows when the client creates it.
    """
    first, second = await endpoints(world, Serve(), Serve()), await endpoints(world, Serve())
    await world.serve(ranked(first, second).with_policy(RoundRobin()))
    await world.require_served(world.sessions(50))
    connections = await world.attempts.quiet(*second, why="the first priority serves requests")
    await world.check("A42-FAIL-03", connections, NoAttempts())


@scenario("A42-FAIL-01", seconds=2, waits=True)
async def test_idle_above_a_ready_priority(world: World) -> None:
    """Requests go to a priority that is IDLE, although a lower one is READY.

    The first priority fails, so that the second one connects. When the first one serves again, it
    loses its connection.
    """
    (first,), second = await endpoints(world, Close()), await endpoints(world, Serve())
    higher, lower = AllServedBy((first.address,)), AllServedBy((second[0].address,))
    await world.serve(ranked([first], second))
    make_calls = partial(world.call, world.sessions(10))
    await world.rounds.require(lower, make_calls, why="the first priority has failed")
    await serve_again(world, [first])
    await world.rounds.require(higher, make_calls, why="the first priority serves again")
    await first.kill()
    await world.attempts.quiet_from_now(*second, why="the client has noticed the loss by then")
    await world.check("A42-FAIL-01", await make_calls(), higher)


@scenario("A42-FAIL-02")
async def test_failed_priority(world: World) -> None:
    """When a priority reports TRANSIENT_FAILURE, the client fails over at once.

    The first two of three priorities fail.
    """
    first, second = await endpoints(world, Close(), Close()), await endpoints(world, Close())
    third = await endpoints(world, Serve())
    await world.serve(ranked(first, second, third))
    calls = await world.call(world.sessions(1), deadline=timing.AFTER_FAILOVER)
    for above, below in ((first, second), (second, third)):
        began = await world.attempts.require_one(*above, why="a request came")
        await world.check("A42-FAIL-02", await given_up(world, began, below), AT_ONCE)
    await world.check("A42-FAIL-02", calls, AllServedBy((third[0].address,)))


@scenario("A42-FAIL-02")
async def test_failed_after_ready(world: World) -> None:
    """When a priority that was READY reports TRANSIENT_FAILURE, the client fails over at once."""
    (first,), second = await endpoints(world, Serve()), await endpoints(world, Serve())
    await world.serve(ranked([first], second))
    await world.require_served(world.sessions(1))
    since = world.now
    await fail(first)
    await world.start(world.sessions(20), pace=timing.PACE, deadline=timing.AFTER_FAILOVER)
    why = "its connection is lost, and requests came"
    began = await world.attempts.require_one(first, why=why, since=since)
    await world.check("A42-FAIL-02", await given_up(world, began, second), AT_ONCE)
    calls = await world.call(world.sessions(5), deadline=timing.AFTER_FAILOVER)
    await world.check("A42-FAIL-02", calls, AllServedBy((second[0].address,)))


@scenario("A42-FAIL-05", seconds=13, waits=True, failover=True)
async def test_idle_for_longer_than_the_timer(world: World) -> None:
    """A priority that reports IDLE has no failover timer running."""
    first, second = await endpoints(world, Serve()), await endpoints(world, Serve())
    await serve_before_requests(world, ranked(first, second))
    why = "the failover timer would have fired"
    idle = await world.attempts.quiet(*second, why=why, seconds=world.failover.beyond)
    await world.check("A42-FAIL-05", idle, NoAttempts())
    calls = await world.call(world.sessions(10))
    await world.check("A42-FAIL-05", calls, AllServedBy((first[0].address,)))


@scenario(timed=("A42-FAIL-06",), seconds=14, waits=True)
async def test_timer_starts_with_connecting(world: World) -> None:
    """When a priority turns from IDLE to CONNECTING, the client starts its failover timer."""
    first, second = await endpoints(world, Stall(), Stall()), await endpoints(world, Serve())
    await serve_before_requests(world, ranked(first, second))
    await world.attempts.quiet_from_now(
        why="there are no requests", seconds=timing.BEFORE_A_REQUEST
    )
    await world.start(world.sessions(1), deadline=timing.AFTER_FAILOVER)
    began = await world.attempts.require_one(*first, why="a request came")
    await world.check("A42-FAIL-06", await given_up(world, began, second), AFTER_THE_TIMER)


@pytest.mark.parametrize("policy", [RingHash(), RoundRobin()], ids=["ring-hash", "round-robin"])
@scenario(timed=("A42-FAIL-07",), seconds=11, waits=True)
async def test_lost_and_stalled(world: World, policy: Policy) -> None:
    """When a READY priority turns CONNECTING, it gets the full time of the timer again.

    Its only endpoint is lost and does not return. ring_hash is IDLE in between.
    """
    first, second = await endpoints(world, Serve()), await endpoints(world, Serve())
    (lost,) = first
    await world.serve(ranked(first, second, policy=policy))
    await world.require_served(world.sessions(1))
    await lost.set_mode(Stall())
    since = world.now
    await lost.kill()
    await world.start(world.sessions(20), pace=timing.PACE, deadline=timing.AFTER_FAILOVER)
    began = await world.attempts.require_one(lost, why="requests came", since=since)
    await world.check("A42-FAIL-07", await given_up(world, began, second), AFTER_THE_TIMER)


@scenario("A42-FAIL-08", seconds=1.2, waits=True)
async def test_connecting_after_failure(world: World) -> None:
    """When a failed priority turns CONNECTING, the client does not start its timer.

    An update removes one of two failed endpoints, which makes the first priority CONNECTING.
    """
    first = await endpoints(world, Close(), Close(), Stall())
    second = await endpoints(world, Serve())
    await world.serve(ranked(first, second))
    await world.require_served(world.sessions(10))
    await world.serve(ranked(first[1:], second))
    for _ in range(3):
        calls = await world.call(world.sessions(10), deadline=timing.FAR_FROM_FAILOVER)
        await world.check("A42-FAIL-08", calls, AllServedBy((second[0].address,)))
        await world.attempts.quiet_from_now(*second, why="the update is applied by then")


@scenario("A42-FAIL-09", seconds=16, waits=True, failover=True)
async def test_ready_in_time(world: World) -> None:
    """A priority that becomes READY before its timer fires stays in use."""
    first, second = await endpoints(world, Hold()), await endpoints(world, Serve())
    (held,) = first
    await world.serve(ranked(first, second))
    waiting = await world.start(world.sessions(5), deadline=timing.AFTER_FAILOVER)
    await world.attempts.require_one(held, why="requests came")
    early = await world.attempts.quiet(
        *second, why="the failover timer is running", seconds=world.failover.well_within
    )
    await world.check("A42-FAIL-09", early, NoAttempts())
    await held.set_mode(Serve())
    await world.check("A42-FAIL-09", await waiting.over(), AllServedBy((held.address,)))
    why = "the failover timer would have fired"
    later = await world.attempts.quiet(*second, why=why, seconds=world.failover.beyond)
    await world.check("A42-FAIL-09", later, NoAttempts())
    await world.check(
        "A42-FAIL-09", await world.call(world.sessions(10)), AllServedBy((held.address,))
    )


@scenario("A56-TIMER-03", timed=("A42-FAIL-10",), seconds=21, waits=True)
async def test_two_stalled_priorities(world: World) -> None:
    """Each priority that stays CONNECTING gets the time of its own failover timer."""
    first, second = (
        await endpoints(world, Stall(), Stall()),
        await endpoints(world, Stall(), Stall()),
    )
    third = await endpoints(world, Serve())
    await world.serve(ranked(first, second, third))
    await world.start(world.sessions(1), deadline=timing.AFTER_FAILOVER)
    await world.attempts.require_one(*first, why="a request came")
    began = await world.attempts.require_one(
        *second, why="the first priority stalls", within=timing.AFTER_FAILOVER
    )
    waiting = await world.call(world.sessions(5), deadline=timing.HELD)
    await world.check("A56-TIMER-03", waiting, EndsWith(status="DEADLINE_EXCEEDED"))
    world.checks.turn_to("A42-FAIL-10")
    await world.check("A42-FAIL-10", await given_up(world, began, third), AFTER_THE_TIMER)


@scenario("A42-FAIL-11", seconds=1.2, waits=True)
async def test_return_to_a_higher_priority(world: World) -> None:
    """As soon as a higher priority is READY again, requests go there.

    The third of three priorities serves until the second does, and then the first.
    """
    first, second = [await endpoints(world, Close(), Close()) for _ in range(2)]
    await world.serve(ranked(first, second, await endpoints(world, Serve())))
    await world.require_served(world.sessions(10))
    for members in (second, first):
        await serve_again(world, members)
        higher = AllServedBy(tuple(endpoint.address for endpoint in members))
        calls = await world.rounds.eventually_stable(higher, lambda: world.call(world.sessions(50)))
        await world.check("A42-FAIL-11", calls, higher)


@scenario(timed=("A56-TIMER-02",), seconds=11, waits=True)
async def test_connecting_again(world: World) -> None:
    """When a priority reports CONNECTING again, its failover timer does not restart.

    An endpoint of the first priority fails after a while, and the next one stalls.
    """
    second = await endpoints(world, Serve())
    order = await ring_order(world, 3, tier(1, second))
    await order[0].set_mode(Close(after=world.failover.well_within))
    await order[1].set_mode(Stall())
    await order[2].set_mode(Stall())
    await world.start([order.request], deadline=timing.AFTER_FAILOVER)
    began = await world.attempts.require_one(order[0], why="a request picked it")
    await world.check("A56-TIMER-02", await given_up(world, began, second), AFTER_THE_TIMER)


@scenario("A42-FAIL-13", seconds=12.5, waits=True, failover=True)
async def test_connecting_again_after_the_timer(world: World) -> None:
    """When a priority whose timer fired reports CONNECTING again, requests stay at the lower one.

    It reports CONNECTING again because an endpoint fails, and then because weights change.
    """
    second = await endpoints(world, Serve())
    order = await ring_order(world, 3, tier(1, second))
    await order.set_modes(Stall(), Stall(), Stall())
    lower = AllServedBy((second[0].address,))
    await world.start([order.request], deadline=timing.AFTER_FAILOVER)
    await world.attempts.require_one(order[0], why="a request picked it")
    why = "the first priority has not connected"
    await world.attempts.require_one(*second, why=why, within=timing.AFTER_FAILOVER)
    make_calls = partial(world.call, world.sessions(10), deadline=timing.FAR_FROM_FAILOVER)
    await world.rounds.require(lower, make_calls, why="the timer of the first priority has fired")
    await fail(order[0])
    await world.attempts.quiet_from_now(*second, why="the client has seen the failure by then")
    await world.check("A42-FAIL-13", await make_calls(), lower)
    (above, below) = order.served.get_cluster().localities
    heavier = tuple(replace(member, weight=2) for member in above.endpoints)
    await world.serve(order.served.with_localities(replace(above, endpoints=heavier), below))
    await world.attempts.quiet_from_now(*second, why="the update is applied by then")
    await world.check("A42-FAIL-13", await make_calls(), lower)


@scenario("A56-TIMER-04", seconds=11.5, waits=True, failover=True)
async def test_one_connecting_after_all_timers(world: World) -> None:
    """After all timers fired, the first priority that is CONNECTING is in use (A56)."""
    first, second = await endpoints(world, *[Stall()] * 3), await endpoints(world, Close(), Close())
    await world.serve(ranked(first, second))
    await world.start(world.sessions(1), deadline=timing.AFTER_FAILOVER)
    why = "the first priority stalls"
    for endpoint in second:
        await world.attempts.require_one(endpoint, why=why, within=timing.AFTER_FAILOVER)
    by = {"A56-2022": EndsWith(status="UNAVAILABLE"), "A56": EndsWith(status="DEADLINE_EXCEEDED")}
    own = world.checks.own("A56-TIMER-04", by)
    calls = await world.eventually(own, lambda: world.call(world.sessions(5), deadline=timing.HELD))
    await world.check("A56-TIMER-04", calls, by)


@scenario("A56-TIMER-05", needs=("watch",), seconds=1.4)
async def test_last_priority_used(world: World) -> None:
    """If every priority has failed, the last one is in use.

    By its picker a request waits for its endpoint, although two other endpoints have failed.
    """
    watched = await world.states.watch()
    calls = await with_two_failed_and_one_held(world, watched, await endpoints(world, Close()))
    waits = EndsWith("DEADLINE_EXCEEDED")
    if not fits(waits, calls):
        alone = await with_two_failed_and_one_held(world, watched)
        if not fits(waits, alone):
            raise Unsupported("with one priority alone a request fails as well (A42-PICK-05)")
    await world.check(
        "A56-TIMER-05", world.states.reported(watched), EndsInState(("TRANSIENT_FAILURE",))
    )
    await world.check("A56-TIMER-05", calls, waits)


async def with_two_failed_and_one_held(
    world: World, watched: StateWatch, *above: Sequence[Member]
) -> Calls:
    """Return calls to the held endpoint of a failed priority, which is below the given ones."""
    members = await endpoints(world, Hold(), Close(), Close())
    order = RingOrder(world, members, ranked(members).with_policy(LARGE), world.checks.key_format)
    await world.preconditions.handshakes()
    await world.serve(ranked(*above, members).with_policy(LARGE))
    for member in members:
        await world.start([order.beginning_with(member)] * 50, pace=timing.PACE)
        await world.attempts.require_count(
            member, why="requests picked it, and higher priorities have failed"
        )
    await world.attempts.quiet_from_now(
        members[0], why="the client has noticed that the others failed"
    )
    why = "all higher priorities and two of its own endpoints have failed"
    await world.states.require(watched, "TRANSIENT_FAILURE", why=why, since=len(watched.states) - 1)
    return await world.call([order.beginning_with(members[0])] * 5, deadline=timing.HELD)


@scenario("A56-TIMER-05", seconds=1.2, waits=True)
async def test_all_priorities_failed(world: World) -> None:
    """If every priority has failed, requests get the failure of the last one."""
    first, second = [await endpoints(world, Close(), Close()) for _ in range(2)]
    await world.serve(ranked(first, second))
    failed = EndsWith(status="UNAVAILABLE")
    calls = await world.eventually(failed, lambda: world.call(world.sessions(5)))
    await world.check("A56-TIMER-05", calls, failed)
    waiting = await world.start(
        world.sessions(5), deadline=timing.AFTER_FAILOVER, wait_for_ready=True
    )
    for endpoint in second:
        await endpoint.set_mode(Serve())
    last = AllServedBy(tuple(endpoint.address for endpoint in second))
    await world.check("A56-TIMER-05", await waiting.over(), last)


@scenario("A56-TIMER-05")
async def test_error_when_all_have_failed(world: World) -> None:
    """If every priority has failed, requests get the error of the last one.

    Its ports refuse connections, because most clients name the address in that error.
    """
    members = await endpoints(world, *[Refuse()] * 4)
    await world.serve(ranked(*[[member] for member in members], policy=RoundRobin()))
    failed = EndsWith(status="UNAVAILABLE")
    calls = await world.eventually(failed, lambda: world.call(world.sessions(5)))
    *others, last = [member.address for member in members]
    if not any(address in call.details for address in (*others, last) for call in calls):
        raise Unsupported("its error details name no endpoint, so the failing one is unknown")
    expected = ErrorNamesOnly(these=(last,), others=tuple(others))
    await world.check("A56-TIMER-05", calls, expected)


@scenario("A56-USE-01", needs=("watch",))
async def test_state_during_failover(world: World) -> None:
    """While a lower priority is tried, the policy reports its state, CONNECTING.

    Two of three priorities have failed. The third is CONNECTING as soon as it exists; a held
    attempt keeps it so.
    """
    failed, (third,) = await endpoints(world, Close(), Close()), await endpoints(world, Hold())
    priorities = [[member] for member in (*failed, third)]
    await world.serve(ranked(*priorities, policy=RoundRobin()))
    watched = await world.states.watch()
    waiting = await world.start(world.sessions(5))
    await world.attempts.require_one(third, why="the priorities above have failed")
    await world.attempts.quiet_from_now(third, why="the attempt is held")
    states = world.states.reported(watched)
    await world.check("A56-USE-01", states, EndsInState(("CONNECTING",)))
    await world.check("A56-USE-01", states, NeverInState(("TRANSIENT_FAILURE", "READY")))
    await third.set_mode(Serve())
    await world.check("A56-USE-01", await waiting.over(), AllServedBy((third.address,)))


@scenario("A56-CHILD-01")
async def test_removed_priority(world: World) -> None:
    """The client keeps the policy of a removed priority for 15 minutes (A56), or no time (A115).

    The new priority has another locality, and so another name: it reuses nothing of the old one.
    """
    (gone,), (new,) = await endpoints(world, Serve()), await endpoints(world, Serve())
    served = ranked([gone]).with_policy(RoundRobin())
    await world.serve(served)
    await world.require_served(world.sessions(5))
    await world.serve(served.with_localities(replace(tier(0, [new]), name="other")))
    there, make_calls = AllServedBy((new.address,)), partial(world.call, world.sessions(5))
    await world.rounds.require(there, make_calls, why="its locality replaced the other")
    why = "a client that destroys the priority closes its connection"
    await world.attempts.quiet_from_now(why=why)

    async def attempts_after_calls() -> Attempts:
        await make_calls()
        return world.attempts.seen(gone)

    choices = {
        "A56": KeepsConnection(gone.address, kept=True),
        "A115": KeepsConnection(gone.address, kept=False),
    }
    fits_own = partial(fits, world.checks.own("A56-CHILD-01", choices))
    seen = await waits.until(attempts_after_calls, fits_own, within=timing.APPLY)
    await world.check("A56-CHILD-01", seen.seen, choices)
