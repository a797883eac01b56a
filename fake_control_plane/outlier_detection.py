"""Builder for the outlier_detection of a Cluster (A50)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envoy.config.cluster.v3 import outlier_detection_pb2


def outlier_detection(times: Mapping[str, float], numbers: Mapping[str, int]) -> Any:
    """Return an OutlierDetection.

    Args:
        times: Fields that are Durations, in seconds.
        numbers: Fields that are numbers.
    """
    message = outlier_detection_pb2.OutlierDetection()
    for name, seconds in times.items():
        getattr(message, name).FromMicroseconds(round(seconds * 1_000_000))
    for name, number in numbers.items():
        getattr(message, name).value = number
    return message
