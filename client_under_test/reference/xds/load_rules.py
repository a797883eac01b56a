"""The rules of load streams: the Load Reporting Service, which A27 refers to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from client_under_test.reference.policies.ledger import LocalityLoad


def sends_node_alone(_stream: int) -> bool:
    """Send the node and no load in the first request of each stream.

    Clauses: A27-LRS-01.
    """
    return True


def clusters_to_report(
    known: Collection[str],
    names: Collection[str],
    all_of_them: bool,  # noqa: FBT001 - a field
) -> Collection[str]:
    """Return the clusters with load that the server named last; or all with load.

    Clauses: A27-LRS-02, A27-LRS-03, A27-LRS-04, A27-LRS-05.
    """
    return known if all_of_them else [cluster for cluster in known if cluster in names]


def load_interval(interval: float) -> float:
    """Report at the interval that the server sent last.

    Clauses: A27-LRS-07, A27-LRS-15.
    """
    return interval


def reported_interval(since: float, _asked: float, _since_the_first: float) -> float:
    """Return the time in which the reported load was gathered.

    Clauses: A27-LRS-08, A27-LRS-25.
    """
    return since


def reports_locality(load: LocalityLoad) -> bool:
    """Report a locality if it has new requests, or some in progress.

    Clauses: A27-LRS-09, A27-LRS-16 (our choice: no zeros).
    """
    return bool(load.issued or load.succeeded or load.errors or load.in_progress)


def keeps_load_stream(reporters: int) -> bool:
    """A27: keep a load stream open while clusters with lrs_server are in use.

    Clauses: A27-LRS-12, A27-LRS-13, A27-LRS-29 (our choice: it ends with the last of them).
    """
    return reporters > 0


def reopens_load_stream(_code: str) -> bool:
    """Reopen a stream that ended while it is needed.

    Clauses: A27-LRS-14.
    """
    return True


def load_backoff_failures(failures: int) -> int:
    """Back off by the number of streams in a row that had no response.

    Clauses: A27-LRS-26 (our choice: as in A57 for ADS).
    """
    return failures


@dataclass(frozen=True, kw_only=True)
class LoadStreamRules:
    """One way of reporting load."""

    sends_node_alone: Callable[[int], bool] = sends_node_alone
    """Takes the number of the stream."""
    load_features: tuple[str, ...] = ("envoy.lrs.supports_send_all_clusters",)
    """A27-LRS-02: what this client can do on a load stream."""
    clusters_to_report: Callable[[Collection[str], Collection[str], bool], Collection[str]] = (
        clusters_to_report
    )
    keeps_unrequested_load: bool = True
    """A27-LRS-06 (our choice): load of an unrequested cluster is kept, and reported on request."""
    load_interval: Callable[[float], float] = load_interval
    reported_interval: Callable[[float, float, float], float] = reported_interval
    """Takes the seconds since the last report, the requested interval, and the seconds since the
    client started to count load. Returns the interval to report."""
    reports_locality: Callable[[LocalityLoad], bool] = reports_locality
    keeps_load_stream: Callable[[int], bool] = keeps_load_stream
    """Takes the number of clusters whose load must be reported."""
    reopens_load_stream: Callable[[str], bool] = reopens_load_stream
    """Takes the name of the status that ended a load stream."""
    load_backoff_failures: Callable[[int], int] = load_backoff_failures
    """Takes the number of streams in a row without a response."""
    load_response_ends_backoff: bool = True
    """A27-LRS-27 (our choice): a response on a stream resets the backoff."""
    reports_no_load: bool = True
    """A27-LRS-28 (our choice): the client sends a report even if it is empty."""
    load_outlives_stream: bool = True
    """A27-LRS-15: load counted while no stream existed is reported on the next."""
    stream_serves_all_clusters: bool = True
    """A27-LRS-17: clusters that come and go leave the stream as it is."""
    stream_outlives_updates: bool = True
    """A27-LRS-24: updates of Clusters leave the stream as it is."""
    channels_share_a_stream: bool = True
    """A27-LRS-19 (our choice): all channels of the process share the streams."""
    waits_for_load_request: bool = True
    """A27-LRS-22 (our choice): a new stream forgets the server's requests on the last stream."""
    reports_endpoints: bool = False
    """A27-LRS-18: whether reports list each endpoint, too, if the server asks for it."""
