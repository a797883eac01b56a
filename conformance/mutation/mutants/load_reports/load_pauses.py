"""Mutants of the clauses in load_pauses.toml."""

from collections.abc import Callable

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.load_rules import keeps_load_stream

last_interval_alone = Mutant(
    clause="A27-LRS-25",
    broken="load_report_interval is one interval, however long the load was collected",
    xds={"reported_interval": lambda since, asked, _: min(since, asked)},
)


always_as_after_the_first = Mutant(
    clause="A27-LRS-26",
    broken="a load stream is retried each second, however many have failed",
    xds={"load_backoff_failures": lambda _: 1},
    reports="none of the known",
)


answers_do_not_count = Mutant(
    clause="A27-LRS-27",
    broken="a load stream that got a response does not reset the backoff",
    xds={"load_response_ends_backoff": False},
    reports="longer",
)


nothing_is_not_told = Mutant(
    clause="A27-LRS-28",
    broken="no report is sent without load",
    xds={"reports_no_load": False},
    reports="none, or one",
)


def once_for_good() -> Callable[[int], bool]:
    """Keep the load stream once it has started."""
    known: list[bool] = []

    def is_reported(reporters: int) -> bool:
        known.extend([True] * keeps_load_stream(reporters))
        return bool(known)

    return is_reported


stream_for_good = Mutant(
    clause="A27-LRS-29",
    broken="the load stream stays after the last reported cluster is gone",
    xds={"keeps_load_stream": once_for_good()},
    reports="stays",
)
