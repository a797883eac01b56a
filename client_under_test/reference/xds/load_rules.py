"""What is said on a load stream, and when: the Load Reporting Service, which A27 points to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from client_under_test.reference.policies.ledger import LocalityLoad


def names_itself(_stream: int) -> bool:
    """The first request of each stream says which node this is, and no load.

    Clauses: A27-LRS-01.
    """
    return True


def asked_for(known: Collection[str], names: Collection[str], all_of_them: bool) -> Collection[str]:  # noqa: FBT001 - a field
    """Of the clusters that have load those that the server has named last; or all.

    Clauses: A27-LRS-02, A27-LRS-03, A27-LRS-04, A27-LRS-05.
    """
    return known if all_of_them else [cluster for cluster in known if cluster in names]


def as_asked(interval: float) -> float:
    """The time to the next report is what the server has asked for last.

    Clauses: A27-LRS-07.
    """
    return interval


def since_the_last(since: float, _asked: float, _since_the_first: float) -> float:
    """A report tells for how long its load was gathered.

    Clauses: A27-LRS-08, A27-LRS-25.
    """
    return since


def does_something(load: LocalityLoad) -> bool:
    """A locality is told if it has new requests, or some in progress.

    Clauses: A27-LRS-09, A27-LRS-16 (our choice: no zeros).
    """
    return bool(load.issued or load.succeeded or load.errors or load.in_progress)


def somebody_reports(reporters: int) -> bool:
    """A27: there is a load stream while clusters with lrs_server are in use.

    Clauses: A27-LRS-12, A27-LRS-13, A27-LRS-29 (our choice: it ends with the last of them).
    """
    return reporters > 0


def whatever_the_end(_code: str) -> bool:
    """A stream that has ended while it is wanted is begun again.

    Clauses: A27-LRS-14.
    """
    return True


def as_many(failures: int) -> int:
    """The time to the next stream grows with the number of those that had no answer.

    Clauses: A27-LRS-26 (our choice: as A57 has it of ADS).
    """
    return failures


@dataclass(frozen=True, kw_only=True)
class LoadStreamRules:
    """One way of reporting load."""

    names_itself: Callable[[int], bool] = names_itself
    """Of the number of the stream."""
    load_features: tuple[str, ...] = ("envoy.lrs.supports_send_all_clusters",)
    """A27-LRS-02: what this client can do on a load stream."""
    asked_for: Callable[[Collection[str], Collection[str], bool], Collection[str]] = asked_for
    unasked_load_is_kept: bool = True
    """A27-LRS-06 (our choice): load of a cluster that is not asked for is told when it is."""
    time_to_report: Callable[[float], float] = as_asked
    told_time: Callable[[float, float, float], float] = since_the_last
    """Of the seconds since the last report, those asked for, and those since the beginning."""
    is_told: Callable[[LocalityLoad], bool] = does_something
    load_is_reported: Callable[[int], bool] = somebody_reports
    """Of the number of clusters that are to be reported."""
    begins_again: Callable[[str], bool] = whatever_the_end
    """Of the name of the status with which a load stream has ended."""
    failures_that_count: Callable[[int], int] = as_many
    """Of how many streams in a row had no answer."""
    answer_ends_backoff: bool = True
    """A27-LRS-27 (our choice): a stream with an answer on it is followed as if none had failed."""
    nothing_is_told: bool = True
    """A27-LRS-28 (our choice): a report is sent though it has nothing to tell."""
    load_outlives_a_stream: bool = True
    """A27-LRS-15: what was counted while there was no stream is told on the next."""
    stream_serves_all: bool = True
    """A27-LRS-17: clusters that come and go leave the stream as it is."""
    stream_outlives_updates: bool = True
    """A27-LRS-24: updates of Clusters leave the stream as it is."""
    waits_to_be_asked: bool = True
    """A27-LRS-22 (our choice): what the server of the stream before has asked is forgotten."""
    tells_endpoints: bool = False
    """A27-LRS-18: whether endpoints are told one by one, too, if the server asks for it."""
