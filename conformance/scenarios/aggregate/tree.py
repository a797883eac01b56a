"""A37, CDS LB Policy Support for Aggregate and Logical DNS Clusters: the leaves of a tree."""

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AttemptCount,
    EndsInState,
    EndsWith,
    Expectation,
    Fails,
    SubscribesOnce,
)
from conformance.scenarios.helpers.aggregates import (
    STATUSES,
    Shape,
    aggregates,
    chain,
    deploy,
    leaf,
    prefixed,
)
from conformance.scenarios.helpers.load_reports import balanced, reported
from conformance.scenarios.helpers.routing import calls_to
from conformance.world import World
from conformance.xds_config.broken import with_clusters_changed, with_endpoints
from conformance.xds_config.clusters import Cluster, Eds
from conformance.xds_config.config import XdsConfig, logical_dns, with_raw_clusters
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import (
    at_the_first,
    in_tree_order,
    subscriptions_of,
    with_clusters,
)
from fake_control_plane import Kind
from test_servers import Close

ORDERS: Mapping[str, Shape] = {
    "sorted": {"m": "a b x z"},
    "backwards": {"m": "z x b a"},
    "shuffled": {"m": "x a z b"},
    "ranked": {"m": "z a"},
    "many": {"m": "j c i b h a g d f e"},
    "mixed": {"m": "z x a"},
}


BY_DNS = ("mixed-x", "dns-e")
"""Leaves of type LOGICAL_DNS."""


RANKED = {"ranked-z": (Close(), Close(), Close()), "ranked-a": (Close(), Close())}
"""Leaves with several priorities."""


NESTED: Mapping[str, Shape] = {
    "first": {"m": "n b", "n": "z a"},
    "middle": {"m": "x n a", "n": "z b"},
    "twice": {"m": "x n a", "n": "z o c", "o": "y b"},
    "two": {"m": "o n", "n": "y b", "o": "x a"},
    "alone": {"m": "n", "n": "o", "o": "z a"},
}


EXAMPLE: Mapping[str, Shape] = {
    "eds": {"a": "b c", "c": "d e"},
    "dns": {"a": "b c", "c": "d e"},
}


SEEN_TWICE: Mapping[str, Shape] = {
    "later": {"a": "b c", "c": "d b"},
    "earlier": {"a": "c b", "c": "d b"},
    "deeper": {"m": "x n b", "n": "o z", "o": "b a"},
}


LISTED_TWICE: Mapping[str, Shape] = {
    "between": {"m": "b a b c"},
    "below": {"m": "z n a", "n": "x b x a"},
}


SHARED: Mapping[str, Shape] = {
    "diamond": {"m": "o n", "n": "s b", "o": "s a", "s": "z c"},
    "repeated": {"m": "n b n a", "n": "z x"},
    "behind": {"m": "x o n", "n": "s b", "o": "a s", "s": "z c"},
}


@pytest.mark.parametrize(
    ("clause", "shapes"),
    [
        case("of-the-list", "A37-TREE-01", ORDERS),
        case("nested", "A37-TREE-02", NESTED),
        case("worked-example", "A37-TREE-03", EXAMPLE),
        case("leaf-seen-twice", "A37-TREE-04", SEEN_TWICE),
        case("leaf-listed-twice", "A37-TREE-05", LISTED_TWICE),
        case("aggregate-seen-twice", "A37-TREE-06", SHARED),
    ],
)
async def test_order(world: World, clause: str, shapes: Mapping[str, Shape]) -> None:
    """The client prefers the leaves of a tree in their order, each at its first position.

    All endpoints close their connections, so the client tries one leaf after another.
    """
    trees = [prefixed(shape, name) for name, shape in shapes.items()]
    planted = await deploy(world, *trees, modes=RANKED, usual=Close(), by_dns=BY_DNS)
    await world.serve(planted.served)
    for tree in trees:
        root = next(iter(tree))
        expected = in_tree_order(planted.served, root)
        await calls_to(world, root, 1)
        await world.check(clause, await world.attempts.until(expected), expected)


