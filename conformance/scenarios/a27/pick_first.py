"""A62, sticky TRANSIENT_FAILURE: pick_first goes on trying the addresses of its list."""

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
from conformance.xds_config.variants import ClusterVariant
from test_servers import BackendEndpoint as Member
from test_servers import Close, Hold, Serve

BEFORE = 10
"""Addresses before the one that serves: going through them takes longer than its backoff, 1.9 s."""

BY_PICK_FIRST = ClusterVariant("A62-RETRY-01", policies(pick_first()))


def listed(members: Sequence[Member]) -> XdsConfig:
    """One pick_first over these endpoints, in this order."""
    locality = Locality(tuple(Endpoint(member.address) for member in members))
    served = one_cluster((locality,), policy=RoundRobin())
    return with_raw_clusters(served, BY_PICK_FIRST.of(served.cluster()))


async def check_served(world: World, before: Sequence[Member], serving: Member) -> None:
    """Judge that requests are served at the last address, which fails in its turn once more."""
    await world.attempts.require_one(before[-1], why="those before it fail")
    why = "its turn has come, or its backoff is over"
    await world.attempts.quiet_from_now(serving, why=why, seconds=timing.A_FEW_BACKOFFS)
    await serving.set_mode(Serve())
    there = AllServedBy((serving.address,))
    make_calls = partial(world.call, world.sessions(5), deadline=timing.EVENT)
    calls = await world.eventually(there, make_calls, within=timing.BACKOFFS)
    await world.check("A62-RETRY-01", calls, there)


@scenario("A62-RETRY-01", seconds=9, waits=True)
async def test_new_list_during_a_backoff(world: World) -> None:
    """After the second attempt the backoff lasts 1.3 to 1.9 s: the update comes well within it."""
    (serving,) = await endpoints(world, Close())
    before = await endpoints(world, *[Close(after=timing.CONNECTION_DELAY)] * BEFORE)
    await world.serve(listed([serving]))
    await world.start(world.sessions(1))
    await world.attempts.require_count(serving, 2, why="its first backoff is over")
    await world.attempts.quiet_from_now(serving, why="the client has seen the failure by then")
    await world.serve(listed([*before, serving]))
    await check_served(world, before, serving)


@scenario("A62-RETRY-01", seconds=7, waits=True)
async def test_new_list_during_an_attempt(world: World) -> None:
    """The attempt fails while the addresses before it are tried."""
    (serving,) = await endpoints(world, Hold())
    before = await endpoints(world, *[Close(after=timing.CONNECTION_DELAY)] * BEFORE)
    await world.serve(listed([serving]))
    await world.start(world.sessions(1))
    await world.attempts.require_count(serving, why="a request came")
    await world.serve(listed([*before, serving]))
    why = "a client without Happy Eyeballs goes on with its attempt"
    await world.attempts.quiet_from_now(before[0], why=why, seconds=timing.MOMENTS)
    await fail(serving)
    await check_served(world, before, serving)
