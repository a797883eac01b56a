"""Mutants of the clauses in weighted_round_robin.toml."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.values import BackendMetrics
from client_under_test.reference.xds.policy_list_rules import WEIGHTED

VARIANT: Final = "weighted-round-robin"


ENDPOINTS: Final = 2


MANY: Final = 200
"""Requests per second of a backend at full utilization."""


THREE: Final = 3


MILLISECOND: Final = 1_000_000


SHORTEST: Final = 100_000_000
"""The fewest nanoseconds of a weight_update_period that is used unchanged."""


any_penalty = Mutant(
    clause="A58-WRR-01",
    broken="a negative penalty is accepted",
    xds={"penalty_is_accepted": lambda _: True},
    variant=VARIANT,
)


short_periods_refused = Mutant(
    clause="A58-WRR-02",
    broken="periods below 100 ms are rejected",
    xds={
        "time_is_accepted": lambda _field, nanoseconds: nanoseconds == 0 or nanoseconds > SHORTEST
    },
    variant=VARIANT,
)


parts_of_milliseconds_refused = Mutant(
    clause="A58-WRR-02",
    broken="periods that are no whole number of milliseconds are rejected",
    xds={"time_is_accepted": lambda _field, nanoseconds: nanoseconds % MILLISECOND == 0},
    variant=VARIANT,
)


short_periods_kept = Mutant(
    clause="A58-WRR-07",
    broken="a weight_update_period below 100 ms is used unchanged",
    rules={"shortest_update": 0.0},
    variant=VARIANT,
)


any_length = Mutant(
    clause="A58-WRR-03",
    broken="negative periods are accepted",
    xds={"time_is_accepted": lambda _field, _nanoseconds: True},
    variant=VARIANT,
    reports="accepted",
)


any_parts = Mutant(
    clause="A58-WRR-04",
    broken="a period may have any seconds and nanoseconds",
    xds={"is_duration": lambda _seconds, _nanoseconds: True},
    variant=VARIANT,
    reports="accepted",
)


passed_over = Mutant(
    clause="A58-WRR-05",
    broken="ClientSideWeightedRoundRobin is skipped, though A58 is declared",
    xds={"supports_policy": lambda type_url: type_url != WEIGHTED},
    variant=VARIANT,
)


def only_at_first(each: int = 1) -> Callable[[bool, bool], bool]:
    """Allow `each` attempts for each of two endpoints."""
    attempts = itertools.count(1)
    return lambda _before_the_list, _before_its_turn: next(attempts) <= each * ENDPOINTS


never_tried_again = Mutant(
    clause="A58-WRR-06",
    broken="endpoints that have failed are never tried again",
    rules={"tries_address": only_at_first()},
    variant=VARIANT,
    issue="https://github.com/grpc/grpc-java/pull/10868",
)


tried_again_once = Mutant(
    clause="A58-WRR-06",
    broken="endpoints that have failed are tried again once, and then never more",
    rules={"tries_address": only_at_first(2)},
    variant=VARIANT,
)


no_weights = Mutant(
    clause="A58-LOAD-01",
    broken="all backends that report load have the same weight",
    rules={"weight": lambda _rps, _load: 1.0},
    variant=VARIANT,
)


rate_left_out = Mutant(
    clause="A58-LOAD-01",
    broken="the weight is the inverse of the utilization, whatever the rate",
    rules={"weight": lambda _rps, load: 1 / load if load else 0.0},
    variant=VARIANT,
)


weight_by_what_is_left = Mutant(
    clause="A58-LOAD-01",
    broken="the weight is the rate times the utilization that is left",
    rules={"weight": lambda rps, load: rps * max(0.0, 1 - load)},
    variant=VARIANT,
)


weight_by_rank = Mutant(
    clause="A58-LOAD-01",
    broken="a backend that serves more than 200 requests at full utilization has weight 3",
    rules={"weight": lambda rps, load: 3.0 if load and rps / load > MANY else 1.0},
    variant=VARIANT,
)


weight_upside_down = Mutant(
    clause="A58-LOAD-01",
    broken="a backend with more utilization has more weight",
    rules={"weight": lambda rps, load: rps * load},
    variant=VARIANT,
)


def _application_alone(metrics: BackendMetrics) -> float:
    return metrics.application_utilization


def _cpu_first(metrics: BackendMetrics) -> float:
    return metrics.cpu_utilization or metrics.application_utilization


cpu_left_out = Mutant(
    clause="A58-LOAD-01",
    broken="backends that report cpu_utilization alone have no weight",
    rules={"utilization": _application_alone},
    variant=VARIANT,
)


cpu_first = Mutant(
    clause="A58-LOAD-02",
    broken="cpu_utilization counts, and application_utilization only without it",
    rules={"utilization": _cpu_first},
    variant=VARIANT,
)


errors_left_out = Mutant(
    clause="A58-LOAD-03",
    broken="errors of a backend do not count",
    rules={"penalty_of_errors": lambda _metrics, _multiplier: 0.0},
    variant=VARIANT,
)


penalty_left_out = Mutant(
    clause="A58-LOAD-03",
    broken="errors of a backend count as with the default penalty",
    rules={"penalty_of_errors": lambda metrics, _multiplier: metrics.eps / metrics.rps},
    variant=VARIANT,
)


errors_not_by_rate = Mutant(
    clause="A58-LOAD-03",
    broken="the errors per second are not divided by the requests per second",
    rules={"penalty_of_errors": lambda metrics, multiplier: metrics.eps * multiplier},
    variant=VARIANT,
)


no_blackout = Mutant(
    clause="A58-LOAD-04",
    broken="a weight counts from the first report on",
    rules={"in_blackout": lambda _seconds, _blackout: False},
    variant=VARIANT,
)


expires_with_the_blackout = Mutant(
    clause="A58-LOAD-05",
    broken="a weight expires after the blackout_period",
    rules={"is_expired": lambda seconds, _expiration, blackout: seconds >= blackout},
    variant=VARIANT,
)


expires_after_three_seconds = Mutant(
    clause="A58-LOAD-05",
    broken="a weight expires after 3 s, whatever the weight_expiration_period",
    rules={"is_expired": lambda seconds, _expiration, _blackout: seconds >= THREE},
    variant=VARIANT,
)


never_expires = Mutant(
    clause="A58-LOAD-05",
    broken="a weight never expires",
    rules={"is_expired": lambda _seconds, _expiration, _blackout: False},
    variant=VARIANT,
)


zero_unset = Mutant(
    clause="A58-LOAD-06",
    broken="a time or a penalty of zero counts as its default",
    xds={"is_set": lambda number: number != 0},
    variant=VARIANT,
)
