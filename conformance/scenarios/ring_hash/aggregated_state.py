"""A42, Aggregated Connectivity State: the six rules, seen by failover or the channel's state."""

from functools import partial
from itertools import dropwhile

import pytest

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    EndsInState,
    EndsWith,
    NeverInState,
    NoAttempts,
)
from conformance.judging.observations import States
from conformance.scenarios.helpers.localities import endpoints, ranked, tier
from conformance.scenarios.helpers.ring_order import MODES, ring_order, serve_before_requests
from conformance.spec.oracles.aggregated_state import aggregated_state
from conformance.spec.oracles.picker import State
from conformance.world import World
from conformance.xds_config.broken import unhealthy
from conformance.xds_config.config import one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash
from conformance.xds_config.trees import with_clusters
from test_servers import Close, Hold, Serve, Stall

WAITS = EndsWith(status="DEADLINE_EXCEEDED")


UNASKED = "the channel has endpoints and no request"


def reports(*endpoints: State) -> EndsInState:
    """Expect that the channel reaches the aggregated state of these endpoints."""
    return EndsInState((aggregated_state(endpoints),))


def once_not_idle(seen: States) -> States:
    """Return the states after the first IDLE, which a client may report late or twice."""
    return States(tuple(dropwhile(lambda state: state.state == "IDLE", seen.states)))


@scenario("A42-AGG-01", needs=("watch",))
async def test_one_ready(world: World) -> None:
    """If one endpoint is READY, the policy reports READY, whatever the others do.

    Others fail, are CONNECTING, or lose their connection.
    """
    order = await ring_order(world, 4)
    watched = await world.states.watch()
    await order.make_ready(order[0])
    states = await world.states.until(watched, "READY")
    await world.check("A42-AGG-01", states, reports("READY", "IDLE", "IDLE", "IDLE"))
    mark = len(watched.states) - 1
    await order.set_modes(Serve(), Close(), Hold(), Serve())
    await order.make_failed(order[1], order[0])
    await order.make_connecting(order[2])
    await world.attempts.quiet_from_now(why="one endpoint has failed, and one is CONNECTING")
    await order.make_ready(order[3])
    await order[0].kill()
    await world.attempts.quiet_from_now(why="one of two READY endpoints was lost")
    others = NeverInState(("IDLE", "CONNECTING", "TRANSIENT_FAILURE"))
    await world.check("A42-AGG-01", world.states.reported(watched, since=mark), others)


@scenario("A42-AGG-02")
@pytest.mark.parametrize("count", [2, 3, 5])
async def test_two_failed(world: World, count: int) -> None:
    """If two endpoints have failed and none is READY, the policy reports TRANSIENT_FAILURE.

    They are all endpoints, more than half, or less than half.
    """
    lower = await endpoints(world, Serve())
    order = await ring_order(world, count, tier(1, lower))
    await order.set_modes(Close(), Close(), *[Stall()] * (count - 2))
    calls = await world.call([order.request], deadline=timing.FAR_FROM_FAILOVER)
    await world.check("A42-AGG-02", calls, AllServedBy((lower[0].address,)))


@scenario("A42-AGG-02", "A42-AGG-08", needs=("watch",))
async def test_three_failed_of_five(world: World) -> None:
    """If more than two endpoints have failed, the policy still reports TRANSIENT_FAILURE.

    Requests have four endpoints connected before three of them fail, as no request might later.
    """
    order = await ring_order(world, 5)
    await order.set_modes(*[Hold()] * 5)
    watched = await world.states.watch()
    for endpoint in [*order][:4]:
        await order.make_connecting(endpoint)
    await order.set_modes(*[Close()] * 3, Hold(), Hold())
    await world.attempts.quiet_from_now(why="three endpoints have failed, and two are held")
    states = await world.states.until(watched, "TRANSIENT_FAILURE")
    failed: list[State] = ["TRANSIENT_FAILURE"] * 3
    expected = reports(*failed, "CONNECTING", "IDLE")
    await world.check("A42-AGG-02", states, expected)
    await world.check("A42-AGG-08", states, expected)


