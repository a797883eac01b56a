"""Mutants of the clauses in load_streams.toml."""

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
    Counts,
    LoadKey,
    counted_for,
    when_ended,
    when_sent,
)
from client_under_test.reference.values import Locality, Status
from client_under_test.reference.xds.load_rules import (
    as_asked,
    asked_for,
    names_itself,
    somebody_reports,
)
from conformance.mutation.mutants.load_reports.load_report import stays_in_progress

Asked = Callable[[Collection[str], Collection[str], bool], Collection[str]]


def first_list_for_good() -> Asked:
    """Report the clusters that the server requested first."""
    names = for_good(lambda value: value)
    return lambda known, asked, of_all: asked_for(known, names(asked), of_all)


def first_two_alone() -> Asked:
    """Report no more than the first two clusters with load."""
    first: dict[str, None] = {}

    def asked(known: Collection[str], names: Collection[str], of_all: bool) -> Collection[str]:  # noqa: FBT001 - a field
        first.update(dict.fromkeys(sorted(known)))
        return [name for name in asked_for(known, names, of_all) if name in [*first][:2]]

    return asked


def newest_cluster_alone() -> Callable[[Account], LoadKey | None]:
    """Count requests of the newest cluster only."""
    known: dict[str, None] = {}

    def counted(account: Account) -> LoadKey | None:
        known.setdefault(account.cluster)
        return counted_for(account) if account.cluster == [*known][-1] else None

    return counted


def reported_once_reported_for_good() -> Callable[[Account], LoadKey | None]:
    """Report a cluster forever once it has had an lrs_server."""
    known: set[str] = set()

    def counted(account: Account) -> LoadKey | None:
        if account.reported:
            known.add(account.cluster)
        return counted_for(replace(account, reported=account.cluster in known))

    return counted


class ListedNow:
    """Requests count only while their cluster lists their locality."""

    def __init__(self) -> None:
        self._listed: dict[str, set[Locality]] = {}

    def tree(
        self,
        aggregate: Aggregate | None,
        leaves: Leaves,
        names: PriorityNames,
        rules: ClusterRules,
    ) -> Update:
        """Return the tree, and note the localities of its leaves."""
        for leaf, found in leaves:
            places = (locality.locality for priority in found.priorities for locality in priority)
            self._listed[leaf.name] = {*places}
        return a_policy_for_each_leaf(aggregate, leaves, names, rules)

    def counted(self, account: Account) -> LoadKey | None:
        """Return the key of a request; None if its locality is no longer listed."""
        is_listed = account.locality in self._listed[account.cluster]
        return counted_for(account) if is_listed else None


listed_now = ListedNow()


# The first request of a stream.

node_on_the_first_stream_alone = Mutant(
    clause="A27-LRS-01",
    broken="only the first load stream of a process identifies the node",
    xds={"names_itself": lambda stream: stream == 1},
)


# Requested clusters.

all_not_heeded = Mutant(
    clause="A27-LRS-02",
    broken="only clusters requested by name are reported, despite the send_all_clusters feature",
    xds={"asked_for": lambda known, names, _all: asked_for(known, names, all_of_them=False)},
)


all_are_two = Mutant(
    clause="A27-LRS-02",
    broken="no more than two clusters are reported",
    xds={"asked_for": first_two_alone()},
)


names_not_heeded = Mutant(
    clause="A27-LRS-03",
    broken="all clusters are reported, whichever the server requests",
    xds={"asked_for": lambda known, _names, _all: known},
)


first_name_passed_over = Mutant(
    clause="A27-LRS-03",
    broken="the first requested cluster is skipped",
    xds={
        "asked_for": lambda known, names, of_all: asked_for(known, sorted(names)[1:], of_all),
    },
)


nothing_with_unknown_names = Mutant(
    clause="A27-LRS-04",
    broken="nothing is reported if the server requests an unknown cluster",
    xds={
        "asked_for": lambda known, names, of_all: (
            asked_for(known, names, of_all) if of_all or {*names} <= {*known} else ()
        )
    },
)


later_lists_not_heeded = Mutant(
    clause="A27-LRS-05",
    broken="the clusters of the first request are reported forever",
    xds={"asked_for": first_list_for_good()},
)


unasked_load_is_lost = Mutant(
    clause="A27-LRS-06",
    broken="load of a cluster from before it was requested is never reported",
    xds={"unasked_load_is_kept": False},
    reports="not told",
)


