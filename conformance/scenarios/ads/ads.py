"""A27, xDS Client: responses on the ADS stream, and unsolicited Clusters."""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from conformance.judging.aborts import Unsupported
from conformance.judging.declaration import scenario
from conformance.judging.expectations import AllServedBy, NoAttempts, SendsNewestNonce
from conformance.scenarios.helpers.aggregates import aggregate_config, check_each, deploy, leaf
from conformance.world import World
from conformance.xds_config.clusters import Cluster
from conformance.xds_config.config import logical_dns, single_locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.trees import subscriptions_of
from fake_control_plane import Kind, Request
from test_servers import BackendEndpoint as Member


@scenario("A27-ADS-02", seconds=1)
async def test_newest_nonce(world: World) -> None:
    """Each request carries the nonce of the newest response that the client has answered.

    The cluster becomes LOGICAL_DNS, so that the client unsubscribes from all endpoints, and then
    EDS again. The DNS name need not resolve.
    """
    world.preconditions.aggregates()
    here, there = await world.addresses(2)
    await world.serve(single_locality([here], policy=RoundRobin()))
    await world.require_served(world.sessions(5))
    await world.serve(logical_dns(here))
    await world.attempts.quiet_from_now(why="the client has unsubscribed from endpoints by then")
    await world.serve(single_locality([there], policy=RoundRobin()))
    some = partial(world.call, world.sessions(5))
    await world.rounds.require(AllServedBy((there,)), some, why="the cluster is of type EDS again")
    await world.check("A27-ADS-02", world.control.asked(), SendsNewestNonce())


@scenario("A27-ADS-03", seconds=1)
async def test_last_endpoints(world: World) -> None:
    """The client unsubscribes from the last endpoints when its only cluster is LOGICAL_DNS."""
    world.preconditions.aggregates()
    here, there = await world.addresses(2)
    await world.serve(single_locality([here], policy=RoundRobin()))
    await world.require_served(world.sessions(5))
    by_dns = logical_dns(there)
    await world.serve(by_dns)
    some = partial(world.call, world.sessions(5))
    await world.rounds.require(AllServedBy((there,)), some, why="the cluster is LOGICAL_DNS")
    expected = subscriptions_of(by_dns, "ENDPOINTS")
    await world.check("A27-ADS-03", await world.control.asked_until(expected), expected)


FEATURE = "xds.config.resource-in-sotw"


@scenario("A27-ADS-01")
async def test_resource_wrapper(world: World) -> None:
    """A client that announces xds.config.resource-in-sotw accepts wrapped resources.

    The update renames the cluster, so that a new route, Cluster and endpoints resource come.
    """
    here, there = await world.addresses(2)
    await world.serve(single_locality([here], policy=RoundRobin()))
    await world.require_served(world.sessions(5))
    if FEATURE not in features(world):
        raise Unsupported(f"its node does not announce the feature {FEATURE}")
    world.plane.script.wrap_in_resource(*Kind)
    await world.serve(single_locality([there], name="another", policy=RoundRobin()))
    at_the_other, make_calls = AllServedBy((there,)), partial(world.call, world.sessions(5))
    await world.check("A27-ADS-01", await world.eventually(at_the_other, make_calls), at_the_other)


def features(world: World) -> set[str]:
    """Return the client_features in the client's requests."""
    asked = (event for event in world.plane.transcript.events if isinstance(event, Request))
    identities = (request.identity for request in asked if request.identity is not None)
    return {feature for request in identities for feature in request.client_features}


ASKED = "Clusters.one"


BEFORE = ("Clusters.One", "Clusters.one ", "Clusters.one1", "Clusters.on")


BEHIND = ("clusters.one", "CLUSTERS.ONE", " Clusters.one", "Clusters.one/a", "Clusters.one.")
"""Names that nearly equal the name that the client subscribes to."""


def renamed(name: str, members: Sequence[Member], *, version: str) -> Cluster:
    """Return a leaf of this name; its EDS service name is no cluster's name."""
    return leaf(name, members).known_as(f"endpoints of {name}, {version}")


@scenario("A27-CDS-08")
async def test_unsolicited_clusters(world: World) -> None:
    """The client ignores Clusters that it did not subscribe to.

    Each response has such Clusters before and after the requested ones, and their endpoints come
    unsolicited as well.
    """
    world.plane.script.send_unsolicited(Kind.CLUSTER, Kind.ENDPOINTS)
    planted = await deploy(world, direct=("b", "d"))
    members = await world.endpoints(4)
    d, moved = planted.served.get_cluster("d"), renamed("d", members[:1], version="later")
    a, e, other = (leaf(name, [member]) for name, member in zip("aee", members[1:], strict=True))
    for own, behind, is_first in ((d, e, True), (moved, other, False)):
        mine = (cluster for cluster in planted.served.clusters if cluster.name != "d")
        served = replace(planted.served, clusters=(a, *mine, own, behind))
        await world.serve(served)
        await check_each(world, "A27-CDS-08", served, "b", "d", lasts=True)
        expected = subscriptions_of(served, "ENDPOINTS", ever=is_first)
        await world.check("A27-CDS-08", await world.control.asked_until(expected), expected)
    quiet = await world.attempts.quiet(*members[1:], why="unsolicited Clusters came")
    await world.check("A27-CDS-08", quiet, NoAttempts())


@scenario("A27-CDS-09")
async def test_exact_cluster_names(world: World) -> None:
    """The client uses a Cluster only if it has exactly the name that the client requested."""
    world.plane.script.send_unsolicited(Kind.CLUSTER)
    names = (*BEFORE, ASKED, *BEHIND)
    for version in ("first", "then"):
        members = await world.endpoints(len(names))
        made = [
            renamed(name, [member], version=version)
            for name, member in zip(names, members, strict=True)
        ]
        served = aggregate_config((ASKED,), made)
        await world.serve(served)
        await check_each(world, "A27-CDS-09", served, ASKED, lasts=True)
