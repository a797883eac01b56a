"""Mutants of the clauses in leaf_localities.toml."""

from collections.abc import Callable, Sequence
from itertools import zip_longest

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import (
    LeafEndpoints,
    Leaves,
    LocalityEndpoints,
    MakeTree,
    PriorityNames,
    policy_tree,
    policy_tree_a75,
)
from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import RoundRobinConfig
from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.values import Locality
from conformance.mutation.mutants.trees import of_leaves


def each_locality(
    found: LeafEndpoints, change: Callable[[LocalityEndpoints], LocalityEndpoints]
) -> LeafEndpoints:
    """Change each locality of a leaf."""
    return replace(
        found, priorities=tuple(tuple(map(change, localities)) for localities in found.priorities)
    )


def with_the_first_weights(leaves: Leaves) -> Leaves:
    """Give each locality the weight from the first leaf that has its name."""
    weights: dict[Locality, int] = {}

    def weighed(place: LocalityEndpoints) -> LocalityEndpoints:
        return replace(place, weight=weights.setdefault(place.locality, place.weight))

    return [(leaf, each_locality(found, weighed)) for leaf, found in leaves]


localities_known_by_name_alone = Mutant(
    clause="A37-FAILOVER-09",
    broken="a locality has the weight of the locality of its name in the first leaf",
    rules={"policy_tree": of_leaves(with_the_first_weights)},
)


def with_the_weights_of_an_update() -> Callable[[Leaves], Leaves]:
    """Give each locality the weight from the first leaf that has its name, once that changed."""
    before: list[LeafEndpoints] = []

    def change(leaves: Leaves) -> Leaves:
        found = leaves[0][1]
        before[:] = before or [found]
        return leaves if found in before else with_the_first_weights(leaves)

    return change


weights_of_an_update = Mutant(
    clause="A37-FAILOVER-09",
    broken="an update of the first leaf sets the weights of localities of its names in all leaves",
    rules={"policy_tree": of_leaves(with_the_weights_of_an_update())},
)


def policy_of_leaves(count: int) -> Callable[[Aggregate | None, Leaf], PolicyConfig]:
    """Use round_robin for all leaves but the first ones."""

    def policy(aggregate: Aggregate | None, leaf: Leaf) -> PolicyConfig:
        is_early = aggregate is None or leaf.name in aggregate.clusters[:count]
        return leaf.policy if is_early else RoundRobinConfig()

    return policy


def with_equal_weights_behind_the_first(leaves: Leaves) -> Leaves:
    """Give each endpoint of all leaves but the first the weight 1."""

    def equal(place: LocalityEndpoints) -> LocalityEndpoints:
        return replace(place, endpoints=tuple(replace(each, weight=1) for each in place.endpoints))

    return [*leaves[:1], *((leaf, each_locality(found, equal)) for leaf, found in leaves[1:])]


hash_forgotten_behind_the_second = Mutant(
    clause="A37-FAILOVER-10",
    broken="requests are placed by their hash at the first two leaves only",
    rules={"policy_of_leaf": policy_of_leaves(2)},
)


weights_ignored_behind_the_first = Mutant(
    clause="A37-FAILOVER-10",
    broken="the weights of endpoints count at the first leaf only",
    rules={"policy_tree": of_leaves(with_equal_weights_behind_the_first)},
)


hash_forgotten_behind_the_first = Mutant(
    clause="A37-FAILOVER-10",
    broken="requests are placed by their hash at the first leaf only",
    rules={"policy_of_leaf": policy_of_leaves(1)},
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
    return lambda aggregate, leaves, _names, rules: policy_tree_a75(aggregate, leaves, names, rules)


names_made_anew = Mutant(
    clause="A37-FAILOVER-11",
    broken="a priority that moves is a new one",
    rules={"policy_tree": named_in_place()},
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
    return lambda aggregate, leaves, _names, rules: policy_tree(aggregate, leaves, shared, rules)


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
    return lambda aggregate, leaves, _names, rules: policy_tree_a75(aggregate, leaves, names, rules)


name_of_one_for_two = Mutant(
    clause="A37-FAILOVER-11",
    broken="both parts of a split priority keep its name",
    rules={"policy_tree": named_twice()},
)


names_shared_by_leaves = Mutant(
    clause="A37-FAILOVER-12",
    broken="a priority of one leaf takes over the name of another leaf's priority",
    rules={"policy_tree": named_together()},
    variant="seed",
)
