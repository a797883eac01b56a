"""A52, xDS LB Policy Registry: how deep lists may lie in one another."""

from conformance.judging.declaration import scenario
from conformance.scenarios.helpers.live_clusters import AFTERWARDS, UNCHANGED, LiveCluster
from conformance.world import World
from conformance.xds_config.policy_lists import nested, policies
from conformance.xds_config.variants import ClusterVariant


def deep(clause: str, levels: int) -> ClusterVariant:
    """So many lists in one another."""
    return ClusterVariant(clause, policies(nested(levels)))


DEPTHS = (2, 3, 4, 5, 8, 16)
"""From the usual one, RoundRobin below WrrLocality, to the deepest."""


@scenario("A52-DEPTH-01", "A52-DEPTH-04", AFTERWARDS)
async def test_2_to_16_levels(world: World) -> None:
    """From which depth on requests fail shows where a client that accepts all of them gives up."""
    live = await LiveCluster.begin(world, "EDS")
    for levels in DEPTHS:
        case = f"{levels} levels"
        await live.accepted(deep("A52-DEPTH-01", levels), then="A52-DEPTH-04", case=case)


@scenario("A52-DEPTH-03", AFTERWARDS)
async def test_17_levels(world: World) -> None:
    live = await LiveCluster.begin(world, "EDS")
    await live.left_open(deep("A52-DEPTH-03", 17), used=False)


@scenario("A52-DEPTH-02", AFTERWARDS, UNCHANGED)
async def test_more_levels(world: World) -> None:
    live = await LiveCluster.begin(world, "EDS")
    await live.refused_all([deep("A52-DEPTH-02", 18), deep("A52-DEPTH-02", 40)])
