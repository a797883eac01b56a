"""Mutants of the clauses in missing_resources.toml."""

from collections.abc import Callable, Sequence
from typing import Final

from client_under_test.reference.clusters.discovery import (
    Cluster,
    Leaf,
    Missing,
    usable_leaves,
    usable_leaves_a74,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.resolving.dependency_rules import routes_are_usable
from conformance.mutation.mutants.data_errors.rejected_resources import (
    once_missing,
    passed_over_by_a37,
)
from conformance.mutation.mutants.data_errors.stream_loss import Choice
from conformance.mutation.mutants.trees import (
    SHORT,
    for_ever,
    has_endpoints,
    has_localities,
    last_good,
    nothing_behind,
    nothing_behind_in_the_middle,
    of_leaves,
)

ten_seconds = Mutant(
    clause="A57-TIMER-01",
    broken="a resource is missing after 10 s",
    xds={"resource_timeout": lambda _: (10.0, True)},
)


thirty_seconds = Mutant(
    clause="A57-TIMER-01",
    broken="a resource is missing only after 30 s",
    xds={"resource_timeout": lambda _: (30.0, True)},
)


time_from_the_start = Mutant(
    clause="A57-TIMER-02",
    broken="the timer of a resource starts before there is a connection",
    xds={"resource_timer_runs": lambda _: True},
)


what_is_there_is_timed = Mutant(
    clause="A57-TIMER-03",
    broken="a new stream starts timers for resources that the client has, too",
    xds={"resource_is_timed": lambda _is_there, _was_timed: True},
)


timed_once = Mutant(
    clause="A57-TIMER-04",
    broken="a new stream does not restart timers",
    xds={"resource_is_timed": lambda is_there, was_timed: not is_there and not was_timed},
)


timer_goes_on = Mutant(
    clause="A57-TIMER-05",
    broken="the timer of a resource runs on after the client has unsubscribed from it",
    xds={"timer_is_cancelled": lambda _timer_runs: False},
)


timer_ends_the_next_subscription = Mutant(
    clause="A57-TIMER-06",
    broken="the timer of an earlier subscription removes a resource that came in the next one",
    xds={"timer_is_cancelled": lambda _timer_runs: False},
)


SOON: Final = {"resource_timeout": lambda _: (3.0, True)}
"""A shorter timer, which breaks none of these clauses, so that mutants run faster."""


never_sent_passed_over = Mutant(
    clause="A37-TROUBLE-01",
    broken="a leaf that is never sent is skipped",
    rules={"usable_leaves": passed_over_by_a37},
    xds=SOON,
    variant="seed",
)


never_sent_fails_all = Mutant(
    clause="A37-TROUBLE-01",
    broken="when one leaf is never sent, the whole tree fails",
    rules={"usable_leaves": usable_leaves},
    xds=SOON,
)


def skipped_if_one(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
    """Skip a missing leaf, but fail the tree if more than one is missing."""
    lacks = sum(isinstance(leaf, Missing) for leaf in found)
    return (usable_leaves if lacks > 1 else usable_leaves_a74)(root, found, in_force)


two_never_sent_fail_all = Mutant(
    clause="A37-TROUBLE-01",
    broken="when two leaves are never sent, the whole tree fails",
    rules={"usable_leaves": skipped_if_one},
    xds=SOON,
)


def never_known_to_later_ones() -> Callable[[str, str, Cluster | None], Cluster | None]:
    """Wait for a missing cluster in each tree that did not wait for it before it was missing."""
    waited: set[tuple[str, str]] = set()

    def rule(root: str, name: str, cluster: Cluster | None) -> Cluster | None:
        if cluster is None:
            waited.add((root, name))
        is_news = isinstance(cluster, Missing) and (root, name) not in waited
        return None if is_news else cluster

    return rule


missing_unknown_to_later_ones = Mutant(
    clause="A37-TROUBLE-01",
    broken="an aggregate that comes after a leaf was missing waits for the leaf",
    rules={"cluster_in_tree": never_known_to_later_ones()},
    xds=SOON,
    issue="https://github.com/grpc/grpc-go/pull/7853",
)


def while_none_exists(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
    """Wait if all of several leaves are missing."""
    waits = len(found) > 1 and all(isinstance(leaf, Missing) for leaf in found)
    return None if waits else usable_leaves_a74(root, found, in_force)


tree_without_leaves_waits = Mutant(
    clause="A37-TROUBLE-02",
    broken="requests wait for an aggregate without existing leaves",
    rules={"usable_leaves": while_none_exists, "routes_are_usable": routes_are_usable},
    xds=SOON,
)


def while_it_is_the_root(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
    """Wait if a cluster of a route is missing."""
    waits = any(isinstance(leaf, Missing) and leaf.name == root for leaf in found)
    return None if waits else usable_leaves_a74(root, found, in_force)


cluster_never_sent_waited_for = Mutant(
    clause="A37-TROUBLE-03",
    broken="requests wait for a cluster of a route that is never sent",
    rules={"usable_leaves": while_it_is_the_root, "routes_are_usable": routes_are_usable},
    xds=SOON,
)


def late_in_one_tree() -> Callable[[str, Sequence[Leaf | Missing], bool], Choice]:
    """Use a leaf that comes late only in the first of the trees that missed it."""
    missed: dict[str, dict[str, Missing]] = {}

    def rule(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
        for leaf in found:
            if isinstance(leaf, Missing) and leaf.is_gone:
                missed.setdefault(leaf.name, {}).setdefault(root, leaf)

        def seen(leaf: Leaf | Missing) -> Leaf | Missing:
            trees = missed.get(leaf.name, {})
            return leaf if root in [*trees][:1] else trees.get(root, leaf)

        return usable_leaves_a74(root, [seen(leaf) for leaf in found], in_force)

    return rule


late_cluster_in_one_tree = Mutant(
    clause="A37-TROUBLE-10",
    broken="a late cluster is used in one of the trees that share it",
    rules={"usable_leaves": late_in_one_tree()},
    xds=SOON,
)


missing_for_good = Mutant(
    clause="A37-TROUBLE-10",
    broken="a cluster that was once missing is never used",
    rules={"usable_leaves": once_missing(lambda leaf: leaf.is_gone)},
    xds=SOON,
)


endpoints_never_sent_end_the_list = Mutant(
    clause="A37-TROUBLE-19",
    broken="leaves after one whose endpoints are never sent are not used",
    rules={"policy_tree": of_leaves(nothing_behind(lambda found: not has_localities(found)))},
    xds=SOON,
)


never_sent_in_the_middle_end_the_list = Mutant(
    clause="A37-TROUBLE-19",
    broken="leaves after a middle leaf whose endpoints are never sent are not used",
    rules={
        "policy_tree": of_leaves(
            nothing_behind_in_the_middle(lambda found: not has_localities(found))
        )
    },
    xds=SOON,
)


endpoints_never_sent_waited_for = Mutant(
    clause="A37-TROUBLE-20",
    broken="requests wait for endpoints that are never sent",
    rules={"endpoints_without_data": lambda _: None},
    xds=SOON,
)


old_service_stays = Mutant(
    clause="A37-TROUBLE-28",
    broken="a leaf keeps the endpoints of its old service name while the new one has none",
    rules={"policy_tree": of_leaves(last_good())},
    xds=SOON,
)


new_service_missed = Mutant(
    clause="A37-TROUBLE-28",
    broken="endpoints of a new service name that do not come at once count as missing",
    xds=SHORT,
)


endpoints_missing_for_good = Mutant(
    clause="A37-TROUBLE-30",
    broken="a leaf whose endpoints were once missing is never used",
    rules={"policy_tree": of_leaves(for_ever(lambda found: not has_endpoints(found)))},
    xds=SOON,
)


new_routes_in_part = Mutant(
    clause="A74-CONFIG-03",
    broken="routes to a new cluster are used while its resources may still be missing",
    rules={"routes_are_usable": routes_are_usable},
)


def wait_for_it(_root: str, _name: str, cluster: Cluster | None) -> Cluster | None:
    """Wait for a missing cluster."""
    return None if isinstance(cluster, Missing) else cluster


missing_waited_for = Mutant(
    clause="A74-CONFIG-03",
    broken="routes to a cluster with missing resources are never used",
    rules={"cluster_in_tree": wait_for_it},
    xds=SOON,
)


def wait_for_the_root(root: str, name: str, cluster: Cluster | None) -> Cluster | None:
    """Wait for a missing cluster of a route."""
    return None if isinstance(cluster, Missing) and name == root else cluster


missing_root_waited_for = Mutant(
    clause="A74-CONFIG-03",
    broken="routes are never used while a cluster of any of them is missing",
    rules={"cluster_in_tree": wait_for_the_root},
)


def passed_over_once() -> Callable[[str, Sequence[Leaf | Missing], bool], Choice]:
    """Skip a missing cluster in the first tree that has it, and in no other."""
    met: dict[str, str] = {}

    def broken(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
        elsewhere = {leaf.name for leaf in found if met.setdefault(leaf.name, root) != root}
        fails = any(isinstance(leaf, Missing) and leaf.name in elsewhere for leaf in found)
        return (usable_leaves if fails else usable_leaves_a74)(root, found, in_force)

    return broken


passed_over_in_one_tree = Mutant(
    clause="A74-CONFIG-04",
    broken="a missing cluster is skipped in one tree only",
    rules={"usable_leaves": passed_over_once()},
    xds=SOON,
)
