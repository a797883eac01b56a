"""The load that a backend reports at the end of each RPC (gRFC A51): ORCA, in a trailer."""

from __future__ import annotations

import msgspec
from xds.data.orca.v3.orca_load_report_pb2 import OrcaLoadReport

__all__ = ["KEY", "BackendMetrics"]

KEY = "endpoint-load-metrics-bin"
"""The trailer's name."""


class BackendMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """One report. What is left at 0 is not sent, as by any backend.

    Attributes:
        application_utilization: Utilization by the application's own measure; 1 is full.
        cpu_utilization: CPU utilization; 1 is full, more is possible.
        mem_utilization: Memory utilization, from 0 to 1.
        rps_fractional: Requests per second.
        eps: Errors per second.
        request_cost: The costs of this RPC, by name.
        utilization: Further utilizations from 0 to 1, by name.
        named_metrics: By name, anything else.
    """

    application_utilization: float = 0.0
    cpu_utilization: float = 0.0
    mem_utilization: float = 0.0
    rps_fractional: float = 0.0
    eps: float = 0.0
    request_cost: dict[str, float] = {}
    utilization: dict[str, float] = {}
    named_metrics: dict[str, float] = {}

    def trailer(self) -> tuple[str, bytes]:
        """Return the trailing metadata with these metrics."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return KEY, OrcaLoadReport(**fields).SerializeToString()
