"""Mutants of the clauses in cluster.toml."""

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from client_under_test.reference.clusters import aggregates
from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.editions.mutants import Mutant, for_good
from client_under_test.reference.policies.configs import (
    DEFAULT_MAXIMUM,
    DEFAULT_MINIMUM,
    RingHashConfig,
)
from client_under_test.reference.policies.interface import FailPicker, PolicyConfig, Report
from client_under_test.reference.policies.rules.ring import Sizes, capped_sizes
from client_under_test.reference.policies.rules.ring_config import (
    LARGEST_RING,
    ring_size_is_accepted,
    ring_sizes_fit,
)
from client_under_test.reference.values import State, Status
from client_under_test.reference.xds.rules import function_is_accepted, ring_sizes, supported_policy
from conformance.mutation.mutants.findings import refusing

MURMUR_HASH_2 = 1


MAGLEV = 5


LOWER_HALF = 0xFFFFFFFF


EIGHT_MILLION = 8_000_000


# The policy.

ring_hash_refused = Mutant(
    clause="A42-CDS-01",
    broken="RING_HASH is an error",
    xds={"supported_policy": {0: "ROUND_ROBIN"}.get},
)


ring_hash_is_round_robin = Mutant(
    clause="A42-CDS-01",
    broken="RING_HASH is accepted, and treated as ROUND_ROBIN",
    xds={"supported_policy": lambda policy: supported_policy(policy) and "ROUND_ROBIN"},
)


round_robin_refused = Mutant(
    clause="A42-CDS-02",
    broken="ROUND_ROBIN is an error",
    xds={"supported_policy": {2: "RING_HASH"}.get},
)


round_robin_is_ring_hash = Mutant(
    clause="A42-CDS-02",
    broken="ROUND_ROBIN is accepted, and treated as RING_HASH",
    xds={"supported_policy": lambda policy: supported_policy(policy) and "RING_HASH"},
)


round_robin_draws_lots = Mutant(
    clause="A42-CDS-02",
    broken="ROUND_ROBIN is accepted, and picks at random",
    rules={"round_robin_order": lambda members, rng: (rng.randrange(members) for _ in count())},
)


maglev_is_ring_hash = Mutant(
    clause="A42-CDS-21",
    broken="MAGLEV is treated as RING_HASH",
    xds={"supported_policy": lambda policy: supported_policy(2 if policy == MAGLEV else policy)},
)


policy_of_the_aggregate = Mutant(
    clause="A42-CDS-25",
    broken="the policy of the aggregate applies to its leaves, though A75 is declared",
    rules={"policy_of_leaf": aggregates.policy_of_leaf},
)


policy_of_the_leaf = Mutant(
    clause="A42-CDS-25",
    broken="each leaf has its own policy, though A75 is not declared",
    rules={"policy_of_leaf": aggregates.policy_of_leaf_a75},
    variant="seed",
)


ring_hash_guarded = Mutant(
    clause="A42-CDS-26",
    broken="RING_HASH is an error",
    xds={"supported_policy": {0: "ROUND_ROBIN"}.get},
    reports="variable unset: the Cluster is refused",
)


ring_hash_guarded_and_accepted = Mutant(
    clause="A42-CDS-26",
    broken="RING_HASH is accepted, and treated as ROUND_ROBIN",
    xds={"supported_policy": lambda policy: supported_policy(policy) and "ROUND_ROBIN"},
    reports="variable unset: another policy is used",
)


# The sizes.

unset_sizes_are_zero = Mutant(
    clause="A42-CDS-03",
    broken="unset sizes are read as zero, which is an error",
    xds={
        "ring_sizes": lambda config: (
            config.minimum_ring_size.value,
            config.maximum_ring_size.value,
        )
    },
    issue="https://github.com/grpc/grpc-java/pull/8237",
)


no_config_is_the_smallest_ring = Mutant(
    clause="A42-CDS-03",
    broken="without a config the minimum is one",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config) if config.ListFields() else (1, LARGEST_RING)
        )
    },
)


