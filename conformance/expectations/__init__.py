"""What a clause expects of what was seen, as frozen values that can be written and weighed again.

Each expectation holds the inputs of its oracle, not the oracle's answer: the answer is computed
when it is weighed, so that an evidence folder is judged by the oracle of today.
"""

from __future__ import annotations

from conformance.expectations.answers import Answered
from conformance.expectations.calls import (
    Avoids,
    Evenly,
    Everywhere,
    MovesOnly,
    OneEndpoint,
    Outcome,
    Reaches,
    SeveralEndpoints,
    Shares,
    Spread,
)
from conformance.expectations.connections import Untouched
from conformance.expectations.mapping import Calibration, MapsLike
from conformance.expectations.weighing import Finding, WrongKind

Expectation = (
    Outcome
    | OneEndpoint
    | SeveralEndpoints
    | Everywhere
    | Avoids
    | Reaches
    | Shares
    | Evenly
    | Untouched
    | Answered
    | MovesOnly
    | Spread
    | MapsLike
)

__all__ = [
    "Answered",
    "Avoids",
    "Calibration",
    "Evenly",
    "Everywhere",
    "Expectation",
    "Finding",
    "MapsLike",
    "MovesOnly",
    "OneEndpoint",
    "Outcome",
    "Reaches",
    "SeveralEndpoints",
    "Shares",
    "Spread",
    "Untouched",
    "WrongKind",
]
