"""Mutants of the clauses in empty_leaves.toml."""

from collections.abc import Callable

from client_under_test.reference.clusters.aggregates import ClusterRules as Rules
from client_under_test.reference.clusters.aggregates import Leaves, PriorityNames
from client_under_test.reference.clusters.discovery import Aggregate
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import WaitingConfig
from client_under_test.reference.policies.interface import PickResult, Update
from client_under_test.reference.values import State
from client_under_test.reference.xds.rules import endpoint_is_used
from conformance.mutation.mutants.trees import (
    for_ever,
    has_endpoints,
    has_localities,
    instead,
    last_good,
    nothing_behind,
    nothing_behind_in_the_middle,
    of_leaves,
)

Tree = Callable[[Aggregate | None, Leaves, PriorityNames, Rules], Update]


no_localities_end_the_list = Mutant(
    clause="A37-TROUBLE-21",
    broken="leaves after one without localities are not used",
    rules={"policy_tree": of_leaves(nothing_behind(lambda found: not has_localities(found)))},
)


empty_localities_end_the_list = Mutant(
    clause="A37-TROUBLE-22",
    broken="leaves after one with empty localities are not used",
    rules={
        "policy_tree": of_leaves(
            nothing_behind(lambda found: has_localities(found) and not has_endpoints(found))
        )
    },
)


no_localities_in_the_middle_end_the_list = Mutant(
    clause="A37-TROUBLE-21",
    broken="leaves after a middle leaf without localities are not used",
    rules={
        "policy_tree": of_leaves(
            nothing_behind_in_the_middle(lambda found: not has_localities(found))
        )
    },
)


empty_localities_in_the_middle_end_the_list = Mutant(
    clause="A37-TROUBLE-22",
    broken="leaves after a middle leaf with empty localities are not used",
    rules={
        "policy_tree": of_leaves(
            nothing_behind_in_the_middle(lambda found: not has_endpoints(found))
        )
    },
)


bad_health_in_the_middle_ends_the_list = Mutant(
    clause="A37-TROUBLE-23",
    broken="leaves after a middle leaf with unhealthy endpoints are not used",
    rules={
        "policy_tree": of_leaves(
            nothing_behind_in_the_middle(lambda found: not has_endpoints(found))
        )
    },
)


def health_that_is_used(number: int) -> Callable[[int], bool]:
    """Use endpoints of one more health status."""
    return lambda health: health == number or endpoint_is_used(health)


draining_is_used = Mutant(
    clause="A37-TROUBLE-23",
    broken="endpoints that are DRAINING are used",
    xds={"endpoint_is_used": health_that_is_used(3)},
)


degraded_is_used = Mutant(
    clause="A37-TROUBLE-23",
    broken="endpoints that are DEGRADED are used",
    xds={"endpoint_is_used": health_that_is_used(5)},
)


empty_leaf_waited_for = Mutant(
    clause="A37-TROUBLE-24",
    broken="a leaf without endpoints is left only when the failover timer fires",
    rules={"stops_failover_timer": lambda reported: reported in {State.READY, State.IDLE}},
)


empty_update_ignored = Mutant(
    clause="A37-TROUBLE-27",
    broken="an update that leaves a leaf without endpoints is ignored",
    rules={"policy_tree": of_leaves(last_good())},
)


empty_once_empty_for_good = Mutant(
    clause="A37-TROUBLE-32",
    broken="a leaf that was without endpoints is never used again",
    rules={"policy_tree": of_leaves(for_ever(lambda found: not has_endpoints(found)))},
)


def unless_it_is_the_first() -> Callable[[Leaves], Leaves]:
    """Drop the endpoints of a later leaf forever once it has none."""
    change = for_ever(lambda found: not has_endpoints(found))
    return lambda leaves: [*leaves[:1], *change(leaves[1:])]


empty_behind_the_first_for_good = Mutant(
    clause="A37-TROUBLE-32",
    broken="a leaf but the first that was without endpoints is never used again",
    rules={"policy_tree": of_leaves(unless_it_is_the_first())},
)


without_endpoints_it_connects = Mutant(
    clause="A37-TROUBLE-33",
    broken="a tree without any endpoints is CONNECTING",
    rules={
        "policy_tree": instead(
            Update(config=WaitingConfig()),
            lambda leaves: not any(has_endpoints(found) for _, found in leaves),
        )
    },
)


def fail_all_the_same(result: PickResult) -> PickResult:
    """Fail wait_for_ready requests as well."""
    return result


waiting_fails = Mutant(
    clause="A37-TROUBLE-34",
    broken="a request that waits for readiness fails with the tree",
    rules={"queue_wait_for_ready": fail_all_the_same},
)
