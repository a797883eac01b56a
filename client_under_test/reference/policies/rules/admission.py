"""What a cluster as a whole does to a request: drops, circuit breaking, load (A37, A42)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

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


def drop_category(drops: Sequence[DropCategory], random: random.Random) -> str | None:
    """Draw for each category in turn (A27); the name of the first that the request falls to.

    Clauses: A27-DROP-01, A27-DROP-04, A27-DROP-08, A32-CB-24.
    """
    for drop in drops:
        if random.randrange(_MILLION) < drop.per_million:
            return drop.category
    return None


def draws_drop(_args: PickArgs) -> bool:
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


def load_key(account: Account) -> LoadKey | None:
    """Cluster, service name and locality of the endpoint.

    None for a cluster without lrs_server.

    Clauses: A37-LOAD-01, A37-LOAD-02, A37-LOAD-03, A37-LOAD-08, A42-LOAD-01, A42-LOAD-02,
    A42-LOAD-03, A42-LOAD-05, A42-LOAD-07, A42-LOAD-08, A27-LRS-15, A27-LRS-21, A27-LRS-23,
    A62-LOAD-01.
    """
    if not account.reported:
        return None
    return LoadKey(account.cluster, account.service_name, account.locality)


def count_queued(counts: Counts) -> Counts:
    """A42-LOAD-04: a request that waits for another pick does not count."""
    return counts


def count_sent(counts: Counts) -> Counts:
    """Count a request that was sent.

    Clauses: A42-LOAD-04, A27-LRS-20.
    """
    return msgspec.structs.replace(
        counts, issued=counts.issued + 1, in_progress=counts.in_progress + 1
    )


def count_ended(counts: Counts, ok: bool) -> Counts:  # noqa: FBT001 - how it ended
    """Count the end of a request that was sent.

    Clauses: A42-LOAD-04, A42-LOAD-06, A27-LRS-10, A27-LRS-11, A27-LRS-20.
    """
    return msgspec.structs.replace(
        counts,
        in_progress=counts.in_progress - 1,
        succeeded=counts.succeeded + ok,
        errors=counts.errors + (not ok),
    )


def count_dropped(counts: Counts) -> Counts:
    """A42-LOAD-11: a request that was dropped counts for no locality."""
    return counts


def reports_drop(_category: str | None) -> bool:
    """A32-CB-23, A37-LOAD-07, A42-LOAD-11: every drop is in the total, whatever its category."""
    return True


def reported_category(category: str | None) -> str | None:
    """Report a drop under its category, if it has one.

    Clauses: A32-CB-24, A37-LOAD-06, A42-LOAD-11, A42-LOAD-12.
    """
    return category


def has_load(counts: Counts) -> bool:
    """Return whether a locality has anything to report (our choice: A27-LRS-16)."""
    return counts != Counts()


def load_after_report(counts: Counts) -> Counts:
    """Keep requests in progress; forget all counts that were reported.

    Clauses: A42-LOAD-04.
    """
    return Counts(in_progress=counts.in_progress)


def drops_after_report(_drops: Mapping[Any, int]) -> Mapping[Any, int]:
    """A42-LOAD-11: forget the drops that were reported."""
    return {}


@dataclass(frozen=True, kw_only=True)
class ClusterImplRules:
    """Drops, circuit breaking and what load counts for."""

    drop_category: Callable[[Sequence[DropCategory], random.Random], str | None] = drop_category
    draws_drop: Callable[[PickArgs], bool] = draws_drop
    circuit_is_open: Callable[[int, int], bool] = circuit_is_open
    sends_beyond_limit: bool = False
    """A32-CB-02, A32-CB-07: whether a request beyond the limit is sent, and given up then."""
    in_flight_key: Callable[[Account], tuple[object, ...]] = in_flight_key
    status_of_drop: Callable[[str | None], Status] = status_of_drop
    ends_flight: Callable[[Status], bool] = ends_flight
    in_flight_while_waiting: int = 0
    """A32-CB-14: what a request that waits for a pick adds to those in flight: it is not sent."""
    in_flight_when_dropped: int = 0
    """A32-CB-15: what a request that was dropped adds to those in flight: it never was."""
    load_key: Callable[[Account], LoadKey | None] = load_key
    count_queued: Callable[[Counts], Counts] = count_queued
    count_sent: Callable[[Counts], Counts] = count_sent
    count_ended: Callable[[Counts, bool], Counts] = count_ended
    count_dropped: Callable[[Counts], Counts] = count_dropped
    reports_drop: Callable[[str | None], bool] = reports_drop
    reported_category: Callable[[str | None], str | None] = reported_category
    has_load: Callable[[Counts], bool] = has_load
    load_after_report: Callable[[Counts], Counts] = load_after_report
    drops_after_report: Callable[[Mapping[Any, int]], Mapping[Any, int]] = drops_after_report
