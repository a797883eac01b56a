"""Mutants of the clauses in leaf_policies.toml."""

from collections.abc import Callable

from client_under_test.reference.clusters.aggregates import policy_of_leaf
from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.interface import PolicyConfig
from conformance.mutation.mutants.aggregate.leaf_localities import policy_of_leaves
from conformance.mutation.mutants.findings import refusing
from conformance.mutation.mutants.priority.failover_timer import the_last_ready


def of_the_first_leaf() -> Callable[[Aggregate | None, Leaf], PolicyConfig]:
    """Use the policy of the first leaf for all leaves."""
    first: dict[str, PolicyConfig] = {}

    def policy(aggregate: Aggregate | None, leaf: Leaf) -> PolicyConfig:
        return leaf.policy if aggregate is None else first.setdefault(aggregate.name, leaf.policy)

    return policy


policy_of_the_first_leaf = Mutant(
    clause="A75-LEAF-01",
    broken="the policy of the first leaf applies to all leaves",
    rules={"policy_of_leaf": of_the_first_leaf()},
)


policy_of_two_leaves = Mutant(
    clause="A75-LEAF-01",
    broken="all leaves but the first two have the policy round_robin",
    rules={"policy_of_leaf": policy_of_leaves(2)},
)


cluster_provided_demanded = Mutant(
    clause="A75-LEAF-02",
    broken="an aggregate must have the policy CLUSTER_PROVIDED",
    xds={
        "cluster_errors": refusing(
            lambda message: (
                message.HasField("cluster_type") and message.lb_policy == message.RING_HASH
            )
        )
    },
)


policy_checked = Mutant(
    clause="A75-LEAF-03",
    broken="an aggregate with an unsupported policy is rejected",
    xds={"policy_of_aggregate_counts": True},
    reports="refused",
)


policy_above = Mutant(
    clause="A75-LEAF-04",
    broken="the policy of the aggregate applies, whatever the guard is",
    rules={"policy_of_leaf": policy_of_leaf},
    reports="of the aggregate",
)


next_leaf_stays = Mutant(
    clause="A75-LEAF-05",
    broken="the next leaf stays in use when the leaf before it serves",
    rules={"choose_priority": the_last_ready},
)
