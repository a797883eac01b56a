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
    broken="a leaf that has failed is left only when the timer fires",
    rules={"timer_ends": lambda reported: reported in {State.READY, State.IDLE}},
)

timer_of_a_leaf_too_long = Mutant(
    clause="A37-FAILOVER-03",
    broken="the timer runs for twenty seconds",
    rules={"failover_seconds": 20.0},
)

one_timer_for_a_leaf = Mutant(
    clause="A37-FAILOVER-04",
    broken="a leaf has the time of one timer as a whole",
    rules={"tree": a_policy_for_each_leaf},
    edition="seed",
)

last_that_is_ready = Mutant(
    clause="A37-FAILOVER-05",
    broken="a later leaf goes on in use when an earlier one serves again",
    rules={"choose_priority": the_last_ready},
)

all_leaves_made = Mutant(
    clause="A37-FAILOVER-06",
    broken="all leaves are connected before any is used",
    rules={"choose_priority": make_all},
)

waiting_requests_fail = Mutant(
    clause="A37-FAILOVER-07",
    broken="requests that wait at a leaf fail with it",
    rules={"choose_priority": back_to_the_failed_one},
)


def failed_for_good() -> Callable[[Sequence[ChildView | None]], Choice]:
    """Once all have failed, the last, whatever becomes of the others."""
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
    broken="when all leaves have failed, none but the first is looked at any more",
    rules={"choose_priority": failed_for_good()},
)


def as_first_seen(counts: Callable[[int], bool]) -> Callable[[Leaves], Leaves]:
    """Of leaves in such places, the endpoints that they had first."""
    first: dict[str, LeafEndpoints] = {}

    def kept(leaves: Leaves) -> Leaves:
        return [
            (leaf, first.setdefault(leaf.name, found) if counts(place) else found)
            for place, (leaf, found) in enumerate(leaves)
        ]

    return kept


def as_first_seen_there(leaves: Leaves) -> Leaves:
    """The first leaf as it is, and those behind with what their localities had first."""

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
    """Each locality with the weight that the first leaf with one of its name gives it."""
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
    broken="a locality has the weight that one of its name has in the first leaf",
    rules={"tree": of_leaves(with_the_first_weights)},
)


def policy_of_the_first_leaf_alone(aggregate: Aggregate | None, leaf: Leaf) -> PolicyConfig:
    """Behind the first leaf requests go round."""
    is_first = aggregate is None or aggregate.clusters[0] == leaf.name
    return leaf.policy if is_first else RoundRobinConfig()


hash_forgotten_behind_the_first = Mutant(
    clause="A37-FAILOVER-10",
    broken="requests have their place by their hash at the first leaf only",
    rules={"policy_source": policy_of_the_first_leaf_alone},
)


class NamesInPlace(PriorityNames):
    """Names that a priority keeps only where it is."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, list[tuple[str, frozenset[Locality]]]] = {}

    def assign(
        self,
        cluster: str,
        priorities: Sequence[frozenset[Locality]],
        goes_on: Callable[[frozenset[Locality], frozenset[Locality]], bool],
    ) -> tuple[str, ...]:
        """Name a priority anew unless the one that stood in its place goes on in it."""
        before = self._known.get(cluster, [])
        places = zip_longest(priorities, before[: len(priorities)])
        names = tuple(
            old[0] if old and goes_on(old[1], localities) else self._new(cluster)
            for localities, old in places
        )
        self._known[cluster] = list(zip(names, priorities, strict=True))
        return names


def named_in_place() -> MakeTree:
    """The tree with names that no priority takes with it."""
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
    """Names that all leaves share."""

    def assign(
        self,
        cluster: str,
        priorities: Sequence[frozenset[Locality]],
        goes_on: Callable[[frozenset[Locality], frozenset[Locality]], bool],
    ) -> tuple[str, ...]:
        """Name them as if they were the same cluster's."""
        del cluster
        return super().assign("", priorities, goes_on)


def named_together() -> MakeTree:
    """The tree with one set of names for all leaves."""
    shared = NamesOfAll()
    return lambda aggregate, leaves, _names, rules: one_list_of_priorities(
        aggregate, leaves, shared, rules
    )


class NamesTwice(PriorityNames):
    """Names that several priorities may have."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, list[tuple[str, frozenset[Locality]]]] = {}

    def assign(
        self,
        cluster: str,
        priorities: Sequence[frozenset[Locality]],
        goes_on: Callable[[frozenset[Locality], frozenset[Locality]], bool],
    ) -> tuple[str, ...]:
        """Each the name of the first that goes on in it, though another one may have it."""
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
    """The tree with names that several priorities may have."""
    names = NamesTwice()
    return lambda aggregate, leaves, _names, rules: a_policy_for_each_leaf(
        aggregate, leaves, names, rules
    )


name_of_one_for_two = Mutant(
    clause="A37-FAILOVER-11",
    broken="two priorities that share what was one have its name both",
    rules={"tree": named_twice()},
)

names_shared_by_leaves = Mutant(
    clause="A37-FAILOVER-12",
    broken="a priority of one leaf goes on under the name that another leaf has used",
    rules={"tree": named_together()},
    edition="seed",
)

update_of_the_next_dropped = Mutant(
    clause="A37-FAILOVER-13",
    broken="an update of a leaf that is not in use is dropped",
    rules={"tree": of_leaves(as_first_seen(lambda place: place > 0))},
)

endpoints_of_the_next_dropped = Mutant(
    clause="A37-FAILOVER-13",
    broken="an update of a leaf that is not in use is dropped if its localities stay",
    rules={"tree": of_leaves(as_first_seen_there)},
)

update_of_a_policy_dropped = Mutant(
    clause="A37-FAILOVER-14",
    broken="the policy of a priority that is not in use is told nothing",
    rules={"takes_updates": lambda is_in_use: is_in_use},
)

update_of_the_failed_dropped = Mutant(
    clause="A37-FAILOVER-14",
    broken="an update of the first leaf is dropped while a later one is in use",
    rules={"tree": of_leaves(as_first_seen(lambda place: place == 0))},
)