@scenario("A42-AGG-03", "A42-AGG-09", needs=("watch",))
async def test_one_connecting(world: World) -> None:
    """If one or two of three endpoints are CONNECTING, the policy reports CONNECTING."""
    order = await ring_order(world, 3)
    await order.set_modes(*[Stall()] * 3)
    watched = await world.states.watch()
    await order.make_connecting(order[0])
    await world.states.require(watched, "CONNECTING", why="a connection is being tried")
    await world.attempts.quiet_from_now(why="the attempt is held")
    states = world.states.reported(watched)
    await world.check("A42-AGG-03", states, reports("CONNECTING", "IDLE", "IDLE"))
    mark = len(watched.states) - 1
    await order.make_connecting(order[1])
    await world.attempts.quiet_from_now(why="both attempts are held")
    both = world.states.reported(watched, since=mark)
    await world.check("A42-AGG-03", both, reports("CONNECTING", "CONNECTING", "IDLE"))
    await world.check("A42-AGG-09", states, reports("CONNECTING", "IDLE", "IDLE"))


@scenario("A42-AGG-04", needs=("watch",), seconds=1.2, waits=True)
@pytest.mark.parametrize("count", [2, 3, 5])
async def test_one_failed(world: World, count: int) -> None:
    """If one endpoint has failed and the others are IDLE, the policy reports CONNECTING.

    The row with two endpoints has half of them failed.
    """
    lower = await endpoints(world, Serve())
    order = await ring_order(world, count, tier(1, lower), before_requests=True)
    await order.set_modes(Close(), *[Stall()] * (count - 1))
    watched = await world.states.watch()
    await world.states.require(watched, "IDLE", why=UNASKED)
    mark = len(watched.states)
    waiting = await world.start([order.request], deadline=timing.SEVERAL_MOMENTS)
    await world.attempts.require_count(order[0], why="a request picked it")
    await world.check("A42-AGG-04", await waiting.over(), WAITS)
    states = once_not_idle(await world.states.until(watched, "CONNECTING", since=mark))
    await world.check("A42-AGG-04", states, NeverInState(("IDLE", "TRANSIENT_FAILURE")))
    await world.check("A42-AGG-04", states, reports("TRANSIENT_FAILURE", "CONNECTING", "IDLE"))


@scenario("A42-AGG-05", needs=("watch",))
@pytest.mark.parametrize("count", [1, 2])
async def test_connections_lost_while_others_idle(world: World, count: int) -> None:
    """If all endpoints are IDLE, the policy reports IDLE."""
    order = await ring_order(world, 3)
    watched = await world.states.watch()
    connected = [*order][:count]
    for endpoint in connected:
        await order.make_ready(endpoint)
    await world.states.require(watched, "READY", why="a request was served")
    mark = len(watched.states) - 1
    for endpoint in connected:
        await endpoint.kill()
    states = await world.states.until(watched, "IDLE", since=mark)
    await world.check("A42-AGG-05", states, reports("IDLE", "IDLE", "IDLE"))


@scenario("A42-AGG-06")
async def test_only_endpoint_failed(world: World) -> None:
    """If the only endpoint has failed, the policy reports TRANSIENT_FAILURE."""
    only, lower = await endpoints(world, Close()), await endpoints(world, Serve())
    await serve_before_requests(world, ranked(only, lower))
    calls = await world.call(world.sessions(1), deadline=timing.FAR_FROM_FAILOVER)
    await world.check("A42-AGG-06", calls, AllServedBy((lower[0].address,)))


@scenario("A42-AGG-06", "A42-AGG-14")
async def test_other_endpoint_removed(world: World) -> None:
    """If the failed endpoint is the only one that is left, the policy reports TRANSIENT_FAILURE.

    The request waited for the removed endpoint, or for the policy.
    """
    lower = await endpoints(world, Serve())
    order = await ring_order(world, 2, tier(1, lower))
    await order.set_modes(Close(), Stall())
    waiting = await world.start([order.request], deadline=timing.FAR_FROM_FAILOVER)
    await world.attempts.require_count(order[1], why="the endpoint before it has failed")
    await world.serve(order.without(order[1]))
    calls, served = await waiting.over(), AllServedBy((lower[0].address,))
    await world.check("A42-AGG-06", calls, served)
    await world.check("A42-AGG-14", calls, served)


