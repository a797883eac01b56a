"""A42, Aggregated Connectivity State: the six rules, by failover and by the channel's state."""

from itertools import dropwhile

from conformance import timing
from conformance.declare import decides
from conformance.expectations import EndsIn, NeverIn, OnlyAt, Outcome, Untouched
from conformance.oracles.aggregated_state import aggregated_state
from conformance.oracles.picker import State
from conformance.priorities import endpoints, ranked, tier
from conformance.seen import States
from conformance.serving import Endpoint, Locality, RingHash, Served
from conformance.walk import walk
from conformance.world import World
from test_servers import Close, Hold, Serve, Stall

WAITS = Outcome(status="DEADLINE_EXCEEDED")


def reports(*endpoints: State) -> EndsIn:
    """That the channel comes to what these states of its endpoints make."""
    return EndsIn((aggregated_state(endpoints),))


def once_not_idle(seen: States) -> States:
    """What followed IDLE: an IDLE at first may be told late, or twice."""
    return States(tuple(dropwhile(lambda one: one.state == "IDLE", seen.states)))


@decides("A42-AGG-01", needs=("watch",))
async def test_one_ready(world: World) -> None:
    met = await walk(world, 3)
    watched = await world.watch()
    await met.arrange("READY", "IDLE", "IDLE")
    await world.reached(watched, "READY")
    await world.judge("A42-AGG-01", world.states(watched), reports("READY", "IDLE", "IDLE"))


@decides("A42-AGG-02")
async def test_two_failed_of_four(world: World) -> None:
    lower = await endpoints(world, Serve())
    met = await walk(world, 4, tier(1, lower))
    await met.set_modes(Close(), Close(), Stall(), Stall())
    calls = await world.call([met.request], deadline=timing.FAR_FROM_FAILOVER)
    await world.judge("A42-AGG-02", calls, OnlyAt((lower[0].address,)))


@decides("A42-AGG-03", "A42-AGG-09", needs=("watch",))
async def test_one_connecting(world: World) -> None:
    """The others are IDLE, which does not hide it."""
    met = await walk(world, 3)
    await met[0].set_mode(Stall())
    watched = await world.watch()
    await met.make_connecting(met[0])
    await world.reached(watched, "CONNECTING")
    await world.quiet_from_now(why="the attempt is held")
    states = world.states(watched)
    await world.judge("A42-AGG-03", states, reports("CONNECTING", "IDLE", "IDLE"))
    await world.judge("A42-AGG-09", states, reports("CONNECTING", "IDLE", "IDLE"))


@decides("A42-AGG-04", needs=("watch",), seconds=1.2, waits=True)
async def test_one_failed_of_three(world: World) -> None:
    lower = await endpoints(world, Serve())
    met = await walk(world, 3, tier(1, lower), unasked=True)
    await met.set_modes(Close(), Stall(), Stall())
    watched = await world.watch()
    await world.reached(watched, "IDLE")
    told = len(watched.states)
    waiting = await world.start([met.request], deadline=timing.SEVERAL_MOMENTS)
    await world.attempted(met[0], why="a request picked it")
    await world.judge("A42-AGG-04", await waiting.over(), WAITS)
    await world.reached(watched, "CONNECTING", since=told)
    states = once_not_idle(world.states(watched, since=told))
    await world.judge("A42-AGG-04", states, NeverIn(("IDLE", "TRANSIENT_FAILURE")))


@decides("A42-AGG-05", needs=("watch",))
async def test_connection_lost_beside_idle_ones(world: World) -> None:
    met = await walk(world, 3)
    watched = await world.watch()
    await met.make_ready(met[0])
    await world.reached(watched, "READY")
    told = len(watched.states)
    await met[0].kill()
    await world.reached(watched, "IDLE", since=told)
    await world.judge("A42-AGG-05", world.states(watched), reports("IDLE", "IDLE", "IDLE"))


@decides("A42-AGG-06")
async def test_only_endpoint_failed(world: World) -> None:
    only, lower = await endpoints(world, Close()), await endpoints(world, Serve())
    await world.serve_unasked(ranked(only, lower))
    calls = await world.call(world.sessions(1), deadline=timing.FAR_FROM_FAILOVER)
    await world.judge("A42-AGG-06", calls, OnlyAt((lower[0].address,)))


