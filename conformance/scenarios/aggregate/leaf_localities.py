"""A37, xds_cluster_resolver LB Policy: localities, rings and priority names of each leaf."""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    AttemptCount,
    EachServesSome,
    EndsWith,
    Proportions,
)
from conformance.scenarios.helpers.aggregates import (
    aggregate_config,
    aggregates,
    deploy,
    in_use,
    leaf,
)
from conformance.scenarios.helpers.live_policies import BackgroundTraffic
from conformance.scenarios.helpers.localities import (
    LocalityUpdates,
    check_kept,
    endpoints,
    fail,
    serve_again,
    tier,
)
from conformance.scenarios.helpers.routing import calls_to
from conformance.world import World
from conformance.xds_config.broken import with_clusters_changed
from conformance.xds_config.clusters import Cluster, Eds
from conformance.xds_config.config import XdsConfig, aggregate, single_locality
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import at_the_first, with_clusters
from test_servers import BackendEndpoint as Member
from test_servers import Close, Serve

ROOT = "m"


ENOUGH_FOR_WEIGHTS = 160
"""Number of calls that distinguishes shares of 1/4, 1/2 and 3/4, except with a chance of 1e-6."""


ENOUGH_TO_MEET_ALL = 20
"""Number of random calls that all miss one of two localities once in a million rounds."""


BACKGROUND_REQUESTS = 200
"""Requests during several updates, for 1 s; the updates take less."""


def by_localities(name: str, members: Sequence[Member], weights: Sequence[int]) -> Cluster:
    """Return a leaf with a locality for each endpoint; all leaves have the same locality names."""
    places = (
        Locality((Endpoint(member.address),), f"locality-{number}", weight)
        for number, (member, weight) in enumerate(zip(members, weights, strict=True))
    )
    return Cluster(name=name, discovery=Eds(tuple(places)), policy=RoundRobin())


async def check_weights(world: World, cluster: Cluster) -> None:
    """Check that requests go to the localities of this leaf, which is in use, by their weights."""
    every = EachServesSome(cluster.addresses())
    await world.rounds.require(
        every, partial(calls_to, world, ROOT, ENOUGH_TO_MEET_ALL), why="all its localities serve"
    )
    total = sum(place.weight or 0 for place in cluster.localities)
    shares = {
        place.endpoints[0].address: (place.weight or 0, total) for place in cluster.localities
    }
    calls = await calls_to(world, ROOT, ENOUGH_FOR_WEIGHTS)
    await world.check("A37-FAILOVER-09", calls, Proportions(shares))


@scenario("A37-FAILOVER-09", seconds=1)
async def test_same_localities_in_two_leaves(world: World) -> None:
    """The client keeps localities of the same name in two leaves apart.

    An update of one leaf leaves the other unchanged.
    """
    first, before, members = [await world.endpoints(2) for _ in range(3)]
    z, b = by_localities("z", first, (3, 1)), by_localities("b", before, (3, 1))
    served = aggregate_config((ROOT,), (*aggregates({ROOT: "z b"}), z, b))
    await world.serve(served)
    await check_weights(world, z)
    changed = by_localities("b", members, (1, 3))
    served = with_clusters(served, changed)
    await world.serve(served)
    await check_weights(world, z)
    await world.serve(with_clusters(served, by_localities("z", first, (1, 1))))
    await fail(*first)
    await check_weights(world, changed)


@scenario("A37-FAILOVER-10", seconds=2)
async def test_ring_of_each_leaf(world: World) -> None:
    """Under RING_HASH the client places a request by its hash on the ring of the leaf in use.

    The aggregate has the same policy as its three leaves: A42-CDS-25 decides which of them applies.
    """
    members = {name: await world.endpoints(2) for name in "zbm"}
    served = aggregate(*(weighted(name, *pair) for name, pair in members.items()))
    headers = world.values.sessions_to_map()

    async def check_ring(name: str, within: float = timing.APPLY) -> None:
        expected = served.matches_ring(cluster=name)
        calls = await world.eventually(expected, partial(world.call, headers), within=within)
        await world.check("A37-FAILOVER-10", calls, expected)

    await world.serve(served)
    await check_ring("z")
    for lost, used in ("zb", "bm"):
        await fail(*members[lost])
        await check_ring(used)
    await serve_again(world, members["z"])
    await check_ring("z", within=timing.ATTEMPT)


def weighted(name: str, light: Member, heavy: Member) -> XdsConfig:
    """Return a config of a cluster with two endpoints, of weights 1 and 4."""
    place = Locality((Endpoint(light.address, 1), Endpoint(heavy.address, 4)))
    return single_locality((), name=name).with_localities(place)


def moving(served: XdsConfig, *priorities: Locality) -> XdsConfig:
    """Return the config with these localities in the only leaf, one for each priority, in order."""
    ranked = (replace(place, priority=number) for number, place in enumerate(priorities))
    return with_clusters(served, served.get_cluster("z").with_localities(*ranked))