minimum_ignored = Mutant(
    clause="A42-CDS-04",
    broken="sizes reach the policy as strings, as 64-bit numbers do in JSON, and are ignored",
    xds={"ring_sizes": lambda _config: (DEFAULT_MINIMUM, LARGEST_RING)},
)


minimum_of_512_at_least = Mutant(
    clause="A42-CDS-04",
    broken="a minimum below 512 is raised to 512",
    xds={"ring_sizes": lambda config: (max(ring_sizes(config)[0], 512), ring_sizes(config)[1])},
)


maximum_ignored = Mutant(
    clause="A42-CDS-05",
    broken="the maximum is not read",
    xds={"ring_sizes": lambda config: (ring_sizes(config)[0], LARGEST_RING)},
)


maximum_alone_ignored = Mutant(
    clause="A42-CDS-05",
    broken="the maximum is read only if there is a minimum",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config)
            if config.HasField("minimum_ring_size")
            else (DEFAULT_MINIMUM, LARGEST_RING)
        )
    },
)


sizes_compared_as_strings = Mutant(
    clause="A42-CDS-05",
    broken='sizes are compared as the strings that they are in JSON: "8" is more than "12"',
    xds={"ring_sizes_fit": lambda minimum, maximum: str(minimum) <= str(maximum)},
)


minimum_defaults_to_one = Mutant(
    clause="A42-CDS-06",
    broken="an unset minimum means one",
    xds={"ring_sizes": lambda config: (config.minimum_ring_size.value or 1, ring_sizes(config)[1])},
)


minimum_by_maximum = Mutant(
    clause="A42-CDS-06",
    broken="an unset minimum means one 8,192nd of the maximum",
    xds={
        "ring_sizes": lambda config: (
            config.minimum_ring_size.value or max(1, ring_sizes(config)[1] // 8192),
            ring_sizes(config)[1],
        )
    },
)


defaults_swapped = Mutant(
    clause="A42-CDS-06",
    broken="the defaults of minimum and maximum are swapped",
    xds={
        "ring_sizes": lambda config: (
            config.minimum_ring_size.value or LARGEST_RING,
            config.maximum_ring_size.value or DEFAULT_MINIMUM,
        )
    },
)


def once_set(config: Any) -> tuple[int, int]:
    """Keep the last minimum that a Cluster has set."""
    minimum, maximum = ring_sizes(config)
    if config.HasField("minimum_ring_size"):
        SET[:] = [minimum]
    return (SET[0] if SET else minimum), maximum


SET: list[int] = []


minimum_kept_when_unset = Mutant(
    clause="A42-CDS-06",
    broken="an update that no longer sets the minimum keeps the minimum before",
    xds={"ring_sizes": once_set},
)


maximum_defaults_to_the_cap = Mutant(
    clause="A42-CDS-07",
    broken="an unset maximum means 4,096, so a larger minimum is rejected",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config)[0],
            config.maximum_ring_size.value or DEFAULT_MAXIMUM,
        )
    },
    issue="https://github.com/grpc/grpc-rust/pull/2701",
)


maximum_defaults_to_the_cap_and_wins = Mutant(
    clause="A42-CDS-07",
    broken="an unset maximum means 4,096 whatever the cap, and lowers a larger minimum",
    xds={
        "ring_sizes": lambda config: (
            min(ring_sizes(config)[0], config.maximum_ring_size.value or DEFAULT_MAXIMUM),
            config.maximum_ring_size.value or DEFAULT_MAXIMUM,
        )
    },
)


maximum_defaults_to_eight_million = Mutant(
    clause="A42-CDS-07",
    broken="an unset maximum means 8,000,000, so a larger minimum is rejected",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config)[0],
            config.maximum_ring_size.value or EIGHT_MILLION,
        )
    },
)


