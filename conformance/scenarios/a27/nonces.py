"""ADS: the nonces of requests on one stream."""

from functools import partial

from conformance.judging.declaration import scenario
from conformance.judging.expectations import AllServedBy, SendsNewestNonce
from conformance.world import World
from conformance.xds_config.config import logical_dns, single_locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.trees import subscriptions_of


@scenario("A27-ADS-02", seconds=1)
async def test_cluster_that_becomes_logical_dns(world: World) -> None:
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
