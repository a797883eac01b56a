"""A52, xDS LB Policy Registry: how deeply lists may be nested."""

from conformance.judging.declaration import scenario
from conformance.scenarios.helpers.live_clusters import LiveCluster
from conformance.world import World
from conformance.xds_config.policy_lists import nested, policies
from conformance.xds_config.variants import ResourceVariant


def deep(clause: str, levels: int) -> ResourceVariant:
    """Return a Cluster with this many nested lists."""
    return ResourceVariant(clause, policies(nested(levels)))


DEPTHS = (2, 3, 4, 5, 8, 16)
"""Depths from the usual one, RoundRobin below WrrLocality, to the deepest allowed."""


@scenario("A52-DEPTH-01", "A52-DEPTH-04", "A37-VALID-29")
async def test_2_to_16_levels(world: World) -> None:
    """The client accepts a configuration of up to 16 levels.

    A client that accepts all depths may still fail requests; the report shows from which depth on.
    """
    live = await LiveCluster.start(world, "EDS")
    for levels in DEPTHS:
        case = f"{levels} levels"
        await live.check_acked(deep("A52-DEPTH-01", levels), then="A52-DEPTH-04", case=case)


@scenario("A52-DEPTH-03", "A37-VALID-29")
async def test_17_levels(world: World) -> None:
    """The client accepts or rejects 17 nested lists."""
    live = await LiveCluster.start(world, "EDS")
    await live.report_choice(deep("A52-DEPTH-03", 17), used=False)


@scenario("A52-DEPTH-02", "A37-VALID-29", "A46-NACK-03")
async def test_more_levels(world: World) -> None:
    """The client rejects a configuration of more than 16 levels, however it counts them."""
    live = await LiveCluster.start(world, "EDS")
    await live.check_all_rejected([deep("A52-DEPTH-02", 18), deep("A52-DEPTH-02", 40)])
