"""Mutants of the clauses in locality.toml."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import (
    ClusterRules,
    Leaves,
    MakeTree,
    PriorityNames,
    policy_tree_a75,
)
from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.clusters.weights import (
    Weights,
    endpoint_weights,
    endpoint_weights_a113,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import (
    ClusterImplConfig,
    PriorityConfig,
    RingHashConfig,
    RoundRobinConfig,
    WrrLocalityConfig,
)
from client_under_test.reference.policies.interface import (
    PickArgs,
    PickResult,
    PolicyConfig,
    Update,
)
from client_under_test.reference.policies.rules.ring_config import LARGEST_RING
from client_under_test.reference.policies.rules.ring_picks import Candidate, pick_from_ring_a61
from conformance.mutation.mutants.trees import of_leaves

LARGEST = 2**32 - 1


# The endpoints of a ring.


def in_each_locality(_aggregate: Aggregate | None, leaf: Leaf) -> PolicyConfig:
    """Use a policy for each locality, and pick a locality by weight."""
    if isinstance(leaf.policy, WrrLocalityConfig):
        return leaf.policy
    return WrrLocalityConfig(child=leaf.policy)


def first_locality_only(localities: Sequence[Weights]) -> tuple[tuple[int, ...], ...]:
    """Return the weights of the first locality, and zeros for the others."""
    first, *others = endpoint_weights_a113(localities) or ((),)
    return (first, *((0,) * len(other) for other in others))


ring_of_each_locality = Mutant(
    clause="A42-LOC-01",
    broken="each locality has a ring, and each request picks a random locality",
    rules={"policy_of_leaf": in_each_locality},
)


ring_of_one_locality = Mutant(
    clause="A42-LOC-01",
    broken="only the endpoints of the first locality are on the ring",
    rules={"endpoint_weights": first_locality_only},
)


def past_a_failed_one(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """Pick the first endpoint on the ring, then the others in the order of their addresses."""
    first, *others = walk
    return pick_from_ring_a61([first, *sorted(others, key=address_of)], args)


def address_of(candidate: Candidate) -> str:
    """Return the identity of an endpoint."""
    return candidate.target.key


keys_of_a_lost_endpoint_move_twice = Mutant(
    clause="A42-LOC-02",
    broken="keys of a failed endpoint go to the lowest address, not the next endpoint",
    rules={"pick_from_ring": past_a_failed_one},
)


def in_one_priority(
    aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: ClusterRules
) -> Update:
    """Return the tree with all localities of a leaf in one priority."""
    flat = [
        (
            leaf,
            replace(
                found,
                priorities=(tuple(locality for each in found.priorities for locality in each),),
            ),
        )
        for leaf, found in leaves
    ]
    return policy_tree_a75(aggregate, flat, names, rules)


def by_priority(change: Callable[[int, PolicyConfig], PolicyConfig]) -> MakeTree:
    """Return the tree of an EDS cluster with the policy of each priority (from 0) changed."""

    def tree(
        aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: ClusterRules
    ) -> Update:
        update = policy_tree_a75(aggregate, leaves, names, rules)
        cluster = update.config
        if not isinstance(cluster, ClusterImplConfig):
            return update
        below = cluster.child
        if not isinstance(below, PriorityConfig):
            return update
        children = {
            name: replace(child, config=change(number, child.config))
            for number, (name, child) in enumerate(below.children.items())
        }
        return replace(update, config=replace(cluster, child=replace(below, children=children)))

    return tree


priorities_ignored = Mutant(
    clause="A42-LOC-03",
    broken="one ring holds the endpoints of all priorities",
    rules={"policy_tree": in_one_priority},
)


hash_drawn_anew = Mutant(
    clause="A42-LOC-04",
    broken="below the first priority a request gets a new random hash",
    rules={
        "policy_tree": by_priority(
            lambda number, policy: (
                replace(policy, request_hash_header="not-sent")
                if number and isinstance(policy, RingHashConfig)
                else policy
            )
        )
    },
)


round_robin_after_failover = Mutant(
    clause="A42-LOC-04",
    broken="below the first priority the policy is round_robin",
    rules={
        "policy_tree": by_priority(lambda number, policy: RoundRobinConfig() if number else policy)
    },
)


default_sizes_after_failover = Mutant(
    clause="A42-LOC-05",
    broken="below the first priority the ring has the default sizes",
    rules={
        "policy_tree": by_priority(lambda number, policy: RingHashConfig() if number else policy)
    },
)


default_sizes_below_priorities = Mutant(
    clause="A42-LOC-05",
    broken="the rings of priorities have the default sizes",
    rules={"policy_tree": by_priority(lambda _number, _policy: RingHashConfig())},
)


def those_of_the_beginning() -> MakeTree:
    """Keep the first config of each priority below the first."""
    first: dict[int, PolicyConfig] = {}
    return by_priority(
        lambda number, policy: first.setdefault(number, policy) if number else policy
    )


first_sizes_after_failover = Mutant(
    clause="A42-LOC-05",
    broken="below the first priority the sizes stay those of the first update",
    rules={"policy_tree": those_of_the_beginning()},
)


# ROUND_ROBIN.


def same_weight_for_each_locality(
    aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: ClusterRules
) -> Update:
    """Return the tree with equal weights of all localities."""
    update = policy_tree_a75(aggregate, leaves, names, rules)
    return replace(update, endpoints=tuple(replace(e, locality_weight=1) for e in update.endpoints))


def without_localities(_aggregate: Aggregate | None, leaf: Leaf) -> PolicyConfig:
    """Return the policy of single localities, for all of them together."""
    return leaf.policy.child if isinstance(leaf.policy, WrrLocalityConfig) else leaf.policy


round_robin_over_all_localities = Mutant(
    clause="A42-LOC-06",
    broken="endpoints of all localities get requests in turn, whatever their weights",
    rules={"policy_of_leaf": without_localities},
    issue="https://github.com/envoyproxy/envoy/issues/39362",
)


localities_alike = Mutant(
    clause="A42-LOC-06",
    broken="each locality has the same share",
    rules={"policy_tree": same_weight_for_each_locality},
)


# Weights.


def weighing(weigh: Callable[[int, int], int]) -> Callable[[Sequence[Weights]], object]:
    """Compute the weights of endpoints from their own and their locality's."""

    def weighed(localities: Sequence[Weights]) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tuple(weigh(own, locality.locality) for own in locality.endpoints)
            for locality in localities
        )

    return weighed


