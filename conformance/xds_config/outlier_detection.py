"""The outlier_detection of a Cluster: when endpoints are ejected, and for how long (A50)."""

from __future__ import annotations

from typing import Any

import msgspec

from conformance.spec.oracles.outlier_detection import Detection, FailurePercentage, SuccessRate
from fake_control_plane.outlier_detection import outlier_detection


class OutlierDetection(msgspec.Struct, frozen=True, kw_only=True):
    """An outlier_detection with every field that a gRPC client reads.

    An algorithm that is None has an enforcing percentage of 0.
    """

    interval: float
    base_ejection_time: float
    max_ejection_time: float = 300.0
    max_ejection_percent: int = 100
    success_rate: SuccessRate | None = None
    failure_percentage: FailurePercentage | None = None
    unset: tuple[str, ...] = ()
    """Fields of the message that are left out, with whatever default the client has."""

    def __str__(self) -> str:
        times = (
            f"interval {self.interval:g} s, base_ejection_time {self.base_ejection_time:g} s, "
            f"max_ejection_time {self.max_ejection_time:g} s"
        )
        numbers = ", ".join(f"{name} {value}" for name, value in self._numbers().items())
        return f"outlier_detection: {times}, {numbers}"

    @property
    def detection(self) -> Detection:
        """The input of the oracle."""
        fields = msgspec.structs.asdict(self)
        del fields["unset"]
        return Detection(**fields)

    def without(self, *unset: str) -> OutlierDetection:
        """Return it without these fields of the message."""
        return msgspec.structs.replace(self, unset=unset)

    def resource(self) -> Any:
        """Return the OutlierDetection."""
        times = {
            "interval": self.interval,
            "base_ejection_time": self.base_ejection_time,
            "max_ejection_time": self.max_ejection_time,
        }
        set_times = {name: time for name, time in times.items() if name not in self.unset}
        return outlier_detection(set_times, self._numbers())

    def _numbers(self) -> dict[str, int]:
        numbers = {"max_ejection_percent": self.max_ejection_percent}
        numbers["enforcing_success_rate"] = 0
        numbers["enforcing_failure_percentage"] = 0
        if (success := self.success_rate) is not None:
            numbers |= {
                "success_rate_stdev_factor": success.stdev_factor,
                "enforcing_success_rate": success.enforcement_percentage,
                "success_rate_minimum_hosts": success.minimum_hosts,
                "success_rate_request_volume": success.request_volume,
            }
        if (failure := self.failure_percentage) is not None:
            numbers |= {
                "failure_percentage_threshold": failure.threshold,
                "enforcing_failure_percentage": failure.enforcement_percentage,
                "failure_percentage_minimum_hosts": failure.minimum_hosts,
                "failure_percentage_request_volume": failure.request_volume,
            }
        return {name: number for name, number in numbers.items() if name not in self.unset}
