"""A42, Subchannel State Handling: the state of an endpoint in ring_hash."""

from collections.abc import Sequence

import pytest

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    AttemptCount,
    EachServesSome,
    EndsInState,
    EndsWith,
    NeverInState,
    NoAttempts,
)
from conformance.scenarios.helpers.localities import endpoints, ranked
from conformance.scenarios.helpers.ring_order import ring_order, serve_before_requests
from conformance.world import ENOUGH_TO_SPREAD, StateWatch, World
from conformance.xds_config.endpoints import Endpoint, Locality
from test_servers import BackendEndpoint as Member
from test_servers import Close, Hold, Mode, Serve

WAITS = EndsWith(status="DEADLINE_EXCEEDED")


@scenario("A42-SUB-01")
async def test_no_requests(world: World) -> None:
    """Endpoints start in IDLE, and the policy does not connect to them, also if one is added."""
    members = await endpoints(world, *[Serve()] * 4)
    await serve_before_requests(world, ranked(members[1:]))
    await world.serve(ranked(members))
    quiet = await world.attempts.quiet(*members, why="the client has its endpoints and no request")
    await world.check("A42-SUB-01", quiet, NoAttempts())


@scenario("A42-SUB-02", "A42-SUB-03")
async def test_one_hash(world: World) -> None:
    """A request connects the endpoint that it picks, and no other.

    Then requests pick a second endpoint. At the end, updates remove an endpoint and add it again.
    """
    order = await ring_order(world, 5)
    first = {order[0].address: 1}
    await world.require_served([order.request])
    await world.check("A42-SUB-02", world.attempts.seen(), AttemptCount(least=first, others=True))
    await world.require_served([order.request] * 50)
    await world.attempts.quiet_from_now(why="many requests with one hash")
    await world.check("A42-SUB-03", world.attempts.seen(), AttemptCount(least=first))
    both = {**first, order[1].address: 1}
    await world.require_served([order.request, order.beginning_with(order[1])] * 25)
    for served in (order.without(order[4]), order.served):
        await world.serve(served)
        await world.attempts.quiet_from_now(why="requests with two hashes, and an update")
        await world.check("A42-SUB-03", world.attempts.seen(), AttemptCount(least=both))


@scenario("A42-SUB-02")
async def test_idle_beside_connecting(world: World) -> None:
    """A request connects an IDLE endpoint while another is CONNECTING, and after it was lost.

    The other is READY by then, so that the policy connects nothing proactively.
    """
    order = await ring_order(world, 3)
    await order.set_modes(Hold(), Serve(), Serve())
    await order.make_connecting(order[0])
    picks_idle = order.beginning_with(order[1])
    await world.start([picks_idle])
    both = AttemptCount(least={member.address: 1 for member in [*order][:2]}, others=True)
    await world.check("A42-SUB-02", await world.attempts.until(both), both)
    await order[0].set_mode(Serve())
    await world.require_served([picks_idle, order.beginning_with(order[0])])
    before = world.now
    await order[1].kill()
    again = AttemptCount(least={order[1].address: 1}, others=True)
    seen = await world.attempts.until(again, since=before, meanwhile=[picks_idle])
    await world.check("A42-SUB-02", seen, again)


@scenario("A42-SUB-04", "A42-SUB-05", needs=("watch",), seconds=1)
async def test_connecting_then_ready(world: World) -> None:
    """An endpoint is CONNECTING during an attempt, and READY after it succeeds."""
    (only,) = await endpoints(world, Hold())
    await serve_before_requests(world, ranked([only]))
    watched = await world.states.watch()
    held = await world.call(world.sessions(5), deadline=timing.HELD)
    states = await world.states.until(watched, "CONNECTING")
    await world.check("A42-SUB-04", held, WAITS)
    await world.check("A42-SUB-04", states, EndsInState(("CONNECTING",)))
    waiting = await world.start(world.sessions(5))
    await only.set_mode(Serve())
    await world.check("A42-SUB-05", await waiting.over(), AllServedBy((only.address,)))
    states = await world.states.until(watched, "READY")
    await world.check("A42-SUB-05", states, EndsInState(("READY",)))


async def lose(world: World, watched: StateWatch, member: Member, then: Mode) -> int:
    """Drop the connection that makes the channel READY.

    Args:
        world: the scenario's world.
        watched: the channel's states.
        member: the only endpoint.
        then: how its gate treats further connections.

    Returns:
        The number of states that the channel has reported before it was IDLE.

    Raises:
        PreconditionTimeout: the channel was not READY before, or not IDLE after that.
    """
    await world.states.require(watched, "READY", why="a request was served")
    mark = len(watched.states)
    await member.set_mode(then)
    await member.kill()
    await world.states.require(watched, "IDLE", since=mark, why="its connection was lost")
    return len(watched.states) - 1


