"""Compare load reports and backend metrics with what the backends counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.judging.expectations import (
    DropProportions,
    DropsReported,
    EachServesSome,
    LoadMatches,
    MetricsReported,
    RequestsReported,
    fits,
)
from conformance.judging.observations import OPEN, Loads, Metrics, ReportedLoad, ReportedMetrics
from conformance.spec.oracles.backend_metrics import BackendReports, Metric, Sum
from conformance.spec.oracles.load import Dropped, Load, LoadKey, Received
from conformance.world import CALL_ID_KEY, EMPTY, World, waits
from conformance.xds_config.clusters import Cluster, Drop, Eds
from conformance.xds_config.config import XdsConfig, merge, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.routes import BY_SESSION, Route
from fake_control_plane import UTILIZATIONS, LocalityLoad
from fake_control_plane import Locality as LocalityName
from test_servers import BackendEndpoint as Member
from test_servers import BackendMetrics
from test_servers import DeadlinePassed as FleetDeadlinePassed

NAMES = ("one", "one/a", "one/a/i")
"""Names of localities that differ in region, zone and sub-zone."""

BEHAVIOR = "rpc-behavior"
"""The header that makes a backend fail a request or keep it open."""


def balanced(served: XdsConfig, *, lossy: bool = False, ends_alike: bool = False) -> LoadMatches:
    """Expect reports that equal what the backends of these clusters counted.

    Args:
        served: the config with the clusters.
        lossy: True if requests may have failed before they reached a backend.
        ends_alike: True if successes and failures count together.
    """
    return LoadMatches(
        places={
            address: LoadKey(cluster.name, _service_name(cluster), locality.name)
            for cluster in served.clusters
            for locality in cluster.localities
            for endpoint in locality.endpoints
            for address in (endpoint.address, *endpoint.additional_addresses)
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


OfSums = DropsReported | DropProportions | RequestsReported


async def reported(world: World, *expectations: LoadMatches | OfSums) -> Loads:
    """Return all reported load once it fits an expectation, or the next report is overdue."""

    def fits_one(_: object) -> bool:
        return any(fits(expectation, loads(world, expectation)) for expectation in expectations)

    report = world.plane.reported(fits_one, deadline=until_the_next(world))
    await world.control.unless_no_load_stream(waits.watched(report))
    return loads(world, expectations[0])


async def next_report(world: World) -> None:
    """Wait for one more report, so that later requests are in the report after it.

    Raises:
        PreconditionTimeout: no report came in time.
    """
    known, within = len(world.plane.loads.rows), until_the_next(world)
    more = world.plane.reported(lambda said: len(said.rows) > known, deadline=within)
    if not await world.control.unless_no_load_stream(waits.came(more)):
        raise PreconditionTimeout(
            f"the client reported no load for {within:g} s, though it made requests"
        )


def until_the_next(world: World) -> float:
    """Return the seconds within which the next report must come, if there is load."""
    asked_for = world.plane.script.loads.asked_for
    return timing.REPORTED + (asked_for.interval if asked_for else 0.0)


def loads(world: World, expectation: LoadMatches | OfSums) -> Loads:
    """Return the load reported so far, and the requests that backends counted so far.

    If connections were lost, a call counts as succeeded only if the client also reports success,
    because a backend's response may have been lost.
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
    """Return a locality's name in the form that oracles use."""
    return f"{locality.region}/{locality.zone}/{locality.sub_zone}".rstrip("/")


async def arrived(world: World, count: int, *, why: str) -> None:
    """Wait until `count` requests are in progress at the backends.

    Raises:
        PreconditionTimeout: the backends did not receive them in time.
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
    """Return a config with lrs_server, with the endpoints in these localities in turn."""
    turns = len(names)
    listed = [Endpoint(member.address) for member in members]
    return one_cluster(
        tuple(Locality(tuple(listed[number::turns]), name) for number, name in enumerate(names)),
        service_name="service",
        is_reported=True,
        drops=drops,
    )


async def two_clusters(world: World, *, is_other_reported: bool = False) -> XdsConfig:
    """Return a config with a reported cluster, and another one that gets the calls of EMPTY."""
    here, there = [(Locality((Endpoint(address),)),) for address in await world.addresses(2)]
    other = one_cluster(
        there,
        name="other",
        service_name="other-service",
        is_reported=is_other_reported,
        routes=(Route(BY_SESSION, path=EMPTY, cluster="other"),),
    )
    return merge(one_cluster(here, service_name="service", is_reported=True), other)


NAMED, OTHER, ANOTHER = "named", "other", "another"
"""Localities: backends with named metrics, backends without, and one that an update adds."""

TELLING: Final = {
    NAMED: (
        BackendMetrics(named_metrics={"queue": 3.0, "hits": 0.5, "misses": 16.0}),
        BackendMetrics(named_metrics={"queue": 5.0, "idle": 0.0}),
    ),
    OTHER: (
        BackendMetrics(
            application_utilization=0.75,
            cpu_utilization=0.5,
            mem_utilization=0.25,
            rps_fractional=64.0,
            eps=2.0,
            request_cost={"queue": 7.0},
            utilization={"hits": 0.5},
        ),
        None,
    ),
}
"""The metrics that the backends of each locality send; one backend sends none.

