"""Mutants of the clauses in ejection_time.toml."""

from __future__ import annotations

from typing import Final

from client_under_test.reference.editions.mutants import Mutant

VARIANT: Final = "outlier-detection"


until_the_next_sweep = Mutant(
    clause="A50-TIME-01",
    broken="an ejection ends at the next sweep",
    rules={"ejection_seconds": lambda _settings, _multiplier: 0.0},
    variant=VARIANT,
)


always_the_base = Mutant(
    clause="A50-TIME-02",
    broken="each ejection lasts for base_ejection_time",
    rules={"ejection_seconds": lambda settings, _multiplier: settings.base_ejection_time},
    variant=VARIANT,
)


without_a_limit = Mutant(
    clause="A50-TIME-03",
    broken="max_ejection_time does not limit ejections",
    rules={
        "ejection_seconds": lambda settings, multiplier: settings.base_ejection_time * multiplier
    },
    variant=VARIANT,
)


below_the_base = Mutant(
    clause="A50-TIME-04",
    broken="max_ejection_time limits ejections even below base_ejection_time",
    rules={
        "ejection_seconds": lambda settings, multiplier: min(
            settings.base_ejection_time * multiplier, settings.max_ejection_time
        )
    },
    variant=VARIANT,
)


never_calmed = Mutant(
    clause="A50-TIME-05",
    broken="sweeps without ejection do not shorten the next one",
    rules={"calmed_multiplier": lambda multiplier: multiplier},
    variant=VARIANT,
)
