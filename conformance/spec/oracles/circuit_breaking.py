"""Compute how many requests a circuit breaker lets through (A32).

Clauses: A32-CB-01, A32-CB-03, A32-CB-04, A32-CB-05, A32-CB-06, A32-CB-07, A32-CB-08, A32-CB-10,
A32-CB-11, A32-CB-12, A32-CB-13, A32-CB-15, A32-CB-16, A32-CB-17, A32-CB-18, A32-CB-19, A32-CB-20,
A32-CB-21, A32-CB-22, A37-CB-01, A37-CB-02, A37-CB-04, A37-CB-05, A37-CB-06, A37-CB-07,
A37-DNS-14.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

USUAL_LIMIT = 1024
"""The limit of a Cluster without max_requests for the default priority."""

UNLIMITED = 2**32 - 1
"""The largest uint32; by A32 this limit turns circuit breaking off."""


class Threshold(Struct, frozen=True):
    """A Cluster's threshold for one routing priority."""

    is_default: bool
    max_requests: int | None


def limit(thresholds: Sequence[Threshold]) -> int:
    """Return the limit of requests in flight: the first threshold for the default priority."""
    for threshold in thresholds:
        if threshold.is_default:
            return USUAL_LIMIT if threshold.max_requests is None else threshold.max_requests
    return USUAL_LIMIT


def admitted(thresholds: Sequence[Threshold], *, in_flight: int, asked: int) -> int:
    """Return how many requests pass if they start one after another and do not end.

    Args:
        thresholds: the Cluster's thresholds, in order.
        in_flight: number of earlier requests that count toward the same limit.
        asked: number of requests to start.
    """
    most = limit(thresholds)
    return asked if most == UNLIMITED else min(asked, max(0, most - in_flight))
