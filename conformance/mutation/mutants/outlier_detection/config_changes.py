"""Mutants of the clauses in config_changes.toml."""

from __future__ import annotations

from typing import Final

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.outlier_detection import Ejection

VARIANT: Final = "outlier-detection"


stay_ejected = Mutant(
    clause="A50-CONFIG-01",
    broken="ejections outlast the algorithms",
    rules={"after_noop": lambda ejection: ejection},
    variant=VARIANT,
)


multiplier_stays = Mutant(
    clause="A50-CONFIG-02",
    broken="the multiplier outlasts the algorithms",
    rules={"after_noop": lambda ejection: Ejection(None, ejection.multiplier)},
    variant=VARIANT,
)


timer_starts_anew = Mutant(
    clause="A50-CONFIG-03",
    broken="each config starts a whole interval",
    rules={"seconds_to_sweep": lambda interval, _since: interval},
    variant=VARIANT,
)


counts_reset = Mutant(
    clause="A50-CONFIG-04",
    broken="each config resets the counts",
    rules={"resets_counts": lambda _since: True},
    variant=VARIANT,
)


counts_from_before = Mutant(
    clause="A50-CONFIG-05",
    broken="calls from before the first algorithm count",
    rules={"resets_counts": lambda _since: False},
    variant=VARIANT,
)


first_config_alone = Mutant(
    clause="A50-CONFIG-06",
    broken="an update cannot set the first algorithm",
    rules={"takes_new_settings": False},
    variant=VARIANT,
)


remembered = Mutant(
    clause="A50-MAP-01",
    broken="an endpoint that returns is still ejected",
    rules={
        "entries_listed": lambda before, listed: {**{key: Ejection() for key in listed}, **before}
    },
    variant=VARIANT,
)


list_ends_ejections = Mutant(
    clause="A50-MAP-02",
    broken="each list of endpoints ends all ejections",
    rules={"entries_listed": lambda _before, listed: {key: Ejection() for key in listed}},
    variant=VARIANT,
)


weight_ends_ejection = Mutant(
    clause="A50-MAP-03",
    broken="a list with another weight ends all ejections",
    rules={"entries_listed": lambda _before, listed: {key: Ejection() for key in listed}},
    variant=VARIANT,
)
