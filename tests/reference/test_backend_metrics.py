"""What of backends' own metrics the reference client reports, by edition."""

from __future__ import annotations

import base64

import pytest
from xds.data.orca.v3.orca_load_report_pb2 import OrcaLoadReport

from client_under_test.reference.policies.rules.backend_metrics import (
    Metric,
    MetricSum,
    add_metrics,
    metrics_by_list_a85,
    reported_metrics_a64,
)
from client_under_test.reference.transport.backend_metrics import of_trailers
from client_under_test.reference.values import BackendMetrics

TOLD = BackendMetrics(cpu_utilization=0.5, named={"x": 2.0, "y": 0.0})
TRAILER = b"endpoint-load-metrics-bin"


def test_all_that_have_names() -> None:
    assert reported_metrics_a64(TOLD, ("cpu_utilization",)) == {Metric("x"): 2.0, Metric("y"): 0.0}


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ((), {}),
        (("x", "named_metrics", "mem_utilization"), {}),
        (("named_metrics.y",), {Metric("named_metrics.y"): 0.0}),
        (("cpu_utilization",), {Metric("cpu_utilization", is_field=True): 0.5}),
        (
            ("named_metrics.*",),
            {Metric("named_metrics.x"): 2.0, Metric("named_metrics.y"): 0.0},
        ),
    ],
)
def test_what_is_listed(listed: tuple[str, ...], told: dict[Metric, float]) -> None:
    assert metrics_by_list_a85(TOLD, listed) == told


def test_requests_and_values_add_up() -> None:
    once = add_metrics({}, {Metric("x"): 2.0})
    twice = add_metrics(once, {Metric("x"): 1.0, Metric("y"): 0.0})
    assert twice == {Metric("x"): MetricSum(2, 3.0), Metric("y"): MetricSum(1, 0.0)}


def test_a_trailer_is_read_with_padding_and_without() -> None:
    written = base64.b64encode(
        OrcaLoadReport(cpu_utilization=0.5, named_metrics={"x": 2.0}).SerializeToString()
    )
    wanted = BackendMetrics(cpu_utilization=0.5, named={"x": 2.0})
    assert of_trailers({TRAILER: written}) == wanted
    assert of_trailers({TRAILER: written.rstrip(b"=")}) == wanted


@pytest.mark.parametrize("trailers", [{}, {TRAILER: b"?"}, {TRAILER: b"/////w"}])
def test_what_cannot_be_read_tells_nothing(trailers: dict[bytes, bytes]) -> None:
    assert of_trailers(trailers) is None
