"""Endpoints by priority, each with the mode of its gate."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.judging.expectations import AttemptCount
from conformance.world import World
from conformance.xds_config.config import XdsConfig, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import Policy, RingHash
from test_servers import BackendEndpoint as Member
from test_servers import Close, Mode, Serve


async def endpoints(world: World, *modes: Mode) -> list[Member]:
    """An endpoint for each of these modes of its gate."""
    return [(await world.endpoints(1, mode=mode))[0] for mode in modes]


async def fail(*members: Member) -> list[str]:
    """Have endpoints that serve close their connections, and each new one; their addresses."""
    for member in members:
        await member.set_mode(Close())
        await member.kill()
    return [member.address for member in members]


async def serve_again(world: World, members: Sequence[Member]) -> None:
    """Have endpoints that failed serve, and wait until one of them is tried: backoff comes first.

    Raises:
        ClientStuck: none was in time.
    """
    before = len(world.fleet.ledger.attempts)  # one may be tried as soon as its mode has changed
    for member in members:
        await member.set_mode(Serve())
    await world.attempts.require_one(
        *members, why="its backoff is over", beyond=before, met=Serve()
    )


def ranked(
    *priorities: Sequence[Member],
    policy: Policy = RingHash(),  # noqa: B008 - frozen
    is_reported: bool = False,
) -> XdsConfig:
    """For each priority one locality of equal endpoints."""
    localities = tuple(map(tier, range(len(priorities)), priorities))
    return one_cluster(localities, policy=policy, is_reported=is_reported)


async def check_kept(world: World, used: Member, *, since: float) -> None:
    """Judge that an update that leaves an endpoint as it was leaves its connection, too (A61).

    Args:
        world: of the scenario.
        used: the endpoint, which has been connected.
        since: before the update.
    """
    by = {"A42": AttemptCount(least={used.address: 1}), "A61": AttemptCount()}
    await world.check("A42-SUB-14", world.attempts.seen(used, since=since), by)


def tier(priority: int, members: Sequence[Member]) -> Locality:
    """One locality of equal endpoints, of this priority."""
    listed = tuple(Endpoint(member.address) for member in members)
    return Locality(listed, name=f"locality-{priority}", priority=priority)
