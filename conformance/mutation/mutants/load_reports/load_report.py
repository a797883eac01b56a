"""Mutants of the clauses in load_report.toml."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import cluster_impl
from client_under_test.reference.editions.mutants import Mutant, for_good
from client_under_test.reference.policies.configs import ClusterImplConfig
from client_under_test.reference.policies.interface import Account
from client_under_test.reference.policies.rules.admission import (
    Counts,
    DropCategory,
    LoadKey,
    count_ended,
    count_sent,
    drop_category,
    load_key,
    reported_category,
)
from client_under_test.reference.values import Locality

Key = Callable[[Account], LoadKey | None]


def counting_for(change: Callable[[LoadKey], LoadKey | None]) -> Key:
    """Change the key under which a reported request counts."""

    def broken(account: Account) -> LoadKey | None:
        key = load_key(account)
        return None if key is None else change(key)

    return broken


def first_of_the_cluster() -> Key:
    """Count requests for the locality of the first request of their cluster."""
    first: dict[str, Locality] = {}
    return counting_for(
        lambda key: replace(key, locality=first.setdefault(key.cluster, key.locality))
    )


def newest_of_all() -> Key:
    """Count requests for the locality that was used last for the first time."""
    known: dict[Locality, None] = {}

    def newest(key: LoadKey) -> LoadKey:
        known.setdefault(key.locality)
        return replace(key, locality=[*known][-1])

    return counting_for(newest)


def first_cluster_with_it() -> Key:
    """Count requests for the first cluster that used their locality."""
    first: dict[Locality, LoadKey] = {}
    return counting_for(lambda key: first.setdefault(key.locality, key))


def first_cluster_without_it() -> Key:
    """Count requests without a locality for the first cluster that had one."""
    first: list[LoadKey] = []

    def broken(key: LoadKey) -> LoadKey:
        if key.locality != Locality():
            return key
        first.append(key)
        return first[0]

    return counting_for(broken)


def dns_roots_alone(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
    """Report load of a LOGICAL_DNS cluster only if it is the target of a route."""
    config = cluster_impl(aggregate, leaf, found, child)
    return replace(config, reported=False) if aggregate and leaf.dns_name else config


def issued_again(counts: Counts, ok: bool) -> Counts:  # noqa: FBT001 - as of the rule
    """Count a request as issued once more when it ends."""
    return count_ended(replace(counts, issued=counts.issued + 1), ok)


def stays_in_progress(counts: Counts, ok: bool) -> Counts:  # noqa: FBT001 - as of the rule
    """Keep failed requests in progress."""
    return count_ended(counts, ok) if ok else replace(counts, errors=counts.errors + 1)


# By locality.

locality_not_told = Mutant(
    clause="A42-LOAD-01",
    broken="requests of all localities count for one without a name",
    rules={"load_key": counting_for(lambda key: replace(key, locality=Locality()))},
)


first_locality_for_all = Mutant(
    clause="A42-LOAD-01",
    broken="requests count for the locality in which the cluster was first used",
    rules={"load_key": first_of_the_cluster()},
)


localities_told_apart_by_region = Mutant(
    clause="A42-LOAD-02",
    broken="only the region of a locality is reported",
    rules={
        "load_key": counting_for(
            lambda key: replace(key, locality=Locality(region=key.locality.region))
        )
    },
)


sub_zones_left_out = Mutant(
    clause="A42-LOAD-02",
    broken="requests in localities with a sub-zone do not count",
    rules={"load_key": counting_for(lambda key: None if key.locality.sub_zone else key)},
)


no_locality_not_reported = Mutant(
    clause="A42-LOAD-03",
    broken="requests to endpoints without a locality do not count",
    rules={"load_key": counting_for(lambda key: key if key.locality.region else None)},
)


no_locality_named = Mutant(
    clause="A42-LOAD-03",
    broken="endpoints without a locality count for one with the name of their cluster",
    rules={
        "load_key": counting_for(
            lambda key: (
                key if key.locality.region else replace(key, locality=Locality(region=key.cluster))
            )
        )
    },
)


no_locality_for_two_clusters = Mutant(
    clause="A42-LOAD-03",
    broken="requests without a locality count for the first cluster that had one",
    rules={"load_key": first_cluster_without_it()},
)


no_locality_below_an_aggregate = Mutant(
    clause="A42-LOAD-03",
    broken="requests to LOGICAL_DNS leaves of an aggregate do not count",
    rules={"cluster_impl": dns_roots_alone},
)


# Counting once.

counted_at_each_pick = Mutant(
    clause="A42-LOAD-04",
    broken="a request counts once for each pick",
    rules={"count_queued": lambda counts: replace(counts, issued=counts.issued + 1)},
)


counted_when_sent_and_when_ended = Mutant(
    clause="A42-LOAD-04",
    broken="a request counts as issued when it is sent and again when it ends",
    rules={"count_ended": issued_again},
)


reported_again_and_again = Mutant(
    clause="A42-LOAD-04",
    broken="each report has all requests since the start",
    rules={"load_after_report": lambda counts: counts},
)


# Across failover.

failover_not_counted = Mutant(
    clause="A42-LOAD-05",
    broken="requests count for the locality in which the cluster was first used",
    rules={"load_key": first_of_the_cluster()},
)


return_not_counted = Mutant(
    clause="A42-LOAD-05",
    broken="requests keep counting for the lower priority after a higher one is back",
    rules={"load_key": newest_of_all()},
)


# Results of requests.

errors_succeed = Mutant(
    clause="A42-LOAD-06",
    broken="requests that fail count as successes",
    rules={"count_ended": lambda counts, _: count_ended(counts, ok=True)},
)


progress_not_told = Mutant(
    clause="A42-LOAD-06",
    broken="requests in progress are not reported",
    rules={
        "count_sent": lambda counts: replace(count_sent(counts), in_progress=0),
        "count_ended": lambda counts, ok: replace(count_ended(counts, ok), in_progress=0),
    },
)


progress_without_end = Mutant(
    clause="A42-LOAD-06",
    broken="requests that have failed stay in progress",
    rules={"count_ended": stays_in_progress},
)


# By name.

service_name_not_told = Mutant(
    clause="A42-LOAD-07",
    broken="load is reported without a service name",
    rules={"load_key": counting_for(lambda key: replace(key, service_name=""))},
)


service_name_for_both = Mutant(
    clause="A42-LOAD-07",
    broken="load is reported under the service name instead of the cluster name as well",
    rules={"load_key": counting_for(lambda key: replace(key, cluster=key.service_name))},
)


clusters_not_told_apart = Mutant(
    clause="A42-LOAD-07",
    broken="requests count for the cluster that was the first to use their locality",
    rules={"load_key": first_cluster_with_it()},
)


lrs_server_not_asked_for = Mutant(
    clause="A42-LOAD-08",
    broken="load of every cluster is reported",
    rules={
        "load_key": lambda account: LoadKey(account.cluster, account.service_name, account.locality)
    },
)


# Drops.

drops_count_for_a_locality = Mutant(
    clause="A42-LOAD-11",
    broken="dropped requests also count as failed requests of a locality without a name",
    rules={
        "count_dropped": lambda counts: replace(
            counts, issued=counts.issued + 1, errors=counts.errors + 1
        )
    },
)


category_not_told = Mutant(
    clause="A42-LOAD-11",
    broken="drops are reported without their category",
    rules={"reported_category": lambda _: None},
)


drops_told_again = Mutant(
    clause="A42-LOAD-11",
    broken="each report repeats the drops of all reports before it",
    rules={"drops_after_report": lambda drops: drops},
)


def one_locality(name: str) -> Callable[[Account], LoadKey | None]:
    """Count all requests of a cluster for one locality."""
    return lambda account: load_key(replace(account, locality=Locality(name)))


first_locality_counts = Mutant(
    clause="A62-LOAD-01",
    broken="requests of pick_first count for its first locality",
    rules={"load_key": one_locality("one")},
)


last_locality_counts = Mutant(
    clause="A62-LOAD-01",
    broken="requests of pick_first count for its last locality",
    rules={"load_key": one_locality("three")},
)


first_category_for_all = Mutant(
    clause="A42-LOAD-12",
    broken="all drops are reported under the first category that dropped a request",
    rules={"reported_category": for_good(reported_category)},
)


def under_the_first_listed() -> dict[str, object]:
    """Return rules that report each drop under the first category of the list."""
    names: dict[str, str] = {}

    def drawn(drops: Sequence[DropCategory], rng: random.Random) -> str | None:
        names.update({drop.category: drops[0].category for drop in drops})
        return drop_category(drops, rng)

    return {"drop_category": drawn, "reported_category": lambda name: names.get(name, name)}


first_listed_category_for_all = Mutant(
    clause="A42-LOAD-12",
    broken="all drops are reported under the first category of the list",
    rules=under_the_first_listed(),
)