@scenario("A37-TREE-07", "A37-TREE-08", "A37-TREE-10")
async def test_subscriptions(world: World) -> None:
    """The client subscribes once to each cluster of a tree, and to the endpoints of each EDS leaf.

    Several routes and aggregates use each cluster; each EDS leaf has a service name. The leaf d is
    of type LOGICAL_DNS.
    """
    trees = [{"m": "n b", "n": "a o", "o": "c b"}, {"z": "o b d c"}]
    planted = await deploy(world, *trees, direct=("b", "c"), by_dns=("d",))
    served = with_clusters(planted.served, *(named(cluster) for cluster in planted.served.clusters))
    await world.serve(served)
    for root in ("m", "z", "b", "c"):
        await calls_to(world, root)
    kinds: tuple[tuple[str, Literal["CLUSTER", "ENDPOINTS"]], ...]
    kinds = (("A37-TREE-07", "CLUSTER"), ("A37-TREE-08", "ENDPOINTS"))
    for clause, kind in kinds:
        expected = subscriptions_of(served, kind, ever=True)
        await world.check(clause, await world.control.asked_until(expected), expected)
    await world.check("A37-TREE-10", world.control.asked(), SubscribesOnce())


def named(cluster: Cluster) -> Cluster:
    """Return the cluster with a service name if its type is EDS, or else unchanged."""
    if not isinstance(cluster.discovery, Eds):
        return cluster
    return cluster.known_as(f"endpoints-of-{cluster.name}")


@scenario("A37-TREE-09")
async def test_service_name_of_other_type(world: World) -> None:
    """The client uses an EDS service_name only if the cluster is of type EDS."""
    planted = await deploy(world, {"m": "b a"})
    variant: Any = planted.served.get_cluster("m").resource()
    variant.eds_cluster_config.eds_config.ads.SetInParent()
    variant.eds_cluster_config.service_name = "a-service"
    await world.serve(with_raw_clusters(planted.served, variant))
    calls = await calls_to(world, "m")
    await world.check("A37-TREE-09", calls, at_the_first(planted.served, "m"))
    expected = subscriptions_of(planted.served, "ENDPOINTS", ever=True)
    await world.check("A37-TREE-09", await world.control.asked_until(expected), expected)


@scenario("A37-TREE-09", seconds=1.5, waits=True)
async def test_service_name_of_logical_dns(world: World) -> None:
    """The client does not use the EDS service_name of a LOGICAL_DNS cluster.

    It reports the load of the cluster without that name, and requests no endpoints.
    """
    (address,) = await world.addresses(1)
    served = logical_dns(address, is_reported=True)
    variant: Any = served.cluster()
    variant.eds_cluster_config.eds_config.ads.SetInParent()
    variant.eds_cluster_config.service_name = "a-service"
    await world.serve(with_raw_clusters(served, variant))
    await world.require_served(world.sessions(20))
    expected = balanced(served)
    await world.check("A37-TREE-09", await reported(world, expected), expected)
    none = subscriptions_of(served, "ENDPOINTS", ever=True)
    await world.check("A37-TREE-09", world.control.asked(), none)


@scenario("A37-TREE-14")
@pytest.mark.parametrize(
    ("name", "by_dns"),
    [("a", ()), ("m0", ("m",)), ("z", ("n",))],
    ids=["before", "between", "behind"],
)
async def test_used_by_a_route_and_an_aggregate(
    world: World, name: str, by_dns: tuple[str, ...]
) -> None:
    """A cluster can be the target of a route and a leaf of an aggregate at the same time.

    The name of the aggregate sorts before, between or after those of its leaves, m and n. The
    leaves are of type EDS, or one is of type LOGICAL_DNS.
    """
    planted = await deploy(world, {name: "m n"}, direct=("m", "n"), by_dns=by_dns)
    await world.serve(planted.served)
    await check_use(world, "A37-TREE-14", planted.served, name, "m", "n")
    world.checks.require("A37-FAILOVER-05")
    failed = await planted.lose("m")
    await check_use(world, "A37-TREE-14", planted.served, name, "m", "n", failed=failed)


