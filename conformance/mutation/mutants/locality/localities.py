"""Mutants of the clauses in localities.toml."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from envoy.config.core.v3.health_check_pb2 import HealthStatus
from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import (
    LeafEndpoints,
    Leaves,
    LocalityEndpoints,
)
from client_under_test.reference.clusters.discovery import Leaf
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.failover import (
    ChildView,
    Choice,
    Make,
    Use,
    choose_priority_a56,
)
from client_under_test.reference.values import State
from client_under_test.reference.xds.rules import endpoint_is_used
from conformance.mutation.mutants.locality import weighted_target
from conformance.mutation.mutants.locality.wrr_locality import FirstWeights
from conformance.mutation.mutants.priority.failover_timer import second_kept
from conformance.mutation.mutants.trees import of_leaves, of_leaves_below

# Localities by weight.

MANY = 32


KNOWN = {*HealthStatus.values()}


class FirstOnes:
    """The first `most` localities keep their weights; later ones weigh 0."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def weight(self, target: str, weight: int) -> int:
        """Return the weight of a locality."""
        if len(self._known) < self._most:
            self._known.add(target)
        return weight if target in self._known else 0


class ByPlace:
    """A locality has the weight of its position in the first list of two."""

    def __init__(self) -> None:
        self._first: list[int] = []
        self._places: dict[str, int] = {}

    def weight(self, target: str, weight: int) -> int:
        """Return the weight of a locality."""
        place = self._places.setdefault(target, len(self._places) % 2)
        if len(self._first) == place:
            self._first.append(weight)
        return self._first[place]


class Latecomers:
    """The first locality keeps its weight; all others weigh 1."""

    def __init__(self) -> None:
        self._first = ""

    def weight(self, target: str, weight: int) -> int:
        """Return the weight of a locality."""
        self._first = self._first or target
        return weight if target == self._first else 1


only_so_many = Mutant(
    clause="A27-WEIGHT-02",
    broken="no more than 32 localities are used",
    rules={"target_weight": FirstOnes(MANY).weight},
)


weights_by_place = Mutant(
    clause="A27-WEIGHT-03",
    broken="weights belong to positions in the list, as in the first list",
    rules={"target_weight": ByPlace().weight},
)


weight_of_before = Mutant(
    clause="A27-WEIGHT-04",
    broken="a locality that returns keeps its old weight",
    rules={"target_weight": FirstWeights().weight},
)


newcomers_weigh_one = Mutant(
    clause="A27-WEIGHT-05",
    broken="a locality that comes from another priority has weight 1",
    rules={"target_weight": Latecomers().weight},
)


# Priorities.


def lowest(children: Sequence[ChildView | None]) -> Choice:
    """Choose the last priority, whatever the others do."""
    last = len(children) - 1
    return Make(last) if children[last] is None else Use(last)


def one_of_two(children: Sequence[ChildView | None]) -> Choice:
    """Choose among the first two priorities."""
    return choose_priority_a56(children[:2])


def failed_for_good(beginning: int = 0) -> Callable[[Sequence[ChildView | None]], Choice]:
    """Treat a priority that has failed as failed ever after, from this index on."""
    failed: set[int] = set()

    def choose(children: Sequence[ChildView | None]) -> Choice:
        failed.update(
            index
            for index, child in enumerate(children)
            if child and child.state is State.TRANSIENT_FAILURE and index >= beginning
        )
        return choose_priority_a56(
            [
                ChildView(State.TRANSIENT_FAILURE, timer_runs=False)
                if child and index in failed
                else child
                for index, child in enumerate(children)
            ]
        )

    return choose


def emptied_if(
    spoils: Callable[[Sequence[LocalityEndpoints]], bool],
) -> Callable[[Leaves], Leaves]:
    """Empty the priorities whose localities a function names."""

    def fewer(leaves: Leaves) -> Leaves:
        return [
            (
                leaf,
                replace(found, priorities=tuple(() if spoils(p) else p for p in found.priorities)),
            )
            for leaf, found in leaves
        ]

    return fewer


