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
"""Prefix of a named metric on a cluster's list and in a load report by A85."""

ALL_NAMED: Final = NAMED + "*"
"""Entry of a cluster's list that selects every named metric."""


class Metric(Struct, frozen=True, order=True):
    """The place of a metric in a load report."""

    name: str
    has_field: bool = False
    """True if the report has a field of this name; False for a named metric."""

    def __str__(self) -> str:
        return f"{'field' if self.has_field else 'named metric'} {self.name}"


class Sum(Struct, frozen=True):
    """The number of requests whose backend sent a metric, and the sum of its values."""

    requests: int = 0
    value: float = 0.0

    def __str__(self) -> str:
        return f"{self.value:g} of {self.requests}"

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.requests + other.requests, self.value + other.value)


class BackendReports(Struct, frozen=True, kw_only=True):
    """The backend metrics that a backend sent at the end of each of its `requests`."""

    address: str
    requests: int
    own: dict[str, float] = {}
    """Nonzero metrics that have a field of their own in ORCA, by field name."""
    named: dict[str, float] = {}
    """The ORCA report's `named_metrics`."""


Sums = Mapping[Metric, Sum]


def metrics_due(
    sent: Iterable[BackendReports], places: Mapping[str, LoadKey], listed: Collection[str] | None
) -> dict[LoadKey, dict[Metric, Sum]]:
    """Return the sums of metrics that a client must report, by place.

    Args:
        sent: the metrics that backends sent.
        places: the place of each address; the client reports nothing for other addresses.
        listed: the metrics on the cluster's list (A85); None if the client follows A64, which has
            no list.
    """
    sums: dict[LoadKey, dict[Metric, Sum]] = {}
    for report in sent:
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