endpoints_told = Mutant(
    clause="A27-LRS-18",
    broken="load is reported by endpoint if the server requests that",
    xds={"tells_endpoints": True},
)


# Intervals.

own_interval = Mutant(
    clause="A27-LRS-07",
    broken="there is a report each second, whatever the server requests",
    xds={"time_to_report": lambda _: 1.0},
)


first_interval_for_good = Mutant(
    clause="A27-LRS-07",
    broken="the interval of the first request is kept",
    xds={"time_to_report": for_good(lambda interval: interval)},
)


def _signed(interval: float) -> float:
    return max((int(interval * 1000) + 2**31) % 2**32 - 2**31, 100) / 1000


def _unsigned(interval: float) -> float:
    return int(interval * 1000) % 2**32 / 1000


milliseconds_of_31_bits = Mutant(
    clause="A27-LRS-07",
    broken="the interval is a signed number of milliseconds in 32 bits",
    xds={"time_to_report": _signed},
)


milliseconds_of_32_bits = Mutant(
    clause="A27-LRS-07",
    broken="the interval is an unsigned number of milliseconds in 32 bits",
    xds={"time_to_report": _unsigned},
)


no_time_told = Mutant(
    clause="A27-LRS-08",
    broken="reports have no load_report_interval",
    xds={"told_time": lambda _since, _asked, _begun: 0.0},
)


time_since_the_beginning_told = Mutant(
    clause="A27-LRS-08",
    broken="the load_report_interval starts at the start of the client",
    xds={"told_time": lambda _since, _asked, begun: begun},
)


since_the_epoch = Mutant(
    clause="A27-LRS-08",
    broken="the first report of a cluster states the seconds since 1970",
    xds={"told_time": lambda since, _asked, begun: time.time() if since == begun else since},
)


# Counts.

nothing_new_nothing_told = Mutant(
    clause="A27-LRS-09",
    broken="a locality without new requests is left out, even with requests in progress",
    xds={"is_told": lambda load: bool(load.issued or load.succeeded or load.errors)},
)


cancelled_ones_stay = Mutant(
    clause="A27-LRS-10",
    broken="requests that did not succeed stay in progress",
    rules={"when_ended": stays_in_progress},
)


expired_ones_succeed = Mutant(
    clause="A27-LRS-11",
    broken="requests that have failed count as successes",
    rules={"when_ended": lambda counts, _: when_ended(counts, ok=True)},
)


zeros_told = Mutant(
    clause="A27-LRS-16",
    broken="clusters without load are reported with zeros",
    rules={"has_counted": lambda _: True},
    xds={"is_told": lambda _: True},
    reports="zeros",
)


failed_not_issued = Mutant(
    clause="A27-LRS-20",
    broken="a request that fails does not count as issued",
    rules={
        "when_ended": lambda counts, ok: replace(
            when_ended(counts, ok), issued=max(0, counts.issued - (not ok))
        )
    },
)


issued_not_told = Mutant(
    clause="A27-LRS-20",
    broken="the number of issued requests is not reported",
    rules={"when_sent": lambda counts: replace(when_sent(counts), issued=0)},
)


gone_with_its_cluster = Mutant(
    clause="A27-LRS-21",
    broken="requests that end after another cluster was used are not reported",
    rules={"counted_for": newest_cluster_alone()},
)


gone_locality_not_told = Mutant(
    clause="A27-LRS-21",
    broken="requests that end after their locality left the list are not reported",
    rules={"tree": listed_now.tree, "counted_for": listed_now.counted},
)


# lrs_server, and streams.

stream_without_lrs_server = Mutant(
    clause="A27-LRS-12",
    broken="there is a load stream even if no cluster has an lrs_server",
    xds={"load_is_reported": lambda _: True},
)


lrs_server_looked_at_once = Mutant(
    clause="A27-LRS-13",
    broken="a cluster that gets an lrs_server later is not reported",
    xds={"load_is_reported": for_good(somebody_reports)},
)


lrs_server_for_good = Mutant(
    clause="A27-LRS-23",
    broken="a cluster that once had an lrs_server is reported forever",
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
    broken="load from while there is no load stream is never reported",
    xds={"load_outlives_a_stream": False},
)


stream_for_each_change = Mutant(
    clause="A27-LRS-17",
    broken="the load stream restarts whenever a cluster is removed",
    xds={"stream_serves_all": False},
)