@scenario("A37-TREE-15")
async def test_two_aggregates_of_the_same_leaves(world: World) -> None:
    """Two aggregates share their leaves: the client uses all for each, in the aggregate's order."""
    planted = await deploy(world, {"a": "m n o"}, {"z": "n o m"})
    await world.serve(planted.served)
    failed: tuple[str, ...] = ()
    for lost in ((), ("n",), ("m",)):
        if lost:
            world.checks.require("A37-FAILOVER-05")
        failed += await planted.lose(*lost)
        if not await check_use(world, "A37-TREE-15", planted.served, "a", "z", failed=failed):
            break


@scenario("A37-TREE-15", seconds=0.6)
async def test_aggregate_of_a_route_and_of_others(world: World) -> None:
    """The client uses all leaves of an aggregate that routes and other aggregates use.

    Routes lead to the aggregate m and to eight others, each of which lists m after m's own leaf b.
    A client that handles the routes in random order, and keeps only its last result for a cluster,
    has the whole list of m with a chance of 1/9 each time, and four times in a row of 1/6,561.
    """
    others = [{f"k{number}": "b m"} for number in range(4)]
    more = [{f"z{number}": "b m"} for number in range(4)]
    planted = await deploy(world, *others, {"m": "b a"}, *more)
    for address in await world.addresses(4):
        served = with_clusters_changed(planted.served, with_endpoints(address), "a")
        await world.serve(served)
        if not await check_use(world, "A37-TREE-15", served, "m"):
            break


async def check_use(
    world: World, clause: str, served: XdsConfig, *roots: str, failed: tuple[str, ...] = ()
) -> bool:
    """Check that requests to each root soon follow the config; stop at the first that do not.

    Returns:
        True if requests to all roots do.
    """
    for root in roots:
        expected = at_the_first(served, root, failed)
        calls = await world.eventually(expected, partial(calls_to, world, root))
        await world.check(clause, calls, expected)
        if calls.overdue:
            return False
    return True


@scenario("A37-TREE-13")
async def test_connections_of_shared_leaf(world: World) -> None:
    """A route and an aggregate use a cluster: it has one connection, or one for each use."""
    planted = await deploy(world, {"a": "b c"}, direct=("b",))
    await world.serve(planted.served)
    for root in ("a", "b"):
        await world.rounds.require(
            at_the_first(planted.served, root), partial(calls_to, world, root), why="it is in use"
        )
    (address,) = planted.of("b")
    choices = {
        "one connection": AttemptCount(most={address: 1}),
        "one for each use": AttemptCount(least={address: 2}, most={address: 2}),
    }
    await world.check("A37-TREE-13", world.attempts.seen(), choices)


@scenario("A37-TREE-16", "A37-TREE-19")
async def test_depth(world: World) -> None:
    """The client serves a tree of depth 16; a tree of depth 17 is served or fails.

    The depth counts the names of a chain, including the leaf. Each name costs a round trip, and the
    first call waits for 50 of them. In one tree each aggregate has a leaf as well, so that it has
    more than 16 clusters.
    """
    chains = chain("sixteen", 16), chain("seventeen", 17)
    planted = await deploy(world, *chains, with_leaves(chain("broad", 16)))
    await world.serve(planted.served)
    for root in ("sixteen-0", "broad-0"):
        calls = await calls_to(world, root, deadline=timing.COLD_CALL)
        await world.check("A37-TREE-16", calls, at_the_first(planted.served, root))
    calls = await calls_to(world, "seventeen-0", deadline=timing.COLD_CALL)
    served = at_the_first(planted.served, "seventeen-0")
    choices: dict[str, Expectation] = {"served": served, "fails": Fails()}
    await world.check("A37-TREE-19", calls, choices)


