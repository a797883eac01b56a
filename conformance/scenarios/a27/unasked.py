"""A27, CDS: responses that also have Clusters that the client did not subscribe to."""

from collections.abc import Sequence

from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.judging.expectations import NoAttempts
from conformance.scenarios.helpers.aggregates import aggregate_config, check_each, deploy, leaf
from conformance.world import World
from conformance.xds_config.clusters import Cluster
from conformance.xds_config.trees import subscriptions_of
from fake_control_plane import Kind
from test_servers import BackendEndpoint as Member

ASKED = "Clusters.one"
BEFORE = ("Clusters.One", "Clusters.one ", "Clusters.one1", "Clusters.on")
BEHIND = ("clusters.one", "CLUSTERS.ONE", " Clusters.one", "Clusters.one/a", "Clusters.one.")
"""Names that nearly equal the name that the client subscribes to."""


def renamed(name: str, members: Sequence[Member], *, version: str) -> Cluster:
    """Return a leaf of this name; its EDS service name is no cluster's name."""
    return leaf(name, members).known_as(f"endpoints of {name}, {version}")


@scenario("A27-CDS-08")
async def test_not_asked_for(world: World) -> None:
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
async def test_other_names(world: World) -> None:
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
