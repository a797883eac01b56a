"""weighted_round_robin: which share of requests each endpoint gets."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from client_under_test.reference.policies.rules.weighted_round_robin import (
    is_expired,
    penalty_of_errors,
    utilization,
    weight,
)
from client_under_test.reference.policies.weighted_round_robin import Schedule
from client_under_test.reference.values import BackendMetrics

ROUNDS = 100


@pytest.mark.parametrize("weights", [(1, 1), (1, 3), (2, 3, 5), (0.25, 0.75)])
def test_a_schedule_shares_by_weight(weights: tuple[float, ...]) -> None:
    schedule = Schedule(weights, random.Random(1))
    picks = round(ROUNDS * sum(weights) / min(weights))
    counts = Counter(schedule.next() for _ in range(picks))
    for index, each in enumerate(weights):
        assert counts[index] == pytest.approx(picks * each / sum(weights), abs=len(weights))


@pytest.mark.parametrize(
    ("application", "cpu", "counts"), [(0.5, 0.25, 0.5), (0.0, 0.25, 0.25), (0.0, 0.0, 0.0)]
)
def test_utilization(application: float, cpu: float, counts: float) -> None:
    metrics = BackendMetrics(application_utilization=application, cpu_utilization=cpu, named={})
    assert utilization(metrics) == counts


def test_weight() -> None:
    metrics = BackendMetrics(rps=100, eps=25, named={})
    assert penalty_of_errors(metrics, 2) == 0.5
    assert penalty_of_errors(BackendMetrics(named={}), 2) == 0
    assert weight(100, 0.5) == 200
    assert weight(100, 0) == 0


def test_a_weight_expires_whatever_the_blackout() -> None:
    assert is_expired(1.0, 1.0, 0.0)
    assert not is_expired(0.9, 1.0, 0.0)