@scenario("A37-TREE-17", "A37-TREE-18", "A37-TROUBLE-36")
async def test_beyond_depth(world: World) -> None:
    """A tree that exceeds the limit fails as a whole, and affects no other cluster.

    In one tree each aggregate has a leaf as well, so that it has leaves within the limit.
    """
    trees = chain("eighteen", 18), with_leaves(chain("cut", 18))
    planted = await deploy(world, *trees, direct=("beside",))
    await world.serve(planted.served)
    calls = await calls_to(world, "eighteen-0", deadline=timing.COLD_CALL)
    await world.check("A37-TREE-17", calls, Fails())
    await world.check("A37-TROUBLE-36", calls, STATUSES)
    cut = await calls_to(world, "cut-0", deadline=timing.COLD_CALL)
    await world.check("A37-TREE-18", cut, Fails())
    beside = await calls_to(world, "beside", deadline=timing.COLD_CALL)
    await world.check("A37-TREE-17", beside, at_the_first(planted.served, "beside"))


def with_leaves(aggregates: Shape) -> Shape:
    """Return the tree with one more leaf below each aggregate, after the next aggregate."""
    return {name: f"{below} {name}-leaf" for name, below in aggregates.items()}


@scenario("A37-TREE-18", "A37-TREE-20", needs=("watch", "wait_for_ready"))
async def test_depth_corrected(world: World) -> None:
    """A tree that exceeds the limit is in TRANSIENT_FAILURE until an update makes it shorter.

    It is the only cluster of the channel, so the channel has its state. Further updates make it too
    long again, and shorten it to the limit.
    """
    planted = await deploy(world, chain("c", 18))
    way = [{CLUSTER_HEADER: "c-0"}]
    await world.serve(planted.served)
    watched = await world.states.watch()
    await world.call(way)
    states = await world.states.until(watched, "TRANSIENT_FAILURE")
    await world.check("A37-TREE-18", states, EndsInState(("TRANSIENT_FAILURE",)))
    waits = await world.start(way, wait_for_ready=True, deadline=timing.HELD)
    await world.check("A37-TREE-18", await waits.over(), EndsWith("DEADLINE_EXCEEDED"))
    waits = await world.start(way, wait_for_ready=True)
    mended = with_clusters(planted.served, *aggregates({"c-3": "c-17"}))
    await world.serve(mended)
    await check_use(world, "A37-TREE-20", mended, "c-0")
    await world.check("A37-TREE-20", await waits.over(), at_the_first(mended, "c-0"))
    await world.serve(planted.served)
    calls = await world.eventually(Fails(), partial(calls_to, world, "c-0"))
    await world.check("A37-TREE-18", calls, Fails())
    sixteen = with_clusters(planted.served, *aggregates({"c-14": "c-17"}))
    await world.serve(sixteen)
    await check_use(world, "A37-TREE-20", sixteen, "c-0")


@scenario("A37-TREE-38", needs=("metadata",), seconds=1)
async def test_chain_of_a_thousand(world: World) -> None:
    """Requests to a chain of 1,000 clusters fail, or wait until their deadline.

    A client may stop at the 17th or 18th name, or subscribe to all names first.
    """
    planted = await deploy(world, chain("c", 1000))
    await world.serve(planted.served)
    deep = await world.start([{CLUSTER_HEADER: "c-0"}])
    choices: dict[str, Expectation] = {"fail": Fails(), "wait": EndsWith("DEADLINE_EXCEEDED")}
    await world.check("A37-TREE-38", await deep.over(), choices)


@scenario("A37-TREE-21", "A37-TREE-23", "A37-TROUBLE-36")
async def test_cycle_without_a_leaf(world: World) -> None:
    """Requests to aggregates that lead only to each other fail, until an update adds leaves."""
    trees = ({"own": "own"}, {"m": "n", "n": "m"})
    planted = await deploy(world, *trees, direct=("beside", "x", "y"))
    before = replace(planted.served, routes=planted.served.routes[:3])
    await world.serve(before)
    for root in ("own", "m"):
        calls = await calls_to(world, root)
        await world.check("A37-TREE-21", calls, Fails())
        await world.check("A37-TROUBLE-36", calls, STATUSES)
    expected = at_the_first(before, "beside")
    await world.check("A37-TREE-21", await calls_to(world, "beside"), expected)
    mended = with_clusters(before, *aggregates({"own": "x", "n": "y"}))
    await world.serve(mended)
    await check_use(world, "A37-TREE-23", mended, "own", "m")