maximum_of_the_extension_defaults_to_the_cap = Mutant(
    clause="A42-CDS-07",
    broken="an unset maximum in load_balancing_policy means 4,096",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config)[0],
            config.maximum_ring_size.value
            or (DEFAULT_MAXIMUM if config.DESCRIPTOR.name == "RingHash" else LARGEST_RING),
        )
    },
)


maximum_defaults_to_1024 = Mutant(
    clause="A42-CDS-07",
    broken="an unset maximum means the default of the minimum, and wins",
    xds={
        "ring_sizes": lambda config: (
            min(ring_sizes(config)[0], config.maximum_ring_size.value or DEFAULT_MINIMUM),
            config.maximum_ring_size.value or DEFAULT_MINIMUM,
        )
    },
)


sizes_not_checked = Mutant(
    clause="A42-CDS-08",
    broken="sizes are not validated",
    xds={
        "ring_size_is_accepted": lambda _size: True,
        "ring_sizes_fit": lambda _minimum, _maximum: True,
    },
    issue="https://github.com/grpc/grpc-go/pull/9384",
)


minimum_not_limited = Mutant(
    clause="A42-CDS-08",
    broken="the limit is checked on the maximum only",
    xds={
        "ring_size_is_accepted": lambda size: size >= 1,
        "ring_sizes_fit": lambda _minimum, maximum: maximum <= LARGEST_RING,
    },
)


minimum_of_32_bits = Mutant(
    clause="A42-CDS-08",
    broken="only the lower 32 bits of a minimum are read",
    xds={
        "ring_sizes": lambda config: (ring_sizes(config)[0] & LOWER_HALF, ring_sizes(config)[1]),
    },
)


maximum_not_limited = Mutant(
    clause="A42-CDS-09",
    broken="the limit is checked on the minimum only",
    xds={
        "ring_size_is_accepted": lambda size: size >= 1,
        "ring_sizes_fit": lambda minimum, maximum: minimum <= min(maximum, LARGEST_RING),
    },
)


maximum_of_32_bits = Mutant(
    clause="A42-CDS-09",
    broken="only the lower 32 bits of a maximum are read",
    xds={
        "ring_sizes": lambda config: (ring_sizes(config)[0], ring_sizes(config)[1] & LOWER_HALF),
    },
)


maximum_lowered_beside_a_minimum = Mutant(
    clause="A42-CDS-09",
    broken="a maximum above the limit is lowered to it if the Cluster has a minimum, too",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config)[0],
            min(ring_sizes(config)[1], LARGEST_RING)
            if config.HasField("minimum_ring_size")
            else ring_sizes(config)[1],
        )
    },
)


minimum_limit_of_8_million = Mutant(
    clause="A42-CDS-10",
    broken="8M means 8,000,000 in the check of the minimum",
    xds={
        "ring_sizes_fit": lambda minimum, maximum: (
            minimum <= EIGHT_MILLION and ring_sizes_fit(minimum, maximum)
        )
    },
)


limit_left_out = Mutant(
    clause="A42-CDS-10",
    broken="a size equal to the limit is rejected",
    xds={"ring_size_is_accepted": lambda size: ring_size_is_accepted(size) and size < LARGEST_RING},
)


maximum_limit_of_8_million = Mutant(
    clause="A42-CDS-11",
    broken="8M means 8,000,000",
    xds={
        "ring_size_is_accepted": lambda size: 1 <= size <= EIGHT_MILLION,
        "ring_sizes": lambda config: (
            ring_sizes(config)[0],
            config.maximum_ring_size.value or EIGHT_MILLION,
        ),
    },
)


minimum_of_8m_accepted_and_not_made = Mutant(
    clause="A42-CDS-10",
    broken="a minimum of 8M is accepted, but the ring has one entry for each endpoint",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config)[0] % LARGEST_RING or 1,
            ring_sizes(config)[1],
        )
    },
)


