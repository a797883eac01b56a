"""Mutants of the clauses in leaf_localities.toml."""

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
from client_under_test.reference.values import Locality
from conformance.mutation.mutants.trees import of_leaves


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
