"""Mutants of the clauses in fields.toml."""

from __future__ import annotations

from typing import Any

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.policy_list_rules import prefers_extension
from client_under_test.reference.xds.rules import ring_sizes, supported_policy
from conformance.mutation.mutants.findings import refusing

SUPPORTED = (0, 2)


LEAST_REQUEST, RANDOM = 1, 3


MURMUR_HASH_2 = 1


EIGHT_M = 8 * 1024 * 1024


def is_good_ring(cluster: Any) -> bool:
    """Return whether ring_hash_lb_config is valid."""
    config = cluster.ring_hash_lb_config
    too_large = config.minimum_ring_size.value > EIGHT_M
    return not too_large and config.hash_function != MURMUR_HASH_2


class SizesBeside:
    """A ring from the list uses the sizes of ring_hash_lb_config."""

    def __init__(self) -> None:
        self._beside: Any = None

    def prefers(self, cluster: Any) -> bool:
        """Return the correct choice, and note ring_hash_lb_config."""
        has_any = cluster.ring_hash_lb_config.ListFields()
        self._beside = cluster.ring_hash_lb_config if has_any else None
        return prefers_extension(cluster)

    def sizes(self, config: Any) -> tuple[int, int]:
        """Return the sizes."""
        return ring_sizes(config if self._beside is None else self._beside)


class Sticky:
    """A list is required once there has been one."""

    def __init__(self) -> None:
        self._seen = False

    def prefers(self, cluster: Any) -> bool:
        """Return whether there has been a list."""
        self._seen = self._seen or prefers_extension(cluster)
        return self._seen


list_ignored = Mutant(
    clause="A52-FIELD-01",
    broken="load_balancing_policy is ignored",
    xds={"prefers_extension": lambda _cluster: False},
)


list_beside_the_default_only = Mutant(
    clause="A52-FIELD-01",
    broken="load_balancing_policy is used only if lb_policy is not set",
    xds={
        "prefers_extension": lambda cluster: (
            prefers_extension(cluster) and cluster.lb_policy in {0, *range(3, 99)}
        )
    },
)


beside = SizesBeside()


sizes_of_the_other = Mutant(
    clause="A52-FIELD-02",
    broken="the ring uses the sizes of ring_hash_lb_config, if it is set",
    xds={"prefers_extension": beside.prefers, "ring_sizes": beside.sizes},
)


lb_policy_checked = Mutant(
    clause="A52-FIELD-03",
    broken="lb_policy must be supported, whatever the list has",
    xds={
        "prefers_extension": lambda cluster: (
            prefers_extension(cluster) and cluster.lb_policy in SUPPORTED
        )
    },
)


config_of_lb_policy_checked = Mutant(
    clause="A52-FIELD-04",
    broken="ring_hash_lb_config must be valid, whatever the list has",
    xds={"prefers_extension": lambda cluster: prefers_extension(cluster) and is_good_ring(cluster)},
)


maximum_beside_checked = Mutant(
    clause="A52-FIELD-04",
    broken="the maximum_ring_size of ring_hash_lb_config must be valid, whatever the list has",
    xds={
        "prefers_extension": lambda cluster: (
            prefers_extension(cluster)
            and cluster.ring_hash_lb_config.maximum_ring_size.value <= EIGHT_M
        )
    },
)


sticky = Sticky()


list_demanded_again = Mutant(
    clause="A52-FIELD-05",
    broken="a Cluster that once had a list must have one",
    xds={"prefers_extension": sticky.prefers},
)


aggregate_checked = Mutant(
    clause="A52-FIELD-03",
    broken="an aggregate with CLUSTER_PROVIDED is rejected, whatever its list has",
    xds={
        "cluster_errors": refusing(
            lambda message: (
                message.HasField("cluster_type") and message.lb_policy == message.CLUSTER_PROVIDED
            )
        )
    },
)


random_in_turn = Mutant(
    clause="A52-FIELD-06",
    broken="RANDOM alone is treated as ROUND_ROBIN",
    xds={"supported_policy": lambda policy: supported_policy(0 if policy == RANDOM else policy)},
)


cluster_provided_in_turn = Mutant(
    clause="A52-FIELD-06",
    broken="an unknown lb_policy is treated as ROUND_ROBIN",
    xds={"supported_policy": lambda policy: supported_policy(policy) or "ROUND_ROBIN"},
)


least_request_in_turn = Mutant(
    clause="A52-FIELD-07",
    broken="LEAST_REQUEST alone is treated as ROUND_ROBIN",
    xds={
        "supported_policy": lambda policy: supported_policy(
            0 if policy == LEAST_REQUEST else policy
        )
    },
    reports="accepted",
)


dns_checked = Mutant(
    clause="A52-FIELD-03",
    broken="lb_policy must be supported in a LOGICAL_DNS cluster, whatever its list has",
    xds={
        "cluster_errors": refusing(
            lambda message: (
                message.type == message.LOGICAL_DNS and message.lb_policy not in SUPPORTED
            )
        )
    },
)