def last_listing_of_each_locality(leaves: Leaves) -> Leaves:
    """Keep endpoints by locality alone, as grpc-java does."""
    fewer = []
    for leaf, found in leaves:
        last = {each.locality: each for priority in found.priorities for each in priority}
        kept = (
            tuple(each for each in some if last[each.locality] is each) for some in found.priorities
        )
        fewer.append((leaf, replace(found, priorities=tuple(kept))))
    return fewer


def never_fewer() -> Callable[[Leaves], Leaves]:
    """Keep priorities that an update removes."""
    most: dict[str, LeafEndpoints] = {}

    def kept(leaves: Leaves) -> Leaves:
        for leaf, found in leaves:
            known = most.setdefault(leaf.name, found)
            if len(found.priorities) >= len(known.priorities):
                most[leaf.name] = found
        return [(leaf, most[leaf.name]) for leaf, _ in leaves]

    return kept


def never_fewer_unless_one() -> Callable[[Leaves], Leaves]:
    """Keep priorities that an update removes, if it leaves at least two."""
    known: dict[str, LeafEndpoints] = {}

    def kept(leaves: Leaves) -> Leaves:
        for leaf, found in leaves:
            before = known.get(leaf.name, found)
            is_kept = 1 < len(found.priorities) < len(before.priorities)
            known[leaf.name] = before if is_kept else found
        return [(leaf, known[leaf.name]) for leaf, _ in leaves]

    return kept


class SpoiltByOne:
    """No endpoint is used after the first unhealthy one."""

    def __init__(self) -> None:
        self._is_spoilt = False

    def is_used(self, health: int) -> bool:
        """Return whether an endpoint is used."""
        self._is_spoilt = self._is_spoilt or not endpoint_is_used(health)
        return not self._is_spoilt


lowest_priority = Mutant(
    clause="A27-PRIO-01",
    broken="the last priority is used, not the first",
    rules={"choose_priority": lowest},
)


empty_one_waited_for = Mutant(
    clause="A27-PRIO-02",
    broken="a priority without endpoints counts as CONNECTING",
    rules={"stops_failover_timer": lambda state: state in {State.READY, State.IDLE}},
)


empty_second_waited_for = Mutant(
    clause="A27-PRIO-02",
    broken="the second priority is waited for, even if it has no endpoints",
    rules={"choose_priority": second_kept},
)


spoilt_by_an_empty_locality = Mutant(
    clause="A27-PRIO-03",
    broken="a priority with an empty locality counts as empty",
    rules={
        "policy_tree": of_leaves(
            emptied_if(lambda there: not all(each.endpoints for each in there))
        )
    },
)


spoilt_by_an_empty_last_locality = Mutant(
    clause="A27-PRIO-03",
    broken="a priority whose last locality is empty counts as empty",
    rules={
        "policy_tree": of_leaves(emptied_if(lambda there: bool(there) and not there[-1].endpoints))
    },
)


two_priorities_at_most = Mutant(
    clause="A27-PRIO-04",
    broken="priorities after the second are never used",
    rules={"choose_priority": one_of_two},
)


three_priorities_at_most = Mutant(
    clause="A27-PRIO-04",
    broken="priorities after the third are never used",
    rules={"choose_priority": lambda children: choose_priority_a56(children[:3])},
)


no_update_after_failure = Mutant(
    clause="A27-PRIO-05",
    broken="a priority keeps its first endpoints",
    rules={"priority_takes_updates": lambda _: False},
)


spoilt_by_an_ill_endpoint = Mutant(
    clause="A27-PRIO-06",
    broken="if one endpoint is unhealthy, no endpoint is used",
    xds={"endpoint_is_used": SpoiltByOne().is_used},
)


spoilt_locality = Mutant(
    clause="A27-PRIO-06",
    broken="if one endpoint is unhealthy, its locality is not used",
    xds={"usable_in_locality": lambda good: [all(good)] * len(good)},
)


too_few_are_good = Mutant(
    clause="A27-PRIO-06",
    broken="if less than half of a locality's endpoints are healthy, none of them is used",
    xds={"usable_in_locality": lambda good: [each and 2 * sum(good) >= len(good) for each in good]},
)


