"""ADS: resources that are wrapped in Resource messages."""

from functools import partial

from conformance.judging.aborts import Unsupported
from conformance.judging.declaration import scenario
from conformance.judging.expectations import AllServedBy
from conformance.world import World
from conformance.xds_config.config import single_locality
from conformance.xds_config.policies import RoundRobin
from fake_control_plane import Kind, Request

FEATURE = "xds.config.resource-in-sotw"


@scenario("A27-ADS-01")
async def test_in_an_update(world: World) -> None:
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
    told = (request.identity for request in asked if request.identity is not None)
    return {feature for request in told for feature in request.client_features}