@scenario("A37-FAILOVER-11", "A42-SUB-14", needs=("metadata",), seconds=1.5)
async def test_locality_changes_priority(world: World) -> None:
    """A priority keeps its connections while updates move its locality.

    Updates put a failing locality before the one in use and remove it. First an update adds an
    endpoint to the locality in use: a client that reconnects at each update fails by that alone
    (A42-SUB-14).
    """
    used, other = await world.endpoints(2)
    failing = await endpoints(world, Close(), Close())
    here, both = tier(0, [used]), tier(0, [used, other])
    served = aggregate_config((ROOT,), (*aggregates({ROOT: "z"}), leaf("z").with_localities(here)))
    await world.serve(served)
    await world.require_served([{CLUSTER_HEADER: ROOT}])
    before = world.now
    await until_each_serves(world, moving(served, both), used, other)
    await check_kept(world, used, since=before)
    await until_each_serves(world, served, used)
    headers = [{**session, CLUSTER_HEADER: ROOT} for session in world.sessions(BACKGROUND_REQUESTS)]
    meanwhile = await BackgroundTraffic.start(world, headers)
    for number, endpoint in enumerate(failing, start=1):
        await world.serve(moving(served, tier(number, [endpoint]), here))
        await world.attempts.require_one(endpoint, why="an update put it first")
        await world.serve(moving(served, here))
    await until_each_serves(world, moving(served, both), used, other)
    await world.check("A37-FAILOVER-11", await meanwhile.over(), EndsWith("OK"))
    tried = AttemptCount(most={used.address: 1})
    await world.check("A37-FAILOVER-11", world.attempts.seen(used), tried)


async def until_each_serves(world: World, served: XdsConfig, *members: Member) -> None:
    """Serve a config, and make calls until these endpoints serve all of them, and each some."""
    await world.serve(served)
    addresses = tuple(member.address for member in members)
    why = "these endpoints are listed"
    for wanted in (AllServedBy(addresses), EachServesSome(addresses)):
        await world.rounds.require(wanted, partial(calls_to, world, ROOT), why=why)


@scenario("A37-FAILOVER-11", seconds=0.5)
async def test_split_priority(world: World) -> None:
    """If an update splits a priority, requests go to the first of the new priorities.

    The priority has two localities, and only one of the new priorities can keep its name. It is in
    use before: if both new priorities kept the name, both would be READY at once.
    """
    before, *members = await world.endpoints(3)
    first, *places = (tier(number, [member]) for number, member in enumerate((before, *members)))
    served = aggregate_config((ROOT,), (*aggregates({ROOT: "z"}), leaf("z")))
    together = (first, *(replace(place, priority=1) for place in places))
    await in_use(world, with_clusters(served, leaf("z").with_localities(*together)), ROOT)
    await fail(before)
    every = EachServesSome(tuple(member.address for member in members))
    await world.rounds.require(every, partial(calls_to, world, ROOT), why="the first has failed")
    then = moving(served, *places)
    await world.serve(then)
    failed: list[str] = []
    for member in members:
        expected = at_the_first(then, ROOT, failed)
        make_calls = partial(calls_to, world, ROOT, ENOUGH_TO_MEET_ALL)
        calls = await world.rounds.eventually_stable(expected, make_calls)
        await world.check("A37-FAILOVER-11", calls, expected)
        failed += await fail(member)


def turned(cluster: Cluster) -> Cluster:
    """Return the cluster with the priorities of its localities reversed."""
    last = max(place.priority for place in cluster.localities)
    places = (replace(place, priority=last - place.priority) for place in cluster.localities)
    return cluster.with_localities(*places)


@scenario("A37-FAILOVER-12", seconds=1.5)
async def test_localities_move_in_two_leaves(world: World) -> None:
    """The client keeps the priority names of two leaves apart.

    Both leaves have localities of the same names, and updates reverse their priorities.
    """
    two = [Serve()] * 2
    planted = await deploy(world, {ROOT: "z b"}, modes={"z": two, "b": two})
    served, failed = planted.served, list[str]()
    await in_use(world, served, ROOT)
    for name in ("b", "z"):
        served = with_clusters_changed(served, turned, name)
        await check_update(world, served, failed)
    for member in reversed(planted.members["z"]):
        failed += await fail(member)
        served = with_clusters_changed(served, turned, "b")
        await check_update(world, served, failed)
    (come,) = await world.endpoints(1)
    before = Locality((Endpoint(come.address),), "locality-2")
    served = moving(served, before, *served.get_cluster("z").localities)
    await check_update(world, served, failed)


async def check_update(world: World, served: XdsConfig, failed: Sequence[str]) -> None:
    """Serve a config, and check that requests follow it soon, and continue to."""
    await world.serve(served)
    expected = at_the_first(served, ROOT, failed)
    make_calls = partial(calls_to, world, ROOT, ENOUGH_TO_MEET_ALL)
    calls = await world.rounds.eventually_stable(expected, make_calls)
    await world.check("A37-FAILOVER-12", calls, expected)


@scenario("A37-FAILOVER-11", "A42-SUB-14")
async def test_swapped_priorities(world: World) -> None:
    """A priority keeps its connections while updates move its locality.

    The locality in use and a failed one swap their priorities. First an update leaves both where
    they are: a client that reconnects at each update fails by that alone (A42-SUB-14).
    """
    made = await LocalityUpdates.begin(world, "A | b c")
    used = made.member("b")
    await world.serve(made.served("A | b"))
    await made.check(world, "A37-FAILOVER-11", "A | b")
    before = world.now
    for number, line in enumerate(("A | b c", "b c | A", "b | A")):
        await world.serve(made.served(line))
        await made.check(world, "A37-FAILOVER-11", line)
        if not number:
            await check_kept(world, used, since=before)
    tried = AttemptCount(most={used.address: 1})
    await world.check("A37-FAILOVER-11", world.attempts.seen(used), tried)
