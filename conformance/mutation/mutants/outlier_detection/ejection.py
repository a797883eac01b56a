"""Mutants of the clauses in ejection.toml."""

from __future__ import annotations

from typing import Final

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.outlier_detection import Ejection, call_counted

VARIANT: Final = "outlier-detection"


calls_of_all_intervals = Mutant(
    clause="A50-COUNT-01",
    broken="the calls of earlier intervals count as well",
    rules={"counts_after_sweep": lambda bucket: bucket},
    variant=VARIANT,
)


internal_alone = Mutant(
    clause="A50-COUNT-02",
    broken="no status but INTERNAL counts as a failure",
    rules={
        "call_counted": lambda bucket, status: call_counted(
            bucket, status if status == "INTERNAL" else "OK"
        )
    },
    variant=VARIANT,
)


one_too_many = Mutant(
    clause="A50-MAX-01",
    broken="one more endpoint is ejected at max_ejection_percent",
    rules={"may_eject": lambda ejected, total, percent: ejected * 100 <= percent * total},
    variant=VARIANT,
)


rounded_down = Mutant(
    clause="A50-MAX-01",
    broken="no endpoint is ejected that would exceed max_ejection_percent",
    rules={"may_eject": lambda ejected, total, percent: (ejected + 1) * 100 <= percent * total},
    variant=VARIANT,
)


none_of_few = Mutant(
    clause="A50-MAX-02",
    broken="no endpoint is ejected if one is more than max_ejection_percent",
    rules={"may_eject": lambda ejected, total, percent: (ejected + 1) * 100 <= percent * total},
    variant=VARIANT,
)


one_at_least = Mutant(
    clause="A50-MAX-03",
    broken="one endpoint is ejected whatever max_ejection_percent is",
    rules={
        "may_eject": lambda ejected, total, percent: not ejected or ejected * 100 < percent * total
    },
    variant=VARIANT,
    reports="ejected",
)


picked_all_the_same = Mutant(
    clause="A50-EJECT-01",
    broken="the child policy does not know which endpoints are ejected",
    rules={"tells_health": lambda _is_ejected: False},
    variant=VARIANT,
)


on_the_ring = Mutant(
    clause="A50-EJECT-02",
    broken="ring_hash does not know which endpoints are ejected",
    rules={"tells_health": lambda _is_ejected: False},
    variant=VARIANT,
)


never_the_last = Mutant(
    clause="A50-EJECT-03",
    broken="the last endpoint is never ejected",
    rules={"may_eject": lambda ejected, total, _percent: ejected + 1 < total},
    variant=VARIANT,
)


never_a_whole_priority = Mutant(
    clause="A50-EJECT-04",
    broken="two endpoints are never ejected",
    rules={"may_eject": lambda ejected, _total, _percent: not ejected},
    variant=VARIANT,
)


for_good = Mutant(
    clause="A50-EJECT-05",
    broken="an ejection does not end",
    rules={"unejected": lambda ejection: ejection},
    variant=VARIANT,
)


disconnected = Mutant(
    clause="A50-EJECT-06",
    broken="an ejected endpoint loses its connection",
    rules={"reconnects_ejected": True},
    variant=VARIANT,
)


ejected_twice = Mutant(
    clause="A50-EJECT-07",
    broken="the second algorithm ejects an endpoint once more",
    rules={"ejected_again": lambda ejection, now: Ejection(now, ejection.multiplier + 1)},
    variant=VARIANT,
    reports="twice",
)
