"""Mutants of the clauses in ejection_time.toml."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.outlier_detection import OutlierSettings
from client_under_test.reference.xds.cluster_rules import outlier_settings

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


def scaled(factor: float) -> dict[str, Any]:
    """Return the rules of a client with a longer or shorter interval."""

    def settings(message: Any) -> OutlierSettings:
        right = outlier_settings(message)
        return msgspec.structs.replace(right, interval=right.interval * factor)

    return {"outlier_settings": settings}


every_other_interval = Mutant(
    clause="A50-TIME-06",
    broken="sweeps are two intervals apart",
    xds=scaled(2),
    variant=VARIANT,
)


twice_in_an_interval = Mutant(
    clause="A50-TIME-06",
    broken="sweeps are half an interval apart",
    xds=scaled(0.5),
    variant=VARIANT,
)


no_time_by_default = Mutant(
    clause="A50-TIME-07",
    broken="max_ejection_time is 0 by default",
    xds={
        "outlier_settings": lambda message: (
            outlier_settings(message)
            if message is None or message.HasField("max_ejection_time")
            else msgspec.structs.replace(outlier_settings(message), max_ejection_time=0.0)
        )
    },
    variant=VARIANT,
)
