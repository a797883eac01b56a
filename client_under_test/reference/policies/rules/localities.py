"""What wrr_locality makes of localities and their weights, as rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from client_under_test.reference.values import Locality


def each_by_itself(locality: Locality) -> str:
    """A52: each locality has a policy of its own, which goes on with the name of the locality.

    Clauses: A52-CUSTOM-11.
    """
    return repr((locality.region, locality.zone, locality.sub_zone))


def as_it_says(_target: str, weight: int) -> int:
    """A52: a locality weighs what its endpoints say of it now, the first of them.

    Clauses: A27-WEIGHT-02, A27-WEIGHT-03, A27-WEIGHT-04, A27-WEIGHT-05, A52-WRR-01, A52-WRR-02,
    A52-WRR-04, A52-WRR-06, A52-WRR-08, A52-WRR-07 (our choice: in each priority its own).
    """
    return weight


@dataclass(frozen=True, kw_only=True)
class LocalityRules:
    """What wrr_locality goes by."""

    locality_target: Callable[[Locality], str] = each_by_itself
    """The name of the target; those of one name share a policy."""
    target_weight: Callable[[str, int], int] = as_it_says
    """Of the target, and of the weight that comes with its first endpoint."""