@scenario("A37-TREE-22")
async def test_cycle_with_a_leaf(world: World) -> None:
    """A tree has a cycle and a leaf: the client uses the leaf, or requests fail."""
    planted = await deploy(world, {"m": "n b", "n": "m"})
    await world.serve(planted.served)
    choices: dict[str, Expectation] = {
        "leaf used": at_the_first(planted.served, "m"),
        "fails": Fails(),
    }
    await world.check("A37-TREE-22", await calls_to(world, "m"), choices)


@scenario("A37-TREE-35")
async def test_many_paths(world: World) -> None:
    """The client uses a leaf once, however many paths lead to it.

    Each of four aggregates in a row lists the whole next row: 4^8 paths lead to the leaf.
    """
    rows = [["m"], *([f"{level}-{place}" for place in range(4)] for level in range(8)), ["leaf"]]
    shape = {name: " ".join(below) for above, below in pairwise(rows) for name in above}
    planted = await deploy(world, shape)
    await world.serve(planted.served)
    await world.check("A37-TREE-35", await calls_to(world, "m"), at_the_first(planted.served, "m"))


@scenario("A37-TREE-36", needs=("metadata",), seconds=4)
@pytest.mark.parametrize("place", [0, -1], ids=["first", "last"])
async def test_many_leaves(world: World, place: int) -> None:
    """An aggregate lists 2,000 leaves: the client serves requests, or they fail.

    One leaf has an endpoint. The others share a service name without endpoints. The control plane
    sends no leaf until the client has subscribed to all, or had time for most of them. A client may
    send one request for each leaf, and each response would have all leaves requested so far.
    """
    names = [f"leaf-{number}" for number in range(2000)]
    serving = names[place]
    planted = await deploy(world, {"m": serving})
    alike = [Cluster(name=name, discovery=Eds(service_name="service")) for name in names]
    above = aggregates({"m": " ".join(names)})
    served = with_clusters(planted.served, *alike, planted.served.get_cluster(serving), *above)
    await world.serve(replace(served, unsent=tuple((Kind.CLUSTER, name) for name in names)))
    waiting = await world.start([{CLUSTER_HEADER: "m"}], deadline=timing.MANY_NAMES)
    await world.control.give_time_to_ask(Kind.CLUSTER, len(names), within=timing.BEFORE_ABSENCE)
    await world.serve(served)
    choices: dict[str, Expectation] = {"served": at_the_first(served, "m"), "fails": Fails()}
    await world.check("A37-TREE-36", await waiting.over(), choices)
    await require_use(world, with_clusters(served, leaf(serving, await world.endpoints(1))))


@scenario("A37-TREE-37", seconds=1)
async def test_long_names(world: World) -> None:
    """A cluster and its service name have 65,536 characters: it serves, or requests fail."""
    name, service = "n" * 2**16, "s" * 2**16
    planted = await deploy(world, {"m": "b"})
    short = planted.served.get_cluster("b")
    long = replace(short.known_as(service), name=name)
    served = with_clusters(planted.served, long, *aggregates({"m": name}))
    await world.serve(served)
    choices: dict[str, Expectation] = {"served": at_the_first(served, "m"), "fails": Fails()}
    await world.check("A37-TREE-37", await calls_to(world, "m"), choices)
    await require_use(world, planted.served)


async def require_use(world: World, served: XdsConfig) -> None:
    """Require that the client survives the extreme config and applies the next update."""
    await world.serve(served)
    why = "a normal update came after the extreme one"
    await world.rounds.require(at_the_first(served, "m"), partial(calls_to, world, "m"), why=why)
