"""A37, Priority Policy Reresolution Handling: when a client resolves LOGICAL_DNS names again."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from conformance import timing
from conformance.judging.aborts import Unsupported
from conformance.judging.declaration import scenario
from conformance.judging.expectations import AllServedBy, Expectation, Resolves, fits
from conformance.judging.observations import Calls, Lookups
from conformance.scenarios.helpers.aggregates import (
    FAILS,
    Deployment,
    aggregate_config,
    deploy,
    in_use,
    leaf,
)
from conformance.scenarios.helpers.dns import (
    by_host_name,
    dns_records,
    host,
    with_host_names,
    with_long_ttl,
)
from conformance.scenarios.helpers.localities import fail
from conformance.scenarios.helpers.routing import calls_to
from conformance.world import World
from conformance.xds_config.clusters import Aggregate, Cluster
from conformance.xds_config.trees import at_the_first
from test_servers import Answer, Close, NameRecords, NoSuchName, Refuse, ServerFailure


@scenario("A37-DNS-11", seconds=34, resolutions=True)
async def test_failing_eds(world: World) -> None:
    """The client does not resolve a LOGICAL_DNS leaf again because an EDS leaf fails.

    The endpoint of the EDS leaf z keeps failing; the LOGICAL_DNS leaf c comes after z. The answer
    for c has a long TTL, so that its age is no reason to resolve the name again.
    """
    planted = with_host_names(await deploy(world, {"m": "z c"}, modes={"z": [Close()]}), "c")
    await world.names.begin(with_long_ttl(dns_records(planted, "c")))
    behind = at_the_first(planted.served, "m", planted.of("z"))
    calls = partial(calls_to, world, "m")
    await world.serve(planted.served)
    await world.rounds.require(behind, calls, why="the name of the second leaf resolves")
    why = "the endpoint of an EDS leaf keeps failing"
    seen = await world.names.quiet(why=why, seconds=world.resolutions.apart)
    await world.check("A37-DNS-11", seen, Resolves(()))
    await world.check("A37-DNS-11", await calls(), behind)


# The last answer of the name server for the name of each leaf.
LATER: Final[Mapping[str, Answer]] = {"b": ServerFailure(), "d": NoSuchName()}


@scenario("A37-DNS-09", "A37-DNS-10", "A37-DNS-29", "A74-CONFIG-07", seconds=40, resolutions=True)
async def test_lost_connection(world: World) -> None:
    """If connections of a LOGICAL_DNS cluster are lost, the client resolves its name again.

    First the client loses the connection of a, whose name has a new address. Then it loses those of
    b and d, whose names no longer resolve, although their endpoints keep serving.
    """
    planted = with_host_names(await deploy(world, direct=("b", "c", "d")), "b", "c", "d")
    before, after = await world.registry.of_one_port("127.0.0.2", "127.0.0.3")
    names = {**dns_records(planted, "b", "c", "d"), host("a"): NameRecords((before.host,))}
    await world.names.begin(names)
    a = leaf("a", discovery=by_host_name("a", before))
    roots = ("a", "b", "c", "d")
    await in_use(world, aggregate_config(roots, (*planted.served.clusters, a)), *roots)
    await until_names_may_be_resolved(world)
    beyond = set_records(world, {"a": NameRecords((after.host,)), **LATER})
    await fail(before)
    moved = AllServedBy((after.address,))
    calls = await world.eventually(moved, partial(calls_to, world, "a"), within=timing.ATTEMPT)
    await world.check("A37-DNS-10", calls, moved)
    all_again = Resolves(tuple(names))
    seen = await queries_after_loss(world, planted, all_again, beyond=beyond)
    await world.check("A74-CONFIG-07", seen, all_again)
    kept, answered = AllServedBy(planted.of("b")), AllServedBy(planted.of("d"))
    choices: Mapping[str, Expectation] = {"A37": kept, "A74": FAILS, "envoy": kept}
    await world.check("A37-DNS-09", await asked_again(world, "b", kept, beyond=beyond), choices)
    calls = await asked_again(world, "d", answered, beyond=beyond)
    await world.check("A37-DNS-29", calls, {"served": answered, "not served": FAILS})


async def until_names_may_be_resolved(world: World) -> None:
    """Wait for the least time between two resolutions of a name."""
    await world.names.quiet(why="clients limit queries", seconds=world.resolutions.apart)


def set_records(world: World, answers: Mapping[str, Answer]) -> int:
    """Set the name server's answers for leaves; return the number of queries before."""
    beyond = world.names.mark
    for name, answer in answers.items():
        world.names.set(host(name), answer)
    return beyond


async def queries_after_loss(
    world: World, planted: Deployment, expected: Resolves, *, beyond: int
) -> Lookups:
    """Drop the connections of b and d; return the queries since `beyond` once they fit."""
    seen = await world.names.asked_until(expected, beyond=beyond, within=timing.EVENT)
    if not fits(expected, seen):  # A cache may have answered, which the name server does not see.
        await until_names_may_be_resolved(world)
    for name in LATER:
        await planted.members[name][0].kill()
    return await world.names.asked_until(expected, beyond=beyond, within=timing.EVENT)


async def asked_again(world: World, name: str, kept: Expectation, *, beyond: int) -> Calls:
    """Return calls to a leaf after the client resolved its name again, once they stay as expected.

    Raises:
        Unsupported: the client does not resolve the name again.
    """
    if not await world.names.asked_again(host(name), beyond=beyond, within=timing.ATTEMPT):
        raise Unsupported("it does not resolve the name again, so no answer can fail")
    return await world.rounds.eventually_stable(kept, partial(calls_to, world, name))


@scenario("A37-DNS-10", seconds=45, resolutions=True)
async def test_refused_connection(world: World) -> None:
    """If connections of a LOGICAL_DNS cluster are refused, the client resolves its name again.

    The first address refuses every connection; then the name gets a new address. So it is with the
    name of an aggregate's leaf. A client may resolve again after the least time between two
    queries, or at the next attempt after that. It may connect to the new address at once, or after
    the backoff of that attempt.
    """
    before, after = await world.registry.of_one_port("127.0.0.2", "127.0.0.3")
    await before.set_mode(Refuse())
    await world.names.begin({host(name): NameRecords((before.host,)) for name in "ab"})
    leaves = [leaf(name, discovery=by_host_name(name, before)) for name in "ab"]
    above = Cluster(name="above", discovery=Aggregate(("b",)))
    await world.serve(aggregate_config(("a", "above"), (*leaves, above)))
    calls = {name: partial(calls_to, world, root) for name, root in (("a", "a"), ("b", "above"))}
    why = "the address of its name refuses connections"
    for make_calls in calls.values():
        await world.rounds.require(FAILS, make_calls, why=why)
    beyond = set_records(world, dict.fromkeys(calls, NameRecords((after.host,))))
    moved, backoff = AllServedBy((after.address,)), world.resolutions.retried
    within = world.resolutions.apart + backoff
    for name, make_calls in calls.items():
        await world.names.asked_again(host(name), beyond=beyond, within=within)
        seen = await world.eventually(moved, make_calls, within=backoff + timing.ATTEMPT)
        await world.check("A37-DNS-10", seen, moved)
