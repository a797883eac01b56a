"""Mutants of the clauses in load_streams.toml."""

import time
from collections.abc import Callable, Collection

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import (
    ClusterRules,
    Leaves,
    PriorityNames,
    policy_tree_a75,
)
from client_under_test.reference.clusters.discovery import Aggregate
from client_under_test.reference.editions.mutants import Mutant, for_good
from client_under_test.reference.policies.interface import Account, Update
from client_under_test.reference.policies.rules.admission import (
    Counts,
    LoadKey,
    count_ended,
    count_sent,
    load_key,
)
from client_under_test.reference.values import Locality, Status
from client_under_test.reference.xds.load_rules import (
    clusters_to_report,
    keeps_load_stream,
    load_interval,
    sends_node_alone,
)
from conformance.mutation.mutants.load_reports.load_report import stays_in_progress

Asked = Callable[[Collection[str], Collection[str], bool], Collection[str]]


def first_list_for_good() -> Asked:
    """Report the clusters that the server requested first."""
    names = for_good(lambda value: value)
    return lambda known, asked, of_all: clusters_to_report(known, names(asked), of_all)


def first_two_alone() -> Asked:
    """Report no more than the first two clusters with load."""
    first: dict[str, None] = {}

    def asked(known: Collection[str], names: Collection[str], of_all: bool) -> Collection[str]:  # noqa: FBT001 - a field
        first.update(dict.fromkeys(sorted(known)))
        return [name for name in clusters_to_report(known, names, of_all) if name in [*first][:2]]

    return asked


def newest_cluster_alone() -> Callable[[Account], LoadKey | None]:
    """Count requests of the newest cluster only."""
    known: dict[str, None] = {}

    def counted(account: Account) -> LoadKey | None:
        known.setdefault(account.cluster)
        return load_key(account) if account.cluster == [*known][-1] else None

    return counted


def reported_once_reported_for_good() -> Callable[[Account], LoadKey | None]:
    """Report a cluster forever once it has had an lrs_server."""
    known: set[str] = set()

    def counted(account: Account) -> LoadKey | None:
        if account.reported:
            known.add(account.cluster)
        return load_key(replace(account, reported=account.cluster in known))

    return counted


