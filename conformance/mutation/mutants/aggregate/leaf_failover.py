"""Mutants of the clauses in leaf_failover.toml."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from client_under_test.reference.clusters.aggregates import (
    LeafEndpoints,
    Leaves,
    policy_tree_a75,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.failover import (
    ChildView,
    Choice,
    Make,
    Use,
    choose_priority_a56,
    starts_failover_timer,
)
from client_under_test.reference.values import Locality, State
from conformance.mutation.mutants.priority.failover_timer import (
    back_to_the_failed_one,
    make_all,
    the_last_ready,
)
from conformance.mutation.mutants.trees import of_leaves

leaves_backwards = Mutant(
    clause="A37-FAILOVER-01",
    broken="the priorities of the last leaf come first",
    rules={"policy_tree": of_leaves(lambda leaves: leaves[::-1])},
)


def with_two_priorities(leaves: Leaves) -> Leaves:
    """Return the leaves with their first two priorities only."""
    return [
        (leaf, msgspec.structs.replace(found, priorities=found.priorities[:2]))
        for leaf, found in leaves
    ]


two_priorities_alone = Mutant(
    clause="A37-FAILOVER-01",
    broken="only the first two priorities of a leaf are used",
    rules={"policy_tree": of_leaves(with_two_priorities)},
)


two_leaves_alone = Mutant(
    clause="A37-FAILOVER-01",
    broken="only the first two leaves are used",
    rules={"policy_tree": of_leaves(lambda leaves: leaves[:2])},
)


failed_leaf_waited_for = Mutant(
    clause="A37-FAILOVER-02",
    broken="a failed leaf is left only when the timer fires",
    rules={"stops_failover_timer": lambda reported: reported in {State.READY, State.IDLE}},
)


timer_of_a_leaf_too_long = Mutant(
    clause="A37-FAILOVER-03",
    broken="the failover timer is 20 s",
    rules={"failover_seconds": 20.0},
)


def timed_at_first(children: Sequence[ChildView | None]) -> Choice:
    """Wait for a later leaf as long as it connects."""
    choice = choose_priority_a56(children)
    for index, child in enumerate(children):
        if index and child is not None and child.state is State.CONNECTING:
            is_behind = isinstance(choice, Make) or choice.index > index
            return Use(index) if is_behind and not _is_ready(children, choice) else choice
    return choice


def _is_ready(children: Sequence[ChildView | None], choice: Choice) -> bool:
    child = children[choice.index] if isinstance(choice, Use) else None
    return child is not None and child.state is State.READY


no_timer_behind_the_first = Mutant(
    clause="A37-FAILOVER-03",
    broken="only the first leaf is left when the failover timer fires",
    rules={"choose_priority": timed_at_first},
)


no_timer_after_ready = Mutant(
    clause="A37-FAILOVER-03",
    broken="the failover timer does not start for a leaf that was READY",
    rules={
        "starts_failover_timer": lambda before, reported, settled, runs: (
            settled is not State.READY and starts_failover_timer(before, reported, settled, runs)
        )
    },
)


one_timer_for_a_leaf = Mutant(
    clause="A37-FAILOVER-04",
    broken="all priorities of a leaf share one timer",
    rules={"policy_tree": policy_tree_a75},
    variant="seed",
)


last_that_is_ready = Mutant(
    clause="A37-FAILOVER-05",
    broken="a later leaf stays in use when an earlier one serves again",
    rules={"choose_priority": the_last_ready},
)


def back_to_the_first_alone() -> Callable[[Sequence[ChildView | None]], Choice]:
    """Return to no earlier leaf but the first while the leaf in use is READY."""
    used = 0

    def choose(children: Sequence[ChildView | None]) -> Choice:
        nonlocal used
        choice = choose_priority_a56(children)
        if len(children) < THREE or not isinstance(choice, Use):
            return choice
        now = children[used]
        if 0 < choice.index < used and now is not None and now.state is State.READY:
            return Use(used, settled=True)
        used = choice.index
        return choice

    return choose


THREE = 3
"""The number of leaves of a tree, above the number of priorities of its leaves."""


never_back_to_the_middle = Mutant(
    clause="A37-FAILOVER-05",
    broken="only the first leaf is used again when a later one serves",
    rules={"choose_priority": back_to_the_first_alone()},
)


def made_at_an_update() -> dict[str, Any]:
    """Return rules by which the client connects to all leaves once their endpoints change."""
    first: list[Leaves] = []
    changed = False

    def seen(leaves: Leaves) -> Leaves:
        nonlocal changed
        first[:] = first or [leaves]
        changed = changed or [*first[0]] != [*leaves]
        return leaves

    def choose(children: Sequence[ChildView | None]) -> Choice:
        return (make_all if changed else choose_priority_a56)(children)

    return {"policy_tree": of_leaves(seen), "choose_priority": choose}


update_connects = Mutant(
    clause="A37-FAILOVER-06",
    broken="an update of a later leaf makes the client connect to it",
    rules=made_at_an_update(),
)


all_leaves_made = Mutant(
    clause="A37-FAILOVER-06",
    broken="all leaves are connected before any is used",
    rules={"choose_priority": make_all},
)


waiting_requests_fail = Mutant(
    clause="A37-FAILOVER-07",
    broken="requests that wait at a leaf fail when it fails",
    rules={"choose_priority": back_to_the_failed_one},
)


def waiting_once(children: Sequence[ChildView | None]) -> Choice:
    """Use a failed second leaf while the third one connects."""
    choice = choose_priority_a56(children)
    second = children[1] if len(children) > 1 else None
    is_behind = isinstance(choice, Use) and choice.index > 1 and not choice.settled
    failed = second is not None and second.state is State.TRANSIENT_FAILURE
    return Use(1) if is_behind and failed else choice


waiting_requests_fail_later = Mutant(
    clause="A37-FAILOVER-07",
    broken="requests that wait at the second leaf fail when it fails",
    rules={"choose_priority": waiting_once},
)


def failed_for_good() -> Callable[[Sequence[ChildView | None]], Choice]:
    """Use only the first leaf once all have failed."""
    has_failed = False

    def choose(children: Sequence[ChildView | None]) -> Choice:
        nonlocal has_failed
        several = len(children) > 1
        failed = all(
            child is not None and child.state is State.TRANSIENT_FAILURE for child in children
        )
        has_failed = has_failed or (several and failed)
        return Use(0) if several and has_failed else choose_priority_a56(children)

    return choose


all_failed_for_good = Mutant(
    clause="A37-FAILOVER-08",
    broken="when all leaves have failed, only the first is used again",
    rules={"choose_priority": failed_for_good()},
)


def as_first_seen(counts: Callable[[int], bool]) -> Callable[[Leaves], Leaves]:
    """Keep the first endpoints of leaves at these positions."""
    first: dict[str, LeafEndpoints] = {}

    def kept(leaves: Leaves) -> Leaves:
        return [
            (leaf, first.setdefault(leaf.name, found) if counts(place) else found)
            for place, (leaf, found) in enumerate(leaves)
        ]

    return kept


def as_first_seen_there(leaves: Leaves) -> Leaves:
    """Keep the first endpoints of each list of localities in all leaves but the first."""

    def places(found: LeafEndpoints) -> tuple[Locality, ...]:
        return tuple(locality.locality for several in found.priorities for locality in several)

    first, *others = leaves
    return [
        first,
        *(
            (leaf, FIRST_SEEN.setdefault((leaf.name, places(found)), found))
            for leaf, found in others
        ),
    ]


FIRST_SEEN: dict[tuple[str, tuple[Locality, ...]], LeafEndpoints] = {}


update_of_the_next_dropped = Mutant(
    clause="A37-FAILOVER-13",
    broken="an update of a leaf that is not in use is ignored",
    rules={"policy_tree": of_leaves(as_first_seen(lambda place: place > 0))},
)


update_of_the_third_dropped = Mutant(
    clause="A37-FAILOVER-13",
    broken="an update of a leaf after the next one is ignored",
    rules={"policy_tree": of_leaves(as_first_seen(lambda place: place > 1))},
)


endpoints_of_the_next_dropped = Mutant(
    clause="A37-FAILOVER-13",
    broken="an update of a leaf that is not in use is ignored if its localities stay",
    rules={"policy_tree": of_leaves(as_first_seen_there)},
)


update_of_a_leaf_that_served_dropped = Mutant(
    clause="A37-FAILOVER-13",
    broken="a later leaf that was in use gets no updates while an earlier one is in use",
    rules={"priority_takes_updates": lambda is_in_use: is_in_use},
)


def first_update_alone() -> Callable[[Leaves], Leaves]:
    """Keep the endpoints of leaves after the first from their first update on."""
    known: dict[str, list[LeafEndpoints]] = {}

    def kept(leaves: Leaves) -> Leaves:
        found_now = []
        for place, (leaf, found) in enumerate(leaves):
            seen = known.setdefault(leaf.name, [])
            if found not in seen:
                seen.append(found)
            found_now.append((leaf, seen[:2][-1] if place else found))
        return found_now

    return kept


second_update_dropped = Mutant(
    clause="A37-FAILOVER-13",
    broken="only the first update of a leaf that is not in use is applied",
    rules={"policy_tree": of_leaves(first_update_alone())},
)


update_of_a_policy_dropped = Mutant(
    clause="A37-FAILOVER-14",
    broken="the policy of a priority that is not in use gets no updates",
    rules={"priority_takes_updates": lambda is_in_use: is_in_use},
)


update_of_the_middle_dropped = Mutant(
    clause="A37-FAILOVER-14",
    broken="an update of the second leaf is ignored while a later one is in use",
    rules={"policy_tree": of_leaves(as_first_seen(lambda place: place == 1))},
)


update_of_the_failed_dropped = Mutant(
    clause="A37-FAILOVER-14",
    broken="an update of the first leaf is ignored while a later one is in use",
    rules={"policy_tree": of_leaves(as_first_seen(lambda place: place == 0))},
)
