"""Mutants of the clauses in circuit_breaking.toml."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import cluster_impl
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import ClusterImplConfig
from client_under_test.reference.policies.interface import Drop, Fail, PickResult, Queue
from client_under_test.reference.policies.rules.admission import (
    MAX_REQUESTS,
    in_flight_key,
    status_of_drop,
)
from client_under_test.reference.values import Status
from client_under_test.reference.xds.cluster_rules import max_requests

UNLIMITED = 2**32 - 1

Limit = Callable[[Sequence[Any]], int]
Impl = Callable[..., ClusterImplConfig]


def of_default(choose: Callable[[list[int]], int]) -> Limit:
    """The limit, chosen of those of all thresholds for the default priority."""

    def broken(thresholds: Sequence[Any]) -> int:
        known = [threshold.max_requests.value for threshold in thresholds if not threshold.priority]
        return choose(known) if known else MAX_REQUESTS

    return broken


def whatever_priority(thresholds: Sequence[Any]) -> int:
    """The first threshold counts."""
    return int(thresholds[0].max_requests.value) if thresholds else MAX_REQUESTS


def first_that_has_one(thresholds: Sequence[Any]) -> int:
    """A threshold without max_requests is passed over."""
    return max_requests(
        [threshold for threshold in thresholds if threshold.HasField("max_requests")]
    )


def smallest_of_all_limits(thresholds: Sequence[Any]) -> int:
    """Every field of a threshold is a limit of requests."""
    found: list[int] = [
        limit.value
        for threshold in thresholds
        for field, limit in threshold.ListFields()
        if field.message_type and field.message_type.name == "UInt32Value"
    ]
    return min([max_requests(thresholds), *found])


def goes_on_after(code: str) -> Callable[[Status], bool]:
    """A request that has ended with this status is in flight for good."""
    return lambda status: status.code != code


def begun_anew(by: Callable[[ClusterImplConfig], object]) -> Impl:
    """Another count where this is another."""

    def broken(*arguments: Any) -> ClusterImplConfig:
        config = cluster_impl(*arguments)
        return replace(config, service_name=f"{config.service_name}#{by(config)}")

    return broken


def first_limit() -> Impl:
    """The limit of a cluster is read once."""
    first: dict[str, int] = {}

    def broken(*arguments: Any) -> ClusterImplConfig:
        config = cluster_impl(*arguments)
        return replace(config, max_requests=first.setdefault(config.cluster, config.max_requests))

    return broken


def limit_that_stays() -> Impl:
    """A limit holds until there is another one."""
    known: dict[str, int] = {}

    def broken(*arguments: Any) -> ClusterImplConfig:
        config = cluster_impl(*arguments)
        if config.max_requests != MAX_REQUESTS:
            known[config.cluster] = config.max_requests
        return replace(config, max_requests=known.get(config.cluster, MAX_REQUESTS))

    return broken


def only_if_reported(*arguments: Any) -> ClusterImplConfig:
    """No limit without load reports."""
    config = cluster_impl(*arguments)
    return config if config.reported else replace(config, max_requests=UNLIMITED)


def anew_for_other_endpoints(aggregate: Any, leaf: Any, found: Any, child: Any) -> Any:
    """Another count where the endpoints are others."""
    config = cluster_impl(aggregate, leaf, found, child)
    return replace(config, service_name=f"{config.service_name}#{found.priorities}")


def waits_at_the_limit(result: PickResult) -> PickResult:
    """Who may wait is not failed for the limit, nor for anything else."""
    return Queue() if isinstance(result, Fail | Drop) else result


# What the limit is.

one_too_many = Mutant(
    clause="A32-CB-01",
    broken="as many requests as allowed are in flight, and one more is let through",
    rules={"circuit_is_open": lambda in_flight, most: in_flight > most},
)

counted_by_locality = Mutant(
    clause="A32-CB-01",
    broken="each locality has a count of its own",
    rules={"in_flight_key": lambda account: (*in_flight_key(account), account.locality)},
)

internal = Mutant(
    clause="A32-CB-02",
    broken="a request beyond the limit ends with RESOURCE_EXHAUSTED",
    rules={
        "status_of_drop": lambda category: (
            status_of_drop(category) if category else Status("RESOURCE_EXHAUSTED", "too many")
        )
    },
)

sent_and_given_up = Mutant(
    clause="A32-CB-02",
    broken="a request is sent, and given up if it is beyond the limit",
    rules={"sent_beyond_the_limit": True},
)

a_thousand = Mutant(
    clause="A32-CB-03",
    broken="without a threshold the limit is 1,000",
    xds={"max_requests": lambda of: max_requests(of) if of else 1000},
)

none_at_all = Mutant(
    clause="A32-CB-03",
    broken="without a threshold there is no limit",
    xds={"max_requests": lambda of: max_requests(of) if of else UNLIMITED},
)

later_fills_in = Mutant(
    clause="A32-CB-04",
    broken="a threshold without max_requests is passed over",
    xds={"max_requests": first_that_has_one},
)

unset_is_unlimited = Mutant(
    clause="A32-CB-04",
    broken="a threshold without max_requests means no limit",
    xds={
        "max_requests": lambda of: (
            max_requests(of) if not of or of[0].HasField("max_requests") else UNLIMITED
        )
    },
)

any_priority = Mutant(
    clause="A32-CB-05",
    broken="the first threshold counts, of whatever priority it is",
    xds={"max_requests": whatever_priority},
)

last_one = Mutant(
    clause="A32-CB-06",
    broken="of several thresholds the last counts",
    xds={"max_requests": of_default(lambda known: known[-1])},
)

smallest_one = Mutant(
    clause="A32-CB-06",
    broken="of several thresholds the smallest counts",
    xds={"max_requests": of_default(min)},
)

zero_is_unset = Mutant(
    clause="A32-CB-07",
    broken="a limit of zero means none is set",
    xds={"max_requests": lambda of: max_requests(of) or MAX_REQUESTS},
)

signed = Mutant(
    clause="A32-CB-08",
    broken="the limit is a signed number",
    rules={"circuit_is_open": lambda in_flight, most: in_flight >= (most + 2**31) % 2**32 - 2**31},
)

never_beyond_the_usual = Mutant(
    clause="A32-CB-08",
    broken="no limit is higher than 1,024",
    rules={"circuit_is_open": lambda in_flight, most: in_flight >= min(most, MAX_REQUESTS)},
)

others_obeyed = Mutant(
    clause="A32-CB-09",
    broken="the other limits of a threshold hold for requests, too",
    xds={"max_requests": smallest_of_all_limits},
)

# What counts.

successes_stay = Mutant(
    clause="A32-CB-10",
    broken="requests that succeeded go on counting",
    rules={"ends_flight": goes_on_after("OK")},
)

errors_stay = Mutant(
    clause="A32-CB-11",
    broken="requests that a backend has failed go on counting",
    rules={"ends_flight": goes_on_after("INTERNAL")},
)

cancelled_stay = Mutant(
    clause="A32-CB-12",
    broken="requests that were cancelled go on counting",
    rules={"ends_flight": goes_on_after("CANCELLED")},
)

expired_stay = Mutant(
    clause="A32-CB-12",
    broken="requests whose deadline has passed go on counting",
    rules={"ends_flight": goes_on_after("DEADLINE_EXCEEDED")},
)

lost_stay = Mutant(
    clause="A32-CB-13",
    broken="requests whose connection was lost go on counting",
    rules={"ends_flight": goes_on_after("UNAVAILABLE")},
)

waiting_counted = Mutant(
    clause="A32-CB-14",
    broken="requests that wait for a connection count, and go on counting",
    rules={"in_flight_while_waiting": 1},
)

refused_counted = Mutant(
    clause="A32-CB-15",
    broken="requests beyond the limit count, and go on counting",
    rules={"in_flight_when_dropped": 1},
)

# Updates.

limit_read_once = Mutant(
    clause="A32-CB-16",
    broken="the limit of a cluster is read once",
    rules={"cluster_impl": first_limit()},
)

anew_when_lowered = Mutant(
    clause="A32-CB-16",
    broken="a changed limit begins to count anew",
    rules={"cluster_impl": begun_anew(lambda config: config.max_requests)},
)

never_raised = Mutant(
    clause="A32-CB-17",
    broken="the limit of a cluster is read once",
    rules={"cluster_impl": first_limit()},
)

never_taken_away = Mutant(
    clause="A32-CB-17",
    broken="a cluster without a limit keeps the one that it had",
    rules={"cluster_impl": limit_that_stays()},
)

anew_when_raised = Mutant(
    clause="A32-CB-17",
    broken="a changed limit begins to count anew",
    rules={"cluster_impl": begun_anew(lambda config: config.max_requests)},
)

anew_for_endpoints = Mutant(
    clause="A32-CB-18",
    broken="an update of the endpoints begins to count anew",
    rules={"cluster_impl": anew_for_other_endpoints},
)

anew_for_another_policy = Mutant(
    clause="A32-CB-18",
    broken="an update of the LB policy begins to count anew",
    rules={"cluster_impl": begun_anew(lambda config: config.child)},
)

# Whose count.

by_cluster_alone = Mutant(
    clause="A32-CB-19",
    broken="a cluster goes on counting under another EDS service name",
    rules={"in_flight_key": lambda account: (account.cluster,)},
)

by_service_name_alone = Mutant(
    clause="A32-CB-20",
    broken="clusters of one EDS service name are counted together",
    rules={"in_flight_key": lambda account: (account.service_name,)},
)

by_channel = Mutant(
    clause="A32-CB-21",
    broken="each channel has a count of its own",
    rules={"in_flight_key": lambda account: (*in_flight_key(account), account.channel)},
)

with_load_reports_only = Mutant(
    clause="A32-CB-22",
    broken="a cluster without lrs_server has no limit",
    rules={"cluster_impl": only_if_reported},
)

# Load.

not_told = Mutant(
    clause="A32-CB-23",
    broken="requests beyond the limit are in no load report",
    rules={"drop_is_told": lambda category: category is not None},
)

told_under_a_category = Mutant(
    clause="A32-CB-24",
    broken="requests beyond the limit are told under a category of their own",
    rules={"told_category": lambda category: category or "circuit_breaking"},
)

may_wait = Mutant(
    clause="A32-CB-26",
    broken="a request that may wait does so at the limit",
    rules={"wait_for_ready": waits_at_the_limit},
    reports="waits",
)


def none_but_others(thresholds: Sequence[Any]) -> int:
    """Thresholds without one for the default priority mean no limit."""
    is_given = any(not threshold.priority for threshold in thresholds)
    return max_requests(thresholds) if is_given or not thresholds else UNLIMITED


high_alone = Mutant(
    clause="A32-CB-03",
    broken="circuit_breakers without a threshold for the default priority are no limit",
    xds={"max_requests": none_but_others},
)
