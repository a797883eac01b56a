"""The limits of clusters: what is served, as inputs of the oracle of circuit breaking (A32)."""

from __future__ import annotations

from conformance.judging.expectations import RequestsAdmitted
from conformance.spec.oracles import circuit_breaking
from conformance.xds_config.config import XdsConfig


def admits(served: XdsConfig, cluster: str, *, in_flight: int = 0) -> RequestsAdmitted:
    """Expect that a cluster admits as many streams, started one after another, as its limit.

    Args:
        served: the configuration.
        cluster: the name of the cluster to whose endpoints the streams go.
        in_flight: the number of other open requests that count towards the limit.
    """
    return RequestsAdmitted(
        thresholds=tuple(
            circuit_breaking.Threshold(threshold.priority == "DEFAULT", threshold.max_requests)
            for threshold in served.get_cluster(cluster).thresholds
        ),
        in_flight=in_flight,
    )
