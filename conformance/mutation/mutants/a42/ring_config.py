"""Mutants of the clauses in ring_config.toml."""

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import (
    DEFAULT_MAXIMUM,
    DEFAULT_MINIMUM,
    RING_CAP,
)
from client_under_test.reference.policies.rules.ring import Sizes, capped_sizes
from client_under_test.reference.policies.rules.ring_config import LARGEST_RING

no_cap = Mutant(
    clause="A42-CONF-01",
    broken="there is no local cap",
    rules={"capped_sizes": lambda sizes, _cap: sizes},
    issue="https://github.com/grpc/grpc-go/pull/5801",
)

minimum_above_the_cap = Mutant(
    clause="A42-CONF-01",
    broken="the cap applies to the maximum only, and a larger minimum overrides it",
    rules={
        "capped_sizes": lambda sizes, cap: Sizes(
            sizes.minimum, max(sizes.minimum, min(sizes.maximum, cap))
        )
    },
)

maximum_above_the_cap = Mutant(
    clause="A42-CONF-02",
    broken="the cap applies to the minimum only",
    rules={"capped_sizes": lambda sizes, cap: Sizes(min(sizes.minimum, cap), sizes.maximum)},
)

no_option = Mutant(
    clause="A42-CONF-03",
    broken="the option is ignored: the cap is always 4,096",
    rules={"capped_sizes": lambda sizes, _cap: capped_sizes(sizes, RING_CAP)},
    issue="https://github.com/grpc/grpc-go/pull/5884",
)

maximum_filled_in_small = Mutant(
    clause="A42-CONF-04",
    broken="an unset maximum of a Cluster means 4,096, whatever the cap",
    xds={
        "ring_sizes": lambda config: (
            config.minimum_ring_size.value or DEFAULT_MINIMUM,
            config.maximum_ring_size.value or RING_CAP,
        )
    },
    issue="https://github.com/grpc/grpc-rust/pull/2701",
)

cap_of_16384 = Mutant(
    clause="A42-CONF-04",
    broken="the default cap is 16,384 if a Cluster sets no maximum",
    rules={
        "capped_sizes": lambda sizes, cap: capped_sizes(
            sizes, 16384 if sizes.maximum == LARGEST_RING else cap
        )
    },
)

config_without_minimum = Mutant(
    clause="A42-CONF-06",
    broken="an unset minimum of the policy's own config means one",
    xds={"ring_defaults": (1, DEFAULT_MAXIMUM)},
)

config_without_maximum = Mutant(
    clause="A42-CONF-07",
    broken="an unset maximum of the policy's own config means 8M, as in the xDS API",
    xds={"ring_defaults": (DEFAULT_MINIMUM, LARGEST_RING)},
)

config_without_maximum_ends_at_1024 = Mutant(
    clause="A42-CONF-07",
    broken="an unset maximum of the policy's own config means 1,024",
    xds={"ring_defaults": (DEFAULT_MINIMUM, DEFAULT_MINIMUM)},
)

cap_only_raised = Mutant(
    clause="A42-CONF-05",
    broken="the option can raise the cap but not lower it",
    rules={"capped_sizes": lambda sizes, cap: capped_sizes(sizes, max(cap, RING_CAP))},
)

lowered_below_the_minimum = Mutant(
    clause="A42-CONF-05",
    broken="a cap below the minimum does not lower the minimum",
    rules={
        "capped_sizes": lambda sizes, cap: Sizes(
            sizes.minimum, max(sizes.minimum, min(sizes.maximum, cap))
        )
    },
)
