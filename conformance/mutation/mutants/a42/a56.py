"""Mutants of the clauses in a56.toml."""

from collections.abc import Callable, Sequence

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.failover import (
    ChildView,
    Choice,
    Use,
    choose_by_a42,
    choose_by_a56,
)
from client_under_test.reference.values import State


def waits_for_nobody_below(children: Sequence[ChildView | None]) -> Choice:
    """Use the last priority at once while none is READY."""
    choice = choose_by_a56(children)
    if isinstance(choice, Use) and choice.index > 0 and not choice.settled:
        return choose_by_a42(
            [child and ChildView(child.state, timer_runs=False) for child in children]
        )
    return choice


too_long = Mutant(
    clause="A56-TIMER-01",
    broken="the failover timer is 15 s",
    rules={"failover_seconds": 15.0},
)

too_short = Mutant(
    clause="A56-TIMER-01",
    broken="the failover timer is 9 s",
    rules={"failover_seconds": 9.0},
)

begins_again_at_each_report = Mutant(
    clause="A56-TIMER-02",
    broken="each report of CONNECTING restarts the timer",
    rules={
        "timer_begins": lambda _before, reported, settled, _runs: (
            reported is State.CONNECTING and settled is not State.TRANSIENT_FAILURE
        )
    },
    issue="https://github.com/grpc/grpc-go/issues/8516",
)

timers_below_ignored = Mutant(
    clause="A56-TIMER-03",
    broken="priorities below the first get no time",
    rules={"choose_priority": waits_for_nobody_below},
)

last_one_used = Mutant(
    clause="A56-TIMER-04",
    broken="after all timers fired the last priority is used, even if it has failed",
    rules={"choose_priority": choose_by_a42},
    issue="https://github.com/grpc/grpc-java/pull/12240",
)


def all_failed(children: Sequence[ChildView | None]) -> bool:
    """Return whether every priority has been tried and has failed."""
    return all(child and child.state is State.TRANSIENT_FAILURE for child in children)


first_one_used = Mutant(
    clause="A56-TIMER-05",
    broken="if every priority has failed, the first one is used, not the last",
    rules={
        "choose_priority": lambda children: (
            Use(0) if all_failed(children) else choose_by_a56(children)
        )
    },
)


def the_first_for_good() -> Callable[[Sequence[ChildView | None]], Choice]:
    """Choose as A56 does, until every priority has failed."""
    given_up = False

    def choose(children: Sequence[ChildView | None]) -> Choice:
        nonlocal given_up
        given_up = given_up or all_failed(children)
        return Use(0) if given_up else choose_by_a56(children)

    return choose


given_up_for_good = Mutant(
    clause="A56-TIMER-05",
    broken="once all have failed, the first priority is used forever",
    rules={"choose_priority": the_first_for_good()},
)


def lowest_that_failed(children: Sequence[ChildView | None]) -> Choice:
    """Use the failed first priority while a lower one is tried."""
    choice = choose_by_a56(children)
    if isinstance(choice, Use) and choice.index > 0 and not choice.settled:
        return Use(0)
    return choice


failure_told_meanwhile = Mutant(
    clause="A56-USE-01",
    broken="while a lower priority is tried, the failure of the one above is reported",
    rules={"choose_priority": lowest_that_failed},
)

gone_at_once = Mutant(
    clause="A56-CHILD-01",
    broken="a priority that leaves the config is removed at once, though A115 is not declared",
    rules={"retention_seconds": 0.0},
)
