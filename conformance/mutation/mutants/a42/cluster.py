"""Mutants of the clauses in cluster.toml."""

from itertools import count

from client_under_test.reference.mutants import Mutant, for_good
from client_under_test.reference.policies import aggregates
from client_under_test.reference.policies.configs import DEFAULT_MAXIMUM, DEFAULT_MINIMUM
from client_under_test.reference.policies.ring import capped_sizes
from client_under_test.reference.policies.ring_config import (
    LARGEST_RING,
    ring_size_is_valid,
    sizes_fit,
)
from client_under_test.reference.xds.rules import function_is_accepted, ring_sizes, supported_policy

MURMUR_HASH_2 = 1
MAGLEV = 5
LOWER_HALF = 0xFFFFFFFF
EIGHT_MILLION = 8_000_000

# Which policy.

ring_hash_refused = Mutant(
    clause="A42-CDS-01",
    broken="RING_HASH is an error",
    xds={"supported_policy": {0: "ROUND_ROBIN"}.get},
)

ring_hash_is_round_robin = Mutant(
    clause="A42-CDS-01",
    broken="RING_HASH is accepted, and balanced in turn",
    xds={"supported_policy": lambda policy: supported_policy(policy) and "ROUND_ROBIN"},
)

round_robin_refused = Mutant(
    clause="A42-CDS-02",
    broken="ROUND_ROBIN is an error",
    xds={"supported_policy": {2: "RING_HASH"}.get},
)

round_robin_is_ring_hash = Mutant(
    clause="A42-CDS-02",
    broken="ROUND_ROBIN is accepted, and balanced by hash",
    xds={"supported_policy": lambda policy: supported_policy(policy) and "RING_HASH"},
)

round_robin_draws_lots = Mutant(
    clause="A42-CDS-02",
    broken="ROUND_ROBIN is accepted, and balanced by lot",
    rules={"turns": lambda members, rng: (rng.randrange(members) for _ in count())},
)

maglev_is_ring_hash = Mutant(
    clause="A42-CDS-21",
    broken="MAGLEV is taken for RING_HASH",
    xds={"supported_policy": lambda policy: supported_policy(2 if policy == MAGLEV else policy)},
    reports="ACK, and calls succeed",
)

policy_of_the_aggregate = Mutant(
    clause="A42-CDS-25",
    broken="the policy of the aggregate holds for its leaves, though A75 is stated",
    rules={"policy_source": aggregates.policy_of_the_aggregate},
)

policy_of_the_leaf = Mutant(
    clause="A42-CDS-25",
    broken="each leaf has its own policy, though A75 is not stated",
    rules={"policy_source": aggregates.policy_of_the_leaf},
    edition="seed",
)

ring_hash_guarded = Mutant(
    clause="A42-CDS-26",
    broken="RING_HASH is an error",
    xds={"supported_policy": {0: "ROUND_ROBIN"}.get},
    reports="refused when unset",
)

ring_hash_guarded_and_accepted = Mutant(
    clause="A42-CDS-26",
    broken="RING_HASH is accepted, and balanced in turn",
    xds={"supported_policy": lambda policy: supported_policy(policy) and "ROUND_ROBIN"},
    reports="balanced otherwise when unset",
)

# The sizes.

unset_sizes_are_zero = Mutant(
    clause="A42-CDS-03",
    broken="sizes that are not set are read as zero, which is an error",
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
    broken="sizes reach the policy as strings, as 64-bit numbers do in JSON, and are passed over",
    xds={"ring_sizes": lambda _config: (DEFAULT_MINIMUM, LARGEST_RING)},
)

maximum_ignored = Mutant(
    clause="A42-CDS-05",
    broken="the maximum is not read",
    xds={"ring_sizes": lambda config: (ring_sizes(config)[0], LARGEST_RING)},
)

sizes_compared_as_strings = Mutant(
    clause="A42-CDS-05",
    broken='sizes are compared as the strings that they are in JSON: "8" is more than "12"',
    xds={"sizes_fit": lambda minimum, maximum: str(minimum) <= str(maximum)},
)

minimum_defaults_to_one = Mutant(
    clause="A42-CDS-06",
    broken="a minimum that is not set is one",
    xds={"ring_sizes": lambda config: (config.minimum_ring_size.value or 1, ring_sizes(config)[1])},
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

maximum_defaults_to_the_cap = Mutant(
    clause="A42-CDS-07",
    broken="a maximum that is not set is 4,096, so a larger minimum is refused",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config)[0],
            config.maximum_ring_size.value or DEFAULT_MAXIMUM,
        )
    },
    issue="https://github.com/grpc/grpc-rust/pull/2701",
)

maximum_defaults_to_1024 = Mutant(
    clause="A42-CDS-07",
    broken="a maximum that is not set is the minimum's default, and wins",
    xds={
        "ring_sizes": lambda config: (
            min(ring_sizes(config)[0], config.maximum_ring_size.value or DEFAULT_MINIMUM),
            config.maximum_ring_size.value or DEFAULT_MINIMUM,
        )
    },
)

