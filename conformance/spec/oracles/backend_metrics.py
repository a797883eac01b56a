"""Compute the backend metrics in a load report from what the backends sent (A64, A85).

Clauses: A64-METRIC-01, A64-METRIC-02, A64-METRIC-03, A64-METRIC-04, A85-LIST-01, A85-LIST-02,
A85-LIST-03, A85-LIST-04, A85-LIST-05, A85-LIST-06.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from msgspec import Struct

from conformance.spec.oracles.load import LoadKey

NAMED: Final = "named_metrics."
"""Stands before the names of named metrics where a cluster lists them, and in a report by A85."""

ALL_NAMED: Final = NAMED + "*"
"""On a cluster's list: every named metric."""


class Metric(Struct, frozen=True, order=True):
    """What a metric is told under."""

    name: str
    has_field: bool = False
    """Whether it is told in a field of this name, and not as one of many by name."""

    def __str__(self) -> str:
        return f"{'field' if self.has_field else 'named metric'} {self.name}"


class Sum(Struct, frozen=True):
    """Of the requests that told a metric: how many there were, and what it adds up to."""

    requests: int = 0
    value: float = 0.0

    def __str__(self) -> str:
        return f"{self.value:g} of {self.requests}"

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.requests + other.requests, self.value + other.value)


class BackendReports(Struct, frozen=True, kw_only=True):
    """What a backend told at the end of each of so many requests."""

    address: str
    requests: int
    own: dict[str, float] = {}
    """Metrics that ORCA has fields for, by their names; those that are not 0."""
    named: dict[str, float] = {}
    """Its named_metrics."""


Sums = Mapping[Metric, Sum]


def metrics_due(
    told: Iterable[BackendReports], places: Mapping[str, LoadKey], listed: Collection[str] | None
) -> dict[LoadKey, dict[Metric, Sum]]:
    """The metrics of each place, summed.

    Args:
        told: by the backends.
        places: where each address belongs; others are in clusters that are not reported.
        listed: what the cluster wants reported; None: it is not asked, as by A64.
    """
    sums: dict[LoadKey, dict[Metric, Sum]] = {}
    for report in told:
        place = places.get(report.address)
        if place is None:
            continue
        for metric, value in _reported(report, listed).items():
            of = sums.setdefault(place, {})
            of[metric] = of.get(metric, Sum()) + Sum(report.requests, report.requests * value)
    return sums


def _reported(report: BackendReports, listed: Collection[str] | None) -> dict[Metric, float]:
    if listed is None:
        return {Metric(name): value for name, value in report.named.items()}
    return {
        Metric(NAMED + name): value
        for name, value in report.named.items()
        if ALL_NAMED in listed or NAMED + name in listed
    } | {
        Metric(name, has_field=True): value for name, value in report.own.items() if name in listed
    }
