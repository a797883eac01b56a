"""The rules of load streams: the Load Reporting Service, which A27 refers to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from client_under_test.reference.policies.ledger import LocalityLoad


def names_itself(_stream: int) -> bool:
    """Send the node and no load in the first request of each stream.

    Clauses: A27-LRS-01.
    """
    return True


def asked_for(known: Collection[str], names: Collection[str], all_of_them: bool) -> Collection[str]:  # noqa: FBT001 - a field
    """Return the clusters with load that the server named last; or all with load.

    Clauses: A27-LRS-02, A27-LRS-03, A27-LRS-04, A27-LRS-05.
    """
    return known if all_of_them else [cluster for cluster in known if cluster in names]


def as_asked(interval: float) -> float:
    """Report at the interval that the server sent last.

    Clauses: A27-LRS-07, A27-LRS-15.
    """
    return interval


def since_the_last(since: float, _asked: float, _since_the_first: float) -> float:
    """Return the time in which the reported load was gathered.

    Clauses: A27-LRS-08, A27-LRS-25.
    """
    return since


def does_something(load: LocalityLoad) -> bool:
    """Report a locality if it has new requests, or some in progress.

    Clauses: A27-LRS-09, A27-LRS-16 (our choice: no zeros).
    """
    return bool(load.issued or load.succeeded or load.errors or load.in_progress)


def somebody_reports(reporters: int) -> bool:
    """A27: keep a load stream open while clusters with lrs_server are in use.

    Clauses: A27-LRS-12, A27-LRS-13, A27-LRS-29 (our choice: it ends with the last of them).
    """
    return reporters > 0


def whatever_the_end(_code: str) -> bool:
    """Reopen a stream that ended while it is needed.

    Clauses: A27-LRS-14.
    """
    return True


def as_many(failures: int) -> int:
    """Back off by the number of streams in a row that had no response.

    Clauses: A27-LRS-26 (our choice: as in A57 for ADS).
    """
    return failures


@dataclass(frozen=True, kw_only=True)
class LoadStreamRules:
    """One way of reporting load."""

    names_itself: Callable[[int], bool] = names_itself
    """Takes the number of the stream."""
    load_features: tuple[str, ...] = ("envoy.lrs.supports_send_all_clusters",)
    """A27-LRS-02: what this client can do on a load stream."""
    asked_for: Callable[[Collection[str], Collection[str], bool], Collection[str]] = asked_for
    unasked_load_is_kept: bool = True
    """A27-LRS-06 (our choice): load of an unrequested cluster is kept, and reported on request."""
    time_to_report: Callable[[float], float] = as_asked
    told_time: Callable[[float, float, float], float] = since_the_last
    """Takes the seconds since the last report, the requested interval, and the seconds since the
    client started to count load. Returns the interval to report."""
    is_told: Callable[[LocalityLoad], bool] = does_something
    load_is_reported: Callable[[int], bool] = somebody_reports
    """Takes the number of clusters whose load must be reported."""
    begins_again: Callable[[str], bool] = whatever_the_end
    """Takes the name of the status that ended a load stream."""
    failures_that_count: Callable[[int], int] = as_many
    """Takes the number of streams in a row without a response."""
    answer_ends_backoff: bool = True
    """A27-LRS-27 (our choice): a response on a stream resets the backoff."""
    nothing_is_told: bool = True
    """A27-LRS-28 (our choice): the client sends a report even if it is empty."""
    load_outlives_a_stream: bool = True
    """A27-LRS-15: load counted while no stream existed is reported on the next."""
    stream_serves_all: bool = True
    """A27-LRS-17: clusters that come and go leave the stream as it is."""
    stream_outlives_updates: bool = True
    """A27-LRS-24: updates of Clusters leave the stream as it is."""
    channels_share_a_stream: bool = True
    """A27-LRS-19 (our choice): all channels of the process share the streams."""
    waits_to_be_asked: bool = True
    """A27-LRS-22 (our choice): a new stream forgets the server's requests on the last stream."""
    tells_endpoints: bool = False
    """A27-LRS-18: whether reports list each endpoint, too, if the server asks for it."""
