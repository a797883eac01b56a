"""Mutants of the clauses in messages.toml."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.ring_config import (
    LARGEST_RING,
    ring_size_is_accepted,
)
from client_under_test.reference.xds.policy_list_rules import (
    PICK_FIRST,
    extension_function_is_accepted,
    prefers_extension,
    type_of_policy,
)
from client_under_test.reference.xds.rules import ring_sizes
from conformance.mutation.mutants.findings import overlooking_in, refusing

UNSET, MURMUR_HASH_2 = 0, 2


IN_LOCALITIES: Final[dict[str, Any]] = {
    "xds_wrr_locality_experimental": {"childPolicy": [{"round_robin": {}}]}
}


def of_the_message(config: Any) -> bool:
    """Return whether the config is from the list, not from ring_hash_lb_config."""
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


minimum_limited_to_the_default = Mutant(
    clause="A52-RING-01",
    broken="a minimum of the message above 1,024 counts as 1,024",
    xds={
        "ring_sizes": lambda config: (
            (min(1024, ring_sizes(config)[0]), ring_sizes(config)[1])
            if of_the_message(config)
            else ring_sizes(config)
        )
    },
)


class SameTypeSameConfig:
    """Keeps the list in use as long as the type of its first entry is the same."""

    def __init__(self) -> None:
        self._in_use: Sequence[Any] = ()

    def prefers(self, cluster: Any) -> bool:
        """Return whether there is a list, and forget the one in use if there is none."""
        if not prefers_extension(cluster):
            self._in_use = ()
        return prefers_extension(cluster)

    def entries_to_try(self, entries: Sequence[Any]) -> Sequence[Any]:
        """Return the entries in use."""
        types = [
            [type_of_policy(entry.typed_extension_config) for entry in listed[:1]]
            for listed in (entries, self._in_use)
        ]
        if types[0] != types[1]:
            self._in_use = tuple(entries)
        return self._in_use


SAME = SameTypeSameConfig()


config_of_the_same_type_kept = Mutant(
    clause="A52-RING-01",
    broken="an update that changes only the sizes of RingHash is ignored",
    xds={"entries_to_try": SAME.entries_to_try, "prefers_extension": SAME.prefers},
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


class MaximumOfTheMinimum:
    """Keeps the maximum of the message as long as its minimum is the same."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None

    def __call__(self, config: Any) -> tuple[int, int]:
        """Return the sizes in use."""
        sizes = ring_sizes(config)
        if not of_the_message(config):
            return sizes
        if self._last is None or self._last[0] != sizes[0]:
            self._last = sizes
        return self._last


maximum_of_the_minimum_kept = Mutant(
    clause="A52-RING-02",
    broken="an update that changes only the maximum of the message is ignored",
    xds={"ring_sizes": MaximumOfTheMinimum()},
)


unset_minimum_is_one = Mutant(
    clause="A52-RING-03",
    broken="an unset minimum of the message means one",
    xds={
        "ring_sizes": lambda config: (
            (config.minimum_ring_size.value or 1, ring_sizes(config)[1])
            if of_the_message(config)
            else ring_sizes(config)
        )
    },
)


sizes_cut_to_32_bits = Mutant(
    clause="A52-RING-04",
    broken="sizes are cut to 32 bits before they are compared with the limit",
    xds={"ring_size_is_accepted": lambda size: ring_size_is_accepted(size % 2**32)},
)


sizes_not_limited = Mutant(
    clause="A52-RING-04",
    broken="sizes of any value are accepted",
    xds={"ring_size_is_accepted": lambda size: size > LARGEST_RING or ring_size_is_accepted(size)},
)


sizes_below_localities_not_limited = Mutant(
    clause="A52-RING-04",
    broken="below WrrLocality sizes of any value are accepted",
    xds={"cluster_errors": overlooking_in("endpoint_picking_policy.", "is not between")},
)


xx_hash_refused = Mutant(
    clause="A52-RING-05",
    broken="XX_HASH has the number of ring_hash_lb_config",
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
    broken="an unknown hash function is accepted",
    xds={"extension_function_is_accepted": lambda function: function not in {UNSET, MURMUR_HASH_2}},
)


functions_below_localities = Mutant(
    clause="A52-RING-06",
    broken="below WrrLocality any hash function is accepted",
    xds={"cluster_errors": overlooking_in("endpoint_picking_policy.", "is not XX_HASH")},
)


unset_function_accepted = Mutant(
    clause="A52-RING-07",
    broken="an unset hash function means XX_HASH",
    xds={"extension_function_is_accepted": lambda function: function in {UNSET, 1}},
    reports="accepted",
)


minimum_above_maximum_accepted = Mutant(
    clause="A52-RING-08",
    broken="a minimum above the maximum is accepted",
    xds={"ring_sizes_fit": lambda _minimum, _maximum: True},
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
    broken="RoundRobin is wrapped in WrrLocality, like ROUND_ROBIN",
    xds={"round_robin_config": lambda _config: IN_LOCALITIES},
)


fields_of_round_robin_count = Mutant(
    clause="A52-ROUND-02",
    broken="a RoundRobin with locality weights is wrapped in WrrLocality",
    xds={
        "round_robin_config": lambda config: (
            IN_LOCALITIES if config.HasField("locality_lb_config") else {"round_robin": {}}
        )
    },
)


EXTENSIONS = "type.googleapis.com/envoy.extensions.load_balancing_policies"


ROUND_ROBIN = f"{EXTENSIONS}.round_robin.v3.RoundRobin"


LEAST_REQUEST = f"{EXTENSIONS}.least_request.v3.LeastRequest"


RANDOM_SUBSETTING = f"{EXTENSIONS}.random_subsetting.v3.RandomSubsetting"


WEIGHTED = f"{EXTENSIONS}.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin"


def turns_for(type_url: str, extension: Any) -> str:
    """Treat one type as RoundRobin."""
    return ROUND_ROBIN if type_of_policy(extension) == type_url else type_of_policy(extension)


pick_first_passed_over = Mutant(
    clause="A52-LIST-14",
    broken="PickFirst is skipped, though A62 is declared",
    xds={"supports_policy": lambda type_url: type_url != PICK_FIRST},
)


pick_first_taken = Mutant(
    clause="A52-LIST-14",
    broken="PickFirst is supported, though A62 is not declared",
    xds={"supports_policy": lambda _type_url: True},
    variant="seed",
)


least_request_taken = Mutant(
    clause="A52-LIST-15",
    broken="LeastRequest is treated as RoundRobin",
    xds={"type_of_policy": lambda extension: turns_for(LEAST_REQUEST, extension)},
    reports="used",
)


weighted_round_robin_taken = Mutant(
    clause="A52-LIST-16",
    broken="ClientSideWeightedRoundRobin is supported, though A58 is not declared",
    xds={"type_of_policy": lambda extension: turns_for(WEIGHTED, extension)},
)


random_subsetting_taken = Mutant(
    clause="A52-LIST-17",
    broken="RandomSubsetting is supported, though A68 is not declared",
    xds={"type_of_policy": lambda extension: turns_for(RANDOM_SUBSETTING, extension)},
)


random_subsetting_refused = Mutant(
    clause="A52-LIST-17",
    broken="a list with RandomSubsetting is rejected",
    xds={
        "cluster_errors": refusing(
            lambda message: any(
                RANDOM_SUBSETTING in entry.typed_extension_config.typed_config.type_url
                for entry in message.load_balancing_policy.policies
            )
        )
    },
)
