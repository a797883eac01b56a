"""A37, Priority Policy Reresolution Handling: when names of LOGICAL_DNS are resolved again."""

from functools import partial

from conformance import timing
from conformance.arranging.forests import calls_to, forest, in_use, leaf, plant
from conformance.arranging.host_names import by_name, host, known, named
from conformance.arranging.priorities import fail
from conformance.judging.claims import decides
from conformance.judging.endings import ClientUnable
from conformance.judging.expectations import LooksUp, OnlyAt, fits
from conformance.served.trees import at_the_first
from conformance.world import World
from test_servers import Close, Found, ServerFailure


@decides("A37-DNS-11", seconds=34, resolutions=True)
async def test_failing_eds(world: World) -> None:
    """The leaf c stands behind one of EDS, whose endpoint fails all the while."""
    planted = named(await plant(world, {"m": "z c"}, modes={"z": [Close()]}), "c")
    await world.names.begin(known(planted, "c"))
    behind = at_the_first(planted.served, "m", planted.of("z"))
    calls = partial(calls_to, world, "m")
    await world.serve(planted.served)
    await world.rounds.demand(behind, calls, why="its name can be resolved")
    why = "the endpoint of a leaf of EDS fails again and again"
    seen = await world.names.quiet(why=why, seconds=world.resolutions.apart)
    await world.judge("A37-DNS-11", seen, LooksUp(()))
    await world.judge("A37-DNS-11", await calls(), behind)


@decides("A37-DNS-09", "A37-DNS-10", "A74-CONFIG-07", seconds=40, resolutions=True)
async def test_lost_connection(world: World) -> None:
    """First a is lost, and its name has moved; then b, for whose name the server fails by then.

    The endpoint of b serves all the while. Either has the client ask for all names.
    """
    planted = named(await plant(world, direct=("b", "c")), "b", "c")
    before, after = await world.members.of_one_port("127.0.0.2", "127.0.0.3")
    names = {**known(planted, "b", "c"), host("a"): Found((before.host,))}
    await world.names.begin(names)
    a = leaf("a", discovery=by_name("a", before))
    roots = ("a", "b", "c")
    await in_use(world, forest(roots, (*planted.served.clusters, a)), *roots)
    await world.names.quiet(why="the least time has to pass", seconds=world.resolutions.apart)
    beyond = world.names.mark
    world.names.set(host("a"), Found((after.host,)))
    world.names.set(host("b"), ServerFailure())
    await fail(before)
    moved = OnlyAt((after.address,))
    calls = await world.until(moved, partial(calls_to, world, "a"), within=timing.ATTEMPT)
    await world.judge("A37-DNS-10", calls, moved)
    again = LooksUp(tuple(names))
    seen = await world.names.asked_until(again, beyond=beyond, within=timing.EVENT)
    if not fits(again, seen):  # the last that one was resolved by may be a cache, which none sees
        await world.names.quiet(why="the least time has to pass", seconds=world.resolutions.apart)
    (b,) = planted.members["b"]
    await b.kill()
    seen = await world.names.asked_until(again, beyond=beyond, within=timing.EVENT)
    await world.judge("A74-CONFIG-07", seen, again)
    if not await world.names.asked_again(host("b"), beyond=beyond, within=timing.ATTEMPT):
        raise ClientUnable("it asks for no name again, so no answer to that can fail")
    kept = OnlyAt((b.address,))
    calls = await world.rounds.until_it_lasts(kept, partial(calls_to, world, "b"))
    await world.judge("A37-DNS-09", calls, kept)
