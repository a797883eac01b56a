"""Mutants of the clauses in a57.toml."""

from client_under_test.reference.editions.mutants import Mutant

ten_seconds = Mutant(
    clause="A57-TIMER-01",
    broken="a resource is missing after 10 s",
    xds={"time_to_come": lambda _: (10.0, True)},
)

thirty_seconds = Mutant(
    clause="A57-TIMER-01",
    broken="a resource is missing only after 30 s",
    xds={"time_to_come": lambda _: (30.0, True)},
)

time_from_the_start = Mutant(
    clause="A57-TIMER-02",
    broken="the timer of a resource starts before there is a connection",
    xds={"time_runs": lambda _: True},
)

what_is_there_is_timed = Mutant(
    clause="A57-TIMER-03",
    broken="a new stream starts timers for resources that the client has, too",
    xds={"is_timed": lambda _is_there, _was_timed: True},
)

timed_once = Mutant(
    clause="A57-TIMER-04",
    broken="a new stream does not restart timers",
    xds={"is_timed": lambda is_there, was_timed: not is_there and not was_timed},
)

any_end_is_an_error = Mutant(
    clause="A57-STREAM-01",
    broken="a stream that ends is an error even after a response",
    xds={"end_is_an_error": lambda _has_answered: True},
)

no_end_is_an_error = Mutant(
    clause="A57-STREAM-02",
    broken="a stream that ends without a response is no error",
    xds={"end_is_an_error": lambda _has_answered: False},
)
