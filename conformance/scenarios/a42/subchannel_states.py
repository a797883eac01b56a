"""A42, Subchannel State Handling: the states of an endpoint, as ring_hash sees them."""

from collections.abc import Sequence

from conformance import timing
from conformance.declare import decides
from conformance.expectations import EndsIn, NeverIn, OnlyAt, Outcome, Tried, Untouched
from conformance.priorities import endpoints, ranked
from conformance.serving import Endpoint, Locality
from conformance.walk import walk
from conformance.world import World
from test_servers import Close, Hold, Serve
from test_servers import Endpoint as Member

WAITS = Outcome(status="DEADLINE_EXCEEDED")


@decides("A42-SUB-01")
async def test_nobody_asks(world: World) -> None:
    members = await endpoints(world, *[Serve()] * 4)
    await world.serve_unasked(ranked(members))
    quiet = await world.quiet(*members, why="the client has its endpoints")
    await world.judge("A42-SUB-01", quiet, Untouched())


@decides("A42-SUB-02", "A42-SUB-03")
async def test_one_hash(world: World) -> None:
    met = await walk(world, 4)
    await world.call([met.request] * 50)
    await world.quiet_from_now(why="many requests with one hash")
    first = {met[0].address: 1}
    await world.judge("A42-SUB-02", world.attempts(), Tried(least=first, others=True))
    await world.judge("A42-SUB-03", world.attempts(), Tried(least=first))


@decides("A42-SUB-04", "A42-SUB-05", needs=("watch",), seconds=1)
async def test_held_and_released(world: World) -> None:
    (only,) = await endpoints(world, Hold())
    await world.serve_unasked(ranked([only]))
    watched = await world.watch()
    held = await world.call(world.sessions(5), deadline=timing.HELD)
    await world.reached(watched, "CONNECTING")
    await world.judge("A42-SUB-04", held, WAITS)
    await world.judge("A42-SUB-04", world.states(watched), EndsIn(("CONNECTING",)))
    waiting = await world.start(world.sessions(5))
    await only.set_mode(Serve())
    await world.judge("A42-SUB-05", await waiting.over(), OnlyAt((only.address,)))
    await world.reached(watched, "READY")
    await world.judge("A42-SUB-05", world.states(watched), EndsIn(("READY",)))


@decides("A42-SUB-06", needs=("watch",))
async def test_failed(world: World) -> None:
    (only,) = await endpoints(world, Close())
    await world.serve(ranked([only]))
    watched = await world.watch()
    failed = Outcome(status="UNAVAILABLE")
    calls = await world.until(failed, lambda: world.call(world.sessions(5)))
    await world.judge("A42-SUB-06", calls, failed)
    await world.reached(watched, "TRANSIENT_FAILURE")
    await world.judge("A42-SUB-06", world.states(watched), EndsIn(("TRANSIENT_FAILURE",)))


@decides("A42-SUB-07", seconds=4, waits=True)
async def test_who_retries(world: World) -> None:
    """Another endpoint is READY. The request that found it failed asks for one more attempt."""
    met = await walk(world, 2)
    await met.arrange("TRANSIENT_FAILURE", "READY")
    why = "no request comes for it, and several backoffs are over"
    again = await world.quiet_from_now(met[0], why=why, seconds=timing.ATTEMPT, count=2)
    failed = met[0].address
    by_itself = {"A42": Tried(most={failed: 1}), "A61": Tried(least={failed: 2})}
    await world.judge("A42-SUB-07", again, by_itself)


@decides("A42-SUB-08", seconds=1.2, waits=True)
async def test_second_attempt_held(world: World) -> None:
    """Requests keep picking it meanwhile, so that it is tried again whoever retries."""
    met = await walk(world, 2)
    await met.arrange("TRANSIENT_FAILURE", "READY")
    await met[0].set_mode(Hold())
    tried = len(met[0].attempts)
    await world.start([met.request] * 30, pace=timing.PACE)
    await world.attempted(met[0], tried + 1, why="its backoff is over")
    calls = await world.call([met.request] * 5, deadline=timing.FAR_FROM_FAILOVER)
    await world.judge("A42-SUB-08", calls, OnlyAt((met[1].address,)))


@decides("A42-SUB-09", needs=("watch",), seconds=2.5, waits=True)
async def test_both_tried_again(world: World) -> None:
    met = await walk(world, 2)
    await met.set_modes(Close(), Close())
    watched = await world.watch()
    failed = Outcome(status="UNAVAILABLE")
    await world.until(failed, lambda: world.call([met.request] * 2))
    await world.reached(watched, "TRANSIENT_FAILURE")
    told = len(watched.states) - 1
    tried = [len(one.attempts) for one in met]
    await met.set_modes(Hold(), Hold())
    await world.start([met.request] * 50, pace=timing.PACE)
    for one, count in zip(met, tried, strict=True):
        await world.attempted(one, count + 1, why="its backoff is over")
    await world.quiet_from_now(why="both attempts are held")
    states = world.states(watched, since=told)
    await world.judge("A42-SUB-09", states, NeverIn(("IDLE", "CONNECTING", "READY")))


@decides("A42-SUB-10", seconds=1.2, waits=True)
async def test_repaired(world: World) -> None:
    met = await walk(world, 2)
    await met.arrange("TRANSIENT_FAILURE", "READY")
    await met[0].set_mode(Serve())
    tried = len(met[0].attempts)
    await world.start([met.request] * 30, pace=timing.PACE)
    await world.attempted(met[0], tried + 1, why="its backoff is over")
    home = OnlyAt((met[0].address,))
    calls = await world.until(home, lambda: world.call([met.request] * 5))
    await world.judge("A42-SUB-10", calls, home)


@decides("A42-SUB-11", "A42-SUB-12", "A42-SUB-13", needs=("watch",), seconds=0.7)
async def test_connection_lost(world: World) -> None:
    (only,) = await endpoints(world, Serve())
    await world.serve(ranked([only]))
    await world.call(world.sessions(1))
    watched = await world.watch()
    await world.reached(watched, "READY")
    told = len(watched.states)
    since = world.now
    await only.kill()
    await world.reached(watched, "IDLE", since=told)
    await world.judge("A42-SUB-12", world.states(watched), EndsIn(("IDLE",)))
    await world.quiet_from_now(only, why="its connection was lost")
    await world.judge("A42-SUB-13", world.attempts(only, since=since), Tried())
    await world.judge("A42-SUB-11", await world.call(world.sessions(5)), OnlyAt((only.address,)))
    again = world.attempts(only, since=since)
    await world.judge("A42-SUB-11", again, Tried(least={only.address: 1}))


@decides("A42-SUB-14", seconds=0.5)
async def test_endpoint_added(world: World) -> None:
    met = await walk(world, 3)
    for one in met:
        await met.make_ready(one)
    added = await world.endpoints(1)
    since = world.now
    await world.serve(met.served.placed(locality_of([*met, *added])))
    headers = world.sessions(50)
    reached = OnlyAt(tuple(one.address for one in (*met, *added)))
    await world.until(reached, lambda: world.call(headers))
    await world.judge(
        "A42-SUB-14",
        world.attempts(*met, since=since),
        {"old connections": Tried(), "new ones": Tried(least={one.address: 1 for one in met})},
    )


def locality_of(members: Sequence[Member]) -> Locality:
    """One locality of equal endpoints."""
    return Locality(tuple(Endpoint(one.address) for one in members))
