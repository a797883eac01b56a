"""Mutants of the clauses in circuit_breaking.toml."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import cluster_impl
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import ClusterImplConfig
from client_under_test.reference.policies.interface import (
    Account,
    Drop,
    Fail,
    PickResult,
    Queue,
)
from client_under_test.reference.policies.rules.admission import (
    MAX_REQUESTS,
    DropCategory,
    drop_category,
    in_flight_key,
    load_key,
    status_of_drop,
)
from client_under_test.reference.values import Status
from client_under_test.reference.xds.cluster_rules import max_requests

UNLIMITED = 2**32 - 1


Limit = Callable[[Sequence[Any]], int]


Impl = Callable[..., ClusterImplConfig]


def of_default(choose: Callable[[list[int]], int]) -> Limit:
    """Choose the limit among all thresholds for the default priority."""

    def broken(thresholds: Sequence[Any]) -> int:
        known = [threshold.max_requests.value for threshold in thresholds if not threshold.priority]
        return choose(known) if known else MAX_REQUESTS

    return broken


def whatever_priority(thresholds: Sequence[Any]) -> int:
    """Use the first threshold, whatever its priority."""
    return int(thresholds[0].max_requests.value) if thresholds else MAX_REQUESTS


def of_all(choose: Callable[[list[int]], int]) -> Limit:
    """Choose the limit among the thresholds for all priorities."""

    def broken(thresholds: Sequence[Any]) -> int:
        known = [threshold.max_requests.value for threshold in thresholds]
        return choose(known) if len(known) > 1 else max_requests(thresholds)

    return broken


def under_the_first_category() -> dict[str, Any]:
    """Return rules that report any drop under the first category of the cluster, if it has one."""
    first: list[str] = []

    def remember(drops: Sequence[DropCategory], random: Random) -> str | None:
        first[:] = [drop.category for drop in drops[:1]]
        return drop_category(drops, random)

    def told(category: str | None) -> str | None:
        return category or next(iter(first), None)

    return {"drop_category": remember, "reported_category": told}


def first_that_has_one(thresholds: Sequence[Any]) -> int:
    """Skip thresholds without max_requests."""
    return max_requests(
        [threshold for threshold in thresholds if threshold.HasField("max_requests")]
    )


def smallest_of_all_limits(thresholds: Sequence[Any]) -> int:
    """Treat every field of a threshold as a limit of requests."""
    found: list[int] = [
        limit.value
        for threshold in thresholds
        for field, limit in threshold.ListFields()
        if field.message_type and field.message_type.name == "UInt32Value"
    ]
    return min([max_requests(thresholds), *found])


def goes_on_after(code: str) -> Callable[[Status], bool]:
    """Keep counting requests that ended with this status."""
    return lambda status: status.code != code


def begun_anew(by: Callable[[ClusterImplConfig], object]) -> Impl:
    """Start another count for each value of `by`."""

    def broken(*arguments: Any) -> ClusterImplConfig:
        config = cluster_impl(*arguments)
        return replace(config, service_name=f"{config.service_name}#{by(config)}")

    return broken


def first_limit() -> Impl:
    """Keep the first limit of a cluster."""
    first: dict[str, int] = {}

    def broken(*arguments: Any) -> ClusterImplConfig:
        config = cluster_impl(*arguments)
        return replace(config, max_requests=first.setdefault(config.cluster, config.max_requests))

    return broken


def limit_that_stays() -> Impl:
    """Keep a limit until an update has another one."""
    known: dict[str, int] = {}

    def broken(*arguments: Any) -> ClusterImplConfig:
        config = cluster_impl(*arguments)
        if config.max_requests != MAX_REQUESTS:
            known[config.cluster] = config.max_requests
        return replace(config, max_requests=known.get(config.cluster, MAX_REQUESTS))

    return broken


def only_if_reported(*arguments: Any) -> ClusterImplConfig:
    """Enforce no limit without load reports."""
    config = cluster_impl(*arguments)
    return config if config.reported else replace(config, max_requests=UNLIMITED)


def anew_for_other_endpoints(aggregate: Any, leaf: Any, found: Any, child: Any) -> Any:
    """Start another count for other endpoints."""
    config = cluster_impl(aggregate, leaf, found, child)
    return replace(config, service_name=f"{config.service_name}#{found.priorities}")


def two_together() -> Callable[[Account], tuple[object, ...]]:
    """Count the first two channels together, and each further one by itself."""
    channels: dict[int, int] = {}

    def key(account: Account) -> tuple[object, ...]:
        number = channels.setdefault(account.channel, len(channels))
        return (*in_flight_key(account), max(number, 1))

    return key


def from_zero() -> Callable[[Account], tuple[object, ...]]:
    """Forget the count when another channel first uses the cluster."""
    channels: set[int] = set()

    def key(account: Account) -> tuple[object, ...]:
        channels.add(account.channel)
        return (*in_flight_key(account), len(channels))

    return key


def waits_at_the_limit(result: PickResult) -> PickResult:
    """Queue a wait_for_ready request that would fail at the limit."""
    return Queue() if isinstance(result, Fail | Drop) else result


# The limit.

one_too_many = Mutant(
    clause="A32-CB-01",
    broken="one request beyond the limit is admitted",
    rules={"circuit_is_open": lambda in_flight, most: in_flight > most},
)


counted_by_locality = Mutant(
    clause="A32-CB-01",
    broken="each locality has its own count",
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
    broken="a request beyond the limit is sent and then cancelled",
    rules={"sends_beyond_limit": True},
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
    broken="a threshold without max_requests is skipped",
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


highest_of_all = Mutant(
    clause="A32-CB-05",
    broken="the highest threshold counts, of whatever priority it is",
    xds={"max_requests": of_all(max)},
)


sum_of_all = Mutant(
    clause="A32-CB-05",
    broken="the thresholds of all priorities are added up",
    xds={"max_requests": of_all(sum)},
)


last_one = Mutant(
    clause="A32-CB-06",
    broken="the last of several thresholds counts",
    xds={"max_requests": of_default(lambda known: known[-1])},
)


smallest_one = Mutant(
    clause="A32-CB-06",
    broken="the smallest of several thresholds counts",
    xds={"max_requests": of_default(min)},
)


zero_is_unset = Mutant(
    clause="A32-CB-07",
    broken="a limit of zero means unset",
    xds={"max_requests": lambda of: max_requests(of) or MAX_REQUESTS},
)


signed = Mutant(
    clause="A32-CB-08",
    broken="the limit is read as a signed number",
    rules={"circuit_is_open": lambda in_flight, most: in_flight >= (most + 2**31) % 2**32 - 2**31},
)


never_beyond_the_usual = Mutant(
    clause="A32-CB-08",
    broken="no limit is higher than 1,024",
    rules={"circuit_is_open": lambda in_flight, most: in_flight >= min(most, MAX_REQUESTS)},
)


def kept_if_turned_off() -> Impl:
    """Keep the limit of a cluster if an update turns it off."""
    last: dict[str, int] = {}

    def broken(*arguments: Any) -> ClusterImplConfig:
        config = cluster_impl(*arguments)
        if config.max_requests != UNLIMITED:
            last[config.cluster] = config.max_requests
        return replace(config, max_requests=last.get(config.cluster, config.max_requests))

    return broken


limit_kept_if_turned_off = Mutant(
    clause="A32-CB-08",
    broken="an update to the maximum of a uint32 keeps the limit before it",
    rules={"cluster_impl": kept_if_turned_off()},
)


def kept_if_turned_off_in_leaves() -> Impl:
    """Keep the limit of a leaf of an aggregate if an update turns it off."""
    kept = kept_if_turned_off()

    def broken(aggregate: Any, *others: Any) -> ClusterImplConfig:
        return (cluster_impl if aggregate is None else kept)(aggregate, *others)

    return broken


limit_kept_in_leaves = Mutant(
    clause="A32-CB-08",
    broken="below an aggregate, an update to the maximum of a uint32 keeps the limit before it",
    rules={"cluster_impl": kept_if_turned_off_in_leaves()},
)


others_obeyed = Mutant(
    clause="A32-CB-09",
    broken="the other limits of a threshold apply to requests as well",
    xds={"max_requests": smallest_of_all_limits},
)


# Requests that count.

successes_stay = Mutant(
    clause="A32-CB-10",
    broken="requests that succeeded keep counting",
    rules={"ends_flight": goes_on_after("OK")},
)


errors_stay = Mutant(
    clause="A32-CB-11",
    broken="requests that a backend failed keep counting",
    rules={"ends_flight": goes_on_after("INTERNAL")},
)


cancelled_stay = Mutant(
    clause="A32-CB-12",
    broken="cancelled requests keep counting",
    rules={"ends_flight": goes_on_after("CANCELLED")},
)


expired_stay = Mutant(
    clause="A32-CB-12",
    broken="requests beyond their deadline keep counting",
    rules={"ends_flight": goes_on_after("DEADLINE_EXCEEDED")},
)


lost_stay = Mutant(
    clause="A32-CB-13",
    broken="requests whose connection was lost keep counting",
    rules={"ends_flight": goes_on_after("UNAVAILABLE")},
)


waiting_counted = Mutant(
    clause="A32-CB-14",
    broken="requests that wait for a connection count, and keep counting",
    rules={"in_flight_while_waiting": 1},
)


refused_counted = Mutant(
    clause="A32-CB-15",
    broken="requests beyond the limit count, and keep counting",
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
    broken="a changed limit resets the count",
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
    broken="a changed limit resets the count",
    rules={"cluster_impl": begun_anew(lambda config: config.max_requests)},
)


anew_for_endpoints = Mutant(
    clause="A32-CB-18",
    broken="an update of the endpoints resets the count",
    rules={"cluster_impl": anew_for_other_endpoints},
)


anew_for_other_drops = Mutant(
    clause="A32-CB-18",
    broken="an update of drop_overloads resets the count",
    rules={"cluster_impl": begun_anew(lambda config: config.drops)},
)


anew_for_another_policy = Mutant(
    clause="A32-CB-18",
    broken="an update of the LB policy resets the count",
    rules={"cluster_impl": begun_anew(lambda config: config.child)},
)


# Separate counts.

by_cluster_alone = Mutant(
    clause="A32-CB-19",
    broken="the count continues under another EDS service name",
    rules={"in_flight_key": lambda account: (account.cluster,)},
)


by_service_name_alone = Mutant(
    clause="A32-CB-20",
    broken="clusters with the same EDS service name are counted together",
    rules={"in_flight_key": lambda account: (account.service_name,)},
)


by_channel = Mutant(
    clause="A32-CB-21",
    broken="each channel has its own count",
    rules={"in_flight_key": lambda account: (*in_flight_key(account), account.channel)},
)


two_channels_together = Mutant(
    clause="A32-CB-21",
    broken="each channel after the second has its own count",
    rules={"in_flight_key": two_together()},
)


from_zero_for_a_new_channel = Mutant(
    clause="A32-CB-21",
    broken="the count starts from zero when another channel first uses the cluster",
    rules={"in_flight_key": from_zero()},
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
    rules={"reports_drop": lambda category: category is not None},
)


class UnlessSent:
    """Report drops by the limit of a cluster only after a request was sent to it."""

    def __init__(self) -> None:
        self._sent: set[str] = set()
        self._cluster = ""

    def in_flight_key(self, account: Account) -> Any:
        """Remember the cluster that a request is for."""
        self._cluster = account.cluster
        return account.cluster, account.service_name

    def load_key(self, account: Account) -> Any:
        """Remember the cluster to which a request is sent."""
        self._sent.add(account.cluster)
        return load_key(account)

    def reports_drop(self, category: str | None) -> bool:
        """Return whether a drop is reported."""
        return category is not None or self._cluster in self._sent


UNLESS_SENT = UnlessSent()


drops_of_unused_clusters = Mutant(
    clause="A32-CB-23",
    broken="drops by the limit of a cluster that got no request are not reported",
    rules={
        "in_flight_key": UNLESS_SENT.in_flight_key,
        "load_key": UNLESS_SENT.load_key,
        "reports_drop": UNLESS_SENT.reports_drop,
    },
)


told_under_a_listed_category = Mutant(
    clause="A32-CB-24",
    broken="requests beyond the limit are reported under the first category that EDS lists",
    rules=under_the_first_category(),
)


def under_a_category_that_drops() -> dict[str, Callable[..., Any]]:
    """Report such requests under the first category of EDS whose share is not zero."""
    listed: list[str] = []

    def falls(drops: Sequence[DropCategory], random: Random) -> str | None:
        listed[:] = [drop.category for drop in drops if drop.per_million][:1]
        return drop_category(drops, random)

    return {
        "drop_category": falls,
        "reported_category": lambda category: category or next(iter(listed), None),
    }


told_under_a_category_that_drops = Mutant(
    clause="A32-CB-24",
    broken="requests beyond the limit are reported under a category that drops requests",
    rules=under_a_category_that_drops(),
)


told_under_a_category = Mutant(
    clause="A32-CB-24",
    broken="requests beyond the limit are reported under a category",
    rules={"reported_category": lambda category: category or "circuit_breaking"},
)


may_wait = Mutant(
    clause="A32-CB-26",
    broken="a wait_for_ready request waits at the limit",
    rules={"queue_wait_for_ready": waits_at_the_limit},
    reports="waits",
)


def none_but_others(thresholds: Sequence[Any]) -> int:
    """Enforce no limit if no threshold is for the default priority."""
    is_given = any(not threshold.priority for threshold in thresholds)
    return max_requests(thresholds) if is_given or not thresholds else UNLIMITED


high_alone = Mutant(
    clause="A32-CB-03",
    broken="circuit_breakers without a threshold for the default priority mean no limit",
    xds={"max_requests": none_but_others},
)


errors_of_the_application_stay = Mutant(
    clause="A32-CB-11",
    broken="requests that ended with a status of the application, such as NOT_FOUND, keep counting",
    rules={"ends_flight": goes_on_after("NOT_FOUND")},
)


def first_two_limits() -> Impl:
    """Follow one update of the limit of a cluster, and keep that limit."""
    known: dict[str, list[int]] = {}

    def broken(*arguments: Any) -> ClusterImplConfig:
        config = cluster_impl(*arguments)
        limits = known.setdefault(config.cluster, [])
        if len(limits) < len(("before", "after")) and config.max_requests not in limits:
            limits.append(config.max_requests)
        return replace(config, max_requests=limits[-1])

    return broken


lowered_once = Mutant(
    clause="A32-CB-16",
    broken="only the first update of a limit takes effect",
    rules={"cluster_impl": first_two_limits()},
)


raised_once = Mutant(
    clause="A32-CB-17",
    broken="only the first update of a limit takes effect",
    rules={"cluster_impl": first_two_limits()},
)


def zero_for_good() -> Impl:
    """Keep a first limit of zero."""
    first: dict[str, int] = {}

    def broken(*arguments: Any) -> ClusterImplConfig:
        config = cluster_impl(*arguments)
        limit = first.setdefault(config.cluster, config.max_requests) and config.max_requests
        return replace(config, max_requests=limit)

    return broken


zero_not_raised = Mutant(
    clause="A32-CB-17",
    broken="a cluster whose limit was zero at first admits no request after an update",
    rules={"cluster_impl": zero_for_good()},
)
