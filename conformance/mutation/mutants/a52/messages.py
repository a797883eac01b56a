"""Mutants of the clauses in messages.toml."""

from __future__ import annotations

from typing import Any, Final

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.ring_config import LARGEST_RING, ring_size_is_valid
from client_under_test.reference.xds.policy_list_rules import extension_function_is_accepted
from client_under_test.reference.xds.rules import ring_sizes

UNSET, MURMUR_HASH_2 = 0, 2
IN_LOCALITIES: Final[dict[str, Any]] = {
    "xds_wrr_locality_experimental": {"childPolicy": [{"round_robin": {}}]}
}


def of_the_message(config: Any) -> bool:
    """Whether it is that of the list, and not that beside lb_policy."""
    return bool(config.DESCRIPTOR.name == "RingHash")


minimum_ignored = Mutant(
    clause="A52-RING-01",
    broken="the minimum of the message is not read",
    xds={
        "ring_sizes": lambda config: (
            (1024, ring_sizes(config)[1]) if of_the_message(config) else ring_sizes(config)
        )
    },
)

maximum_ignored = Mutant(
    clause="A52-RING-02",
    broken="the maximum of the message is not read",
    xds={
        "ring_sizes": lambda config: (
            (min(ring_sizes(config)), LARGEST_RING)
            if of_the_message(config)
            else ring_sizes(config)
        )
    },
)

unset_minimum_is_one = Mutant(
    clause="A52-RING-03",
    broken="a minimum that the message does not set is one",
    xds={
        "ring_sizes": lambda config: (
            (config.minimum_ring_size.value or 1, ring_sizes(config)[1])
            if of_the_message(config)
            else ring_sizes(config)
        )
    },
)

sizes_not_limited = Mutant(
    clause="A52-RING-04",
    broken="sizes of any number are accepted",
    xds={"size_is_accepted": lambda size: size > LARGEST_RING or ring_size_is_valid(size)},
)

xx_hash_refused = Mutant(
    clause="A52-RING-05",
    broken="the number of XX_HASH is that of ring_hash_lb_config",
    xds={"extension_function_is_accepted": lambda function: function == UNSET},
)

murmur_accepted = Mutant(
    clause="A52-RING-06",
    broken="MURMUR_HASH_2 is accepted",
    xds={
        "extension_function_is_accepted": lambda function: (
            function == MURMUR_HASH_2 or extension_function_is_accepted(function)
        )
    },
)

unknown_function_accepted = Mutant(
    clause="A52-RING-06",
    broken="a function that is not known is accepted",
    xds={"extension_function_is_accepted": lambda function: function not in {UNSET, MURMUR_HASH_2}},
)

unset_function_accepted = Mutant(
    clause="A52-RING-07",
    broken="a function that is not set is XX_HASH",
    xds={"extension_function_is_accepted": lambda function: function in {UNSET, 1}},
    reports="accepted",
)

minimum_above_maximum_accepted = Mutant(
    clause="A52-RING-08",
    broken="a minimum above the maximum is accepted",
    xds={"sizes_fit": lambda _minimum, _maximum: True},
    reports="accepted",
)

zero_accepted = Mutant(
    clause="A52-RING-09",
    broken="sizes of zero mean the defaults",
    xds={
        "ring_sizes": lambda config: (
            ring_sizes(config)[0] or 1024,
            ring_sizes(config)[1] or LARGEST_RING,
        )
    },
    reports="accepted",
)

turns_in_localities = Mutant(
    clause="A52-ROUND-01",
    broken="RoundRobin is put into WrrLocality, as ROUND_ROBIN is",
    xds={"round_robin_config": lambda _config: IN_LOCALITIES},
)

fields_of_round_robin_count = Mutant(
    clause="A52-ROUND-02",
    broken="a RoundRobin that weighs localities is put into WrrLocality",
    xds={
        "round_robin_config": lambda config: (
            IN_LOCALITIES if config.HasField("locality_lb_config") else {"round_robin": {}}
        )
    },
)
