"""Mutants of the clauses in list_changes.toml."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from client_under_test.reference.clusters import aggregates
from client_under_test.reference.editions.mutants import Mutant, for_good
from client_under_test.reference.policies.interface import FailPicker, Report
from client_under_test.reference.values import State, Status
from client_under_test.reference.xds.policy_list_rules import entries_to_try
from conformance.mutation.mutants.findings import Finding, Weigh, overlooking, overlooking_in

first_list_for_good = Mutant(
    clause="A52-CHANGE-01",
    broken="the first list is used forever",
    xds={"entries_to_try": for_good(entries_to_try)},
)


gap_between_policies = Mutant(
    clause="A52-CHANGE-02",
    broken="requests fail from the end of the old policy until the new one has a connection",
    rules={
        "report_of_new_policy": lambda _report: Report(
            State.TRANSIENT_FAILURE, FailPicker(Status.unavailable("the policy has changed"))
        )
    },
)


list_of_the_aggregate = Mutant(
    clause="A52-CHANGE-03",
    broken="the list of the aggregate applies to its leaves, though A75 is declared",
    rules={"policy_of_leaf": aggregates.policy_of_leaf},
)


list_of_the_leaf = Mutant(
    clause="A52-CHANGE-03",
    broken="each leaf has its own list, though A75 is not declared",
    rules={"policy_of_leaf": aggregates.policy_of_leaf_a75},
    variant="seed",
)


guarded = Mutant(
    clause="A52-CHANGE-04",
    broken="load_balancing_policy is ignored",
    xds={"prefers_extension": lambda _cluster: False},
    reports="variable unset: by lb_policy",
)


bad_list_of_the_aggregate = Mutant(
    clause="A52-CHANGE-05",
    broken="the list of an aggregate is not read, though A75 is not declared",
    xds={"policy_of_aggregate_counts": False},
    variant="seed",
)


def of_aggregates(weigh: Weigh) -> Weigh:
    """Change the findings in aggregates alone."""

    def weighed(message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
        return weigh(message, found) if message.HasField("cluster_type") else found

    return weighed


config_of_the_aggregate_not_parsed = Mutant(
    clause="A52-CHANGE-05",
    broken="the config of a TypedStruct in the list of an aggregate is not validated",
    xds={
        "cluster_errors": of_aggregates(
            overlooking("load_balancing_policy", "ring_hash_experimental")
        )
    },
    variant="seed",
)


lists_below_that_of_the_aggregate = Mutant(
    clause="A52-CHANGE-05",
    broken="in an aggregate, lists within WrrLocality are not validated",
    xds={"cluster_errors": of_aggregates(overlooking_in("endpoint_picking_policy", ""))},
    variant="seed",
)


one_connection_for_all_policies = Mutant(
    clause="A52-CHANGE-06",
    broken="an address has one connection, whatever policy uses it",
    rules={"sharing_key": lambda subchannel: subchannel.address},
    reports="to-turns: kept",
)