class ListedNow:
    """Requests count only while their cluster lists their locality."""

    def __init__(self) -> None:
        self._listed: dict[str, set[Locality]] = {}

    def policy_tree(
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
        return policy_tree_a75(aggregate, leaves, names, rules)

    def counted(self, account: Account) -> LoadKey | None:
        """Return the key of a request; None if its locality is no longer listed."""
        is_listed = account.locality in self._listed[account.cluster]
        return load_key(account) if is_listed else None


listed_now = ListedNow()


# The first request of a stream.

node_on_the_first_stream_alone = Mutant(
    clause="A27-LRS-01",
    broken="only the first load stream of a process identifies the node",
    xds={"sends_node_alone": lambda stream: stream == 1},
)


# Requested clusters.

all_not_heeded = Mutant(
    clause="A27-LRS-02",
    broken="only clusters requested by name are reported, despite the send_all_clusters feature",
    xds={
        "clusters_to_report": lambda known, names, _all: clusters_to_report(
            known, names, all_of_them=False
        )
    },
)


all_are_two = Mutant(
    clause="A27-LRS-02",
    broken="no more than two clusters are reported",
    xds={"clusters_to_report": first_two_alone()},
)


names_not_heeded = Mutant(
    clause="A27-LRS-03",
    broken="all clusters are reported, whichever the server requests",
    xds={"clusters_to_report": lambda known, _names, _all: known},
)


first_name_passed_over = Mutant(
    clause="A27-LRS-03",
    broken="the first requested cluster is skipped",
    xds={
        "clusters_to_report": lambda known, names, of_all: clusters_to_report(
            known, sorted(names)[1:], of_all
        ),
    },
)


nothing_with_unknown_names = Mutant(
    clause="A27-LRS-04",
    broken="nothing is reported if the server requests an unknown cluster",
    xds={
        "clusters_to_report": lambda known, names, of_all: (
            clusters_to_report(known, names, of_all) if of_all or {*names} <= {*known} else ()
        )
    },
)


later_lists_not_heeded = Mutant(
    clause="A27-LRS-05",
    broken="the clusters of the first request are reported forever",
    xds={"clusters_to_report": first_list_for_good()},
)


unasked_load_is_lost = Mutant(
    clause="A27-LRS-06",
    broken="load of a cluster from before it was requested is never reported",
    xds={"keeps_unrequested_load": False},
    reports="not told",
)


endpoints_told = Mutant(
    clause="A27-LRS-18",
    broken="load is reported by endpoint if the server requests that",
    xds={"reports_endpoints": True},
)


# Intervals.

own_interval = Mutant(
    clause="A27-LRS-07",
    broken="there is a report each second, whatever the server requests",
    xds={"load_interval": lambda _: 1.0},
)


first_interval_for_good = Mutant(
    clause="A27-LRS-07",
    broken="the interval of the first request is kept",
    xds={"load_interval": for_good(lambda interval: interval)},
)


def _signed(interval: float) -> float:
    return max((int(interval * 1000) + 2**31) % 2**32 - 2**31, 100) / 1000


def _unsigned(interval: float) -> float:
    return int(interval * 1000) % 2**32 / 1000


milliseconds_of_31_bits = Mutant(
    clause="A27-LRS-07",
    broken="the interval is a signed number of milliseconds in 32 bits",
    xds={"load_interval": _signed},
)


milliseconds_of_32_bits = Mutant(
    clause="A27-LRS-07",
    broken="the interval is an unsigned number of milliseconds in 32 bits",
    xds={"load_interval": _unsigned},
)


no_time_told = Mutant(
    clause="A27-LRS-08",
    broken="reports have no load_report_interval",
    xds={"reported_interval": lambda _since, _asked, _begun: 0.0},
)


time_since_the_beginning_told = Mutant(
    clause="A27-LRS-08",
    broken="the load_report_interval starts at the start of the client",
    xds={"reported_interval": lambda _since, _asked, begun: begun},
)


since_the_epoch = Mutant(
    clause="A27-LRS-08",
    broken="the first report of a cluster states the seconds since 1970",
    xds={
        "reported_interval": lambda since, _asked, begun: time.time() if since == begun else since
    },
)


# Counts.

nothing_new_nothing_told = Mutant(
    clause="A27-LRS-09",
    broken="a locality without new requests is left out, even with requests in progress",
    xds={"reports_locality": lambda load: bool(load.issued or load.succeeded or load.errors)},
)


cancelled_ones_stay = Mutant(
    clause="A27-LRS-10",
    broken="requests that did not succeed stay in progress",
    rules={"count_ended": stays_in_progress},
)


expired_ones_succeed = Mutant(
    clause="A27-LRS-11",
    broken="requests that have failed count as successes",
    rules={"count_ended": lambda counts, _: count_ended(counts, ok=True)},
)


zeros_told = Mutant(
    clause="A27-LRS-16",
    broken="clusters without load are reported with zeros",
    rules={"has_load": lambda _: True},
    xds={"reports_locality": lambda _: True},
    reports="zeros",
)


failed_not_issued = Mutant(
    clause="A27-LRS-20",
    broken="a request that fails does not count as issued",
    rules={
        "count_ended": lambda counts, ok: replace(
            count_ended(counts, ok), issued=max(0, counts.issued - (not ok))
        )
    },
)


issued_not_told = Mutant(
    clause="A27-LRS-20",
    broken="the number of issued requests is not reported",
    rules={"count_sent": lambda counts: replace(count_sent(counts), issued=0)},
)


gone_with_its_cluster = Mutant(
    clause="A27-LRS-21",
    broken="requests that end after another cluster was used are not reported",
    rules={"load_key": newest_cluster_alone()},
)


gone_locality_not_told = Mutant(
    clause="A27-LRS-21",
    broken="requests that end after their locality left the list are not reported",
    rules={"policy_tree": listed_now.policy_tree, "load_key": listed_now.counted},
)


# lrs_server, and streams.

stream_without_lrs_server = Mutant(
    clause="A27-LRS-12",
    broken="there is a load stream even if no cluster has an lrs_server",
    xds={"keeps_load_stream": lambda _: True},
)


lrs_server_looked_at_once = Mutant(
    clause="A27-LRS-13",
    broken="a cluster that gets an lrs_server later is not reported",
    xds={"keeps_load_stream": for_good(keeps_load_stream)},
)


lrs_server_for_good = Mutant(
    clause="A27-LRS-23",
    broken="a cluster that once had an lrs_server is reported forever",
    rules={"load_key": reported_once_reported_for_good()},
)


no_stream_after_an_orderly_end = Mutant(
    clause="A27-LRS-14",
    broken="a load stream that the server has ended with OK is the last",
    xds={"reopens_load_stream": lambda code: code != "OK"},
)


no_stream_after_a_failure = Mutant(
    clause="A27-LRS-14",
    broken="a load stream that has failed is the last",
    xds={"reopens_load_stream": lambda code: code == "OK"},
)


load_lost_with_its_stream = Mutant(
    clause="A27-LRS-15",
    broken="load from while there is no load stream is never reported",
    xds={"load_outlives_stream": False},
)


stream_for_each_change = Mutant(
    clause="A27-LRS-17",
    broken="the load stream restarts whenever a cluster is removed",
    xds={"stream_serves_all_clusters": False},
)


asked_once_for_all_streams = Mutant(
    clause="A27-LRS-22",
    broken="a later load stream follows the requests of the one before",
    xds={"waits_for_load_request": False},
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
    xds={
        "clusters_to_report": lambda known, names, of_all: clusters_to_report(
            known, sorted(names)[-1:], of_all
        )
    },
)


def all_for_good() -> Asked:
    """Report all clusters forever once the server has requested all."""
    ever = False

    def asked(known: Collection[str], names: Collection[str], of_all: bool) -> Collection[str]:  # noqa: FBT001 - a field
        nonlocal ever
        ever = ever or of_all
        return clusters_to_report(known, names, ever)

    return asked


all_once_all_for_good = Mutant(
    clause="A27-LRS-05",
    broken="a list of clusters does not replace an earlier send_all_clusters",
    xds={"clusters_to_report": all_for_good()},
)


whole_seconds_of_the_interval = Mutant(
    clause="A27-LRS-07",
    broken="only the whole seconds of the interval count",
    xds={"load_interval": lambda interval: max(1, int(interval))},
)


whole_seconds_told = Mutant(
    clause="A27-LRS-08",
    broken="load_report_interval has whole seconds only",
    xds={"reported_interval": lambda since, _asked, _begun: float(int(since))},
)


class SinceTheStream:
    """Requests count only if they began since the last load stream did."""

    def __init__(self) -> None:
        self._stream = 1
        self._streams: dict[int, tuple[Account, int]] = {}

    def begun(self, stream: int) -> bool:
        """Note the stream."""
        self._stream = stream
        return sends_node_alone(stream)

    def counted(self, account: Account) -> LoadKey | None:
        """Return the key of a request; None if it began before the stream."""
        _, stream = self._streams.setdefault(id(account), (account, self._stream))
        return load_key(account) if stream == self._stream else None


since_the_stream = SinceTheStream()


earlier_requests_lost = Mutant(
    clause="A27-LRS-15",
    broken="the end of a request that began before the load stream is not reported",
    rules={"load_key": since_the_stream.counted},
    xds={"sends_node_alone": since_the_stream.begun},
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

    def load_interval(self, interval: float) -> float:
        """Note that the server requests load."""
        self._is_asked = True
        return load_interval(interval)

    def counted(self, account: Account) -> LoadKey | None:
        """Return the key of a request; None before the first response."""
        return load_key(account) if self._is_asked else None


from_the_first_response = FromTheFirstResponse()


load_before_the_first_stream_lost = Mutant(
    clause="A27-LRS-15",
    broken="requests from before the first response on a load stream are not reported",
    rules={"load_key": from_the_first_response.counted},
    xds={"load_interval": from_the_first_response.load_interval},
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
        ended = count_ended(counts, ok)
        return replace(ended, issued=max(0, ended.issued - self._counts))


CANCELLED, EXPIRED = NotIssued("CANCELLED"), NotIssued("DEADLINE_EXCEEDED")

cancelled_not_issued = Mutant(
    clause="A27-LRS-10",
    broken="a request that the client cancels does not count as issued",
    rules={"ends_flight": CANCELLED.ends_flight, "count_ended": CANCELLED.ended},
)


expired_not_issued = Mutant(
    clause="A27-LRS-11",
    broken="a request whose deadline passes does not count as issued",
    rules={"ends_flight": EXPIRED.ends_flight, "count_ended": EXPIRED.ended},
)