maximum_of_8m_accepted_and_zero = Mutant(
    clause="A42-CDS-11",
    broken="a maximum of 8M is accepted, but only its lower 23 bits are kept: zero",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config)[0],
            config.maximum_ring_size.value % LARGEST_RING
            if config.HasField("maximum_ring_size")
            else LARGEST_RING,
        ),
        "ring_size_is_accepted": lambda size: size <= LARGEST_RING,
        "ring_sizes_fit": lambda minimum, maximum: not maximum or ring_sizes_fit(minimum, maximum),
    },
)


minimum_above_maximum_accepted = Mutant(
    clause="A42-CDS-16",
    broken="a minimum above the maximum is accepted",
    xds={"ring_sizes_fit": lambda _minimum, _maximum: True},
    reports="minimum 64 above maximum 32: ACK, and a ring of the maximum",
)


default_gives_way = Mutant(
    clause="A42-CDS-16",
    broken="a maximum below 1,024 without a minimum is the minimum as well",
    xds={
        "ring_sizes": lambda config: (
            config.minimum_ring_size.value or min(DEFAULT_MINIMUM, ring_sizes(config)[1]),
            ring_sizes(config)[1],
        )
    },
    reports="maximum 50 alone: ACK, and a ring of the maximum",
)


minimum_of_zero_accepted = Mutant(
    clause="A42-CDS-17",
    broken="a minimum of zero is accepted, and makes an empty ring",
    xds={"ring_size_is_accepted": lambda size: size <= LARGEST_RING},
    reports="ACK, and calls fail",
    issue="https://github.com/envoyproxy/envoy/issues/31724",
)


minimum_of_zero_is_the_default = Mutant(
    clause="A42-CDS-17",
    broken="a minimum of zero means the default, as in grpc-go 1.85",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config)[0] or DEFAULT_MINIMUM,
            ring_sizes(config)[1],
        )
    },
    reports="ACK, and a ring of the default",
)


maximum_of_zero_is_the_default = Mutant(
    clause="A42-CDS-18",
    broken="a maximum of zero means the default, as in grpc-go 1.85",
    xds={
        "ring_sizes": lambda config: (ring_sizes(config)[0], ring_sizes(config)[1] or LARGEST_RING)
    },
    reports="ACK, and a ring of the default",
)


unused_config_checked = Mutant(
    clause="A42-CDS-20",
    broken="ring_hash_lb_config is validated under ROUND_ROBIN as well",
    xds={"checks_unused_config": True},
    reports="NACK",
)


# The hash function.

xx_hash_refused = Mutant(
    clause="A42-CDS-12",
    broken="XX_HASH is rejected",
    xds={"function_is_accepted": lambda function: function == MURMUR_HASH_2},
)


unset_function_refused = Mutant(
    clause="A42-CDS-15",
    broken="a config without a hash function is rejected",
    xds={"function_is_accepted": bool},
)


murmur_accepted = Mutant(
    clause="A42-CDS-13",
    broken="MURMUR_HASH_2 is accepted",
    xds={
        "function_is_accepted": lambda function: (
            function == MURMUR_HASH_2 or function_is_accepted(function)
        )
    },
)


unknown_function_accepted = Mutant(
    clause="A42-CDS-14",
    broken="only MURMUR_HASH_2 is rejected",
    xds={"function_is_accepted": lambda function: function != MURMUR_HASH_2},
)


# Updates.

nack_drops_the_old = Mutant(
    clause="A42-CDS-19",
    broken="a rejected Cluster also removes the accepted version",
    xds={"rejection_removes": lambda _noun, _features: True},
)


class LateNack:
    """Requests go one entry further from 0.1 s after a rejected resource."""

    def __init__(self) -> None:
        self._rejected = math.inf

    def version(self, accepted: str, _rejected: str) -> str:
        """Return the correct version, and note when a resource is rejected."""
        self._rejected = min(self._rejected, time.monotonic())
        return accepted

    def find_entry(self, hashes: Sequence[int], request_hash: int) -> int:
        """Return the correct entry, and later the one after it."""
        late = time.monotonic() > self._rejected + 0.1
        return (bisect_left(hashes, request_hash) + late) % len(hashes)


