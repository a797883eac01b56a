"""A42, Aggregated Connectivity State, and A61: what ring_hash connects without being picked."""

import itertools

from conformance import timing
from conformance.declare import decides
from conformance.expectations import Apart, AtMost, Different, InOrder, OnlyAt, Tried
from conformance.priorities import endpoints, ranked
from conformance.walk import LARGE, Walk, walk
from conformance.world import World
from test_servers import Close, Hold, Mode, Serve, Stall

CANCEL = ("cancel",)

MANY = 100
"""Lists of five endpoints, of which nearly each will do: seldom do two of four orders agree."""


async def failed_unasked(world: World, *others: Mode) -> Walk:
    """The first endpoint failed after its request had ended, so nothing picks any other."""
    met = await walk(world, 1 + len(others))
    await met.set_modes(Hold(), *others)
    await world.request_and_cancel(met.request, met[0])
    await met[0].set_mode(Close())
    return met


@decides("A42-PRO-01")
async def test_one_ready(world: World) -> None:
    met = await walk(world, 4)
    await met.make_ready(met[0])
    await world.quiet_from_now(why="one endpoint is READY and no request comes")
    await world.judge("A42-PRO-01", world.attempts(), Tried(least={met[0].address: 1}))


@decides("A42-PRO-03", "A42-PRO-09", needs=CANCEL)
async def test_first_failed(world: World) -> None:
    await failed_unasked(world, Stall(), Stall())
    another = Tried(total=2, others=True)
    attempts = await world.attempts_until(another)
    await world.judge("A42-PRO-03", attempts, Different(2))
    await world.judge("A42-PRO-09", attempts, Different(2))


@decides("A42-PRO-02", "A42-PRO-04", "A42-PRO-06", needs=CANCEL, seconds=1.3, waits=True)
async def test_all_failed(world: World) -> None:
    """Two failures make TRANSIENT_FAILURE, from which on it goes on nevertheless."""
    met = await failed_unasked(world, *[Close()] * 3)
    each = Tried(least={one.address: 1 for one in met})
    await world.attempts_until(each)
    attempts = world.attempts()
    await world.judge("A42-PRO-02", attempts, {"A42": Tried(total=3, others=True), "A61": each})
    await world.judge("A42-PRO-04", attempts, Different(2))
    since = world.now
    await met[3].set_mode(Serve())
    await world.attempts_until(Tried(least={met[3].address: 1}), met[3], since=since)
    repaired = OnlyAt((met[3].address,))
    calls = await world.until(repaired, lambda: world.call(world.sessions(5)))
    await world.judge("A42-PRO-06", attempts, each)
    await world.judge("A42-PRO-06", calls, repaired)


def orders(met: Walk) -> dict[str, InOrder]:
    """The known orders in which the others may come when the first one listed has failed."""
    first, *others = met.served.addresses()
    around = [*met.around()]
    place = around.index(first)
    onward = around[place + 1 :] + around[:place]
    around.remove(first)
    ways = {
        "of the list": others,
        "of the addresses": sorted(others),
        "of the ring, from its beginning": around,
        "of the ring, on from the failed one": onward,
    }
    return {name: InOrder((first, *way)) for name, way in ways.items()}


@decides("A42-PRO-05", needs=CANCEL)
async def test_order(world: World) -> None:
    """Five of seven endpoints, listed so that the known orders are all different."""
    key_format = await world.ring_key_format()
    fives = itertools.permutations(await world.endpoints(7), 5)
    walks = (
        Walk(world, five, ranked(five).balanced_by(LARGE), key_format)
        for five in world.rng.sample([*fives], MANY)
    )
    met = next(one for one in walks if len({*orders(one).values()}) == len(orders(one)))
    await world.serve(met.served)
    await met.set_modes(Hold(), *[Close()] * 4)
    await world.request_and_cancel(met.request, met[0])
    await met[0].set_mode(Close())
    each = Tried(least={one.address: 1 for one in met})
    attempts = await world.attempts_until(each)
    await world.judge("A42-PRO-05", attempts, orders(met))


