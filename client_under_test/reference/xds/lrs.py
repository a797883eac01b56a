"""Load reports: what is due when, as a state machine without I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from client_under_test.reference.policies.ledger import ClusterLoad, LocalityLoad
from client_under_test.reference.policies.rules.backend_metrics import Metric, MetricSum
from client_under_test.reference.values import Locality
from client_under_test.reference.xds.load_rules import LoadStreamRules


@dataclass(frozen=True)
class ClusterReport:
    """A cluster's load, and the seconds in which it gathered."""

    load: ClusterLoad
    seconds: float


@dataclass
class _Gathered:
    """What a cluster has gathered since its last report."""

    since: float
    issued: Counter[Locality] = field(default_factory=Counter)
    succeeded: Counter[Locality] = field(default_factory=Counter)
    errors: Counter[Locality] = field(default_factory=Counter)
    in_progress: dict[Locality, int] = field(default_factory=dict)
    metrics: dict[Locality, dict[Metric, MetricSum]] = field(default_factory=dict)
    dropped: int = 0
    categories: Counter[str] = field(default_factory=Counter)

    def add(self, load: ClusterLoad) -> None:
        self.dropped += load.dropped
        self.categories.update(dict(load.dropped_by_category))
        for locality in load.localities:
            self.issued[locality.locality] += locality.issued
            self.succeeded[locality.locality] += locality.succeeded
            self.errors[locality.locality] += locality.errors
            self.in_progress[locality.locality] = locality.in_progress
            sums = self.metrics.setdefault(locality.locality, {})
            for metric, more in locality.metrics.items():
                sums[metric] = sums.get(metric, MetricSum()) + more

    def load(
        self, cluster: str, service_name: str, is_told: Callable[[LocalityLoad], bool]
    ) -> ClusterLoad:
        localities = (
            LocalityLoad(
                locality=locality,
                issued=self.issued[locality],
                succeeded=self.succeeded[locality],
                errors=self.errors[locality],
                in_progress=self.in_progress[locality],
                metrics=self.metrics[locality],
            )
            for locality in sorted(self.in_progress)
        )
        return ClusterLoad(
            cluster=cluster,
            service_name=service_name,
            dropped=self.dropped,
            dropped_by_category=tuple(sorted(self.categories.items())),
            localities=tuple(locality for locality in localities if is_told(locality)),
        )


class Lrs:
    """Gathers load, by cluster and service name, until the server wants it.

    Args:
        take: returns the load counted since the last call.
        now: the time when reporting begins; all times are seconds of one clock.
        rules: when to report, and which load.
    """

    def __init__(
        self,
        take: Callable[[], Iterable[ClusterLoad]],
        now: float,
        rules: LoadStreamRules = LoadStreamRules(),  # noqa: B008 - frozen
    ) -> None:
        self._take = take
        self._rules = rules
        self._begun_at = now
        self._gathered: dict[tuple[str, str], _Gathered] = {}
        self._reported_at: dict[tuple[str, str], float] = {}
        self._clusters: frozenset[str] = frozenset()
        self._wants_all = False
        self._interval: float | None = None

    @property
    def interval(self) -> float | None:
        """Seconds from report to report, or None: the server has not asked yet."""
        return self._interval

    @property
    def time_to_report(self) -> float:
        """Seconds to the next report."""
        return self._rules.load_interval(self._interval or 0.0)

    def stream_started(self) -> None:
        """Nothing is reported until the server of this stream has asked."""
        self._interval = None
        if not self._rules.load_outlives_stream:
            self._gather()
            self._gathered.clear()

    def response(self, clusters: Iterable[str], *, wants_all: bool, interval: float) -> None:
        """Take the server's requests of a LoadStatsResponse."""
        self._clusters = frozenset(clusters)
        self._wants_all = wants_all
        self._interval = interval

    def report(self, now: float) -> list[ClusterReport]:
        """Return the reports that are due; keep counting for other clusters."""
        self._gather()
        known = {cluster for cluster, _ in self._gathered}
        asked = self._rules.clusters_to_report(known, self._clusters, self._wants_all)
        due = []
        for key, gathered in list(self._gathered.items()):
            if key[0] in asked:
                load = gathered.load(*key, self._rules.reports_locality)
                if load.localities or load.dropped:
                    seconds = self._rules.reported_interval(
                        now - gathered.since, self._interval or 0.0, now - self._begun_at
                    )
                    due.append(ClusterReport(load, seconds))
                self._reported_at[key] = now
            if key[0] in asked or not self._rules.keeps_unrequested_load:
                del self._gathered[key]
        return due

    def _gather(self) -> None:
        """Take what was counted to what was gathered before."""
        taken = {(load.cluster, load.service_name): load for load in self._take()}
        for key, load in taken.items():
            since = self._reported_at.get(key, self._begun_at)
            self._gathered.setdefault(key, _Gathered(since)).add(load)
        for key, gathered in self._gathered.items():
            there = (
                {locality.locality for locality in taken[key].localities} if key in taken else set()
            )
            for locality in gathered.in_progress.keys() - there:
                gathered.in_progress[locality] = 0  # it has ended, and said so before
