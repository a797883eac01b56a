"""Mutants of the clauses in failover.toml."""

from collections.abc import Callable, Sequence
from itertools import zip_longest

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import (
    LeafEndpoints,
    Leaves,
    MakeTree,
    PriorityNames,
    a_policy_for_each_leaf,
    one_list_of_priorities,
)
from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import RoundRobinConfig
from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.policies.rules.failover import (
    ChildView,
    Choice,
    Use,
    choose_by_a56,
)
from client_under_test.reference.values import Locality, State
from conformance.mutation.mutants.a37.trouble import of_leaves
from conformance.mutation.mutants.a42.failover_timer import (
    back_to_the_failed_one,
    make_all,
    the_last_ready,
)

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


def with_the_first_weights(leaves: Leaves) -> Leaves:
    """Give each locality the weight from the first leaf that has its name."""
    weights: dict[Locality, int] = {}

    def weighed(found: LeafEndpoints) -> LeafEndpoints:
        priorities = tuple(
            tuple(
                replace(locality, weight=weights.setdefault(locality.locality, locality.weight))
                for locality in localities
            )
            for localities in found.priorities
        )
        return replace(found, priorities=priorities)

    return [(leaf, weighed(found)) for leaf, found in leaves]


localities_known_by_name_alone = Mutant(
    clause="A37-FAILOVER-09",
    broken="a locality has the weight of the locality of its name in the first leaf",
    rules={"tree": of_leaves(with_the_first_weights)},
)


def policy_of_the_first_leaf_alone(aggregate: Aggregate | None, leaf: Leaf) -> PolicyConfig:
    """Use round_robin for all leaves but the first."""
    is_first = aggregate is None or aggregate.clusters[0] == leaf.name
    return leaf.policy if is_first else RoundRobinConfig()


hash_forgotten_behind_the_first = Mutant(
    clause="A37-FAILOVER-10",
    broken="requests are placed by their hash at the first leaf only",
    rules={"policy_source": policy_of_the_first_leaf_alone},
)


class NamesInPlace(PriorityNames):
    """Names that a priority keeps only at its index."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, list[tuple[str, frozenset[Locality]]]] = {}

    def assign(
        self,
        cluster: str,
        priorities: Sequence[frozenset[Locality]],
        goes_on: Callable[[frozenset[Locality], frozenset[Locality]], bool],
    ) -> tuple[str, ...]:
        """Give a priority a new name unless it continues the one at its index."""
        before = self._known.get(cluster, [])
        places = zip_longest(priorities, before[: len(priorities)])
        names = tuple(
            old[0] if old and goes_on(old[1], localities) else self._new(cluster)
            for localities, old in places
        )
        self._known[cluster] = list(zip(names, priorities, strict=True))
        return names


def named_in_place() -> MakeTree:
    """Return the tree with names that do not move with a priority."""
    names = NamesInPlace()
    return lambda aggregate, leaves, _names, rules: a_policy_for_each_leaf(
        aggregate, leaves, names, rules
    )


names_made_anew = Mutant(
    clause="A37-FAILOVER-11",
    broken="a priority that moves is a new one",
    rules={"tree": named_in_place()},
)


class NamesOfAll(PriorityNames):
    """Priority names that all leaves share."""

    def assign(
        self,
        cluster: str,
        priorities: Sequence[frozenset[Locality]],
        goes_on: Callable[[frozenset[Locality], frozenset[Locality]], bool],
    ) -> tuple[str, ...]:
        """Name the priorities as if all leaves were one cluster."""
        del cluster
        return super().assign("", priorities, goes_on)


def named_together() -> MakeTree:
    """Return the tree with one set of priority names for all leaves."""
    shared = NamesOfAll()
    return lambda aggregate, leaves, _names, rules: one_list_of_priorities(
        aggregate, leaves, shared, rules
    )


class NamesTwice(PriorityNames):
    """Names that several priorities may share."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, list[tuple[str, frozenset[Locality]]]] = {}

    def assign(
        self,
        cluster: str,
        priorities: Sequence[frozenset[Locality]],
        goes_on: Callable[[frozenset[Locality], frozenset[Locality]], bool],
    ) -> tuple[str, ...]:
        """Give each priority the name of the first that it continues, even if another has it."""
        before = self._known.get(cluster, [])
        names = tuple(
            next((old for old, known in before if goes_on(known, localities)), name)
            for name, localities in zip(
                super().assign(cluster, priorities, goes_on), priorities, strict=True
            )
        )
        self._known[cluster] = list(zip(names, priorities, strict=True))
        return names


def named_twice() -> MakeTree:
    """Return the tree with names that several priorities may share."""
    names = NamesTwice()
    return lambda aggregate, leaves, _names, rules: a_policy_for_each_leaf(
        aggregate, leaves, names, rules
    )


name_of_one_for_two = Mutant(
    clause="A37-FAILOVER-11",
    broken="both parts of a split priority keep its name",
    rules={"tree": named_twice()},
)

names_shared_by_leaves = Mutant(
    clause="A37-FAILOVER-12",
    broken="a priority of one leaf takes over the name of another leaf's priority",
    rules={"tree": named_together()},
    edition="seed",
)

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