sizes_not_checked = Mutant(
    clause="A42-CDS-08",
    broken="sizes are not looked at when the Cluster is read",
    xds={"size_is_accepted": lambda _size: True, "sizes_fit": lambda _minimum, _maximum: True},
    issue="https://github.com/grpc/grpc-go/pull/9384",
)

minimum_not_limited = Mutant(
    clause="A42-CDS-08",
    broken="the limit is checked on the maximum only",
    xds={
        "size_is_accepted": lambda size: size >= 1,
        "sizes_fit": lambda _minimum, maximum: maximum <= LARGEST_RING,
    },
)

minimum_of_32_bits = Mutant(
    clause="A42-CDS-08",
    broken="of a minimum the lower 32 bits are read",
    xds={
        "ring_sizes": lambda config: (ring_sizes(config)[0] & LOWER_HALF, ring_sizes(config)[1]),
    },
)

maximum_not_limited = Mutant(
    clause="A42-CDS-09",
    broken="the limit is checked on the minimum only",
    xds={
        "size_is_accepted": lambda size: size >= 1,
        "sizes_fit": lambda minimum, maximum: minimum <= min(maximum, LARGEST_RING),
    },
)

maximum_of_32_bits = Mutant(
    clause="A42-CDS-09",
    broken="of a maximum the lower 32 bits are read",
    xds={
        "ring_sizes": lambda config: (ring_sizes(config)[0], ring_sizes(config)[1] & LOWER_HALF),
    },
)

minimum_limit_of_8_million = Mutant(
    clause="A42-CDS-10",
    broken="8M is taken for 8,000,000 where the minimum is checked",
    xds={
        "sizes_fit": lambda minimum, maximum: (
            minimum <= EIGHT_MILLION and sizes_fit(minimum, maximum)
        )
    },
)

limit_left_out = Mutant(
    clause="A42-CDS-10",
    broken="the limit itself is refused",
    xds={"size_is_accepted": lambda size: ring_size_is_valid(size) and size < LARGEST_RING},
)

maximum_limit_of_8_million = Mutant(
    clause="A42-CDS-11",
    broken="8M is taken for 8,000,000",
    xds={
        "size_is_accepted": lambda size: 1 <= size <= EIGHT_MILLION,
        "ring_sizes": lambda config: (
            ring_sizes(config)[0],
            config.maximum_ring_size.value or EIGHT_MILLION,
        ),
    },
)

minimum_above_maximum_accepted = Mutant(
    clause="A42-CDS-16",
    broken="a minimum above the maximum is accepted",
    xds={"sizes_fit": lambda _minimum, _maximum: True},
    reports="ACK, and calls succeed",
)

minimum_of_zero_accepted = Mutant(
    clause="A42-CDS-17",
    broken="a minimum of zero is accepted, and makes an empty ring",
    xds={"size_is_accepted": lambda size: size <= LARGEST_RING},
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
    reports="ACK, and calls succeed",
)

maximum_of_zero_is_the_default = Mutant(
    clause="A42-CDS-18",
    broken="a maximum of zero means the default, as in grpc-go 1.85",
    xds={
        "ring_sizes": lambda config: (ring_sizes(config)[0], ring_sizes(config)[1] or LARGEST_RING)
    },
    reports="ACK, and calls succeed",
)

unused_config_checked = Mutant(
    clause="A42-CDS-20",
    broken="ring_hash_lb_config is checked beside ROUND_ROBIN, too",
    xds={"checks_unused_config": True},
    reports="NACK",
)

# The hash function.

xx_hash_refused = Mutant(
    clause="A42-CDS-12",
    broken="XX_HASH is refused",
    xds={"function_is_accepted": lambda function: function == MURMUR_HASH_2},
)

unset_function_refused = Mutant(
    clause="A42-CDS-15",
    broken="a config without a hash function is refused",
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
    broken="only MURMUR_HASH_2 is refused",
    xds={"function_is_accepted": lambda function: function != MURMUR_HASH_2},
)

# Updates.

nack_drops_the_old = Mutant(
    clause="A42-CDS-19",
    broken="a rejected Cluster takes the accepted one with it",
    xds={"keeps_what_was_good": False},
)

policy_stays_round_robin = Mutant(
    clause="A42-CDS-22",
    broken="a cluster keeps the policy that it had first",
    xds={"supported_policy": for_good(supported_policy)},
    issue="https://github.com/grpc/grpc-java/issues/10006",
)

policy_stays_ring_hash = Mutant(
    clause="A42-CDS-23",
    broken="a cluster keeps the policy that it had first",
    xds={"supported_policy": for_good(supported_policy)},
    issue="https://github.com/grpc/grpc-java/issues/10006",
)

first_sizes_for_good = Mutant(
    clause="A42-CDS-24",
    broken="the ring goes on being made with the first sizes",
    rules={"capped_sizes": for_good(capped_sizes)},
    issue="https://github.com/grpc/grpc-go/issues/5460",
)
