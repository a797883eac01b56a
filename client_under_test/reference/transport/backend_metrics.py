"""Read the load that a backend reports in the trailers of a call: ORCA, as in A51."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.message import DecodeError
from xds.data.orca.v3.orca_load_report_pb2 import OrcaLoadReport

from client_under_test.reference.values import BackendMetrics

_TRAILER: Final = b"endpoint-load-metrics-bin"


def of_trailers(trailers: Mapping[bytes, bytes]) -> BackendMetrics | None:
    """Return the metrics in the trailers; None if they are missing or cannot be read."""
    written = trailers.get(_TRAILER)
    if written is None:
        return None
    padding = b"=" * (-len(written) % 4)
    try:
        report: Any = OrcaLoadReport.FromString(base64.b64decode(written + padding, validate=True))
    except (binascii.Error, DecodeError):
        return None
    return BackendMetrics(
        cpu_utilization=report.cpu_utilization,
        mem_utilization=report.mem_utilization,
        application_utilization=report.application_utilization,
        rps=report.rps_fractional,
        eps=report.eps,
        named=dict(report.named_metrics),
    )
