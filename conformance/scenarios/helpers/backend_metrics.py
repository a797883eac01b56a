"""Backends that tell of their own load, and what is reported of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from conformance.judging.expectations import EachServesSome, MetricsReported, fits
from conformance.judging.observations import Metrics, ReportedMetrics
from conformance.scenarios.helpers.load_reports import (
    balanced,
    locality_name,
    reported,
    until_the_next,
)
from conformance.spec.oracles.backend_metrics import BackendReports, Metric, Sum
from conformance.spec.oracles.load import LoadKey
from conformance.world import World, waits
from conformance.xds_config.config import XdsConfig, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from fake_control_plane import UTILIZATIONS, LocalityLoad
from test_servers import BackendMetrics

NAMED, OTHER, ANOTHER = "named", "other", "another"
"""Localities of backends that tell named metrics, of such that do not, and one that comes later."""

TELLING: Final = {
    NAMED: (
        BackendMetrics(named_metrics={"queue": 3.0, "hits": 0.5}),
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
"""What the backends of each tell, one of them nothing.

All values are sums of powers of two, so that they add up exactly in any order.
"""


async def begin(world: World, *metrics: str) -> XdsConfig:
    """Serve a cluster of such backends that lists these metrics, and make calls to each of them.

    Raises:
        ClientRefused, ClientStuck: it does not serve.
    """
    places = []
    for name, telling in TELLING.items():
        members = await world.endpoints(len(telling))
        for member, told in zip(members, telling, strict=True):
            member.set_metrics(told)
        places.append(Locality(tuple(Endpoint(member.address) for member in members), name))
    served = one_cluster(places, policy=RoundRobin(), service_name="service", is_reported=True)
    served = listing(served, *metrics)
    await world.serve(served)
    make_calls = partial(world.call, world.sessions(20))
    await world.rounds.require(EachServesSome(served.addresses()), make_calls, why="they serve")
    return served


async def with_another(world: World, served: XdsConfig) -> XdsConfig:
    """The same with one more locality, of a backend that tells named metrics."""
    (member,) = await world.endpoints(1)
    member.set_metrics(TELLING[NAMED][0])
    another = Locality((Endpoint(member.address),), ANOTHER)
    return served.with_localities(*served.get_cluster().localities, another)


def listing(served: XdsConfig, *metrics: str) -> XdsConfig:
    """The same, but the cluster lists these metrics."""
    return replace(served, clusters=(replace(served.get_cluster(), metrics=metrics),))


def told_of(
    served: XdsConfig, listed: Sequence[str] | None, *, at: Sequence[str] = tuple(TELLING)
) -> MetricsReported:
    """That reports tell these metrics of localities of the cluster; None: all that have names."""
    places = balanced(served).places.items()
    return MetricsReported(
        places={address: place for address, place in places if place.locality in at},
        listed=None if listed is None else tuple(listed),
    )


class Mark(msgspec.Struct, frozen=True):
    """From where on requests and reports are looked at."""

    requests: int = 0
    reports: int = 0


EVERYTHING: Final = Mark()


def mark(world: World) -> Mark:
    """From now on; all requests until now have been reported."""
    return Mark(len(world.fleet.ledger), len(world.plane.loads.rows))


async def metrics(
    world: World, served: XdsConfig, *expected: MetricsReported, since: Mark = EVERYTHING
) -> Metrics:
    """What was reported once all requests are, and one of these fits or another report was due."""
    await reported(world, balanced(served))

    def fits_one(_: object) -> bool:
        return any(fits(expectation, _told_since(world, since)) for expectation in expected)

    await waits.watched(world.plane.reported(fits_one, deadline=until_the_next(world)))
    return _told_since(world, since)


def _told_since(world: World, since: Mark) -> Metrics:
    """What the backends have told from then on, and what was reported of it."""
    rows = world.fleet.ledger.rpcs[since.requests :]
    told = Counter((world.registry.address(row.endpoint), _key(row.metrics)) for row in rows)
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
            for (address, (own, named)), count in told.items()
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


def _key(told: BackendMetrics | None) -> tuple[_Pairs, _Pairs]:
    """What of it may be reported."""
    if told is None:
        return (), ()
    own = ((name, getattr(told, name)) for name in UTILIZATIONS)
    return tuple(pair for pair in own if pair[1]), tuple(sorted(told.named_metrics.items()))
