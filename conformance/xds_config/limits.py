"""The limits of clusters: what is served, as inputs of the oracle of circuit breaking (A32)."""

from __future__ import annotations

from conformance.judging.expectations import RequestsAdmitted
from conformance.spec.oracles import circuit_breaking
from conformance.xds_config.config import XdsConfig


def admits(served: XdsConfig, cluster: str, *, in_flight: int = 0) -> RequestsAdmitted:
    """Of streams begun one after another, as many open as this cluster lets through.

    Args:
        served: what is served.
        cluster: the name of the one to whose endpoints they go.
        in_flight: how many others are open, and counted with them.
    """
    return RequestsAdmitted(
        thresholds=tuple(
            circuit_breaking.Threshold(threshold.priority == "DEFAULT", threshold.max_requests)
            for threshold in served.own(cluster).thresholds
        ),
        in_flight=in_flight,
    )
