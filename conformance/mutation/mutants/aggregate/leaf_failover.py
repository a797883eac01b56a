"""Mutants of the clauses in leaf_failover.toml."""

from collections.abc import Callable, Sequence

from client_under_test.reference.clusters.aggregates import (
    LeafEndpoints,
    Leaves,
    a_policy_for_each_leaf,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.failover import (
    ChildView,
    Choice,
    Use,
    choose_by_a56,
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
    rules={"tree": of_leaves(lambda leaves: leaves[::-1])},
)


failed_leaf_waited_for = Mutant(
    clause="A37-FAILOVER-02",
    broken="a failed leaf is left only when the timer fires",
    rules={"timer_ends": lambda reported: reported in {State.READY, State.IDLE}},
)


timer_of_a_leaf_too_long = Mutant(
    clause="A37-FAILOVER-03",
    broken="the failover timer is 20 s",
    rules={"failover_seconds": 20.0},
)


one_timer_for_a_leaf = Mutant(
    clause="A37-FAILOVER-04",
    broken="all priorities of a leaf share one timer",
    rules={"tree": a_policy_for_each_leaf},
    edition="seed",
)


last_that_is_ready = Mutant(
    clause="A37-FAILOVER-05",
    broken="a later leaf stays in use when an earlier one serves again",
    rules={"choose_priority": the_last_ready},
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
        return Use(0) if several and has_failed else choose_by_a56(children)

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
    rules={"tree": of_leaves(as_first_seen(lambda place: place > 0))},
)


endpoints_of_the_next_dropped = Mutant(
    clause="A37-FAILOVER-13",
    broken="an update of a leaf that is not in use is ignored if its localities stay",
    rules={"tree": of_leaves(as_first_seen_there)},
)


update_of_a_policy_dropped = Mutant(
    clause="A37-FAILOVER-14",
    broken="the policy of a priority that is not in use gets no updates",
    rules={"takes_updates": lambda is_in_use: is_in_use},
)


update_of_the_failed_dropped = Mutant(
    clause="A37-FAILOVER-14",
    broken="an update of the first leaf is ignored while a later one is in use",
    rules={"tree": of_leaves(as_first_seen(lambda place: place == 0))},
)
