"""What a cluster as a whole does to a request: drops, circuit breaking, load (A37, A42)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from client_under_test.reference.policies.interface import Account, PickArgs
from client_under_test.reference.policies.rules.backend_metrics import MetricSums
from client_under_test.reference.values import Locality, Status

MAX_REQUESTS: Final = 1024  # A37, XdsClusterImplLoadBalancingPolicyConfig
_MILLION: Final = 1_000_000


class DropCategory(msgspec.Struct, frozen=True):
    """A share of the requests that an EDS resource wants dropped."""

    category: str
    per_million: int


class LoadKey(msgspec.Struct, frozen=True, order=True):
    """What load is reported under."""

    cluster: str
    service_name: str
    locality: Locality


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """A42-LOAD-06: what was done since the last report, and what is being done now."""

    issued: int = 0
    succeeded: int = 0
    errors: int = 0
    in_progress: int = 0
    metrics: MetricSums = {}
    """Sums of the metrics that backends reported (A64)."""


def falls_to(drops: Sequence[DropCategory], random: random.Random) -> str | None:
    """Draw for each category in turn (A27); the name of the first that the request falls to.

    Clauses: A27-DROP-01, A27-DROP-04, A27-DROP-08, A32-CB-24.
    """
    for drop in drops:
        if random.randrange(_MILLION) < drop.per_million:
            return drop.category
    return None


def at_each_pick(_args: PickArgs) -> bool:
    """Draw for a request whenever it is picked for, also after it has waited.

    Our choice: A27 does not say (A27-DROP-12).
    """
    return True


def circuit_is_open(in_flight: int, max_requests: int) -> bool:
    """A32, A37: as many requests as allowed are in flight; looked at before this one is counted.

    Clauses: A32-CB-01, A32-CB-07, A32-CB-08.
    """
    return in_flight >= max_requests


def status_of_drop(category: str | None) -> Status:
    """A27, A32: UNAVAILABLE, by a category of EDS or, without one, by the circuit breaker.

    Clauses: A27-DROP-02, A32-CB-02.
    """
    words = "too many requests in flight" if category is None else f"dropped: {category}"
    return Status.unavailable(words)


def ends_flight(_status: Status) -> bool:
    """A32: a request is in flight no more when it has ended, however that was.

    Clauses: A32-CB-10, A32-CB-11, A32-CB-12, A32-CB-13.
    """
    return True


def in_flight_key(account: Account) -> tuple[object, ...]:
    """A32, A37, Use Global Circuit Breaking Atomic: one count for cluster and EDS service name.

    Clauses: A32-CB-01, A32-CB-19, A32-CB-20, A32-CB-21, A37-CB-04, A37-CB-05, A37-CB-06, A37-CB-07.
    """
    return account.cluster, account.service_name


def counted_for(account: Account) -> LoadKey | None:
    """Cluster, service name and locality of the endpoint.

    None for a cluster without lrs_server.

    Clauses: A37-LOAD-01, A37-LOAD-02, A37-LOAD-03, A37-LOAD-08, A42-LOAD-01, A42-LOAD-02,
    A42-LOAD-03, A42-LOAD-05, A42-LOAD-07, A42-LOAD-08, A27-LRS-15, A27-LRS-21, A27-LRS-23,
    A62-LOAD-01.
    """
    if not account.reported:
        return None
    return LoadKey(account.cluster, account.service_name, account.locality)


def while_waiting(counts: Counts) -> Counts:
    """A42-LOAD-04: a request that waits for another pick does not count."""
    return counts


def when_sent(counts: Counts) -> Counts:
    """Count a request that was sent.

    Clauses: A42-LOAD-04, A27-LRS-20.
    """
    return msgspec.structs.replace(
        counts, issued=counts.issued + 1, in_progress=counts.in_progress + 1
    )


def when_ended(counts: Counts, ok: bool) -> Counts:  # noqa: FBT001 - how it ended
    """Count the end of a request that was sent.

    Clauses: A42-LOAD-04, A42-LOAD-06, A27-LRS-10, A27-LRS-11, A27-LRS-20.
    """
    return msgspec.structs.replace(
        counts,
        in_progress=counts.in_progress - 1,
        succeeded=counts.succeeded + ok,
        errors=counts.errors + (not ok),
    )


def when_dropped(counts: Counts) -> Counts:
    """A42-LOAD-11: a request that was dropped counts for no locality."""
    return counts


def drop_is_told(_category: str | None) -> bool:
    """A32-CB-23, A37-LOAD-07, A42-LOAD-11: every drop is in the total, whatever its category."""
    return True


def told_category(category: str | None) -> str | None:
    """Report a drop under its category, if it has one.

    Clauses: A32-CB-24, A37-LOAD-06, A42-LOAD-11, A42-LOAD-12.
    """
    return category


def has_counted(counts: Counts) -> bool:
    """Return whether a locality has anything to report (our choice: A27-LRS-16)."""
    return counts != Counts()


def once_reported(counts: Counts) -> Counts:
    """Keep requests in progress; forget all counts that were reported.

    Clauses: A42-LOAD-04.
    """
    return Counts(in_progress=counts.in_progress)


@dataclass(frozen=True, kw_only=True)
class ClusterImplRules:
    """Drops, circuit breaking and what load counts for."""

    falls_to: Callable[[Sequence[DropCategory], random.Random], str | None] = falls_to
    is_drawn_for: Callable[[PickArgs], bool] = at_each_pick
    circuit_is_open: Callable[[int, int], bool] = circuit_is_open
    sent_beyond_the_limit: bool = False
    """A32-CB-02, A32-CB-07: whether a request beyond the limit is sent, and given up then."""
    in_flight_key: Callable[[Account], tuple[object, ...]] = in_flight_key
    status_of_drop: Callable[[str | None], Status] = status_of_drop
    ends_flight: Callable[[Status], bool] = ends_flight
    in_flight_while_waiting: int = 0
    """A32-CB-14: what a request that waits for a pick adds to those in flight: it is not sent."""
    in_flight_when_dropped: int = 0
    """A32-CB-15: what a request that was dropped adds to those in flight: it never was."""
    counted_for: Callable[[Account], LoadKey | None] = counted_for
    while_waiting: Callable[[Counts], Counts] = while_waiting
    when_sent: Callable[[Counts], Counts] = when_sent
    when_ended: Callable[[Counts, bool], Counts] = when_ended
    when_dropped: Callable[[Counts], Counts] = when_dropped
    drop_is_told: Callable[[str | None], bool] = drop_is_told
    told_category: Callable[[str | None], str | None] = told_category
    has_counted: Callable[[Counts], bool] = has_counted
    once_reported: Callable[[Counts], Counts] = once_reported
