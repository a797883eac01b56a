"""Mutants of the clauses in lrs.toml."""

import time
from collections.abc import Callable, Collection

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import (
    ClusterRules,
    Leaves,
    PriorityNames,
    a_policy_for_each_leaf,
)
from client_under_test.reference.clusters.discovery import Aggregate
from client_under_test.reference.editions.mutants import Mutant, for_good
from client_under_test.reference.policies.interface import Account, Update
from client_under_test.reference.policies.rules.admission import (
    LoadKey,
    counted_for,
    when_ended,
    when_sent,
)
from client_under_test.reference.values import Locality
from client_under_test.reference.xds.load_rules import asked_for, somebody_reports
from conformance.mutation.mutants.a42.load_report import stays_in_progress

Asked = Callable[[Collection[str], Collection[str], bool], Collection[str]]


def first_list_for_good() -> Asked:
    """The names that were asked for first are reported, whatever is asked later."""
    names = for_good(lambda value: value)
    return lambda known, asked, of_all: asked_for(known, names(asked), of_all)


def newest_cluster_alone() -> Callable[[Account], LoadKey | None]:
    """Requests begin and end to count only while no other cluster has had any since."""
    known: dict[str, None] = {}

    def counted(account: Account) -> LoadKey | None:
        known.setdefault(account.cluster)
        return counted_for(account) if account.cluster == [*known][-1] else None

    return counted


def reported_once_reported_for_good() -> Callable[[Account], LoadKey | None]:
    """A cluster that has had lrs_server is reported from then on."""
    known: set[str] = set()

    def counted(account: Account) -> LoadKey | None:
        if account.reported:
            known.add(account.cluster)
        return counted_for(replace(account, reported=account.cluster in known))

    return counted


class ListedNow:
    """Requests count while the locality of their endpoint is in the list of their cluster."""

    def __init__(self) -> None:
        self._listed: dict[str, set[Locality]] = {}

    def tree(
        self,
        aggregate: Aggregate | None,
        leaves: Leaves,
        names: PriorityNames,
        rules: ClusterRules,
    ) -> Update:
        """The tree, of whose leaves it is noted what they list."""
        for leaf, found in leaves:
            places = (locality.locality for priority in found.priorities for locality in priority)
            self._listed[leaf.name] = {*places}
        return a_policy_for_each_leaf(aggregate, leaves, names, rules)

    def counted(self, account: Account) -> LoadKey | None:
        """What it counts for."""
        is_listed = account.locality in self._listed[account.cluster]
        return counted_for(account) if is_listed else None


listed_now = ListedNow()

# What begins a stream.

node_on_the_first_stream_alone = Mutant(
    clause="A27-LRS-01",
    broken="only the first load stream of a process says which node it is",
    xds={"names_itself": lambda stream: stream == 1},
)

# What is asked for.

all_not_heeded = Mutant(
    clause="A27-LRS-02",
    broken="clusters are reported that are asked for by name, though it is said that all can be",
    xds={"asked_for": lambda known, names, _all: asked_for(known, names, all_of_them=False)},
)

names_not_heeded = Mutant(
    clause="A27-LRS-03",
    broken="all clusters are reported, whichever are asked for",
    xds={"asked_for": lambda known, _names, _all: known},
)

first_name_passed_over = Mutant(
    clause="A27-LRS-03",
    broken="the first of the names that are asked for is passed over",
    xds={
        "asked_for": lambda known, names, of_all: asked_for(known, sorted(names)[1:], of_all),
    },
)

nothing_with_unknown_names = Mutant(
    clause="A27-LRS-04",
    broken="nothing is reported while a name is asked for that nobody knows",
    xds={
        "asked_for": lambda known, names, of_all: (
            asked_for(known, names, of_all) if of_all or {*names} <= {*known} else ()
        )
    },
)

later_lists_not_heeded = Mutant(
    clause="A27-LRS-05",
    broken="the names that were asked for first are reported for good",
    xds={"asked_for": first_list_for_good()},
)

unasked_load_is_lost = Mutant(
    clause="A27-LRS-06",
    broken="load of clusters that are not asked for is never told",
    xds={"unasked_load_is_kept": False},
    reports="not told",
)

endpoints_told = Mutant(
    clause="A27-LRS-18",
    broken="endpoints are told one by one when the server asks for that",
    xds={"tells_endpoints": True},
)

# Times.

own_interval = Mutant(
    clause="A27-LRS-07",
    broken="there is a report each second, whatever is asked for",
    xds={"time_to_report": lambda _: 1.0},
)

first_interval_for_good = Mutant(
    clause="A27-LRS-07",
    broken="the interval that was asked for first is kept",
    xds={"time_to_report": for_good(lambda interval: interval)},
)

no_time_told = Mutant(
    clause="A27-LRS-08",
    broken="reports do not tell how long their load was gathered",
    xds={"told_time": lambda _since, _asked, _begun: 0.0},
)

