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
    OnlyAt,
    Outcome,
    Outcomes,
    Reaches,
    SeveralEndpoints,
    Shares,
    Spread,
)
from conformance.expectations.connections import (
    Apart,
    AtMost,
    Different,
    InOrder,
    Tried,
    Untouched,
)
from conformance.expectations.course import FailsForAReason, OnlyListed
from conformance.expectations.durations import Takes
from conformance.expectations.load import Balances
from conformance.expectations.mapping import Calibration, MapsLike, told_apart
from conformance.expectations.picking import Blames, Connects, Picks
from conformance.expectations.states import EndsIn, NeverIn
from conformance.expectations.weighing import Finding, WrongKind
from conformance.seen import Seen

Expectation = (
    Outcome
    | Outcomes
    | OneEndpoint
    | SeveralEndpoints
    | Everywhere
    | OnlyAt
    | Avoids
    | Reaches
    | Shares
    | Evenly
    | Untouched
    | Answered
    | MovesOnly
    | Spread
    | MapsLike
    | Tried
    | InOrder
    | Apart
    | AtMost
    | Different
    | Takes
    | Picks
    | Connects
    | Blames
    | EndsIn
    | NeverIn
    | Balances
    | OnlyListed
    | FailsForAReason
)


def fits(expectation: Expectation, seen: Seen) -> bool:
    """Whether an expectation holds, where nobody needs its words."""
    if isinstance(expectation, MapsLike):
        return expectation.fits(seen)
    return expectation.finding(seen).holds


__all__ = [
    "Answered",
    "Apart",
    "AtMost",
    "Avoids",
    "Balances",
    "Blames",
    "Calibration",
    "Connects",
    "Different",
    "EndsIn",
    "Evenly",
    "Everywhere",
    "Expectation",
    "FailsForAReason",
    "Finding",
    "InOrder",
    "MapsLike",
    "MovesOnly",
    "NeverIn",
    "OneEndpoint",
    "OnlyAt",
    "OnlyListed",
    "Outcome",
    "Outcomes",
    "Picks",
    "Reaches",
    "SeveralEndpoints",
    "Shares",
    "Spread",
    "Takes",
    "Tried",
    "Untouched",
    "WrongKind",
    "fits",
    "told_apart",
]
