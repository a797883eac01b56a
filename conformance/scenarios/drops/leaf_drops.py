"""A37, xds_cluster_impl: drop_overloads of the endpoints resources of leaves."""

from functools import partial

from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.judging.expectations import AllServedBy, EndsWith, NoAttempts
from conformance.scenarios.helpers.aggregates import aggregate_config, leaf
from conformance.scenarios.helpers.circuit_breaking import (
    NEARLY_ALL,
    below,
    dropping,
    limited,
    lose,
    require_failures,
)
from conformance.scenarios.helpers.routing import calls_to
from conformance.world import World
from conformance.xds_config.broken import unhealthy
from conformance.xds_config.clusters import Drop

ALL, NOTHING = Drop("a", 100, "HUNDRED"), Drop("a", 0, "HUNDRED")


DROPPED = EndsWith("UNAVAILABLE")


NOT_QUITE_ALL = tuple(Drop(category, 99, "HUNDRED") for category in "abcd")
"""Drops of all but one in a hundred million requests, by four categories of 99 percent."""


@scenario("A37-DROP-01", "A37-DROP-02", "A37-DROP-03")
async def test_leaf_in_use(world: World) -> None:
    """Below an aggregate, the client drops requests by the endpoints resource of the leaf in use.

    In one tree the first leaf drops everything, in the other tree the second leaf.
    """
    members = await world.endpoints(4)
    b, c, d, e = [limited(name, [member]) for name, member in zip("bcde", members, strict=True)]
    roots = (below("m", "b", "c"), below("n", "d", "e"))
    first, last = dropping(b, ALL), dropping(e, ALL)
    await world.serve(aggregate_config(("m", "n"), (*roots, first, c, d, last)))
    await world.check("A37-DROP-01", await calls_to(world, "m", 10), DROPPED)
    await world.check("A37-DROP-02", await calls_to(world, "n", 10), AllServedBy(d.addresses()))
    await world.attempts.require_count(members[0], why="its leaf is in use")
    await require_failures(world, "m", why="the first leaf drops everything")
    quiet = await world.attempts.quiet(members[1], why="requests to the leaf before it failed")
    await world.check("A37-DROP-03", quiet, NoAttempts())
    left = unhealthy(dropping(b, Drop("a", NEARLY_ALL)))
    after = aggregate_config(("m", "n"), (*roots, left, c, unhealthy(d), last))
    await lose(world, after, members[0], members[2])
    expected = AllServedBy(c.addresses())
    calls = await world.eventually(expected, partial(calls_to, world, "m", 10))
    await world.check("A37-DROP-01", calls, expected)
    world.checks.turn_to("A37-DROP-02")
    why = "the leaf before it has no usable endpoint"
    await world.attempts.require_count(members[3], why=why)
    calls = await world.rounds.eventually_stable(DROPPED, partial(calls_to, world, "n", 10))
    await world.check("A37-DROP-02", calls, DROPPED)


@scenario("A37-DROP-04")
async def test_every_priority(world: World) -> None:
    """The client applies the drops of a leaf at each of its priorities.

    A client that drops everything needs no failover. So first the leaf drops everything, and then
    almost everything, while its first priority has no usable endpoint.
    """
    (high, low) = await world.endpoints(2)
    both = replace(limited("b", []), discovery=leaf("b", [high], [low]).discovery)
    everything = dropping(both, ALL)
    await world.serve(aggregate_config(("m",), (below("m", "b"), everything)))
    await world.check("A37-DROP-04", await calls_to(world, "m", 10), DROPPED)
    await world.attempts.require_count(high, why="its priority is the first")
    await world.check("A37-DROP-04", await calls_to(world, "m", 10), DROPPED)
    nearly = unhealthy(dropping(both, *NOT_QUITE_ALL), priority=0)
    await world.serve(aggregate_config(("m",), (below("m", "b"), nearly)))
    await world.attempts.require_count(low, why="the priority before it has no usable endpoint")
    calls = await world.eventually(DROPPED, partial(calls_to, world, "m", 10))
    await world.check("A37-DROP-04", calls, DROPPED)


@scenario("A37-DROP-05")
async def test_shared_by_routes(world: World) -> None:
    """The client applies the drops of a cluster, whether a route or an aggregate leads to it.

    The first leaf of the aggregate has no usable endpoint.
    """
    first, last = await world.endpoints(2)
    cluster = limited("q", [last])
    above, choices = (below("a", "p", "q"), unhealthy(limited("p", [first]))), ("a", "q")
    await world.serve(aggregate_config(choices, (*above, dropping(cluster, ALL))))
    for way in choices:
        await world.check("A37-DROP-05", await calls_to(world, way, 10), DROPPED)
    await world.serve(aggregate_config(choices, (*above, dropping(cluster, NOTHING))))
    for way in choices:
        expected = AllServedBy(cluster.addresses())
        calls = await world.eventually(expected, partial(calls_to, world, way, 10))
        await world.check("A37-DROP-05", calls, expected)