empty_for_good = Mutant(
    clause="A27-PRIO-07",
    broken="a priority that is not in use ignores updates, so it stays empty",
    rules={"priority_takes_updates": lambda is_in_use: is_in_use},
)


kept_in_use = Mutant(
    clause="A27-PRIO-08",
    broken="priorities that leave the list stay in use",
    rules={"policy_tree": of_leaves(never_fewer())},
)


kept_in_use_above_two = Mutant(
    clause="A27-PRIO-08",
    broken="priorities that leave the list stay in use if two or more remain",
    rules={"policy_tree": of_leaves(never_fewer_unless_one())},
)


failed_one_stays_alone = Mutant(
    clause="A27-PRIO-09",
    broken="a failed priority ignores a locality that joins it",
    rules={"priority_takes_updates": lambda is_in_use: is_in_use},
)


failed_one_is_given_up = Mutant(
    clause="A27-PRIO-09",
    broken="a priority that has failed is not used again while a lower one is listed",
    rules={"choose_priority": failed_for_good()},
)


second_failed_one_is_given_up = Mutant(
    clause="A27-PRIO-09",
    broken="the second of several priorities is not used again after it has failed",
    rules={"choose_priority": failed_for_good(beginning=1)},
)


failed_one_beside_it_counts = Mutant(
    clause="A27-PRIO-10",
    broken="requests fail if one locality has failed and none is READY, although others connect",
    rules=weighted_target.failure_comes_first.rules,
)


name_of_the_last_locality = Mutant(
    clause="A27-PRIO-11",
    broken="a priority continues to use the endpoints of its old locality",
    rules={"keeps_priority_name": lambda before, now: bool(now) and max(now) in before},
    reports="kept",
)


last_priority_of_a_locality = Mutant(
    clause="A27-PRIO-12",
    broken="a locality that is listed in two priorities has endpoints in the last of them only",
    rules={"policy_tree": of_leaves(last_listing_of_each_locality)},
)


def last_listing_in_updates() -> Callable[[Leaves], Leaves]:
    """Give a locality only its last endpoints, except in the first version of a leaf."""
    first: dict[str, LeafEndpoints] = {}

    def change(leaves: Leaves) -> Leaves:
        changed: list[tuple[Leaf, LeafEndpoints]] = []
        for leaf, found in leaves:
            is_first = first.setdefault(leaf.name, found) == found
            same = [(leaf, found)]
            changed += same if is_first else last_listing_of_each_locality(same)
        return changed

    return change


last_priority_of_a_locality_in_updates = Mutant(
    clause="A27-PRIO-12",
    broken="in an update, a locality has endpoints in the last of its priorities only",
    rules={"policy_tree": of_leaves(last_listing_in_updates())},
)


last_priority_of_a_locality_in_leaves = Mutant(
    clause="A27-PRIO-12",
    broken="below an aggregate, a locality has endpoints in the last of its priorities only",
    rules={"policy_tree": of_leaves_below(last_listing_of_each_locality)},
)


draining_is_used = Mutant(
    clause="A27-HEALTH-01",
    broken="all but UNHEALTHY endpoints are used",
    xds={"endpoint_is_used": lambda health: health != HealthStatus.UNHEALTHY},
)


undefined_is_used = Mutant(
    clause="A27-HEALTH-01",
    broken="endpoints whose health status is none of the known ones are used",
    xds={"endpoint_is_used": lambda health: endpoint_is_used(health) or health not in KNOWN},
)


good_is_not_used = Mutant(
    clause="A27-HEALTH-01",
    broken="only endpoints with health UNKNOWN are used",
    xds={"endpoint_is_used": lambda health: health == HealthStatus.UNKNOWN},
)


first_speaks_for_its_locality = Mutant(
    clause="A27-HEALTH-01",
    broken="the health of a locality's first endpoint applies to all of them",
    xds={"usable_in_locality": lambda good: good[:1] * len(good)},
)
