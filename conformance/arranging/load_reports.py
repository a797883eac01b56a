"""Reported load beside what the backends counted, and the clusters whose load is reported."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress

from client_under_test import CALL_ID_KEY
from conformance import timing
from conformance.expectations import Balances, fits
from conformance.oracles.load import Load, Place, Received
from conformance.seen import Loads, ReportedLoad
from conformance.serving import Served
from conformance.world import ClientStuck, World
from fake_control_plane import DeadlinePassed, Locality
from test_servers import DeadlinePassed as FleetDeadlinePassed


def balanced(served: Served, *, lossy: bool = False) -> Balances:
    """Reports that balance with what the backends of these clusters counted."""
    return Balances(
        places={
            endpoint.address: Place(one.cluster_name, one.service_name or "", locality.name)
            for one in served.clusters()
            for locality in one.localities
            for endpoint in locality.endpoints
            if one.is_reported
        },
        lossy=lossy,
        category=next(iter(served.drops), ""),
    )


async def reported(world: World, expectation: Balances) -> Loads:
    """What was reported until now, once it balances, or REPORTED has passed."""
    with suppress(DeadlinePassed):
        await world.plane.reported(
            lambda _: fits(expectation, loads(world, expectation)),
            deadline=timing.REPORTED,
        )
    return loads(world, expectation)


async def next_report(world: World) -> None:
    """Wait for one more report, or until REPORTED has passed: what follows is in the one after."""
    known = len(world.plane.loads.rows)
    with suppress(DeadlinePassed):
        await world.plane.reported(
            lambda said: len(said.rows) > known, deadline=timing.REPORTED, what="one more report"
        )


def loads(world: World, expectation: Balances) -> Loads:
    """What was reported until now, and what the backends counted until now.

    Where connections were lost, a call has succeeded only if the client says so, too: it may have
    been answered in vain.
    """
    looks = expectation.lossy or expectation.category
    failed = {one.id for one in world.calls if one.status != "OK"} if looks else set()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in world.fleet.ledger.rpcs:
        calls = {str(value) for value in row.values(CALL_ID_KEY)}
        ended = "in_progress" if row.status is None else "succeeded"
        if row.status not in {None, "OK"} or calls & failed:
            ended = "errors"
        counts[world.members[row.endpoint].address][ended] += 1
        failed -= calls
    said = world.plane.loads
    drops = [said.drops(cluster) for cluster in dict(said.clusters())]
    return Loads(
        received=tuple(Received(address=address, **count) for address, count in counts.items()),
        reported=tuple(
            ReportedLoad(
                Place(cluster, service, _name(locality)),
                Load(
                    issued=load.issued,
                    succeeded=load.successful,
                    errors=load.errors,
                    in_progress=load.in_progress,
                ),
            )
            for cluster, service in said.clusters()
            for locality, load in said.by_locality(cluster, service=service).items()
        ),
        clusters=tuple(dict.fromkeys(cluster for cluster, _ in said.clusters())),
        lost=len(failed),
        drops=sum(one.total for one in drops),
        categories=dict(sum((Counter(one.by_category) for one in drops), Counter())),
    )


def _name(locality: Locality) -> str:
    return f"{locality.region}/{locality.zone}/{locality.sub_zone}".rstrip("/")


async def arrived(world: World, count: int, *, why: str) -> None:
    """Wait until the backends have received so many requests that they have not answered.

    Raises:
        ClientStuck: they have not in time.
    """
    try:
        await world.fleet.ledger.wait(
            lambda row: row.ended_at is None, count=count, deadline=timing.EVENT
        )
    except FleetDeadlinePassed as passed:
        raise ClientStuck(f"{passed}, though {why}") from None
