"""The configs of the policies: what the registry parses them to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.policies.rules.admission import MAX_REQUESTS, DropCategory
from client_under_test.reference.policies.rules.outlier_detection import OutlierSettings
from client_under_test.reference.values import Status

DEFAULT_MINIMUM: Final = 1024  # A42-CONF-06
DEFAULT_MAXIMUM: Final = 4096  # A42-CONF-07
RING_CAP: Final = (
    4096  # A42-CONF-01, A42-CONF-02: the local cap, unless the application sets another
)


class PickFirstConfig(PolicyConfig, frozen=True, kw_only=True):
    """pick_first. `shuffle`: A62, the order of the endpoints is random."""

    shuffle: bool = False


class RoundRobinConfig(PolicyConfig, frozen=True, kw_only=True):
    """round_robin."""


class WeightedRoundRobinConfig(PolicyConfig, frozen=True, kw_only=True):
    """weighted_round_robin (A58). Times are in seconds."""

    blackout_period: float = 10.0
    weight_expiration_period: float = 180.0
    weight_update_period: float = 1.0
    error_utilization_penalty: float = 1.0
    enable_oob_load_report: bool = False


class LeastRequestConfig(PolicyConfig, frozen=True, kw_only=True):
    """least_request_experimental (A48)."""

    choice_count: int


class RingHashConfig(PolicyConfig, frozen=True, kw_only=True):
    """ring_hash_experimental. `request_hash_header`: A76."""

    minimum: int = DEFAULT_MINIMUM
    maximum: int = DEFAULT_MAXIMUM
    request_hash_header: str = ""


class WrrLocalityConfig(PolicyConfig, frozen=True, kw_only=True):
    """xds_wrr_locality_experimental (A52)."""

    child: PolicyConfig


class WeightedChild(msgspec.Struct, frozen=True):
    """A child of weighted_target."""

    weight: int
    config: PolicyConfig


class WeightedTargetConfig(PolicyConfig, frozen=True, kw_only=True):
    """weighted_target_experimental."""

    targets: Mapping[str, WeightedChild]


class PriorityChild(msgspec.Struct, frozen=True):
    """A child of priority. A37: requests to resolve again may be ignored."""

    config: PolicyConfig
    ignore_reresolution: bool = False


class PriorityConfig(PolicyConfig, frozen=True, kw_only=True):
    """priority_experimental: children by name, and the names from the highest priority down."""

    children: Mapping[str, PriorityChild]
    priorities: tuple[str, ...]


class ClusterImplConfig(PolicyConfig, frozen=True, kw_only=True):
    """xds_cluster_impl_experimental (A37). `reported`: the cluster has an lrs_server.

    `metrics`: A85, what of its backends' own metrics is reported with it.
    """

    cluster: str
    service_name: str = ""
    reported: bool = False
    metrics: tuple[str, ...] = ()
    max_requests: int = MAX_REQUESTS
    drops: tuple[DropCategory, ...] = ()
    child: PolicyConfig


class OverrideHostConfig(PolicyConfig, frozen=True, kw_only=True):
    """xds_override_host_experimental (A55). `statuses`: override_host_status, as numbers."""

    statuses: frozenset[int]
    child: PolicyConfig


class OutlierDetectionConfig(PolicyConfig, frozen=True, kw_only=True):
    """outlier_detection_experimental (A50). Its defaults eject nothing."""

    settings: OutlierSettings = OutlierSettings()
    child: PolicyConfig


class Mechanism(msgspec.Struct, frozen=True):
    """Where the endpoints of a leaf come from: EDS, or DNS if it has a `dns_name` "host:port"."""

    cluster: str
    service_name: str = ""
    dns_name: str = ""


class ClusterResolverConfig(PolicyConfig, frozen=True, kw_only=True):
    """xds_cluster_resolver_experimental (A37), once endpoints of all its mechanisms are known."""

    mechanisms: tuple[Mechanism, ...]
    child: PolicyConfig

    @property
    def instance(self) -> object:
        """The class and the mechanisms: another list of them needs another instance."""
        return type(self), self.mechanisms


class ClusterManagerConfig(PolicyConfig, frozen=True, kw_only=True):
    """xds_cluster_manager_experimental: a child for each cluster that routes lead to."""

    children: Mapping[str, PolicyConfig]


class WaitingConfig(PolicyConfig, frozen=True, kw_only=True):
    """Represents a cluster whose resources have not arrived: CONNECTING, requests wait."""


class FailingConfig(PolicyConfig, frozen=True, kw_only=True):
    """Represents a cluster that cannot be used: TRANSIENT_FAILURE, requests fail."""

    status: Status
