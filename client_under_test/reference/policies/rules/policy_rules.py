"""The rules of all policies."""

from __future__ import annotations

from dataclasses import dataclass

from client_under_test.reference.policies.rules.admission import ClusterImplRules
from client_under_test.reference.policies.rules.backend_metrics import BackendMetricRules
from client_under_test.reference.policies.rules.failover import PriorityRules
from client_under_test.reference.policies.rules.least_request import LeastRequestRules
from client_under_test.reference.policies.rules.localities import LocalityRules
from client_under_test.reference.policies.rules.outlier_detection import (
    OutlierDetectionRules,
)
from client_under_test.reference.policies.rules.override_host import OverrideHostRules
from client_under_test.reference.policies.rules.ring_picks import PickRules
from client_under_test.reference.policies.rules.ring_states import RingStateRules
from client_under_test.reference.policies.rules.round_robin import RoundRobinRules
from client_under_test.reference.policies.rules.shuffling import PickFirstRules
from client_under_test.reference.policies.rules.subchannel_pool import SharingRules
from client_under_test.reference.policies.rules.switching import SwitchRules
from client_under_test.reference.policies.rules.weighted_round_robin import (
    WeightedRoundRobinRules,
)


@dataclass(frozen=True, kw_only=True)
class PolicyRules(
    PickRules,
    RingStateRules,
    RoundRobinRules,
    LeastRequestRules,
    OutlierDetectionRules,
    OverrideHostRules,
    WeightedRoundRobinRules,
    PriorityRules,
    SwitchRules,
    ClusterImplRules,
    BackendMetricRules,
    LocalityRules,
    PickFirstRules,
    SharingRules,
):
    """The rules of a channel's policies; each policy uses its own part."""
