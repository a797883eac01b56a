"""Mutants of the clauses in a56.toml."""

from collections.abc import Sequence

from client_under_test.reference.mutants import Mutant, for_good
from client_under_test.reference.policies.failover import (
    ChildView,
    Choice,
    Use,
    choose_by_a42,
    choose_by_a56,
)
from client_under_test.reference.policies.interface import State


def waits_for_nobody_below(children: Sequence[ChildView | None]) -> Choice:
    """While none is READY, the last priority is used at once."""
    choice = choose_by_a56(children)
    if isinstance(choice, Use) and choice.index > 0 and not choice.settled:
        return choose_by_a42(
            [child and ChildView(child.state, timer_runs=False) for child in children]
        )
    return choice


too_long = Mutant(
    clause="A56-TIMER-01",
    broken="the timer runs for fifteen seconds",
    rules={"failover_seconds": 15.0},
)

too_short = Mutant(
    clause="A56-TIMER-01",
    broken="the timer runs for nine seconds",
    rules={"failover_seconds": 9.0},
)

begins_again_at_each_report = Mutant(
    clause="A56-TIMER-02",
    broken="each report of CONNECTING begins the time anew",
    rules={
        "timer_begins": lambda _before, reported, settled: (
            reported is State.CONNECTING and settled is not State.TRANSIENT_FAILURE
        )
    },
    issue="https://github.com/grpc/grpc-go/issues/8516",
)

timers_below_ignored = Mutant(
    clause="A56-TIMER-03",
    broken="below the first priority nobody is given time",
    rules={"choose_priority": waits_for_nobody_below},
)

last_one_used = Mutant(
    clause="A56-TIMER-04",
    broken="with all timers over the last priority is used, even if it has failed",
    rules={"choose_priority": choose_by_a42},
    issue="https://github.com/grpc/grpc-java/pull/12240",
)

given_up_for_good = Mutant(
    clause="A56-TIMER-05",
    broken="once all have failed, the first priority is used for good",
    rules={"choose_priority": for_good(choose_by_a56)},
)
