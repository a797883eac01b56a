"""Calls that backends have received and do not answer, until they are told to."""

from __future__ import annotations

import grpc

from conformance.scenarios.helpers.circuit_breaking import KEPT_OPEN
from conformance.scenarios.helpers.load_reports import arrived
from conformance.world import PendingCalls, World
from conformance.xds_config.routes import TO


async def kept_open(world: World, number: int, *, to: str = "") -> PendingCalls:
    """So many more calls that the backends have received, and do not answer."""
    waiting = sum(1 for row in world.fleet.ledger.rpcs if row.ended_at is None)
    headers = [{**session, **KEPT_OPEN, TO: to} for session in world.sessions(number)]
    started = await world.start(headers, deadline=None)
    await arrived(world, waiting + number, why="a request was made for each")
    return started


async def end(world: World) -> None:
    """Have the backends end all calls that are open."""
    for row, rpc in enumerate(world.fleet.ledger.rpcs):
        if rpc.ended_at is None:
            world.fleet.end(row, grpc.StatusCode.INTERNAL)