late = LateNack()


nack_takes_effect_late = Mutant(
    clause="A42-CDS-19",
    broken="a while after a Cluster was rejected, requests follow another ring",
    rules={"find_entry": late.find_entry},
    xds={"version_of_nack": late.version},
)


nack_names_what_it_rejects = Mutant(
    clause="A42-CDS-30",
    broken="a NACK names the version that it rejects",
    xds={"version_of_nack": lambda _accepted, rejected: rejected},
)


nack_names_nothing = Mutant(
    clause="A42-CDS-30",
    broken="a NACK names no version, as if none had been accepted",
    xds={"version_of_nack": lambda _accepted, _rejected: ""},
)


nack_without_a_word = Mutant(
    clause="A42-CDS-31",
    broken="a NACK has an empty error_detail",
    xds={"reason_of_nack": lambda _found: ""},
)


gap_between_policies = Mutant(
    clause="A42-CDS-32",
    broken="requests fail from the end of the old policy until the new one has a connection",
    rules={
        "report_of_new_policy": lambda _report: Report(
            State.TRANSIENT_FAILURE, FailPicker(Status.unavailable("the policy has changed"))
        )
    },
)


policy_stays_round_robin = Mutant(
    clause="A42-CDS-22",
    broken="a cluster keeps its first policy",
    xds={"supported_policy": for_good(supported_policy)},
    issue="https://github.com/grpc/grpc-java/issues/10006",
)


policy_stays_ring_hash = Mutant(
    clause="A42-CDS-23",
    broken="a cluster keeps its first policy",
    xds={"supported_policy": for_good(supported_policy)},
    issue="https://github.com/grpc/grpc-java/issues/10006",
)


first_sizes_for_good = Mutant(
    clause="A42-CDS-24",
    broken="the ring keeps its first sizes",
    rules={"capped_sizes": for_good(capped_sizes)},
    issue="https://github.com/grpc/grpc-go/issues/5460",
)


# Values and changes that are less than all of them.


def signed(size: int) -> int:
    """Return a number of 64 bits as if its top bit were a sign."""
    return size - 2**64 if size >> 63 else size


minimum_of_1024_at_most = Mutant(
    clause="A42-CDS-04",
    broken="a minimum above 1,024 is lowered to 1,024",
    xds={"ring_sizes": lambda config: (min(ring_sizes(config)[0], 1024), ring_sizes(config)[1])},
)


equal_sizes_rejected = Mutant(
    clause="A42-CDS-05",
    broken="a maximum that equals the minimum is rejected",
    xds={"ring_sizes_fit": lambda minimum, maximum: minimum < maximum},
)


minimum_is_signed = Mutant(
    clause="A42-CDS-08",
    broken="a minimum beyond 63 bits is negative, and so below the limit",
    xds={
        "ring_sizes": lambda config: (signed(ring_sizes(config)[0]), ring_sizes(config)[1]),
        "ring_size_is_accepted": lambda size: size <= LARGEST_RING,
    },
)


maximum_is_signed = Mutant(
    clause="A42-CDS-09",
    broken="a maximum beyond 63 bits is negative, which means none",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config)[0],
            signed(ring_sizes(config)[1]) if ring_sizes(config)[1] < 2**63 else LARGEST_RING,
        )
    },
)


def known_by_the_minimum() -> Callable[[Sizes, int], Sizes]:
    """Keep the first maximum that came with each minimum."""
    known: dict[int, Sizes] = {}
    return lambda sizes, cap: capped_sizes(known.setdefault(sizes.minimum, sizes), cap)


maximum_changes_nothing = Mutant(
    clause="A42-CDS-24",
    broken="an update that changes only the maximum makes no new ring",
    rules={"capped_sizes": known_by_the_minimum()},
)