@scenario("A42-SUB-04", "A42-SUB-05", "A42-SUB-06", needs=("watch",), seconds=0.5)
async def test_second_connection(world: World) -> None:
    """An endpoint that lost its connection goes through the same states again."""
    (only,) = await endpoints(world, Serve())
    await world.serve(ranked([only]))
    await world.require_served(world.sessions(1))
    watched = await world.states.watch()
    mark = await lose(world, watched, only, Hold())
    waiting = await world.start(world.sessions(5))
    states = await world.states.until(watched, "CONNECTING", since=mark)
    await world.check("A42-SUB-04", states, EndsInState(("CONNECTING",)))
    await only.set_mode(Serve())
    await world.check("A42-SUB-05", await waiting.over(), AllServedBy((only.address,)))
    states = await world.states.until(watched, "READY", since=mark)
    await world.check("A42-SUB-05", states, EndsInState(("READY",)))
    mark = await lose(world, watched, only, Close())
    failed = EndsWith(status="UNAVAILABLE")
    calls = await world.eventually(failed, lambda: world.call(world.sessions(5)))
    await world.check("A42-SUB-06", calls, failed)
    states = await world.states.until(watched, "TRANSIENT_FAILURE", since=mark)
    await world.check("A42-SUB-06", states, EndsInState(("TRANSIENT_FAILURE",)))


@scenario("A42-SUB-06", needs=("watch",))
@pytest.mark.parametrize("count", [1, 2])
async def test_failed(world: World, count: int) -> None:
    """A failed connection attempt makes the endpoint TRANSIENT_FAILURE, the second one too."""
    await world.serve(ranked(await endpoints(world, *[Close()] * count)))
    watched = await world.states.watch()
    failed = EndsWith(status="UNAVAILABLE")
    calls = await world.eventually(failed, lambda: world.call(world.sessions(5)))
    await world.check("A42-SUB-06", calls, failed)
    states = await world.states.until(watched, "TRANSIENT_FAILURE")
    await world.check("A42-SUB-06", states, EndsInState(("TRANSIENT_FAILURE",)))


@scenario("A42-SUB-07", seconds=4, waits=True)
async def test_retries(world: World) -> None:
    """A failed endpoint reconnects for a pick only (A42), or by itself after its backoff (A61).

    Another endpoint is READY. The request that found the endpoint failed allows one more attempt.
    """
    order = await ring_order(world, 2)
    await order.arrange("TRANSIENT_FAILURE", "READY")
    why = "no request picks it, and several backoffs are over"
    again = await world.attempts.quiet_from_now(order[0], why=why, seconds=timing.ATTEMPT, count=2)
    failed = order[0].address
    by_itself = {"A42": AttemptCount(most={failed: 1}), "A61": AttemptCount(least={failed: 2})}
    await world.check("A42-SUB-07", again, by_itself)


@scenario("A42-SUB-08", seconds=1.2, waits=True)
async def test_second_attempt(world: World) -> None:
    """While a failed endpoint connects again, the picker still treats it as failed.

    Requests keep picking it, so that it retries in each edition.
    """
    order = await ring_order(world, 2)
    await order.arrange("TRANSIENT_FAILURE", "READY")
    await order[0].set_mode(Hold())
    tried = len(order[0].attempts)
    await world.start([order.request] * 30, pace=timing.PACE)
    await world.attempts.require_count(order[0], tried + 1, why="its backoff is over")
    calls = await world.call([order.request] * 5, deadline=timing.FAR_FROM_FAILOVER)
    await world.check("A42-SUB-08", calls, AllServedBy((order[1].address,)))


@scenario("A42-SUB-09", "A42-PICK-14", needs=("watch",), seconds=2.5, waits=True)
async def test_both_retried(world: World) -> None:
    """While failed endpoints connect again, the policy still counts them as failed.

    Both endpoints must retry first, which is A42-PICK-14 for the second.
    """
    order = await ring_order(world, 2)
    await order.set_modes(Close(), Close())
    watched = await world.states.watch()
    failed = EndsWith(status="UNAVAILABLE")
    why = "both endpoints close each connection"
    await world.rounds.require(failed, lambda: world.call([order.request] * 2), why=why)
    await world.states.require(watched, "TRANSIENT_FAILURE", why=why)
    mark = len(watched.states) - 1
    tried = [len(endpoint.attempts) for endpoint in order]
    await order.set_modes(Hold(), Hold())
    await world.start([order.request] * 50, pace=timing.PACE)
    world.checks.turn_to("A42-PICK-14")
    for endpoint, count in zip(order, tried, strict=True):
        await world.attempts.require_count(endpoint, count + 1, why="its backoff is over")
    again = AttemptCount(
        least={endpoint.address: count + 1 for endpoint, count in zip(order, tried, strict=True)}
    )
    await world.check("A42-PICK-14", world.attempts.seen(), again)
    world.checks.turn_to("A42-SUB-09")
    await world.attempts.quiet_from_now(why="both attempts are held")
    states = world.states.reported(watched, since=mark)
    await world.check("A42-SUB-09", states, NeverInState(("IDLE", "CONNECTING", "READY")))