All values are sums of powers of two, so that they add up exactly in any order.
"""


async def begin(world: World, *metrics: str) -> XdsConfig:
    """Serve a cluster of these backends that lists these metrics; make calls to each backend.

    Raises:
        ResourceRejected, PreconditionTimeout: the cluster does not serve.
    """
    places = []
    for name, telling in TELLING.items():
        members = await world.endpoints(len(telling))
        for member, sent in zip(members, telling, strict=True):
            member.set_metrics(sent)
        places.append(Locality(tuple(Endpoint(member.address) for member in members), name))
    served = one_cluster(places, policy=RoundRobin(), service_name="service", is_reported=True)
    served = listing(served, *metrics)
    await world.serve(served)
    make_calls = partial(world.call, world.sessions(20))
    why = "all backends serve"
    await world.rounds.require(EachServesSome(served.addresses()), make_calls, why=why)
    return served


async def with_another(world: World, served: XdsConfig) -> XdsConfig:
    """Return the config with one more locality, of a backend with named metrics."""
    (member,) = await world.endpoints(1)
    member.set_metrics(TELLING[NAMED][0])
    another = Locality((Endpoint(member.address),), ANOTHER)
    return served.with_localities(*served.get_cluster().localities, another)


async def with_replaced(world: World, served: XdsConfig) -> XdsConfig:
    """Return the config with other backends in the locality whose backends have named metrics."""
    members = await world.endpoints(len(TELLING[NAMED]))
    for member, metrics in zip(members, TELLING[NAMED], strict=True):
        member.set_metrics(metrics)
    replaced = Locality(tuple(Endpoint(member.address) for member in members), NAMED)
    others = (place for place in served.get_cluster().localities if place.name != NAMED)
    return served.with_localities(replaced, *others)


def listing(served: XdsConfig, *metrics: str) -> XdsConfig:
    """Return the config with these metrics on the cluster's list."""
    return replace(served, clusters=(replace(served.get_cluster(), metrics=metrics),))


def metrics_reported(
    served: XdsConfig, listed: Sequence[str] | None, *, at: Sequence[str] = tuple(TELLING)
) -> MetricsReported:
    """Expect reports of the listed metrics (None: all named metrics) for these localities."""
    places = balanced(served).places.items()
    return MetricsReported(
        places={address: place for address, place in places if place.locality in at},
        listed=None if listed is None else tuple(listed),
    )


class Mark(msgspec.Struct, frozen=True):
    """The first request and the first report to check."""

    requests: int = 0
    reports: int = 0


EVERYTHING: Final = Mark()


def mark(world: World) -> Mark:
    """Return a mark for now; the client must have reported all requests so far."""
    return Mark(len(world.fleet.ledger), len(world.plane.loads.rows))


async def metrics(
    world: World, served: XdsConfig, *expected: MetricsReported, since: Mark = EVERYTHING
) -> Metrics:
    """Return the reported metrics once one of the expectations fits, or the next report is due.

    Wait first until the client has reported all requests.
    """
    await reported(world, balanced(served))

    def fits_one(_: object) -> bool:
        return any(fits(expectation, _metrics_since(world, since)) for expectation in expected)

    report = world.plane.reported(fits_one, deadline=until_the_next(world))
    await world.control.unless_no_load_stream(waits.watched(report))
    return _metrics_since(world, since)


def _metrics_since(world: World, since: Mark) -> Metrics:
    """Return the metrics that backends sent since the mark, and those that the client reported."""
    rows = world.fleet.ledger.rpcs[since.requests :]
    metrics = Counter((world.registry.address(row.endpoint), _key(row.metrics)) for row in rows)
    sums: dict[LoadKey, dict[Metric, Sum]] = {}
    for of in world.plane.loads.rows[since.reports :]:
        for locality in of.localities:
            place = LoadKey(of.cluster, of.service, locality_name(locality.locality))
            there = sums.setdefault(place, {})
            for metric, added in _sums(locality):
                there[metric] = there.get(metric, Sum()) + added
    return Metrics(
        tuple(
            BackendReports(address=address, requests=count, own=dict(own), named=dict(named))
            for (address, (own, named)), count in metrics.items()
            if own or named
        ),
        tuple(ReportedMetrics(place, tuple(sorted(of.items()))) for place, of in sums.items()),
    )


def _sums(load: LocalityLoad) -> Iterator[tuple[Metric, Sum]]:
    for metric in load.metrics:
        yield Metric(metric.name), Sum(metric.finished, metric.value)
    for utilization in load.utilizations:
        yield Metric(utilization.name, has_field=True), Sum(utilization.finished, utilization.value)


_Pairs = tuple[tuple[str, float], ...]


def _key(metrics: BackendMetrics | None) -> tuple[_Pairs, _Pairs]:
    """Return the metrics that a client may report."""
    if metrics is None:
        return (), ()
    own = ((name, getattr(metrics, name)) for name in UTILIZATIONS)
    return tuple(pair for pair in own if pair[1]), tuple(sorted(metrics.named_metrics.items()))
