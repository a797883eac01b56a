"""Metrics of backends in reports of load, beside what the backends told."""

from __future__ import annotations

import pytest

from conformance.judging.expectations import MetricsReported, WrongKind
from conformance.judging.observations import Calls, Metrics, ReportedMetrics
from conformance.spec.oracles.backend_metrics import BackendReports, Metric, Sum, metrics_due
from conformance.spec.oracles.load import LoadKey

HERE, THERE = LoadKey("a", "", "here"), LoadKey("a", "", "there")
PLACES = {"1:1": HERE, "2:2": HERE, "3:3": THERE}
TOLD = (
    BackendReports(address="1:1", requests=3, own={"cpu_utilization": 0.5}, named={"x": 2.0}),
    BackendReports(address="2:2", requests=2, named={"x": 1.0, "y": 0.0}),
    BackendReports(address="3:3", requests=1, named={"x": 8.0}),
    BackendReports(address="elsewhere", requests=9, named={"x": 9.0}),
)
X, Y, CPU = Metric("x"), Metric("y"), Metric("cpu_utilization", has_field=True)
NAMED_X, NAMED_Y = Metric("named_metrics.x"), Metric("named_metrics.y")


@pytest.mark.parametrize(
    ("listed", "wanted"),
    [
        (None, {HERE: {X: Sum(5, 8.0), Y: Sum(2, 0.0)}, THERE: {X: Sum(1, 8.0)}}),
        ((), {}),
        (("x", "named_metrics", "cpu"), {}),
        (("named_metrics.y",), {HERE: {NAMED_Y: Sum(2, 0.0)}}),
        (("cpu_utilization", "mem_utilization"), {HERE: {CPU: Sum(3, 1.5)}}),
        (
            ("named_metrics.*",),
            {HERE: {NAMED_X: Sum(5, 8.0), NAMED_Y: Sum(2, 0.0)}, THERE: {NAMED_X: Sum(1, 8.0)}},
        ),
    ],
)
def test_what_is_due(
    listed: tuple[str, ...] | None, wanted: dict[LoadKey, dict[Metric, Sum]]
) -> None:
    assert metrics_due(TOLD, PLACES, listed) == wanted


def reports(*sums: tuple[Metric, Sum], at: LoadKey = HERE) -> Metrics:
    return Metrics(TOLD, (ReportedMetrics(at, sums),))


ALL = MetricsReported(places={"1:1": HERE, "2:2": HERE})


@pytest.mark.parametrize(
    ("seen", "holds", "exceeded"),
    [
        (reports((X, Sum(5, 8.0)), (Y, Sum(2, 0.0))), True, False),
        (reports((X, Sum(5, 8.0))), False, False),
        (reports((X, Sum(6, 8.0)), (Y, Sum(2, 0.0))), False, True),
        (reports((X, Sum(5, 9.0)), (Y, Sum(2, 0.0))), False, False),
        (reports((X, Sum(5, 8.0)), (Y, Sum(2, 0.0)), (CPU, Sum(1, 0.5))), False, True),
        (reports((X, Sum(1, 8.0)), at=THERE), False, False),
    ],
)
def test_all_of_it_and_no_more(seen: Metrics, *, holds: bool, exceeded: bool) -> None:
    assert ALL.finding(seen).holds is holds
    assert ALL.is_exceeded(seen) is exceeded


def test_what_differs_is_told_by_place() -> None:
    finding = ALL.finding(reports((X, Sum(5, 8.0))))
    assert finding.saw == "cluster a, locality here: named metric x 8 of 5"
    assert "named metric y 0 of 2" in finding.wanted
    assert finding.differs.count("\n") == 0


def test_nothing_else_is_weighed() -> None:
    with pytest.raises(WrongKind):
        ALL.finding(Calls(()))
    with pytest.raises(WrongKind):
        ALL.is_exceeded(Calls(()))
