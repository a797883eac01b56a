"""Mutants of the clauses in weighted_round_robin.toml."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.values import BackendMetrics
from client_under_test.reference.xds.policy_list_rules import WEIGHTED

EDITION: Final = "weighted-round-robin"


ENDPOINTS: Final = 2


SHORTEST: Final = 100_000_000
"""The fewest nanoseconds of a weight_update_period that is used unchanged."""


any_penalty = Mutant(
    clause="A58-WRR-01",
    broken="a negative penalty is accepted",
    xds={"penalty_is_accepted": lambda _: True},
    edition=EDITION,
)


short_periods_refused = Mutant(
    clause="A58-WRR-02",
    broken="periods below 100 ms are rejected",
    xds={
        "time_is_accepted": lambda _field, nanoseconds: nanoseconds == 0 or nanoseconds > SHORTEST
    },
    edition=EDITION,
)


short_periods_kept = Mutant(
    clause="A58-WRR-07",
    broken="a weight_update_period below 100 ms is used unchanged",
    rules={"shortest_update": 0.0},
    edition=EDITION,
)


any_length = Mutant(
    clause="A58-WRR-03",
    broken="negative periods are accepted",
    xds={"time_is_accepted": lambda _field, _nanoseconds: True},
    edition=EDITION,
    reports="accepted",
)


any_parts = Mutant(
    clause="A58-WRR-04",
    broken="a period may have any seconds and nanoseconds",
    xds={"is_duration": lambda _seconds, _nanoseconds: True},
    edition=EDITION,
    reports="accepted",
)


passed_over = Mutant(
    clause="A58-WRR-05",
    broken="ClientSideWeightedRoundRobin is skipped, though A58 is declared",
    xds={"supports": lambda type_url: type_url != WEIGHTED},
    edition=EDITION,
)


def only_at_first() -> Callable[[bool, bool], bool]:
    """Allow one attempt for each of two endpoints."""
    attempts = itertools.count(1)
    return lambda _before_the_list, _before_its_turn: next(attempts) <= ENDPOINTS


never_tried_again = Mutant(
    clause="A58-WRR-06",
    broken="endpoints that have failed are never tried again",
    rules={"tries_address": only_at_first()},
    edition=EDITION,
    issue="https://github.com/grpc/grpc-java/pull/10868",
)


no_weights = Mutant(
    clause="A58-LOAD-01",
    broken="all backends that report load have the same weight",
    rules={"weight": lambda _rps, _load: 1.0},
    edition=EDITION,
)


rate_left_out = Mutant(
    clause="A58-LOAD-01",
    broken="the weight is the inverse of the utilization, whatever the rate",
    rules={"weight": lambda _rps, load: 1 / load if load else 0.0},
    edition=EDITION,
)


weight_upside_down = Mutant(
    clause="A58-LOAD-01",
    broken="a backend with more utilization has more weight",
    rules={"weight": lambda rps, load: rps * load},
    edition=EDITION,
)


def _application_alone(metrics: BackendMetrics) -> float:
    return metrics.application_utilization


def _cpu_first(metrics: BackendMetrics) -> float:
    return metrics.cpu_utilization or metrics.application_utilization


cpu_left_out = Mutant(
    clause="A58-LOAD-01",
    broken="backends that report cpu_utilization alone have no weight",
    rules={"utilization": _application_alone},
    edition=EDITION,
)


cpu_first = Mutant(
    clause="A58-LOAD-02",
    broken="cpu_utilization counts, and application_utilization only without it",
    rules={"utilization": _cpu_first},
    edition=EDITION,
)


errors_left_out = Mutant(
    clause="A58-LOAD-03",
    broken="errors of a backend do not count",
    rules={"penalty_of_errors": lambda _metrics, _multiplier: 0.0},
    edition=EDITION,
)


penalty_left_out = Mutant(
    clause="A58-LOAD-03",
    broken="errors of a backend count as with the default penalty",
    rules={"penalty_of_errors": lambda metrics, _multiplier: metrics.eps / metrics.rps},
    edition=EDITION,
)


errors_not_by_rate = Mutant(
    clause="A58-LOAD-03",
    broken="the errors per second are not divided by the requests per second",
    rules={"penalty_of_errors": lambda metrics, multiplier: metrics.eps * multiplier},
    edition=EDITION,
)


no_blackout = Mutant(
    clause="A58-LOAD-04",
    broken="a weight counts from the first report on",
    rules={"in_blackout": lambda _seconds, _blackout: False},
    edition=EDITION,
)


expires_with_the_blackout = Mutant(
    clause="A58-LOAD-05",
    broken="a weight expires after the blackout_period",
    rules={"is_expired": lambda seconds, _expiration, blackout: seconds >= blackout},
    edition=EDITION,
)


never_expires = Mutant(
    clause="A58-LOAD-05",
    broken="a weight never expires",
    rules={"is_expired": lambda _seconds, _expiration, _blackout: False},
    edition=EDITION,
)


zero_unset = Mutant(
    clause="A58-LOAD-06",
    broken="a time or a penalty of zero counts as its default",
    xds={"is_set": lambda number: number != 0},
    edition=EDITION,
)
