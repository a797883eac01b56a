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
"""Where a Cluster says nothing of it."""

UNLIMITED = 2**32 - 1
"""The largest number that a limit can be: by A32 it turns breaking off."""


class Threshold(Struct, frozen=True):
    """What a Cluster says of one priority of requests."""

    is_default: bool
    max_requests: int | None


def limit(thresholds: Sequence[Threshold]) -> int:
    """How many requests may be in flight: by the first threshold for the default priority."""
    for threshold in thresholds:
        if threshold.is_default:
            return USUAL_LIMIT if threshold.max_requests is None else threshold.max_requests
    return USUAL_LIMIT


def admitted(thresholds: Sequence[Threshold], *, in_flight: int, asked: int) -> int:
    """How many of so many requests get through, that are begun one after another and do not end.

    Args:
        thresholds: of the Cluster, in its order.
        in_flight: so many requests that are counted with them are there before.
        asked: how many.
    """
    most = limit(thresholds)
    return asked if most == UNLIMITED else min(asked, max(0, most - in_flight))
