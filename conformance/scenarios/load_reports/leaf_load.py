"""A37, xds_cluster_impl: the names in load reports, and whose lrs_server enables them."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import DropsReported
from conformance.scenarios.helpers.aggregates import aggregate_config
from conformance.scenarios.helpers.circuit_breaking import (
    NEARLY_ALL,
    Streams,
    below,
    connected,
    dropping,
    end,
    failed,
    kept_open,
    limited,
    lose,
    reported_below,
    require_failures,
    until_at,
)
from conformance.scenarios.helpers.load_reports import balanced, reported
from conformance.scenarios.helpers.localities import fail, serve_again
from conformance.scenarios.helpers.routing import calls_to
from conformance.world import World
from conformance.xds_config.broken import unhealthy
from conformance.xds_config.clusters import Cluster, Drop
from conformance.xds_config.routes import CLUSTER_HEADER
from test_servers import BackendEndpoint


@scenario("A37-LOAD-01", "A37-LOAD-02", "A37-LOAD-03", seconds=3, waits=True)
async def test_leaves(world: World) -> None:
    """The client reports requests of an aggregate under the leaf that served them.

    Both leaves have a locality of the same name. Requests to the second leaf end after the first is
    in use again.
    """
    members = await world.endpoints(2)
    b, c = [
        limited(name, [member], service_name=f"endpoints-of-{name}")
        for name, member in zip("bc", members, strict=True)
    ]
    served = aggregate_config(("m",), (reported_below("m", "b", "c"), b, c))
    expected = balanced(served)
    await world.serve(served)
    await until_at(world, "m", b, why="it is the first leaf")
    await calls_to(world, "m", 30)
    await world.check("A37-LOAD-01", await reported(world, expected), expected)
    await fail_over(world, members, to=c)
    await calls_to(world, "m", 20)
    for clause in ("A37-LOAD-02", "A37-LOAD-03"):
        await world.check(clause, await reported(world, expected), expected)
    running = await kept_open(world, 5, to="m")
    await serve_again(world, members[:1])
    await until_at(world, "m", b, why="the first leaf serves again")
    await calls_to(world, "m", 20)
    await end(world)
    await running.over()
    await world.check("A37-LOAD-02", await reported(world, expected), expected)


async def fail_over(world: World, members: Sequence[BackendEndpoint], *, to: Cluster) -> None:
    """Make the first leaf fail, and wait until the second one is in use.

    The first leaf fails because its connection is lost, not because of an update: ROUND_ROBIN then
    reconnects by itself and fails before the client tries the second leaf. So no request can pick
    the lost connection and count for the wrong leaf.
    """
    first, second = members
    await fail(first)
    why = "the first leaf has failed"
    await world.attempts.require_count(second, why=why)
    await until_at(world, "m", to, why=why)


@scenario("A37-LOAD-01", seconds=1.5, waits=True)
async def test_leaf_of_a_nested_aggregate(world: World) -> None:
    """The client reports requests under the leaf, not under the nested aggregate above it."""
    world.checks.require("A37-TREE-02")
    leaf = limited("b", await world.endpoints(1), service_name="endpoints-of-b")
    nested = (reported_below("m", "n"), reported_below("n", "b"))
    served = aggregate_config(("m",), (*nested, leaf))
    await world.serve(served)
    await until_at(world, "m", leaf, why="it is the only leaf")
    await calls_to(world, "m", 30)
    expected = balanced(served)
    await world.check("A37-LOAD-01", await reported(world, expected), expected)


@scenario(seconds=1.5, waits=True)
@pytest.mark.parametrize(
    ("clause", "root", "is_reported"),
    [
        case("of-the-leaf", "A37-LOAD-04", below("m", "b"), True),
        case("of-the-aggregate", "A37-LOAD-05", reported_below("m", "b"), False),
    ],
)
async def test_lrs_server(world: World, clause: str, root: Cluster, *, is_reported: bool) -> None:
    """The lrs_server of the leaf or of the aggregate enables load reports, or not.

    The last requests go to a cluster that is reported. Its report shows that all load is in.
    """
    leaf, beside = [limited(name, await world.endpoints(1)) for name in ("b", "beside")]
    roots = ("m", "beside")
    unreported = replace(leaf, is_reported=False)
    await world.serve(aggregate_config(roots, (root, leaf if is_reported else unreported, beside)))
    await connected(world, *roots)
    await world.require_served([{CLUSTER_HEADER: "m"}] * 10)
    await world.require_served([{CLUSTER_HEADER: "beside"}] * 5)
    with_it, without = (
        aggregate_config(roots, (root, cluster, beside)) for cluster in (leaf, unreported)
    )
    choices = {"reported": balanced(with_it), "not reported": balanced(without)}
    await world.check(clause, await reported(world, *choices.values()), choices)


@scenario("A37-LOAD-06", seconds=2, waits=True)
async def test_drops(world: World) -> None:
    """The client reports drops under their category and the name of the leaf.

    The second leaf drops requests only once it is in use.
    """
    members = await world.endpoints(2)
    b, c = [limited(name, [member]) for name, member in zip("bc", members, strict=True)]
    root, first = reported_below("m", "b", "c"), dropping(b, Drop("of-b", 1_000_000))
    await world.serve(aggregate_config(("m",), (root, first, c)))
    await require_failures(world, "m", why="the first leaf drops everything")
    left = unhealthy(dropping(b, Drop("of-b", NEARLY_ALL)))
    await lose(world, aggregate_config(("m",), (root, left, c)), members[0])
    await until_at(world, "m", c, why="the first leaf has no usable endpoint")
    by_first = failed(world, "m")
    second = dropping(c, Drop("of-c", 1_000_000))
    await world.serve(aggregate_config(("m",), (root, left, second)))
    await require_failures(world, "m", why="the second leaf drops everything")
    by_second = failed(world, "m") - by_first
    expected = DropsReported(drops={"b": {"of-b": by_first}, "c": {"of-c": by_second}})
    await world.check("A37-LOAD-06", await reported(world, expected), expected)


@scenario("A37-LOAD-07", needs=("kept_open",), seconds=1.5, waits=True)
async def test_limit(world: World) -> None:
    """The client reports requests beyond the limit of a leaf as drops of that leaf."""
    b, c = [limited(name, await world.endpoints(1), 2) for name in "bc"]
    await world.serve(aggregate_config(("m",), (reported_below("m", "b", "c"), b, c)))
    await connected(world, "m")
    await Streams(world).require_open("m", 2)
    await require_failures(world, "m", why="the limit of the leaf in use is reached")
    expected = DropsReported(drops={"b": {"": failed(world, "m")}})
    await world.check("A37-LOAD-07", await reported(world, expected), expected)


@scenario("A37-LOAD-08", seconds=1.5, waits=True)
async def test_shared_by_routes(world: World) -> None:
    """The client reports a cluster once, whether a route or an aggregate leads to it."""
    cluster = limited("q", await world.endpoints(1), service_name="endpoints-of-q")
    ways = ("a", "q")
    served = aggregate_config(ways, (reported_below("a", "q"), cluster))
    await world.serve(served)
    await world.require_served([{CLUSTER_HEADER: way} for way in ways * 15])
    expected = balanced(served)
    await world.check("A37-LOAD-08", await reported(world, expected), expected)