@scenario("A42-SUB-10", seconds=4, waits=True)
async def test_ready_again(world: World) -> None:
    """A failed endpoint is READY as soon as an attempt succeeds, and gets its requests again.

    It fails once, and after its repair twice in a row.
    """
    order = await ring_order(world, 2)
    await order.set_modes(Close(), Serve())
    await order.make_ready(order[1])
    address, home = order[0].address, AllServedBy((order[0].address,))
    for failures in (1, 2):
        tried = len(order[0].attempts) + failures
        await order[0].set_mode(Close())
        await order[0].kill()
        for least in (tried, tried + 1):
            enough = AttemptCount(least={address: least}, others=True)
            attempts = await world.attempts.until(enough, meanwhile=[order.request])
            await world.check("A42-SUB-10", attempts, enough)
            await order[0].set_mode(Serve())
        calls = await world.eventually(home, lambda: world.call([order.request] * 5))
        await world.check("A42-SUB-10", calls, home)


@scenario("A42-SUB-11", "A42-SUB-12", "A42-SUB-13", needs=("watch",), seconds=0.7)
async def test_connection_lost(world: World) -> None:
    """A READY endpoint that loses its connection is IDLE until a request picks it."""
    (only,) = await endpoints(world, Serve())
    await world.serve(ranked([only]))
    await world.require_served(world.sessions(1))
    watched = await world.states.watch()
    await world.states.require(watched, "READY", why="a request was served")
    mark = len(watched.states) - 1
    since = world.now
    await only.kill()
    states = await world.states.until(watched, "IDLE", since=mark)
    await world.check("A42-SUB-12", states, EndsInState(("IDLE",)))
    await world.attempts.quiet_from_now(only, why="its connection was lost")
    await world.check("A42-SUB-13", world.attempts.seen(only, since=since), AttemptCount())
    await world.check(
        "A42-SUB-11", await world.call(world.sessions(5)), AllServedBy((only.address,))
    )
    again = world.attempts.seen(only, since=since)
    await world.check("A42-SUB-11", again, AttemptCount(least={only.address: 1}))


@scenario("A42-SUB-11", "A42-SUB-13", "A42-PRO-01", seconds=0.5)
async def test_one_of_two_connections_lost(world: World) -> None:
    """If another endpoint is READY, an endpoint that lost its connection is IDLE, too.

    Requests that pick the other endpoint do not reconnect it.
    """
    order = await ring_order(world, 3)
    await order.arrange("READY", "READY", "IDLE")
    since = world.now
    await order[0].kill()
    proactive = AttemptCount()
    for _ in range(2):
        await world.attempts.quiet_from_now(why="one of two connections was lost")
        await world.check("A42-SUB-13", world.attempts.seen(order[0], since=since), proactive)
        await world.check("A42-PRO-01", world.attempts.seen(since=since), proactive)
        await world.require_served([order.beginning_with(order[1])] * 5)
    calls = await world.call([order.request] * 5)
    await world.check("A42-SUB-11", calls, AllServedBy((order[0].address,)))


@scenario("A42-SUB-14", seconds=0.5)
async def test_endpoint_added(world: World) -> None:
    """An endpoint that stays in a changed list keeps its connection.

    The new endpoint comes first in the list, so that all others move. The new list is in use once
    all endpoints serve.
    """
    order = await ring_order(world, 3)
    for endpoint in order:
        await order.make_ready(endpoint)
    added = await world.endpoints(1)
    since = world.now
    everywhere = [*added, *order]
    await world.serve(order.served.with_localities(locality_of(everywhere)))
    headers = world.sessions(ENOUGH_TO_SPREAD)
    reached = EachServesSome(tuple(endpoint.address for endpoint in everywhere))
    await world.rounds.require(reached, lambda: world.call(headers), why="all endpoints are listed")
    again = AttemptCount(least={endpoint.address: 1 for endpoint in order})
    by = {"A42": again, "A61": AttemptCount()}
    await world.check("A42-SUB-14", world.attempts.seen(*order, since=since), by)


def locality_of(members: Sequence[Member]) -> Locality:
    """Return one locality of endpoints with equal weights."""
    return Locality(tuple(Endpoint(member.address) for member in members))
