"""Mutants of the clauses in failover_timer.toml."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.failover import (
    ChildView,
    Choice,
    Make,
    Use,
    choose_priority,
    choose_priority_a56,
    starts_failover_timer,
)
from client_under_test.reference.values import State


def waits_for_nobody_below(children: Sequence[ChildView | None]) -> Choice:
    """Use the last priority at once while none is READY."""
    choice = choose_priority_a56(children)
    if isinstance(choice, Use) and choice.index > 0 and not choice.settled:
        return choose_priority(
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
        "starts_failover_timer": lambda _before, reported, settled, _runs: (
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
    rules={"choose_priority": choose_priority},
    issue="https://github.com/grpc/grpc-java/pull/12240",
)


def all_failed(children: Sequence[ChildView | None]) -> bool:
    """Return whether every priority has been tried and has failed."""
    return all(child and child.state is State.TRANSIENT_FAILURE for child in children)


def once_all_failed(index: int) -> Callable[[Sequence[ChildView | None]], Choice]:
    """Use the priority of this index if every priority has failed."""
    return lambda children: Use(index) if all_failed(children) else choose_priority_a56(children)


first_one_used = Mutant(
    clause="A56-TIMER-05",
    broken="if every priority has failed, the first one is used, not the last",
    rules={"choose_priority": once_all_failed(0)},
)


def the_first_for_good() -> Callable[[Sequence[ChildView | None]], Choice]:
    """Choose as A56 does, until every priority has failed."""
    given_up = False

    def choose(children: Sequence[ChildView | None]) -> Choice:
        nonlocal given_up
        given_up = given_up or all_failed(children)
        return Use(0) if given_up else choose_priority_a56(children)

    return choose


given_up_for_good = Mutant(
    clause="A56-TIMER-05",
    broken="once all have failed, the first priority is used forever",
    rules={"choose_priority": the_first_for_good()},
)


def first_while_trying(least: int) -> Callable[[Sequence[ChildView | None]], Choice]:
    """Use the failed first priority while one of this index or a higher one is tried."""

    def choose(children: Sequence[ChildView | None]) -> Choice:
        choice = choose_priority_a56(children)
        is_trying = isinstance(choice, Use) and choice.index >= least and not choice.settled
        return Use(0) if is_trying else choice

    return choose


failure_told_meanwhile = Mutant(
    clause="A56-USE-01",
    broken="while a lower priority is tried, the failure of the one above is reported",
    rules={"choose_priority": first_while_trying(1)},
)


gone_at_once = Mutant(
    clause="A56-CHILD-01",
    broken="a priority that leaves the config is removed at once, though A115 is not declared",
    rules={"retention_seconds": 0.0},
)


Children = Sequence[ChildView | None]


def seeing(change: Callable[[int, ChildView], ChildView]) -> Callable[[Children], Choice]:
    """Choose as A56 does, with changed states of the priorities."""

    def choose(children: Children) -> Choice:
        return choose_priority_a56(
            [child and change(index, child) for index, child in enumerate(children)]
        )

    return choose


def the_last_ready(children: Children) -> Choice:
    """Use the lowest READY priority, if there is one."""
    ready = [i for i, child in enumerate(children) if child and child.state is State.READY]
    return Use(ready[-1]) if ready else choose_priority_a56(children)


def make_all(children: Children) -> Choice:
    """Create the policies of all priorities before any is used."""
    return Make(list(children).index(None)) if None in children else choose_priority_a56(children)


def leave(state: State) -> Callable[[int, ChildView], ChildView]:
    """Treat a priority in this state as failed."""

    def changed(_index: int, child: ChildView) -> ChildView:
        if child.state is not state:
            return child
        return replace(child, state=State.TRANSIENT_FAILURE, timer_runs=False)

    return changed


idle_passed_over = Mutant(
    clause="A42-FAIL-01",
    broken="a READY priority is left for the next one",
    rules={"choose_priority": seeing(leave(State.READY))},
)


def idle_left_for_ready(children: Children) -> Choice:
    """Choose as A56 does, but leave an IDLE priority if another one is READY."""
    if any(child and child.state is State.READY for child in children):
        return seeing(leave(State.IDLE))(children)
    return choose_priority_a56(children)


idle_again_passed_over = Mutant(
    clause="A42-FAIL-01",
    broken="an IDLE priority is left for a lower one that is READY",
    rules={"choose_priority": idle_left_for_ready},
)


failure_waits_for_the_timer = Mutant(
    clause="A42-FAIL-02",
    broken="a priority that has failed is left only when its timer fires",
    rules={"stops_failover_timer": lambda reported: reported in {State.READY, State.IDLE}},
)


def back_to_the_failed_one(children: Children) -> Choice:
    """Choose as A56 does, but use a failed first priority once a lower one is READY."""
    choice = choose_priority_a56(children)
    chosen = children[choice.index]
    if chosen is None or chosen.state is not State.READY:
        return choice
    first = children[0]
    has_failed = first is not None and first.state is State.TRANSIENT_FAILURE
    return Use(0) if has_failed else choice


contacted_and_not_used = Mutant(
    clause="A42-FAIL-02",
    broken="when a priority has failed the next one connects, but requests still fail",
    rules={"choose_priority": back_to_the_failed_one},
)


all_priorities_made = Mutant(
    clause="A42-FAIL-03",
    broken="the policies of all priorities are created at the start",
    rules={"choose_priority": make_all},
)


never_given_up = Mutant(
    clause="A42-FAIL-04",
    broken="a CONNECTING priority is never left",
    rules={"failover_seconds": 3600.0},
)


idle_given_up = Mutant(
    clause="A42-FAIL-05",
    broken="an IDLE priority is left",
    rules={"choose_priority": seeing(leave(State.IDLE))},
)


timer_from_the_start = Mutant(
    clause="A42-FAIL-06",
    broken="the timer starts when the policy is created, and runs during IDLE",
    rules={
        "starts_failover_timer": lambda _before, _reported, _settled, _runs: False,
        "stops_failover_timer": lambda reported: reported not in {State.CONNECTING, State.IDLE},
    },
)


no_time_right_after_ready = Mutant(
    clause="A42-FAIL-07",
    broken="a priority that turns from READY to CONNECTING without IDLE gets no new time",
    rules={
        "starts_failover_timer": lambda before, reported, settled, runs: (
            before is not State.READY and starts_failover_timer(before, reported, settled, runs)
        )
    },
)


no_time_after_ready = Mutant(
    clause="A42-FAIL-07",
    broken="a priority that was READY gets no new time",
    rules={
        "starts_failover_timer": lambda before, reported, settled, runs: (
            settled is not State.READY
            and before is not State.READY
            and starts_failover_timer(before, reported, settled, runs)
        ),
        "settled_state": lambda before, reported: (
            State.READY if State.READY in {before, reported} else reported
        ),
    },
)


time_again_after_failure = Mutant(
    clause="A42-FAIL-08",
    broken="a failed priority gets its time again when it turns CONNECTING",
    rules={
        "starts_failover_timer": lambda before, reported, _settled, _runs: (
            reported is State.CONNECTING and before is not State.CONNECTING
        )
    },
    issue="https://github.com/grpc/grpc/pull/29332",
)


two_seconds = Mutant(
    clause="A42-FAIL-09",
    broken="a priority that would be READY after 3 s is left after 2 s",
    rules={"failover_seconds": 2.0},
)


one_timer_for_all = Mutant(
    clause="A42-FAIL-10",
    broken="when the first priority is left, all CONNECTING ones are",
    rules={
        "choose_priority": seeing(
            lambda index, child: replace(child, timer_runs=child.timer_runs and not index)
        )
    },
)


clings_to_the_lower_one = Mutant(
    clause="A42-FAIL-11",
    broken="requests stay at a lower priority as long as it is READY",
    rules={"choose_priority": the_last_ready},
)


waiting_requests_left_behind = Mutant(
    clause="A42-FAIL-12",
    broken="requests wait for the first priority as long as it is CONNECTING",
    rules={
        "choose_priority": seeing(
            lambda _index, child: replace(child, timer_runs=child.state is State.CONNECTING)
        )
    },
)


begins_again_after_it_fired = Mutant(
    clause="A42-FAIL-13",
    broken="a priority whose timer fired gets its time again when it reports CONNECTING",
    rules={
        "starts_failover_timer": lambda before, reported, settled, runs: (
            reported is State.CONNECTING
            and settled is not State.TRANSIENT_FAILURE
            and (before is not State.CONNECTING or not runs)
        )
    },
    issue="https://github.com/grpc/grpc-java/pull/12289",
)


def only_the_first_returns(children: Children) -> Choice:
    """Return to the first priority only; among the lower ones, stay at the last READY one."""
    first = children[0]
    if first is not None and first.state in {State.READY, State.IDLE}:
        return choose_priority_a56(children)
    return the_last_ready(children)


second_does_not_return = Mutant(
    clause="A42-FAIL-11",
    broken="requests return to the first priority, but not to the second",
    rules={"choose_priority": only_the_first_returns},
)


second_kept = seeing(
    lambda index, child: ChildView(child.state, timer_runs=True) if index == 1 else child
)
"""Wait for the second priority, whatever its state."""


second_never_left = Mutant(
    clause="A42-FAIL-02",
    broken="the second priority is not left when it fails",
    rules={"choose_priority": second_kept},
)


def kept_once_ready() -> Callable[[Children], Choice]:
    """Choose as A56 does, but never leave a first priority that was READY."""
    was_ready = False

    def choose(children: Children) -> Choice:
        nonlocal was_ready
        first = children[0]
        was_ready = was_ready or (first is not None and first.state is State.READY)
        return Use(0) if was_ready else choose_priority_a56(children)

    return choose


never_left_once_ready = Mutant(
    clause="A42-FAIL-02",
    broken="a priority that was READY is not left when it fails",
    rules={"choose_priority": kept_once_ready()},
)


second_one_used = Mutant(
    clause="A56-TIMER-05",
    broken="if every priority has failed, the second one is used",
    rules={"choose_priority": once_all_failed(1)},
)


failure_told_while_third_is_tried = Mutant(
    clause="A56-USE-01",
    broken="while the third priority is tried, the failure of the first is reported",
    rules={"choose_priority": first_while_trying(2)},
)
