"""A37, xds_cluster_impl and the global atomic: circuit breaking below aggregates."""

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.judging.expectations import AllServedBy, EndsWith, NoAttempts
from conformance.scenarios.helpers.aggregates import (
    Shape,
    aggregate_config,
    aggregates,
    check_lists,
    leaf,
)
from conformance.scenarios.helpers.circuit_breaking import (
    Streams,
    below,
    connected,
    limited,
    lose,
    until_at,
    within_limit,
)
from conformance.scenarios.helpers.routing import calls_to
from conformance.spec.oracles.circuit_breaking import UNLIMITED
from conformance.world import World
from conformance.xds_config.broken import unhealthy
from conformance.xds_config.trees import with_clusters


@scenario("A37-CB-01", "A37-CB-03", needs=("kept_open",))
async def test_limit_of_each_leaf(world: World) -> None:
    """Below an aggregate, the client enforces the limit of the leaf in use.

    Requests beyond the limit fail; they do not go to the next leaf.
    """
    members = await world.endpoints(2)
    first, second = limited("b", members[:1], 2), limited("c", members[1:], 4)
    served = aggregate_config(("m",), (below("m", "b", "c"), first, second))
    await world.serve(served)
    await connected(world, "m")
    streams = Streams(world)
    await world.check("A37-CB-01", await streams.start("m", 5), within_limit(served, "b"))
    await world.check("A37-CB-03", await calls_to(world, "m"), EndsWith("UNAVAILABLE"))
    why = "requests beyond the limit of the leaf before it have failed"
    await world.check("A37-CB-03", await world.attempts.quiet(members[1], why=why), NoAttempts())
    await lose(world, with_clusters(served, unhealthy(first)), members[0])
    await until_at(world, "m", second, why="the first leaf has no endpoint that may be used")
    expected = within_limit(served, "c")
    await world.check("A37-CB-01", await streams.open_to_limit("m", expected), expected)


@scenario("A37-CB-02", needs=("kept_open",))
async def test_limit_of_aggregate(world: World) -> None:
    """The client ignores the limit of an aggregate, and enforces that of the leaf below it."""
    members = await world.endpoints(1)
    leaves = (limited("wide", members, 3), limited("tight", members, 1))
    roots = (below("strict", "wide", limit=1), below("loose", "tight", limit=3))
    served = aggregate_config(("strict", "loose"), (*roots, *leaves))
    await world.serve(served)
    await connected(world, "strict", "loose")
    streams = Streams(world)
    for root, leaf_below in (("strict", "wide"), ("loose", "tight")):
        expected = within_limit(served, leaf_below)
        await world.check("A37-CB-02", await streams.start(root, 5), expected)


@scenario("A37-CB-01", "A32-CB-08", needs=("kept_open",))
async def test_limit_turned_off(world: World) -> None:
    """The client enforces the limit of a leaf, and the maximum of a uint32 turns it off."""
    members = await world.endpoints(1)
    served = aggregate_config(("m",), (below("m", "c"), limited("c", members, 4)))
    await world.serve(served)
    await connected(world, "m")
    streams = Streams(world)
    await world.check("A37-CB-01", await streams.start("m", 5), within_limit(served, "c"))
    served = with_clusters(served, limited("c", members, UNLIMITED))
    await world.serve(served)
    expected = within_limit(served, "c", in_flight=4)
    await world.check("A32-CB-08", await streams.open_to_limit("m", expected, most=9), expected)


