"""Reported load beside what the backends counted, and the clusters whose load is reported."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from client_under_test import CALL_ID_KEY
from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.judging.expectations import (
    DropProportions,
    DropsReported,
    IssuedReported,
    LoadMatches,
    fits,
)
from conformance.judging.observations import OPEN, Loads, ReportedLoad
from conformance.spec.oracles.load import Dropped, Load, LoadKey, Received
from conformance.world import EMPTY, World, waits
from conformance.xds_config.clusters import Cluster, Drop, Eds
from conformance.xds_config.config import XdsConfig, merge, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.routes import BY_SESSION, Route
from fake_control_plane import Locality as LocalityName
from test_servers import BackendEndpoint as Member
from test_servers import DeadlinePassed as FleetDeadlinePassed

NAMES = ("one", "one/a", "one/a/i")
"""Localities told apart by region, zone and sub-zone."""

BEHAVIOR = "rpc-behavior"
"""Has a backend end a request otherwise than well, or not at all."""


def balanced(served: XdsConfig, *, lossy: bool = False, ends_alike: bool = False) -> LoadMatches:
    """Reports that balance with what the backends of these clusters counted.

    Args:
        served: the clusters.
        lossy: whether requests may have failed on their way.
        ends_alike: whether only that a request has ended counts, not how.
    """
    return LoadMatches(
        places={
            address: LoadKey(cluster.name, _service_name(cluster), locality.name)
            for cluster in served.clusters
            for locality in cluster.localities
            for endpoint in locality.endpoints
            for address in (endpoint.address, *endpoint.further)
            if cluster.is_reported
        },
        lossy=lossy,
        ends_alike=ends_alike,
        drops={
            cluster.name: tuple(drop.category for drop in cluster.discovery.drops)
            for cluster in served.clusters
            if cluster.is_reported
            and isinstance(cluster.discovery, Eds)
            and cluster.discovery.drops
        },
    )


def _service_name(cluster: Cluster) -> str:
    return (isinstance(cluster.discovery, Eds) and cluster.discovery.service_name) or ""


OfSums = DropsReported | DropProportions | IssuedReported


async def reported(world: World, *expectations: LoadMatches | OfSums) -> Loads:
    """What was reported until now, once it fits one, or the next report has had its time."""

    def fits_one(_: object) -> bool:
        return any(fits(expectation, loads(world, expectation)) for expectation in expectations)

    await waits.watched(world.plane.reported(fits_one, deadline=until_the_next(world)))
    return loads(world, expectations[0])


async def next_report(world: World) -> None:
    """Wait for one more report: what follows is in the one after.

    Raises:
        ClientStuck: none came in time.
    """
    known, within = len(world.plane.loads.rows), until_the_next(world)
    more = world.plane.reported(lambda said: len(said.rows) > known, deadline=within)
    if not await waits.came(more):
        raise PreconditionTimeout(
            f"no load was reported for {within:g} s, though requests were made"
        )


def until_the_next(world: World) -> float:
    """Seconds within which another report comes, if there is anything to tell."""
    asked_for = world.plane.script.loads.asked_for
    return timing.REPORTED + (asked_for.interval if asked_for else 0.0)


def loads(world: World, expectation: LoadMatches | OfSums) -> Loads:
    """What was reported until now, and what the backends counted until now.

    Where connections were lost, a call has succeeded only if the client says so, too: it may have
    been answered in vain.
    """
    looks = isinstance(expectation, DropProportions) or (
        isinstance(expectation, LoadMatches) and bool(expectation.lossy or expectation.drops)
    )
    made = world.calls.made if looks else ()
    failed = {call.id for call in made if call.status not in {"OK", OPEN}}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in world.fleet.ledger.rpcs:
        calls = {str(value) for value in row.values(CALL_ID_KEY)}
        ended = "in_progress" if row.status is None else "succeeded"
        if row.status not in {None, "OK"} or calls & failed:
            ended = "errors"
        counts[world.registry.address(row.endpoint)][ended] += 1
        failed -= calls
    said = world.plane.loads
    clusters = tuple(dict.fromkeys(cluster for cluster, _ in said.clusters()))
    drops = {cluster: said.drops(cluster) for cluster in clusters}
    return Loads(
        received=tuple(Received(address=address, **count) for address, count in counts.items()),
        reported=tuple(
            ReportedLoad(
                LoadKey(cluster, service, locality_name(locality)),
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
        clusters=clusters,
        lost=len(failed),
        dropped=tuple(
            Dropped(cluster=cluster, total=drop.total, by_category=dict(drop.by_category))
            for cluster, drop in drops.items()
            if drop.total or drop.by_category
        ),
    )


def locality_name(locality: LocalityName) -> str:
    """A locality's name, as oracles have it."""
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
        raise PreconditionTimeout(f"{passed}, though {why}") from None


def apart(
    members: Sequence[Member], names: Sequence[str] = NAMES, *, drops: Sequence[Drop] = ()
) -> XdsConfig:
    """The endpoints in these localities by turns, their load reported."""
    turns = len(names)
    listed = [Endpoint(member.address) for member in members]
    return one_cluster(
        tuple(Locality(tuple(listed[number::turns]), name) for number, name in enumerate(names)),
        service_name="service",
        is_reported=True,
        drops=drops,
    )


async def two_clusters(world: World, *, is_other_reported: bool = False) -> XdsConfig:
    """A reported cluster, and one beside it that gets the empty calls."""
    here, there = [(Locality((Endpoint(address),)),) for address in await world.addresses(2)]
    other = one_cluster(
        there,
        name="other",
        service_name="other-service",
        is_reported=is_other_reported,
        routes=(Route(BY_SESSION, path=EMPTY, cluster="other"),),
    )
    return merge(one_cluster(here, service_name="service", is_reported=True), other)
