"""The ledger of load reports (LRS), without any I/O.

Counts in a report are those since the report before, so totals are sums over all reports; requests
in progress are a gauge, so they are what each open stream said last (load_report.proto,
"UpstreamLocalityStats"). A locality that a stream's newest report leaves out has nothing in
progress.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
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
        """Return whether each issued request has ended or is reported as in progress."""
        return self.issued == self.finished + self.in_progress


class Drops(msgspec.Struct, frozen=True):
    """Dropped requests summed over reports."""

    total: int
    by_category: Mapping[str, int]


_MOST_CLUSTERS: Final = 10_000
"""Pairs of cluster and EDS service name that a bounded ledger sums: more than are ever served."""

_MOST_PARTS: Final = 1_000
"""Localities, and drop categories, of such a pair."""

_MOST_PARTS_OF_A_REPORT: Final = 100_000

_Named = tuple[str, str]  # a cluster and an EDS service name


class Loads:
    """All that clients reported, row by row, and sums over it.

    Queries take a cluster, and may take an EDS service name and a locality to look at a part.
    Taking in a report costs as much as the report is long, however much there is already.

    Args:
        keep: How many rows, the newest; None: all. Sums are of all rows. A ledger that does not
            keep all of them sums no more than 10,000 pairs of cluster and EDS service name, and of
            each no more than 1,000 localities and drop categories.
    """

    def __init__(self, keep: int | None = None) -> None:
        self._rows: collections.deque[ClusterLoad] = collections.deque(maxlen=keep)
        self._keep = keep
        self._sums: dict[_Named, _Sum] = {}
        self._services: dict[str, dict[str, None]] = {}
        self._newest: dict[int, dict[_Named, list[LocalityLoad]]] = {}

    def receive(self, stream: int, report: Iterable[ClusterLoad]) -> int:
        """Take in one report of a stream: all clusters that it names.

        Returns:
            How many rows are left out, as the ledger is full.
        """
        newest: dict[_Named, list[LocalityLoad]] = {}
        left_out = 0
        for row in report:
            named = row.cluster, row.service
            if named not in self._sums:
                if self._keep is not None and len(self._sums) >= _MOST_CLUSTERS:
                    left_out += 1
                    continue
                self._sums[named] = _Sum(None if self._keep is None else _MOST_PARTS)
                self._services.setdefault(row.cluster, {})[row.service] = None
            self._sums[named].add(row)
            newest.setdefault(named, []).extend(row.localities)
            self._rows.append(row)
        self._newest[stream] = newest
        return left_out

    def close(self, stream: int) -> None:
        """Forget what an ended stream said is in progress."""
        self._newest.pop(stream, None)

    @property
    def rows(self) -> tuple[ClusterLoad, ...]:
        """The rows that are kept, in the order in which they came."""
        return tuple(self._rows)

    def clusters(self) -> tuple[tuple[str, str], ...]:
        """Each pair of cluster and EDS service name that was ever reported, sorted."""
        return tuple(sorted(self._sums))

    def load(
        self, cluster: str, *, service: str | None = None, locality: Locality | None = None
    ) -> Load:
        """Return the requests of a cluster, or of a part of it."""
        found = self.by_locality(cluster, service=service)
        chosen = found.values() if locality is None else [found.get(locality, Load())]
        return _sum(chosen)

    def by_locality(self, cluster: str, *, service: str | None = None) -> dict[Locality, Load]:
        """Return the requests of a cluster by locality (all priorities together)."""
        sums: dict[Locality, Load] = {}
        named = self._pairs(cluster, service)
        for cluster_name in named:
            for locality, counted in self._sums[cluster_name].localities.items():
                sums[locality] = _sum((sums.get(locality, Load()), _load(counted)))
        for newest in self._newest.values():
            for cluster_name in named:
                for entry in newest.get(cluster_name, ()):
                    if entry.locality in sums:
                        gauge = Load(in_progress=entry.in_progress)
                        sums[entry.locality] = _sum((sums[entry.locality], gauge))
        return sums

    def drops(self, cluster: str, *, service: str | None = None) -> Drops:
        """Return the drops of a cluster."""
        total = 0
        by_category: dict[str, int] = {}
        for pair in self._pairs(cluster, service):
            total += self._sums[pair].dropped
            for category, count in self._sums[pair].by_category.items():
                by_category[category] = by_category.get(category, 0) + count
        return Drops(total, by_category)

    def is_balanced(self, cluster: str, *, issued: int, service: str | None = None) -> bool:
        """Return whether `issued` requests were issued, and each has ended or is in progress."""
        load = self.load(cluster, service=service)
        return load.is_balanced and load.issued == issued

    def _pairs(self, cluster: str, service: str | None) -> list[_Named]:
        services = self._services.get(cluster, {})
        chosen = services if service is None else {service} & services.keys()
        return [(cluster, service_name) for service_name in chosen]


class _Sum:
    """All rows of one cluster and EDS service name.

    Args:
        most: How many localities, and drop categories; None: all.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        # Successful, errors and issued: lists, as adding to frozen values costs ten times as much.
        self.localities: dict[Locality, list[int]] = {}
        self.dropped = 0
        self.by_category: dict[str, int] = {}

    def add(self, row: ClusterLoad) -> None:
        for entry in row.localities:
            counted = self.localities.get(entry.locality)
            if counted is None:
                if self._most is not None and len(self.localities) >= self._most:
                    continue
                counted = self.localities[entry.locality] = [0, 0, 0]
            counted[0] += entry.successful
            counted[1] += entry.errors
            counted[2] += entry.issued
        self.dropped += row.dropped
        for category, count in row.dropped_by_category.items():
            if (
                self._most is None
                or category in self.by_category
                or len(self.by_category) < self._most
            ):
                self.by_category[category] = self.by_category.get(category, 0) + count


