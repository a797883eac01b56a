"""The counts of a process: requests in flight (circuit breaking) and load (A37, A42).

One ledger is shared by all channels of a process. Load is taken out of it for each report.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import msgspec

from client_under_test.reference.policies.interface import Account, Drop, Subchannel
from client_under_test.reference.policies.rules.admission import Counts, LoadKey
from client_under_test.reference.policies.rules.backend_metrics import Metric, MetricSums
from client_under_test.reference.policies.rules.outlier_detection import Bucket
from client_under_test.reference.policies.rules.policy_rules import PolicyRules
from client_under_test.reference.values import BackendMetrics, Locality, Status


class LocalityLoad(msgspec.Struct, frozen=True, kw_only=True):
    """A42-LOAD-06: what a locality has done since the last report, and what it is doing now."""

    locality: Locality
    issued: int
    succeeded: int
    errors: int
    in_progress: int
    metrics: MetricSums = {}


class ClusterLoad(msgspec.Struct, frozen=True, kw_only=True):
    """The load of a cluster and service name since the last report.

    `dropped` counts all drops, `dropped_by_category` those of EDS only.
    """

    cluster: str
    service_name: str
    localities: tuple[LocalityLoad, ...] = ()
    dropped: int = 0
    dropped_by_category: tuple[tuple[str, int], ...] = ()


class BackendLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend reported last, and when it reported load first and last (A58)."""

    metrics: BackendMetrics
    first: float
    last: float


@dataclass(slots=True, eq=False)
class CallCounter:
    """The calls of an endpoint that have ended in an interval (A50)."""

    bucket: Bucket = field(default_factory=Bucket)


class Ledger:
    """Told of every call that has an `Account`, and of every drop.

    Args:
        rules: those of the edition.
        clock: returns seconds.
    """

    def __init__(self, rules: PolicyRules, clock: Callable[[], float] = time.monotonic) -> None:
        self._rules = rules
        self.now = clock
        self._backends: WeakKeyDictionary[Subchannel, BackendLoad] = WeakKeyDictionary()
        self._counters: WeakKeyDictionary[Subchannel, CallCounter] = WeakKeyDictionary()
        self._in_flight: Counter[tuple[object, ...]] = Counter()
        self._running: Counter[Subchannel | None] = Counter()
        self._loads: dict[LoadKey, Counts] = {}
        self._dropped: Counter[tuple[str, str]] = Counter()
        self._categories: Counter[tuple[str, str, str]] = Counter()

    def in_flight(self, account: Account) -> int:
        """Return the number of requests that circuit breaking counts."""
        return self._in_flight[self._rules.in_flight_key(account)]

    def running(self, subchannel: Subchannel) -> int:
        """Count the requests that have been sent on it and have not ended (A48)."""
        return self._running[subchannel]

    def load(self, subchannel: Subchannel) -> BackendLoad | None:
        """Return what the backend of a subchannel reported, if it reported load (A58)."""
        return self._backends.get(subchannel)

    def forget_load(self, subchannel: Subchannel) -> None:
        """Forget what the backend of a subchannel reported: it is too old."""
        self._backends.pop(subchannel, None)

    def count_calls(self, subchannel: Subchannel, counter: CallCounter | None) -> None:
        """Count the calls on a subchannel that end from now on here, or nowhere (A50)."""
        if counter is None:
            self._counters.pop(subchannel, None)
        else:
            self._counters[subchannel] = counter

    def waits(self, account: Account) -> None:
        """Note that a request was picked, and must be picked again."""
        key = self._rules.in_flight_key(account)
        self._in_flight[key] += self._rules.in_flight_while_waiting
        self._count(account, self._rules.count_queued)

    def started(self, account: Account) -> None:
        """Note that a request was sent; called once, however many picks it took."""
        self._in_flight[self._rules.in_flight_key(account)] += 1
        self._running[account.subchannel] += 1
        self._count(account, self._rules.count_sent)

    def finished(
        self, account: Account, status: Status, metrics: BackendMetrics | None = None
    ) -> None:
        """Note the end of a request that was sent, with its backend's load report, if any."""
        self._running[account.subchannel] -= 1
        if not self._running[account.subchannel]:
            del self._running[account.subchannel]
        self._in_flight[self._rules.in_flight_key(account)] -= self._rules.ends_flight(status)
        ok = status.code == "OK"
        self._count(account, lambda counts: self._rules.count_ended(counts, ok))
        if account.subchannel is not None and account.subchannel in self._counters:
            counter = self._counters[account.subchannel]
            counter.bucket = self._rules.call_counted(counter.bucket, status.code)
        if metrics is not None and self._rules.metrics_count(ok):
            choose = self._rules.metrics_by_list or self._rules.reported_metrics
            told = choose(metrics, self._rules.metrics_listed(account))
            self._count(account, lambda counts: self._with_metrics(counts, told))
        has_load = metrics and metrics.rps and self._rules.utilization(metrics)
        if metrics is not None and has_load and account.subchannel is not None:
            now, known = self.now(), self.load(account.subchannel)
            first = known.first if known else now
            self._backends[account.subchannel] = BackendLoad(metrics=metrics, first=first, last=now)

    def _with_metrics(self, counts: Counts, told: Mapping[Metric, float]) -> Counts:
        return msgspec.structs.replace(
            counts, metrics=self._rules.add_metrics(counts.metrics, told)
        )

    def _count(self, account: Account, change: Callable[[Counts], Counts]) -> None:
        key = self._rules.load_key(account)
        if key is not None:
            self._loads[key] = change(self._loads.get(key, Counts()))

    def dropped(self, drop: Drop) -> None:
        """Note that a request was dropped, by an EDS category or by circuit breaking."""
        account = drop.account
        key = self._rules.in_flight_key(account)
        self._in_flight[key] += self._rules.in_flight_when_dropped
        if not account.reported or not self._rules.reports_drop(drop.category):
            return
        self._count(account, self._rules.count_dropped)
        self._dropped[account.cluster, account.service_name] += 1
        category = self._rules.reported_category(drop.category)
        if category is not None:
            self._categories[account.cluster, account.service_name, category] += 1

    def take(self) -> tuple[ClusterLoad, ...]:
        """Take out what has gathered since the last time; requests in progress stay counted."""
        localities: dict[tuple[str, str], list[LocalityLoad]] = {
            pair: [] for pair, count in sorted(self._dropped.items()) if count
        }
        for key, counts in sorted(self._loads.items()):
            if not self._rules.has_load(counts):
                continue
            load = LocalityLoad(
                locality=key.locality,
                issued=counts.issued,
                succeeded=counts.succeeded,
                errors=counts.errors,
                in_progress=counts.in_progress,
                metrics=counts.metrics,
            )
            localities.setdefault((key.cluster, key.service_name), []).append(load)
        taken = tuple(
            ClusterLoad(
                cluster=cluster,
                service_name=service_name,
                localities=tuple(loads),
                dropped=self._dropped[cluster, service_name],
                dropped_by_category=tuple(
                    (category, count)
                    for (cluster_name, other, category), count in sorted(self._categories.items())
                    if (cluster_name, other) == (cluster, service_name)
                ),
            )
            for (cluster, service_name), loads in localities.items()
        )
        for key, counts in self._loads.items():
            left = self._rules.metrics_after_report(counts.metrics)
            counted = self._rules.load_after_report(counts)
            self._loads[key] = msgspec.structs.replace(counted, metrics=left)
        self._dropped = Counter(self._rules.drops_after_report(self._dropped))
        self._categories = Counter(self._rules.drops_after_report(self._categories))
        return taken
