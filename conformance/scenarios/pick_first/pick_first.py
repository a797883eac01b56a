"""A62, sticky TRANSIENT_FAILURE: pick_first keeps trying the addresses of its list."""

from collections.abc import Sequence
from functools import partial

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import AllServedBy
from conformance.scenarios.helpers.localities import endpoints, fail
from conformance.world import World
from conformance.xds_config.config import XdsConfig, one_cluster, with_raw_clusters
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.policy_lists import pick_first, policies
from conformance.xds_config.variants import ResourceVariant
from test_servers import BackendEndpoint as Member
from test_servers import Close, Hold, Serve

BEFORE = 10
"""Number of addresses before the serving one; trying them takes longer than its backoff, 1.9 s."""


BY_PICK_FIRST = ResourceVariant("A62-RETRY-01", policies(pick_first()))


def listed(members: Sequence[Member]) -> XdsConfig:
    """Return a config with one pick_first over these endpoints, in this order."""
    locality = Locality(tuple(Endpoint(member.address) for member in members))
    served = one_cluster((locality,), policy=RoundRobin())
    return with_raw_clusters(served, BY_PICK_FIRST.of(served.cluster()))


async def check_served(world: World, before: Sequence[Member], serving: Member) -> None:
    """Check that an address serves requests, after it has failed in its turn once more."""
    await world.attempts.require_one(before[-1], why="the addresses before it fail")
    why = "its turn has come, or its backoff is over"
    await world.attempts.quiet_from_now(serving, why=why, seconds=timing.A_FEW_BACKOFFS)
    await serving.set_mode(Serve())
    there = AllServedBy((serving.address,))
    make_calls = partial(world.call, world.sessions(5), deadline=timing.EVENT)
    calls = await world.eventually(there, make_calls, within=timing.BACKOFFS)
    await world.check("A62-RETRY-01", calls, there)


@scenario("A62-RETRY-01", seconds=9, waits=True)
async def test_new_list_during_a_backoff(world: World) -> None:
    """pick_first tries an address of its list again that failed before the list came.

    The update comes during the backoff after the second attempt, which lasts 1.3 to 1.9 s.
    """
    (serving,) = await endpoints(world, Close())
    *before, behind = await endpoints(world, *[Close(after=timing.CONNECTION_DELAY)] * (BEFORE + 1))
    await world.serve(listed([serving]))
    await world.start(world.sessions(1))
    await world.attempts.require_count(serving, 2, why="its first backoff is over")
    await world.attempts.quiet_from_now(serving, why="the client has noticed the failure by then")
    await world.serve(listed([*before, serving, behind]))
    await check_served(world, before, serving)


@scenario("A62-RETRY-01", seconds=7, waits=True)
async def test_new_list_during_an_attempt(world: World) -> None:
    """pick_first tries an address again that failed before its turn in the list.

    An attempt at the address is pending when the new list comes. It fails while the client tries
    the addresses before it.
    """
    (serving,) = await endpoints(world, Hold())
    *before, behind = await endpoints(world, *[Close(after=timing.CONNECTION_DELAY)] * (BEFORE + 1))
    await world.serve(listed([serving]))
    await world.start(world.sessions(1))
    await world.attempts.require_count(serving, why="a request came")
    await world.serve(listed([*before, serving, behind]))
    why = "a client without Happy Eyeballs continues its attempt"
    await world.attempts.quiet_from_now(before[0], why=why, seconds=timing.MOMENTS)
    await fail(serving)
    await check_served(world, before, serving)