def _load(counted: list[int]) -> Load:
    successful, errors, issued = counted
    return Load(successful=successful, errors=errors, issued=issued)


def loads_of(request: Any) -> tuple[tuple[ClusterLoad, ...], int]:
    """Return the rows of a load report, and the number of omitted rows.

    Those are left out with which the report would be of more than 100,000 parts (rows, localities,
    endpoints, metrics, drop categories): to read more would hold up everything else for seconds.
    """
    rows: list[ClusterLoad] = []
    parts = 0
    for stats in request.cluster_stats:
        parts += _parts(stats)
        if parts > _MOST_PARTS_OF_A_REPORT:
            break
        rows.append(cluster_load(stats))
    return tuple(rows), len(request.cluster_stats) - len(rows)


def _parts(stats: Any) -> int:
    return (
        1
        + len(stats.dropped_requests)
        + sum(
            1
            + len(locality.load_metric_stats)
            + len(locality.upstream_endpoint_stats)
            + sum(len(endpoint.load_metric_stats) for endpoint in locality.upstream_endpoint_stats)
            for locality in stats.upstream_locality_stats
        )
    )


def cluster_load(stats: Any) -> ClusterLoad:
    """One `ClusterStats` message as a plain value."""
    return ClusterLoad(
        cluster=stats.cluster_name,
        service=stats.cluster_service_name,
        interval=seconds(stats.load_report_interval),
        localities=tuple(
            _locality_load(locality_stats) for locality_stats in stats.upstream_locality_stats
        ),
        dropped=stats.total_dropped_requests,
        dropped_by_category={
            request.category: request.dropped_count for request in stats.dropped_requests
        },
    )


def seconds(duration: Any) -> float:
    """Convert a `Duration` message to seconds, even if it is out of the message's range."""
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
            MetricLoad(name, metric.num_requests_finished_with_metric, metric.total_metric_value)
            for name in UTILIZATIONS
            if stats.HasField(name) and (metric := getattr(stats, name))
        ),
        endpoints=tuple(
            EndpointLoad(
                address=_address(endpoint.address.socket_address),
                successful=endpoint.total_successful_requests,
                errors=endpoint.total_error_requests,
                issued=endpoint.total_issued_requests,
                in_progress=endpoint.total_requests_in_progress,
                metrics=_metrics(endpoint.load_metric_stats),
            )
            for endpoint in stats.upstream_endpoint_stats
        ),
    )


def _metrics(stats: Any) -> tuple[MetricLoad, ...]:
    return tuple(
        MetricLoad(
            metric.metric_name, metric.num_requests_finished_with_metric, metric.total_metric_value
        )
        for metric in stats
    )


def _address(socket_address: Any) -> str:
    host = (
        f"[{socket_address.address}]" if ":" in socket_address.address else socket_address.address
    )
    return f"{host}:{socket_address.port_value}"


def _sum(loads: Iterable[Load]) -> Load:
    loads = tuple(loads)
    return Load(
        successful=sum(load.successful for load in loads),
        errors=sum(load.errors for load in loads),
        issued=sum(load.issued for load in loads),
        in_progress=sum(load.in_progress for load in loads),
    )
