"""Which priority is in use, and when its failover timer runs (A42, A56)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from client_under_test.reference.values import State

FAILOVER_SECONDS: Final = 10.0  # A56-TIMER-01
RETENTION_SECONDS: Final = 15 * 60.0  # A56, Child Lifetime Management

_GOOD: Final = (State.READY, State.IDLE)  # a tuple, as there may be thousands of priorities


class ChildView(msgspec.Struct, frozen=True):
    """A priority whose policy has been made."""

    state: State
    timer_runs: bool


class Use(msgspec.Struct, frozen=True):
    """Use the priority of that index; if settled, those below it are not needed for now."""

    index: int
    settled: bool = False


class Make(msgspec.Struct, frozen=True):
    """Make the policy of the priority of that index, and choose again."""

    index: int


Choice = Use | Make


def first_good_or_pending(children: Sequence[ChildView | None]) -> Choice | None:
    """READY or IDLE is used; a running timer is waited for.

    Lower priorities are made one by one, and only when all above are given up.

    Clauses: A42-FAIL-01, A42-FAIL-02, A42-FAIL-03, A42-FAIL-04, A42-FAIL-11, A56-TIMER-03.
    """
    for index, child in enumerate(children):
        if child is None:
            return Make(index)  # A42-FAIL-03
        if child.state in _GOOD:
            return Use(index, settled=True)  # A42-FAIL-01, A42-FAIL-11
        if child.timer_runs:
            return Use(index)  # A42-FAIL-10, A56-TIMER-03
    return None  # A42-FAIL-02, A42-FAIL-04: each has failed or had its time.


def choose_priority(children: Sequence[ChildView | None]) -> Choice:
    """Choose the priority; when all are given up, the last one."""
    return first_good_or_pending(children) or Use(len(children) - 1)


def choose_priority_a56(children: Sequence[ChildView | None]) -> Choice:
    """Use the first CONNECTING priority if all are given up, or else the last one."""
    choice = first_good_or_pending(children)
    if choice is not None:
        return choice
    for index, child in enumerate(children):
        if child is not None and child.state is State.CONNECTING:
            return Use(index)  # A56-TIMER-04
    return Use(len(children) - 1)  # A56-TIMER-05


def starts_failover_timer(
    before: State,
    reported: State,
    settled: State,
    _timer_runs: bool,  # noqa: FBT001 - a state
) -> bool:
    """When a state is reported, does the time begin?

    When a priority turns CONNECTING from another state, unless it failed more recently than it was
    READY or IDLE. (It begins as well when its policy is made, in CONNECTING: A42-FAIL-04.)

    Clauses: A42-FAIL-06, A42-FAIL-07, A42-FAIL-08, A42-FAIL-13, A56-TIMER-02, A37-FAILOVER-03.
    """
    turned = reported is State.CONNECTING and before is not State.CONNECTING
    return turned and settled is not State.TRANSIENT_FAILURE


def stops_failover_timer(reported: State) -> bool:
    """Any state but CONNECTING ends the time.

    Clauses: A27-PRIO-02, A42-FAIL-02, A42-FAIL-05, A42-FAIL-09, A37-TROUBLE-24,
    A37-FAILOVER-02.
    """
    return reported is not State.CONNECTING


def settled_state(before: State, reported: State) -> State:
    """A42-FAIL-08: the most recent of READY, IDLE and TRANSIENT_FAILURE."""
    return before if reported is State.CONNECTING else reported


def priority_takes_updates(_is_in_use: bool) -> bool:  # noqa: FBT001 - a state
    """A56: each priority whose policy exists receives its update.

    Clauses: A27-PRIO-05, A27-PRIO-07, A27-PRIO-09, A37-FAILOVER-13, A37-FAILOVER-14.
    """
    return True


@dataclass(frozen=True, kw_only=True)
class PriorityRules:
    """Which priority is in use, and for how long others are waited for."""

    choose_priority: Callable[[Sequence[ChildView | None]], Choice] = choose_priority
    starts_failover_timer: Callable[[State, State, State, bool], bool] = starts_failover_timer
    stops_failover_timer: Callable[[State], bool] = stops_failover_timer
    settled_state: Callable[[State, State], State] = settled_state
    priority_takes_updates: Callable[[bool], bool] = priority_takes_updates
    """Takes whether the priority is in use."""
    failover_seconds: float = FAILOVER_SECONDS
    """How long a priority may be CONNECTING: A42-FAIL-04, A42-FAIL-09, A56-TIMER-01,
    A37-FAILOVER-03."""
    retention_seconds: float = RETENTION_SECONDS
    """How long a priority is kept that is not needed: A56-CHILD-01."""
