"""The ledger of load reports (LRS), without any I/O.

Counts in a report are those since the report before, so totals are sums over all reports; requests
in progress are a gauge, so they are what each open stream said last (load_report.proto,
"UpstreamLocalityStats"). A locality that a stream's newest report leaves out has nothing in
progress.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

LONGEST_DURATION: Final = 315_576_000_000.0
"""Seconds: the bounds of a `Duration` message, some ten thousand years each way."""


UTILIZATIONS: Final = ("cpu_utilization", "mem_utilization", "application_utilization")
"""Fields of `UpstreamLocalityStats` for one metric each."""


class Locality(msgspec.Struct, frozen=True, order=True):
    """A locality's name."""

    region: str = ""
    zone: str = ""
    sub_zone: str = ""


class MetricLoad(msgspec.Struct, frozen=True):
    """A named backend metric, summed over the requests that carried it."""

    name: str
    finished: int
    """How many requests that finished carried the metric."""
    value: float


class EndpointLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What one report says about one endpoint."""

    address: str
    """"ip:port" or "[ip]:port"."""
    successful: int
    errors: int
    issued: int
    in_progress: int
    metrics: tuple[MetricLoad, ...] = ()


class LocalityLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What one report says about one locality (and priority) of one cluster."""

    locality: Locality
    priority: int = 0
    successful: int = 0
    errors: int = 0
    issued: int = 0
    in_progress: int = 0
    metrics: tuple[MetricLoad, ...] = ()
    utilizations: tuple[MetricLoad, ...] = ()
    """Metrics that the message has fields of their own for, by the names of those that are set."""
    endpoints: tuple[EndpointLoad, ...] = ()


class ClusterLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What one report says about one cluster."""

    cluster: str
    service: str = ""
    """The EDS service name."""
    interval: float = 0.0
    """Seconds that the report says it covers."""
    localities: tuple[LocalityLoad, ...] = ()
    dropped: int = 0
    """All drops, those of a category included."""
    dropped_by_category: Mapping[str, int] = {}


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Requests summed over reports; in progress as last reported."""

    successful: int = 0
    errors: int = 0
    issued: int = 0
    in_progress: int = 0

    @property
    def finished(self) -> int:
        """Requests that ended, well or not."""
        return self.successful + self.errors

    @property
    def is_balanced(self) -> bool:
        """Whether all that was issued has ended or is said to be in progress."""
        return self.issued == self.finished + self.in_progress


class Drops(msgspec.Struct, frozen=True):
    """Dropped requests summed over reports."""

    total: int
    by_category: Mapping[str, int]

    @property
    def uncategorised(self) -> int:
        """Drops that only the total knows, as circuit breaking makes them."""
        return self.total - sum(self.by_category.values())


class Loads:
    """All that clients reported, row by row, and sums over it.

    Queries take a cluster, and may take an EDS service name and a locality to look at a part.

    Args:
        keep: How many rows; None: all. Beyond it the rows so far become one for each cluster and
            EDS service name, with their sums.
    """

    def __init__(self, keep: int | None = None) -> None:
        self._rows: list[ClusterLoad] = []
        self._keep = keep
        self._summed = 0  # how many of the first rows are sums
        self._newest: dict[int, tuple[ClusterLoad, ...]] = {}

    def receive(self, stream: int, report: Iterable[ClusterLoad]) -> None:
        """Take in one report of a stream: all clusters that it names."""
        rows = tuple(report)
        self._newest[stream] = rows
        self._rows.extend(rows)
        if self._keep is not None and len(self._rows) - self._summed > self._keep:
            self._rows = [self._sum_of(*named) for named in self.clusters()]
            self._summed = len(self._rows)

    def close(self, stream: int) -> None:
        """Forget what an ended stream said is in progress."""
        self._newest.pop(stream, None)

    @property
    def rows(self) -> tuple[ClusterLoad, ...]:
        """Every cluster of every report that is kept, in the order in which they came."""
        return tuple(self._rows)

    def clusters(self) -> tuple[tuple[str, str], ...]:
        """Each pair of cluster and EDS service name that was ever reported, sorted."""
        return tuple(sorted({(row.cluster, row.service) for row in self._rows}))

    def load(
        self, cluster: str, *, service: str | None = None, locality: Locality | None = None
    ) -> Load:
        """The requests of a cluster, or of a part of it."""
        found = self.by_locality(cluster, service=service)
        chosen = found.values() if locality is None else [found.get(locality, Load())]
        return _sum(chosen)

    def by_locality(self, cluster: str, *, service: str | None = None) -> dict[Locality, Load]:
        """The requests of a cluster, locality by locality (all priorities together)."""
        sums: dict[Locality, Load] = {}
        for entry in _localities(self._rows, cluster, service):
            counted = Load(successful=entry.successful, errors=entry.errors, issued=entry.issued)
            sums[entry.locality] = _sum((sums.get(entry.locality, Load()), counted))
        newest = (row for rows in self._newest.values() for row in rows)
        for entry in _localities(newest, cluster, service):
            gauge = Load(in_progress=entry.in_progress)
            sums[entry.locality] = _sum((sums[entry.locality], gauge))
        return sums

    def drops(self, cluster: str, *, service: str | None = None) -> Drops:
        """The drops of a cluster."""
        total = 0
        by_category: dict[str, int] = {}
        for row in _of(self._rows, cluster, service):
            total += row.dropped
            for category, count in row.dropped_by_category.items():
                by_category[category] = by_category.get(category, 0) + count
        return Drops(total, by_category)

    def _sum_of(self, cluster: str, service: str) -> ClusterLoad:
        """One row in the place of all of a cluster."""
        drops = self.drops(cluster, service=service)
        return ClusterLoad(
            cluster=cluster,
            service=service,
            localities=tuple(
                LocalityLoad(
                    locality=locality,
                    successful=load.successful,
                    errors=load.errors,
                    issued=load.issued,
                )
                for locality, load in self.by_locality(cluster, service=service).items()
            ),
            dropped=drops.total,
            dropped_by_category=drops.by_category,
        )

    def is_balanced(self, cluster: str, *, issued: int, service: str | None = None) -> bool:
        """Whether exactly so many requests were issued, and all have ended or are in progress."""
        load = self.load(cluster, service=service)
        return load.is_balanced and load.issued == issued