products_instead_of_shares = Mutant(
    clause="A42-LOC-07",
    broken="weights are multiplied, though A113 is declared",
    rules={"endpoint_weights": endpoint_weights},
    issue="https://github.com/grpc/grpc-go/issues/6927",
)


shares_instead_of_products = Mutant(
    clause="A42-LOC-07",
    broken="shares are multiplied, though A113 is not declared",
    rules={"endpoint_weights": endpoint_weights_a113},
    variant="seed",
)


by_the_number_of_endpoints = Mutant(
    clause="A42-LOC-07",
    broken="the share of a locality is divided by the number of its endpoints twice",
    rules={
        "endpoint_weights": lambda localities: tuple(
            tuple(12 // len(each) * weight for weight in each)
            for each in endpoint_weights_a113(localities)
        )
    },
)


own_weight_only = Mutant(
    clause="A42-LOC-07",
    broken="the weight of the locality is ignored",
    rules={"endpoint_weights": weighing(lambda own, _of_locality: own)},
)


weight_of_locality_only = Mutant(
    clause="A42-LOC-07",
    broken="an endpoint has the weight of its locality",
    rules={"endpoint_weights": weighing(lambda _own, of_locality: of_locality)},
)


sum_of_weights = Mutant(
    clause="A42-LOC-07",
    broken="the weights of endpoint and locality are added",
    rules={"endpoint_weights": weighing(lambda own, of_locality: own + of_locality)},
)


endpoint_without_weight_weighs_nothing = Mutant(
    clause="A42-LOC-08",
    broken="an endpoint without a weight has weight 0",
    xds={"endpoint_weight": lambda written: written or 0},
    issue="https://github.com/grpc/grpc-java/pull/8245",
)


endpoint_without_weight_weighs_500 = Mutant(
    clause="A42-LOC-08",
    broken="an endpoint without a weight has weight 500",
    xds={"endpoint_weight": lambda written: 500 if written is None else written},
    issue="https://github.com/grpc/grpc/pull/30079",
)


endpoint_without_weight_is_rejected = Mutant(
    clause="A42-LOC-08",
    broken="an endpoint without a weight is rejected like one of weight zero",
    xds={"endpoint_weight": lambda written: written or None},
    issue="https://github.com/grpc/grpc-go/pull/5568",
)


endpoint_of_weight_zero_is_left_out = Mutant(
    clause="A42-LOC-09",
    broken="an endpoint of weight zero is accepted and has no entries",
    xds={"endpoint_weight": lambda written: 1 if written is None else written},
    variant="seed",
    reports="left out",
    issue="https://github.com/grpc/grpc-go/issues/5456",
)


endpoint_of_weight_zero_weighs_one = Mutant(
    clause="A42-LOC-09",
    broken="an endpoint of weight zero counts as weight 1",
    xds={"endpoint_weight": lambda written: written or 1},
    reports="weighs 1",
    issue="https://github.com/grpc/grpc/pull/30079",
)


locality_without_weight_is_used = Mutant(
    clause="A42-LOC-10",
    broken="a locality without a weight has weight 1",
    xds={"locality_weight": lambda written: 1 if written is None else written},
    issue="https://github.com/grpc/grpc-java/pull/6874",
)


unweighted_but_for_rings = Mutant(
    clause="A42-LOC-10",
    broken="a locality without a weight has weight 1 under every policy but ring_hash",
    rules={
        "locality_is_used": lambda _locality: True,
        "ring_endpoints": lambda _before, now: [
            endpoint for endpoint in now if endpoint.locality_weight
        ],
        "target_weight": lambda _target, weight: max(weight, 1),
    },
)


locality_of_weight_zero_is_rejected = Mutant(
    clause="A42-LOC-11",
    broken="a locality of weight zero is rejected",
    xds={"locality_weight": lambda written: 0 if written is None else written or None},
    reports="rejected",
)


locality_of_weight_zero_weighs_one = Mutant(
    clause="A42-LOC-11",
    broken="a locality of weight zero counts as weight 1",
    xds={"locality_weight": lambda written: 0 if written is None else written or 1},
    reports="weighs 1",
)


product_cut = Mutant(
    clause="A42-LOC-12",
    broken="a product keeps its lower 32 bits only",
    rules={"endpoint_weights": weighing(lambda own, of_locality: own * of_locality & LARGEST)},
    variant="seed",
    reports="cut to 32 bits",
)


product_capped = Mutant(
    clause="A42-LOC-12",
    broken="a product beyond 32 bits is the largest uint32",
    rules={"endpoint_weights": weighing(lambda own, of_locality: min(own * of_locality, LARGEST))},
    variant="seed",
    reports="the largest of 32 bits",
)


regions_alone = Mutant(
    clause="A42-LOC-06",
    broken="localities of one region count as one, whatever their zones",
    rules={"locality_target": lambda locality: locality.region},
)


def two_localities_at_most(localities: Sequence[Weights]) -> tuple[tuple[int, ...], ...]:
    """Return the weights of the first two localities, and zeros for the others."""
    first, others = endpoint_weights_a113(localities)[:2], localities[2:]
    return (*first, *((0,) * len(other.endpoints) for other in others))


ring_of_two_localities = Mutant(
    clause="A42-LOC-01",
    broken="only the endpoints of the first two localities are on the ring",
    rules={"endpoint_weights": two_localities_at_most},
)


maximum_lost_after_failover = Mutant(
    clause="A42-LOC-05",
    broken="below the first priority the ring has the minimum of the config, but not its maximum",
    rules={
        "policy_tree": by_priority(
            lambda number, policy: (
                replace(policy, maximum=LARGEST_RING)
                if number and isinstance(policy, RingHashConfig)
                else policy
            )
        )
    },
)


class Unset(int):
    """The weight of an endpoint that has none."""


def one_in_the_end(localities: Sequence[Weights]) -> tuple[tuple[int, ...], ...]:
    """Multiply weights, but give an endpoint without a weight 1, whatever its locality weighs."""
    return tuple(
        tuple(
            1 if isinstance(own, Unset) else own * locality.locality for own in locality.endpoints
        )
        for locality in localities
    )


weight_of_its_locality_left_out = Mutant(
    clause="A42-LOC-08",
    broken="an endpoint without a weight has weight 1 whatever its locality weighs",
    rules={"endpoint_weights": one_in_the_end},
    xds={"endpoint_weight": lambda written: Unset(1) if written is None else written},
    variant="seed",
)


BOTH = 2
"""Localities of the scenario."""


class KeptOnceWritten:
    """The weight of a locality stays if it is missing in an update after two localities had one."""

    def __init__(self) -> None:
        self._written = 0

    def __call__(self, written: int | None) -> int:
        """Return the weight of a locality."""
        self._written += written is not None
        return int(self._written > BOTH) if written is None else written


locality_weight_kept = Mutant(
    clause="A42-LOC-10",
    broken="a locality keeps its weight when an update removes the weight",
    xds={"locality_weight": KeptOnceWritten()},
)


def all_used_if_none_has_a_weight(leaves: Leaves) -> Leaves:
    """Use the localities of a priority equally if none of them has a weight."""
    return [
        (
            leaf,
            replace(
                found,
                priorities=tuple(
                    places
                    if any(place.weight for place in places)
                    else tuple(replace(place, weight=1) for place in places)
                    for places in found.priorities
                ),
            ),
        )
        for leaf, found in leaves
    ]


none_has_a_weight = Mutant(
    clause="A42-LOC-10",
    broken="if no locality of a priority has a weight, each of them has weight 1",
    rules={"policy_tree": of_leaves(all_used_if_none_has_a_weight)},
)


def used_below_the_first_priority(leaves: Leaves) -> Leaves:
    """Use localities without a weight if they are not in the first priority of their leaf."""
    return [
        (
            leaf,
            replace(
                found,
                priorities=(
                    *found.priorities[:1],
                    *(
                        tuple(replace(place, weight=place.weight or 1) for place in places)
                        for places in found.priorities[1:]
                    ),
                ),
            ),
        )
        for leaf, found in leaves
    ]


no_weight_in_a_lower_priority = Mutant(
    clause="A42-LOC-10",
    broken="below the first priority, a locality without a weight has weight 1",
    rules={"policy_tree": of_leaves(used_below_the_first_priority)},
)