def sizes_of_the_aggregate(above: Aggregate | None, leaf: Leaf) -> PolicyConfig:
    """Return the policy of the leaf, with the ring sizes of the aggregate."""
    if (
        above
        and isinstance(above.policy, RingHashConfig)
        and isinstance(leaf.policy, RingHashConfig)
    ):
        return above.policy
    return leaf.policy


sizes_from_above = Mutant(
    clause="A42-CDS-25",
    broken="each leaf has its own policy, but the ring sizes of the aggregate",
    rules={"policy_of_leaf": sizes_of_the_aggregate},
)


nack_names_the_first_version = Mutant(
    clause="A42-CDS-30",
    broken="every NACK names the version that was accepted when the first one was sent",
    xds={"version_of_nack": for_good(lambda accepted, _rejected: accepted)},
)


def changing_to(most: int) -> Callable[[int], str | None]:
    """Read the policy, but keep the last one after this many different ones in a row."""
    named: list[str | None] = []

    def read(lb_policy: int) -> str | None:
        policy = supported_policy(lb_policy)
        if len(named) < most and named[-1:] != [policy]:
            named.append(policy)
        return named[-1]

    return read


second_policy_for_good = Mutant(
    clause="A42-CDS-22",
    broken="a cluster changes its policy once, and never back",
    xds={"supported_policy": changing_to(2)},
)


second_policy_for_good_in_turn = Mutant(
    clause="A42-CDS-23",
    broken="a cluster changes its policy once, and never again",
    xds={"supported_policy": changing_to(3)},
)


class KeptWithoutConfig:
    """The sizes of the last config stay when an update has none."""

    def __init__(self) -> None:
        self._sizes = (DEFAULT_MINIMUM, LARGEST_RING)

    def __call__(self, config: Any) -> tuple[int, int]:
        """Return the sizes of a config, or those of the one before."""
        if config.ListFields():
            self._sizes = ring_sizes(config)
        return self._sizes


removed_config_kept = Mutant(
    clause="A42-CDS-03",
    broken="an update that removes ring_hash_lb_config leaves the sizes as they are",
    xds={"ring_sizes": KeptWithoutConfig()},
)


def accepted_with(field: str) -> dict[str, Any]:
    """Return rules that accept MAGLEV only in a Cluster that has this config."""
    return {
        "supported_policy": lambda policy: supported_policy(2 if policy == MAGLEV else policy),
        "cluster_errors": refusing(
            lambda cluster: cluster.lb_policy == MAGLEV and not cluster.HasField(field)
        ),
    }


maglev_with_its_config = Mutant(
    clause="A42-CDS-21",
    broken="MAGLEV is accepted if the Cluster has maglev_lb_config",
    xds=accepted_with("maglev_lb_config"),
)


maglev_with_a_ring_config = Mutant(
    clause="A42-CDS-21",
    broken="MAGLEV is treated as RING_HASH if the Cluster has ring_hash_lb_config",
    xds=accepted_with("ring_hash_lb_config"),
)


def policy_of_the_first_leaf() -> Callable[[Aggregate | None, Leaf], PolicyConfig]:
    """Use the policy of the first leaf for all leaves of an aggregate."""
    first: dict[str, PolicyConfig] = {}
    return lambda above, leaf: first.setdefault(above.name, leaf.policy) if above else leaf.policy


first_leaf_for_all = Mutant(
    clause="A42-CDS-25",
    broken="the policy of the first leaf applies to all leaves of an aggregate",
    rules={"policy_of_leaf": policy_of_the_first_leaf()},
)


no_config_has_the_usual_cap = Mutant(
    clause="A42-CDS-03",
    broken="without ring_hash_lb_config the maximum is 4,096, whatever the cap",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config) if config.ListFields() else (DEFAULT_MINIMUM, DEFAULT_MAXIMUM)
        )
    },
)