@decides("A42-AGG-07")
async def test_one_ready_beside_two_failed(world: World) -> None:
    lower = await endpoints(world, Serve())
    met = await walk(world, 3, tier(1, lower))
    await met.arrange("TRANSIENT_FAILURE", "TRANSIENT_FAILURE", "READY")
    calls = await world.call(world.sessions(20))
    await world.judge("A42-AGG-07", calls, OnlyAt((met[2].address,)))


@decides("A42-AGG-08")
async def test_two_failed_beside_one_connecting(world: World) -> None:
    lower = await endpoints(world, Serve())
    met = await walk(world, 3, tier(1, lower), unasked=True)
    await met.set_modes(Close(), Close(), Stall())
    await met.make_connecting(met[2])
    calls = await world.call([met.request], deadline=timing.FAR_FROM_FAILOVER)
    await world.judge("A42-AGG-08", calls, OnlyAt((lower[0].address,)))


@decides("A42-AGG-10", needs=("watch",))
async def test_no_idle_between_attempts(world: World) -> None:
    """The first attempt fails once CONNECTING has been told: what is short may not be told."""
    met = await walk(world, 2, unasked=True)
    await met.set_modes(Hold(), Hold())
    watched = await world.watch()
    await world.reached(watched, "IDLE")
    told = len(watched.states)
    waiting = await world.start([met.request])
    await world.attempted(met[0], why="a request picked it")
    await world.reached(watched, "CONNECTING", since=told)
    await met[0].set_mode(Close())
    await world.attempted(met[1], why="the endpoint before it failed")
    await met[1].set_mode(Serve())
    await waiting.over()
    await world.reached(watched, "READY", since=told)
    states = once_not_idle(world.states(watched, since=told))
    await world.judge("A42-AGG-10", states, NeverIn(("IDLE",)))


@decides("A42-AGG-11", needs=("watch",))
async def test_nothing_tried_yet(world: World) -> None:
    watched = await world.watch()
    members = await endpoints(world, Serve(), Serve())
    await world.serve_unasked(ranked(members))
    await world.reached(watched, "IDLE", since=len(watched.states) - 1)
    quiet = await world.quiet(*members, why="the channel has had its endpoints")
    await world.judge("A42-AGG-11", world.states(watched), reports("IDLE", "IDLE"))
    await world.judge("A42-AGG-11", quiet, Untouched())


@decides("A42-AGG-12", needs=("metadata",), seconds=1.2, waits=True)
async def test_many_entries_of_one_endpoint(world: World) -> None:
    """All calls at once: one after another they would wait for the failover timer."""
    heavy, light, lower = await endpoints(world, Close(), Stall(), Serve())
    uneven = Locality((Endpoint(heavy.address, 50), Endpoint(light.address, 1)))
    served = Served(localities=(uneven, tier(1, [lower])), policy=RingHash(minimum=1024))
    await world.serve_unasked(served)
    await world.start(world.sessions(10))
    await world.attempted(heavy, why="requests came")
    calls = await world.call(world.sessions(10), deadline=timing.SEVERAL_MOMENTS)
    await world.judge("A42-AGG-12", calls, WAITS)


@decides("A42-AGG-13")
async def test_no_endpoints(world: World) -> None:
    lower = await endpoints(world, Serve())
    await world.serve_unasked(ranked((), lower))
    calls = await world.call(world.sessions(5), deadline=timing.FAR_FROM_FAILOVER)
    await world.judge("A42-AGG-13", calls, OnlyAt((lower[0].address,)))
    await world.serve(ranked(()))
    failed = Outcome(status="UNAVAILABLE")
    calls = await world.until(failed, lambda: world.call(world.sessions(5)))
    await world.judge("A42-AGG-13", calls, failed)


@decides("A42-AGG-14", seconds=0.6)
async def test_failed_ones_removed(world: World) -> None:
    """What stays was never tried, so the first priority is IDLE, and used again."""
    failed, lower = await endpoints(world, Close(), Close()), await endpoints(world, Serve())
    fresh = await endpoints(world, Serve(), Serve())
    await world.serve_unasked(ranked(failed, lower))
    await world.call(world.sessions(5), deadline=timing.FAR_FROM_FAILOVER)
    await world.serve(ranked(fresh, lower))
    unasked = await world.quiet(*fresh, why="the policy would connect them, were it failed still")
    await world.judge("A42-AGG-14", unasked, Untouched())
    mended = OnlyAt(tuple(one.address for one in fresh))
    calls = await world.until(mended, lambda: world.call(world.sessions(5)))
    await world.judge("A42-AGG-14", calls, mended)