@scenario("A37-CB-04", "A37-TREE-15", needs=("kept_open",))
@pytest.mark.parametrize(
    ("lists", "choices"),
    [
        pytest.param({"a": "b"}, ("b", "a"), id="by-a-route-and-an-aggregate"),
        pytest.param({"a": "b c", "z": "c b"}, ("a", "z"), id="by-two-aggregates"),
    ],
)
async def test_shared_by_routes(world: World, lists: Shape, choices: tuple[str, str]) -> None:
    """The client counts requests to a leaf together, whatever route or aggregate leads to it.

    The other leaf is unhealthy, so that both roots lead to the same leaf.
    """
    members = await world.endpoints(2)
    leaves = (limited("b", members[:1], 3), unhealthy(limited("c", members[1:], 3)))
    served = aggregate_config(choices, (*aggregates(lists), *leaves))
    await world.serve(served)
    await check_lists(world, "A37-CB-04", served, *choices)
    await connected(world, *choices)
    streams = Streams(world)
    for in_flight, way in enumerate((*choices, choices[0])):
        expected = within_limit(served, "b", in_flight=in_flight)
        await world.check("A37-CB-04", await streams.start(way), expected)
    for way in choices:
        full, expected = (within_limit(served, "b", in_flight=many) for many in (3, 2))
        await world.check("A37-CB-04", await streams.start(way), full)
        await streams.end(way)
        await world.check("A37-CB-04", await streams.open_to_limit(way, expected), expected)


@scenario("A37-CB-05", needs=("kept_open", "channels"))
async def test_shared_by_channels(world: World) -> None:
    """The client counts requests to a leaf over all channels together.

    The third channel opens while requests of the first are in flight.
    """
    members = await world.endpoints(1)
    served = aggregate_config(("b", "a"), (below("a", "b"), limited("b", members, 3)))
    await world.serve(served)
    first, second = [await world.channels.open() for _ in range(2)]
    await connected(world, "a", channel=first)
    await connected(world, "b", channel=second)
    streams = Streams(world)
    await streams.require_open("a", 2, channel=first)
    third = await world.channels.open()
    await connected(world, "a", channel=third)
    expected = within_limit(served, "b", in_flight=2)
    await world.check(
        "A37-CB-05", await streams.open_to_limit("a", expected, channel=third), expected
    )
    full = within_limit(served, "b", in_flight=3)
    await world.check("A37-CB-05", await streams.start("a", channel=first), full)
    await streams.end("a")
    await world.check(
        "A37-CB-05", await streams.open_to_limit("b", expected, channel=second), expected
    )


@scenario("A37-CB-06", needs=("kept_open",))
async def test_priorities(world: World) -> None:
    """The client counts requests to all priorities of a leaf together."""
    high, low = [await world.endpoints(1) for _ in range(2)]
    both = replace(limited("b", high, 3), discovery=leaf("b", high, low).discovery)
    await world.serve(aggregate_config(("m",), (below("m", "b"), both)))
    await connected(world, "m")
    streams = Streams(world)
    await streams.require_open("m", 2)
    served = aggregate_config(("m",), (below("m", "b"), unhealthy(both, priority=0)))
    await world.serve(served)
    there, why = AllServedBy((low[0].address,)), "the priority before it has no usable endpoint"
    await world.rounds.require(there, lambda: calls_to(world, "m", 1), why=why)
    expected = within_limit(served, "b", in_flight=2)
    await world.check("A37-CB-06", await streams.open_to_limit("m", expected), expected)


@scenario("A37-CB-07", needs=("kept_open", "cancel"))
async def test_changed_tree(world: World) -> None:
    """Requests in flight to a leaf still count when the leaf moves in the tree.

    An update adds a leaf before the one in use. The next one removes that leaf, and moves the leaf
    behind one without a usable endpoint.
    """
    members = await world.endpoints(3)
    b, c, x = (limited(name, [member], 2) for name, member in zip("bcx", members, strict=True))
    leaves = (b, unhealthy(c), x)
    lists = (below("m", "b", "c"), below("m", "x", "b", "c"), below("m", "c", "b"))
    first, second, third = (aggregate_config(("m",), (each, *leaves)) for each in lists)
    await world.serve(first)
    await connected(world, "m")
    streams = Streams(world)
    await streams.require_open("m", 2)
    await world.serve(second)
    await until_at(world, "m", x, why="it is the first leaf")
    await world.serve(third)
    full, expected = (
        within_limit(third, "b", in_flight=2),
        within_limit(third, "b", in_flight=1),
    )
    await world.check("A37-CB-07", await streams.until_refused("m"), full)
    await streams.end("m")
    await world.check("A37-CB-07", await streams.open_to_limit("m", expected), expected)