@scenario("A42-AGG-07")
async def test_one_ready_two_failed(world: World) -> None:
    """If one endpoint is READY, two failed endpoints do not matter."""
    lower = await endpoints(world, Serve())
    order = await ring_order(world, 3, tier(1, lower))
    await order.arrange("TRANSIENT_FAILURE", "TRANSIENT_FAILURE", "READY")
    calls = await world.call(world.sessions(20))
    await world.check("A42-AGG-07", calls, AllServedBy((order[2].address,)))


@scenario("A42-AGG-08")
async def test_two_failed_one_connecting(world: World) -> None:
    """An endpoint that is CONNECTING does not hide two failed ones."""
    lower = await endpoints(world, Serve())
    order = await ring_order(world, 5, tier(1, lower), before_requests=True)
    await order.set_modes(Close(), Close(), *[Stall()] * 3)
    await order.make_connecting(order[2])
    calls = await world.call([order.request], deadline=timing.FAR_FROM_FAILOVER)
    await world.check("A42-AGG-08", calls, AllServedBy((lower[0].address,)))


@scenario("A42-AGG-10", needs=("watch",))
async def test_no_idle_between_attempts(world: World) -> None:
    """Between two attempts the policy does not report IDLE.

    The first attempt fails only after the client reported CONNECTING, because it may not report a
    short state.
    """
    order = await ring_order(world, 2, before_requests=True)
    await order.set_modes(Hold(), Hold())
    watched = await world.states.watch()
    await world.states.require(watched, "IDLE", why=UNASKED)
    mark = len(watched.states)
    waiting = await world.start([order.request])
    await world.attempts.require_count(order[0], why="a request picked it")
    await world.states.require(watched, "CONNECTING", since=mark, why="a connection is being tried")
    await order[0].set_mode(Close())
    await world.attempts.require_count(order[1], why="the endpoint before it failed")
    await order[1].set_mode(Serve())
    await waiting.over()
    await world.states.require(watched, "READY", since=mark, why="the next endpoint serves")
    states = once_not_idle(world.states.reported(watched, since=mark))
    await world.check("A42-AGG-10", states, NeverInState(("IDLE",)))


@scenario("A42-AGG-11", needs=("watch",))
async def test_initial_state(world: World) -> None:
    """With new endpoints, none of which was tried, the policy reports IDLE."""
    watched = await world.states.watch()
    members = await endpoints(world, Serve(), Serve())
    await serve_before_requests(world, ranked(members))
    states = await world.states.until(watched, "IDLE", since=len(watched.states) - 1)
    quiet = await world.attempts.quiet(*members, why="the channel has its endpoints")
    await world.check("A42-AGG-11", states, reports("IDLE", "IDLE"))
    await world.check("A42-AGG-11", quiet, NoAttempts())


@scenario("A42-AGG-11", needs=("watch",))
async def test_all_endpoints_replaced(world: World) -> None:
    """If an update replaces a connected endpoint by others, the policy reports IDLE."""
    (before,) = await endpoints(world, Serve())
    await world.serve(ranked([before]))
    await world.require_served(world.sessions(1))
    watched = await world.states.watch()
    await world.states.require(watched, "READY", why="a request was served")
    mark = len(watched.states) - 1
    members = await endpoints(world, Serve(), Serve())
    await world.serve(ranked(members))
    states = await world.states.until(watched, "IDLE", since=mark)
    quiet = await world.attempts.quiet(*members, why="the channel has new endpoints")
    await world.check("A42-AGG-11", states, reports("IDLE", "IDLE"))
    await world.check("A42-AGG-11", quiet, NoAttempts())


