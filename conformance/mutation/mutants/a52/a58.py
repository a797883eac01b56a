"""Mutants of the clauses in a58.toml."""

from __future__ import annotations

from typing import Final

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.policy_list_rules import WEIGHTED

EDITION: Final = "weighted-round-robin"
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