asked_once_for_all_streams = Mutant(
    clause="A27-LRS-22",
    broken="a later load stream follows the requests of the one before",
    xds={"waits_to_be_asked": False},
    reports="goes on",
)


stream_for_each_update = Mutant(
    clause="A27-LRS-24",
    broken="the load stream restarts whenever a Cluster is updated",
    xds={"stream_outlives_updates": False},
)


last_name_alone = Mutant(
    clause="A27-LRS-04",
    broken="only the last of the requested clusters is reported",
    xds={"asked_for": lambda known, names, of_all: asked_for(known, sorted(names)[-1:], of_all)},
)


def all_for_good() -> Asked:
    """Report all clusters forever once the server has requested all."""
    ever = False

    def asked(known: Collection[str], names: Collection[str], of_all: bool) -> Collection[str]:  # noqa: FBT001 - a field
        nonlocal ever
        ever = ever or of_all
        return asked_for(known, names, ever)

    return asked


all_once_all_for_good = Mutant(
    clause="A27-LRS-05",
    broken="a list of clusters does not replace an earlier send_all_clusters",
    xds={"asked_for": all_for_good()},
)


whole_seconds_of_the_interval = Mutant(
    clause="A27-LRS-07",
    broken="only the whole seconds of the interval count",
    xds={"time_to_report": lambda interval: max(1, int(interval))},
)


whole_seconds_told = Mutant(
    clause="A27-LRS-08",
    broken="load_report_interval has whole seconds only",
    xds={"told_time": lambda since, _asked, _begun: float(int(since))},
)


class SinceTheStream:
    """Requests count only if they began since the last load stream did."""

    def __init__(self) -> None:
        self._stream = 1
        self._streams: dict[int, tuple[Account, int]] = {}

    def begun(self, stream: int) -> bool:
        """Note the stream."""
        self._stream = stream
        return names_itself(stream)

    def counted(self, account: Account) -> LoadKey | None:
        """Return the key of a request; None if it began before the stream."""
        _, stream = self._streams.setdefault(id(account), (account, self._stream))
        return counted_for(account) if stream == self._stream else None


since_the_stream = SinceTheStream()


earlier_requests_lost = Mutant(
    clause="A27-LRS-15",
    broken="the end of a request that began before the load stream is not reported",
    rules={"counted_for": since_the_stream.counted},
    xds={"names_itself": since_the_stream.begun},
)


stream_of_each_channel = Mutant(
    clause="A27-LRS-19",
    broken="each channel has streams of its own",
    xds={"channels_share_a_stream": False},
    reports="one each",
)


class FromTheFirstResponse:
    """Requests count only from the first response of a load stream on."""

    def __init__(self) -> None:
        self._is_asked = False

    def time_to_report(self, interval: float) -> float:
        """Note that the server requests load."""
        self._is_asked = True
        return as_asked(interval)

    def counted(self, account: Account) -> LoadKey | None:
        """Return the key of a request; None before the first response."""
        return counted_for(account) if self._is_asked else None


from_the_first_response = FromTheFirstResponse()


load_before_the_first_stream_lost = Mutant(
    clause="A27-LRS-15",
    broken="requests from before the first response on a load stream are not reported",
    rules={"counted_for": from_the_first_response.counted},
    xds={"time_to_report": from_the_first_response.time_to_report},
)


class NotIssued:
    """A request that ends with this code does not count as issued."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._counts = False

    def ends_flight(self, status: Status) -> bool:
        """Note the code of the request that ends."""
        self._counts = status.code == self._code
        return True

    def ended(self, counts: Counts, ok: bool) -> Counts:  # noqa: FBT001 - how it ended
        """Count the end of a request, and its start unless it ended with the code."""
        ended = when_ended(counts, ok)
        return replace(ended, issued=max(0, ended.issued - self._counts))


CANCELLED, EXPIRED = NotIssued("CANCELLED"), NotIssued("DEADLINE_EXCEEDED")

cancelled_not_issued = Mutant(
    clause="A27-LRS-10",
    broken="a request that the client cancels does not count as issued",
    rules={"ends_flight": CANCELLED.ends_flight, "when_ended": CANCELLED.ended},
)


expired_not_issued = Mutant(
    clause="A27-LRS-11",
    broken="a request whose deadline passes does not count as issued",
    rules={"ends_flight": EXPIRED.ends_flight, "when_ended": EXPIRED.ended},
)