@decides("A42-PRO-07", needs=CANCEL, seconds=4, waits=True)
async def test_end_at_ready(world: World) -> None:
    met = await failed_unasked(world, *[Hold()] * 4)
    await world.attempts_until(Tried(total=2, others=True))
    for one in met:
        if one is not met[0]:
            await one.set_mode(Serve())
    await world.call([met.request])
    await world.quiet_from_now(why="attempts that were on their way have come")
    never = [one for one in met if not one.attempts]
    why = "the failed endpoint goes on, and those never tried need not"
    quiet = await world.quiet_from_now(*never, why=why, seconds=timing.A_FEW_BACKOFFS)
    await world.judge("A42-PRO-07", quiet, Tried())


@decides("A42-PRO-08", seconds=3, waits=True)
async def test_backoff(world: World) -> None:
    """Requests come all the time, and do not shorten it."""
    met = await walk(world, 2)
    await met.set_modes(Close(), Close())
    often = Tried(least={met[0].address: 3}, others=True)
    attempts = await world.attempts_until(often, meanwhile=[met.request])
    kept = Apart(seconds=timing.SHORTEST_BACKOFF, allowance=timing.SEEN_LATE)
    await world.judge("A42-PRO-08", attempts, kept)


@decides("A42-PRO-10")
async def test_ready_one_lost(world: World) -> None:
    met = await walk(world, 4)
    await met.arrange("TRANSIENT_FAILURE", "TRANSIENT_FAILURE", "READY", "IDLE")
    await met[2].set_mode(Close())
    since = world.now
    await met[2].kill()
    again = Tried(total=1, others=True)
    attempts = await world.attempts_until(again, met[2], met[3], since=since)
    await world.judge("A42-PRO-10", attempts, {"A42": again, "A61-2023": Tried(), "A61": again})


@decides("A42-PRO-11")
async def test_ready_one_removed(world: World) -> None:
    met = await walk(world, 4)
    await met.arrange("TRANSIENT_FAILURE", "TRANSIENT_FAILURE", "READY", "IDLE")
    await world.serve(met.without(met[2]))
    tried = Tried(least={met[3].address: 1})
    attempts = await world.attempts_until(tried, met[3])
    await world.judge("A42-PRO-11", attempts, {"A42": tried, "A61-2023": Tried(), "A61": tried})


@decides("A42-PRO-12", "A61-PRO-01", needs=CANCEL, seconds=1.2, waits=True)
async def test_number_at_once(world: World) -> None:
    met = await failed_unasked(world, *[Stall()] * 4)
    await world.attempts_until(Tried(total=2, others=True))
    stalled = [one for one in met if one is not met[0]]
    await world.quiet_from_now(
        *stalled, why="one of them is CONNECTING", seconds=timing.SEVERAL_MOMENTS
    )
    attempts = world.attempts(*stalled)
    await world.judge("A61-PRO-01", attempts, AtMost(1))
    await world.judge(
        "A42-PRO-12", attempts, {"one": AtMost(1), "several": Tried(total=2, others=True)}
    )


@decides("A61-PRO-02", needs=CANCEL, seconds=2.2, waits=True)
async def test_failed_ones_go_on(world: World) -> None:
    met = await failed_unasked(world, Close(), Close(), Close())
    twice = Tried(least={one.address: 2 for one in met})
    await world.judge("A61-PRO-02", await world.attempts_until(twice), twice)


@decides("A61-PRO-03", needs=CANCEL)
async def test_endpoint_added(world: World) -> None:
    failed, added = await endpoints(world, Close(), Stall())
    await world.serve(ranked([failed]))
    (session,) = world.sessions(1)
    await world.request_and_cancel(session, failed)
    await world.serve(ranked([failed, added]))
    tried = Tried(least={added.address: 1})
    attempts = await world.attempts_until(tried, added)
    await world.judge("A61-PRO-03", attempts, tried)
