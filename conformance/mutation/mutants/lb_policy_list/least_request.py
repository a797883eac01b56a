"""Mutants of the clauses in least_request.toml."""

from __future__ import annotations

from typing import Final

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.least_request import choice_count
from client_under_test.reference.xds.policy_list_rules import LEAST_REQUEST
from client_under_test.reference.xds.rules import supported_policy
from conformance.mutation.mutants.findings import overlooking_in, refusing

VARIANT: Final = "least-request"


FOUR: Final = 4


MOST: Final = 10


ENUM: Final = 1


busier_ones = Mutant(
    clause="A48-LEAST-01",
    broken="any of the sampled endpoints is picked",
    rules={"least_loaded": lambda running, random: random.randrange(len(running))},
    variant=VARIANT,
)


old_field_refused = Mutant(
    clause="A48-LEAST-01",
    broken="LEAST_REQUEST as lb_policy is an error, though A48 is declared",
    xds={"supported_policy": lambda value: None if value == ENUM else supported_policy(value)},
    variant=VARIANT,
)


passed_over = Mutant(
    clause="A48-LEAST-02",
    broken="LeastRequest is skipped, though A48 is declared",
    xds={"supports_policy": lambda type_url: type_url != LEAST_REQUEST},
    variant=VARIANT,
)


always_two = Mutant(
    clause="A48-LEAST-03",
    broken="choice_count is ignored",
    xds={"choice_count": lambda written: choice_count(written) and choice_count(None)},
    variant=VARIANT,
)


always_ten = Mutant(
    clause="A48-LEAST-03",
    broken="every explicit choice_count counts as ten",
    xds={"choice_count": lambda written: choice_count(written and MOST)},
    variant=VARIANT,
)


always_four = Mutant(
    clause="A48-LEAST-03",
    broken="every explicit choice_count counts as four",
    xds={"choice_count": lambda written: choice_count(written and FOUR)},
    variant=VARIANT,
)


one_too_few = Mutant(
    clause="A48-LEAST-03",
    broken="one endpoint fewer than choice_count is sampled",
    xds={"choice_count": lambda written: choice_count(written) if written is None else written - 1},
    variant=VARIANT,
)


three_by_default = Mutant(
    clause="A48-LEAST-02",
    broken="without a choice_count three endpoints are sampled",
    xds={"choice_count": lambda written: choice_count(3 if written is None else written)},
    variant=VARIANT,
)


nine_at_most = Mutant(
    clause="A48-LEAST-04",
    broken="a choice_count above nine counts as nine",
    xds={"choice_count": lambda written: choice_count(written and min(written, MOST - 1))},
    variant=VARIANT,
)


eleven_at_most = Mutant(
    clause="A48-LEAST-04",
    broken="a choice_count above eleven counts as eleven",
    xds={
        "choice_count": lambda written: MOST + 1 if (written or 0) > MOST else choice_count(written)
    },
    variant=VARIANT,
)


two_for_too_many = Mutant(
    clause="A48-LEAST-04",
    broken="a choice_count above ten counts as unset",
    xds={"choice_count": lambda written: choice_count(None if (written or 0) > MOST else written)},
    variant=VARIANT,
)


too_many_refused = Mutant(
    clause="A48-LEAST-04",
    broken="a choice_count above ten is rejected",
    xds={
        "cluster_errors": refusing(
            lambda message: message.least_request_lb_config.choice_count.value > MOST
        )
    },
    variant=VARIANT,
)


any_count_below_wrr_locality = Mutant(
    clause="A48-LEAST-05",
    broken="a choice_count below WrrLocality is not validated",
    xds={"cluster_errors": overlooking_in("load_balancing_policy", "childPolicy")},
    variant=VARIANT,
)


one_is_enough = Mutant(
    clause="A48-LEAST-05",
    broken="a choice_count of one is accepted",
    xds={"choice_count": lambda written: 1 if written == 1 else choice_count(written)},
    variant=VARIANT,
)


localities_as_one = Mutant(
    clause="A48-LEAST-06",
    broken="LEAST_REQUEST samples the endpoints of all localities together",
    xds={"chooses_locality_by_weight": lambda lb_policy: lb_policy != "LEAST_REQUEST"},
    variant=VARIANT,
)


unset_for_zero = Mutant(
    clause="A48-LEAST-05",
    broken="a choice_count of zero counts as unset",
    xds={"choice_count": lambda written: choice_count(written or None)},
    variant=VARIANT,
)


negative_for_too_many = Mutant(
    clause="A48-LEAST-04",
    broken="a choice_count of 2^31 or more is negative, so it counts as two",
    xds={"choice_count": lambda written: choice_count(written if (written or 0) < 2**31 else 2)},
    variant=VARIANT,
)


random_below_localities = Mutant(
    clause="A48-LEAST-06",
    broken="least_request picks a random endpoint in each locality",
    xds={"choice_count": lambda _written: 1},
    variant=VARIANT,
)