def cluster_load(stats: Any) -> ClusterLoad:
    """One `ClusterStats` message as a plain value."""
    return ClusterLoad(
        cluster=stats.cluster_name,
        service=stats.cluster_service_name,
        interval=seconds(stats.load_report_interval),
        localities=tuple(_locality_load(one) for one in stats.upstream_locality_stats),
        dropped=stats.total_dropped_requests,
        dropped_by_category={one.category: one.dropped_count for one in stats.dropped_requests},
    )


def seconds(duration: Any) -> float:
    """A `Duration` message in seconds, also one that is out of that message's own bounds."""
    whole: int = duration.seconds
    nanos: int = duration.nanos
    return whole + nanos / 1e9


def _locality_load(stats: Any) -> LocalityLoad:
    at = stats.locality
    return LocalityLoad(
        locality=Locality(at.region, at.zone, at.sub_zone),
        priority=stats.priority,
        successful=stats.total_successful_requests,
        errors=stats.total_error_requests,
        issued=stats.total_issued_requests,
        in_progress=stats.total_requests_in_progress,
        metrics=_metrics(stats.load_metric_stats),
        utilizations=tuple(
            MetricLoad(name, one.num_requests_finished_with_metric, one.total_metric_value)
            for name in UTILIZATIONS
            if stats.HasField(name) and (one := getattr(stats, name))
        ),
        endpoints=tuple(
            EndpointLoad(
                address=_address(one.address.socket_address),
                successful=one.total_successful_requests,
                errors=one.total_error_requests,
                issued=one.total_issued_requests,
                in_progress=one.total_requests_in_progress,
                metrics=_metrics(one.load_metric_stats),
            )
            for one in stats.upstream_endpoint_stats
        ),
    )


def _metrics(stats: Any) -> tuple[MetricLoad, ...]:
    return tuple(
        MetricLoad(one.metric_name, one.num_requests_finished_with_metric, one.total_metric_value)
        for one in stats
    )


def _address(socket_address: Any) -> str:
    host = (
        f"[{socket_address.address}]" if ":" in socket_address.address else socket_address.address
    )
    return f"{host}:{socket_address.port_value}"


def _of(rows: Iterable[ClusterLoad], cluster: str, service: str | None) -> Iterator[ClusterLoad]:
    return (row for row in rows if row.cluster == cluster and service in (None, row.service))


def _localities(
    rows: Iterable[ClusterLoad], cluster: str, service: str | None
) -> Iterator[LocalityLoad]:
    return (entry for row in _of(rows, cluster, service) for entry in row.localities)


def _sum(loads: Iterable[Load]) -> Load:
    loads = tuple(loads)
    return Load(
        successful=sum(load.successful for load in loads),
        errors=sum(load.errors for load in loads),
        issued=sum(load.issued for load in loads),
        in_progress=sum(load.in_progress for load in loads),
    )
