"""The weight of an endpoint by the load that its backend reports, as rules (A58)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from client_under_test.reference.values import BackendMetrics

SHORTEST: Final = 0.1


def utilization(metrics: BackendMetrics) -> float:
    """A58: the application's own utilization counts, or that of the CPU if there is none.

    Clauses: A58-LOAD-01, A58-LOAD-02.
    """
    return metrics.application_utilization or metrics.cpu_utilization


def penalty_of_errors(metrics: BackendMetrics, multiplier: float) -> float:
    """A58: the share of requests that are errors counts as utilization, by a multiplier.

    Clauses: A58-LOAD-03.
    """
    return metrics.eps / metrics.rps * multiplier if metrics.rps else 0.0


def weight(rps: float, load: float) -> float:
    """A58: a backend that serves more requests at the same utilization has more weight.

    Clauses: A58-LOAD-01.
    """
    return rps / load if load else 0.0


def in_blackout(seconds: float, blackout: float) -> bool:
    """A58: no weight counts until a backend has reported load for so long.

    Clauses: A58-LOAD-04.
    """
    return seconds < blackout


def is_expired(seconds: float, expiration: float, _blackout: float) -> bool:
    """A58: a weight counts until its backend has reported no load for so long.

    Clauses: A58-LOAD-05.
    """
    return seconds >= expiration


@dataclass(frozen=True, kw_only=True)
class WeightedRoundRobinRules:
    """The rules of weighted_round_robin."""

    utilization: Callable[[BackendMetrics], float] = utilization
    penalty_of_errors: Callable[[BackendMetrics, float], float] = penalty_of_errors
    weight: Callable[[float, float], float] = weight
    """Takes the requests per second, and the utilization with the penalty."""
    shortest_update: float = SHORTEST
    """A58-WRR-07: seconds that a shorter weight_update_period counts as."""
    in_blackout: Callable[[float, float], bool] = in_blackout
    """Takes the seconds since the first report, and the blackout_period."""
    is_expired: Callable[[float, float, float], bool] = is_expired
    """Takes the seconds since the last report, the weight_expiration_period, and the
    blackout_period."""