time_since_the_beginning_told = Mutant(
    clause="A27-LRS-08",
    broken="each report tells the time since the client began",
    xds={"told_time": lambda _since, _asked, begun: begun},
)

since_the_epoch = Mutant(
    clause="A27-LRS-08",
    broken="the first report of a cluster states the seconds since 1970",
    xds={"told_time": lambda since, _asked, begun: time.time() if since == begun else since},
)

# Numbers.

nothing_new_nothing_told = Mutant(
    clause="A27-LRS-09",
    broken="a locality without new requests is left out, whatever is in progress there",
    xds={"is_told": lambda load: bool(load.issued or load.succeeded or load.errors)},
)

cancelled_ones_stay = Mutant(
    clause="A27-LRS-10",
    broken="requests that have not succeeded stay in progress",
    rules={"when_ended": stays_in_progress},
)

expired_ones_succeed = Mutant(
    clause="A27-LRS-11",
    broken="requests that have failed count as successes",
    rules={"when_ended": lambda counts, _: when_ended(counts, ok=True)},
)

zeros_told = Mutant(
    clause="A27-LRS-16",
    broken="clusters that have nothing to tell are told with zeros",
    rules={"has_counted": lambda _: True},
    xds={"is_told": lambda _: True},
    reports="zeros",
)

issued_not_told = Mutant(
    clause="A27-LRS-20",
    broken="how many requests were issued is not told",
    rules={"when_sent": lambda counts: replace(when_sent(counts), issued=0)},
)

gone_with_its_cluster = Mutant(
    clause="A27-LRS-21",
    broken="requests that end after another cluster was used are not told",
    rules={"counted_for": newest_cluster_alone()},
)

gone_locality_not_told = Mutant(
    clause="A27-LRS-21",
    broken="requests that end after their locality has left the list are not told",
    rules={"tree": listed_now.tree, "counted_for": listed_now.counted},
)

# lrs_server, and streams.

stream_without_lrs_server = Mutant(
    clause="A27-LRS-12",
    broken="there is a load stream whether a cluster has lrs_server or not",
    xds={"load_is_reported": lambda _: True},
)

lrs_server_looked_at_once = Mutant(
    clause="A27-LRS-13",
    broken="a cluster that is given lrs_server later is not reported",
    xds={"load_is_reported": for_good(somebody_reports)},
)

lrs_server_for_good = Mutant(
    clause="A27-LRS-23",
    broken="a cluster that has had lrs_server is reported for good",
    rules={"counted_for": reported_once_reported_for_good()},
)

no_stream_after_an_orderly_end = Mutant(
    clause="A27-LRS-14",
    broken="a load stream that the server has ended with OK is the last",
    xds={"begins_again": lambda code: code != "OK"},
)

no_stream_after_a_failure = Mutant(
    clause="A27-LRS-14",
    broken="a load stream that has failed is the last",
    xds={"begins_again": lambda code: code == "OK"},
)

load_lost_with_its_stream = Mutant(
    clause="A27-LRS-15",
    broken="what is counted while there is no load stream is never told",
    xds={"load_outlives_a_stream": False},
)

stream_for_each_change = Mutant(
    clause="A27-LRS-17",
    broken="whenever a cluster goes the load stream is begun anew",
    xds={"stream_serves_all": False},
)

asked_once_for_all_streams = Mutant(
    clause="A27-LRS-22",
    broken="a later load stream goes on by what was asked on the one before",
    xds={"waits_to_be_asked": False},
    reports="goes on",
)

stream_for_each_update = Mutant(
    clause="A27-LRS-24",
    broken="whenever a Cluster is updated the load stream is begun anew",
    xds={"stream_outlives_updates": False},
)

# After a pause.

last_interval_alone = Mutant(
    clause="A27-LRS-25",
    broken="a report tells the time of one interval, however long it gathered",
    xds={"told_time": lambda since, asked, _: min(since, asked)},
)

always_as_after_the_first = Mutant(
    clause="A27-LRS-26",
    broken="a load stream is tried again each second, however many have failed",
    xds={"failures_that_count": lambda _: 1},
    reports="none of the known",
)

answers_do_not_count = Mutant(
    clause="A27-LRS-27",
    broken="a load stream with an answer on it is followed as one that has failed",
    xds={"answer_ends_backoff": False},
    reports="longer",
)

nothing_is_not_told = Mutant(
    clause="A27-LRS-28",
    broken="no report is sent that has nothing to tell",
    xds={"nothing_is_told": False},
    reports="none, or one",
)


def once_for_good() -> Callable[[int], bool]:
    """A load stream that is begun stays."""
    known: list[bool] = []

    def is_reported(reporters: int) -> bool:
        known.extend([True] * somebody_reports(reporters))
        return bool(known)

    return is_reported


stream_for_good = Mutant(
    clause="A27-LRS-29",
    broken="the load stream stays when the last cluster has gone that is reported",
    xds={"load_is_reported": once_for_good()},
    reports="stays",
)