@scenario("A42-AGG-12", needs=("metadata",), seconds=1.2, waits=True)
async def test_many_entries_of_one_endpoint(world: World) -> None:
    """An endpoint with many ring entries counts once.

    All calls start at once; one after another they would wait for the failover timer.
    """
    heavy, light, lower = await endpoints(world, Close(), Stall(), Serve())
    uneven = Locality((Endpoint(heavy.address, 50), Endpoint(light.address, 1)))
    served = one_cluster((uneven, tier(1, [lower])), policy=RingHash(minimum=1024))
    await serve_before_requests(world, served)
    await world.start(world.sessions(10))
    await world.attempts.require_count(heavy, why="requests came")
    calls = await world.call(world.sessions(10), deadline=timing.SEVERAL_MOMENTS)
    await world.check("A42-AGG-12", calls, WAITS)


@scenario("A42-AGG-13")
async def test_no_endpoints(world: World) -> None:
    """Without any endpoint the policy reports TRANSIENT_FAILURE.

    At first the first priority is empty. Then an update adds an endpoint, and another makes it
    UNHEALTHY. In the end the cluster has no endpoint.
    """
    upper, lower = await endpoints(world, Serve(), Serve())
    await serve_before_requests(world, ranked((), [lower]))
    at_lower, make_calls = AllServedBy((lower.address,)), partial(world.call, world.sessions(5))
    calls = await world.call(world.sessions(5), deadline=timing.FAR_FROM_FAILOVER)
    await world.check("A42-AGG-13", calls, at_lower)
    both = ranked([upper], [lower])
    await world.serve(both)
    why = "an update added it to the first priority"
    await world.rounds.require(AllServedBy((upper.address,)), make_calls, why=why)
    await world.serve(with_clusters(both, unhealthy(both.get_cluster(), priority=0)))
    await world.check("A42-AGG-13", await world.eventually(at_lower, make_calls), at_lower)
    await world.serve(ranked(()))
    failed = EndsWith(status="UNAVAILABLE")
    await world.check("A42-AGG-13", await world.eventually(failed, make_calls), failed)


@scenario("A42-AGG-14", needs=("cancel", "watch"))
@pytest.mark.parametrize("state", ["READY", "CONNECTING"])
async def test_only_idle_remain(world: World, state: State) -> None:
    """If an update removes the only READY or CONNECTING endpoint, the policy reports IDLE.

    The request that picked a CONNECTING endpoint was cancelled before.
    """
    order = await ring_order(world, 3, before_requests=True)
    await order.set_modes(MODES[state], Serve(), Serve())
    watched = await world.states.watch()
    if state == "READY":
        await order.make_ready(order[0])
    else:
        await world.request_and_cancel(order.request, order[0])
    await world.states.require(watched, state, why="a request picked an endpoint")
    mark = len(watched.states) - 1
    await world.serve(order.without(order[0]))
    states = await world.states.until(watched, "IDLE", since=mark)
    await world.check("A42-AGG-14", states, reports("IDLE", "IDLE"))


@scenario("A42-AGG-14", seconds=0.6)
async def test_failed_endpoints_removed(world: World) -> None:
    """Only endpoints of the current list count.

    The remaining endpoints were never tried, so the first priority is IDLE and in use again.
    """
    failed, lower = await endpoints(world, Close(), Close()), await endpoints(world, Serve())
    fresh = await endpoints(world, Serve(), Serve())
    await serve_before_requests(world, ranked(failed, lower))
    await world.require_served(world.sessions(5), deadline=timing.FAR_FROM_FAILOVER)
    await world.serve(ranked(fresh, lower))
    proactive = await world.attempts.quiet(
        *fresh, why="a policy in TRANSIENT_FAILURE would connect them"
    )
    await world.check("A42-AGG-14", proactive, NoAttempts())
    mended = AllServedBy(tuple(endpoint.address for endpoint in fresh))
    calls = await world.eventually(mended, lambda: world.call(world.sessions(5)))
    await world.check("A42-AGG-14", calls, mended)
