"""A37, Priority Policy Reresolution Handling: when names of LOGICAL_DNS are resolved again."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from conformance import timing
from conformance.judging.aborts import Unsupported
from conformance.judging.declaration import scenario
from conformance.judging.expectations import AllServedBy, Expectation, Resolves, fits
from conformance.judging.observations import Calls
from conformance.scenarios.helpers.aggregates import (
    FAILS,
    aggregate_config,
    by_name,
    calls_to,
    deploy,
    host,
    in_use,
    kept_long,
    known,
    leaf,
    named,
)
from conformance.scenarios.helpers.localities import fail
from conformance.world import World
from conformance.xds_config.trees import at_the_first
from test_servers import Answer, Close, NameRecords, NoSuchName, Refuse, ServerFailure


@scenario("A37-DNS-11", seconds=34, resolutions=True)
async def test_failing_eds(world: World) -> None:
    """The leaf c stands behind one of EDS, whose endpoint fails all the while.

    What its name resolves to may be kept for long, so that its age is no reason to ask again.
    """
    planted = named(await deploy(world, {"m": "z c"}, modes={"z": [Close()]}), "c")
    await world.names.begin(kept_long(known(planted, "c")))
    behind = at_the_first(planted.served, "m", planted.of("z"))
    calls = partial(calls_to, world, "m")
    await world.serve(planted.served)
    await world.rounds.require(behind, calls, why="its name can be resolved")
    why = "the endpoint of a leaf of EDS fails again and again"
    seen = await world.names.quiet(why=why, seconds=world.resolutions.apart)
    await world.check("A37-DNS-11", seen, Resolves(()))
    await world.check("A37-DNS-11", await calls(), behind)


# What the name server says at last of the name of a leaf.
LATER: Final[Mapping[str, Answer]] = {"b": ServerFailure(), "d": NoSuchName()}


@scenario("A37-DNS-09", "A37-DNS-10", "A37-DNS-29", "A74-CONFIG-07", seconds=40, resolutions=True)
async def test_lost_connection(world: World) -> None:
    """First a is lost, and its name has moved; then b and d, of whose names none is found by then.

    The endpoints of these serve all the while. Either has the client ask for all names.
    """
    planted = named(await deploy(world, direct=("b", "c", "d")), "b", "c", "d")
    before, after = await world.registry.of_one_port("127.0.0.2", "127.0.0.3")
    names = {**known(planted, "b", "c", "d"), host("a"): NameRecords((before.host,))}
    await world.names.begin(names)
    a = leaf("a", discovery=by_name("a", before))
    roots = ("a", "b", "c", "d")
    await in_use(world, aggregate_config(roots, (*planted.served.clusters, a)), *roots)
    await world.names.quiet(why="the least time has to pass", seconds=world.resolutions.apart)
    beyond = world.names.mark
    world.names.set(host("a"), NameRecords((after.host,)))
    for name, answer in LATER.items():
        world.names.set(host(name), answer)
    await fail(before)
    moved = AllServedBy((after.address,))
    calls = await world.eventually(moved, partial(calls_to, world, "a"), within=timing.ATTEMPT)
    await world.check("A37-DNS-10", calls, moved)
    again = Resolves(tuple(names))
    seen = await world.names.asked_until(again, beyond=beyond, within=timing.EVENT)
    if not fits(again, seen):  # the last that one was resolved by may be a cache, which none sees
        await world.names.quiet(why="the least time has to pass", seconds=world.resolutions.apart)
    for name in LATER:
        await planted.members[name][0].kill()
    seen = await world.names.asked_until(again, beyond=beyond, within=timing.EVENT)
    await world.check("A74-CONFIG-07", seen, again)
    kept, answered = AllServedBy(planted.of("b")), AllServedBy(planted.of("d"))
    choices: Mapping[str, Expectation] = {"A37": kept, "A74": FAILS, "envoy": kept}
    await world.check("A37-DNS-09", await asked_again(world, "b", kept, beyond=beyond), choices)
    calls = await asked_again(world, "d", answered, beyond=beyond)
    await world.check("A37-DNS-29", calls, {"served": answered, "not served": FAILS})


async def asked_again(world: World, name: str, kept: Expectation, *, beyond: int) -> Calls:
    """Calls to a leaf after its name was asked for again, once they fit and go on so."""
    if not await world.names.asked_again(host(name), beyond=beyond, within=timing.ATTEMPT):
        raise Unsupported("it asks for no name again, so no answer to that can fail")
    return await world.rounds.eventually_stable(kept, partial(calls_to, world, name))


@scenario("A37-DNS-10", seconds=45, resolutions=True)
async def test_refused_connection(world: World) -> None:
    """Nobody has ever listened at the first address; then the name moves.

    A client may ask again when the least time has passed, or by the next attempt after that, and
    connect to what it is told at once, or after the backoff of that attempt.
    """
    before, after = await world.registry.of_one_port("127.0.0.2", "127.0.0.3")
    await before.set_mode(Refuse())
    await world.names.begin({host("a"): NameRecords((before.host,))})
    await world.serve(aggregate_config(("a",), (leaf("a", discovery=by_name("a", before)),)))
    calls = partial(calls_to, world, "a")
    await world.rounds.require(FAILS, calls, why="nobody listens at the address of its name")
    beyond = world.names.mark
    world.names.set(host("a"), NameRecords((after.host,)))
    backoff = world.resolutions.retried
    within = world.resolutions.apart + backoff
    await world.names.asked_again(host("a"), beyond=beyond, within=within)
    moved = AllServedBy((after.address,))
    seen = await world.eventually(moved, calls, within=backoff + timing.ATTEMPT)
    await world.check("A37-DNS-10", seen, moved)
