"""What a clause expects of what was seen, as frozen values that can be written and weighed again.

Each expectation holds the inputs of its oracle, not the oracle's answer: the answer is computed
when it is weighed, so that an evidence folder is judged by the oracle of today.
"""

from __future__ import annotations

from conformance.judging.expectations.answers import (
    Answered,
    NamesEach,
    NamesTheResponse,
    NamesWhatHolds,
    SaysWhy,
)
from conformance.judging.expectations.backend_metrics import TellsMetrics
from conformance.judging.expectations.calls import (
    Avoids,
    Evenly,
    Everywhere,
    Fails,
    FewAlike,
    Mentions,
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
from conformance.judging.expectations.circuit_breaking import Admits, LosesShare
from conformance.judging.expectations.connections import (
    Apart,
    AtMost,
    Different,
    InOrder,
    KeepsConnection,
    Tried,
    Untouched,
)
from conformance.judging.expectations.durations import Takes
from conformance.judging.expectations.finding import Finding, WrongKind
from conformance.judging.expectations.load import Balances, DropsByShare, TellsDrops
from conformance.judging.expectations.load_streams import (
    BeginsLoadStreams,
    BeginsWithNode,
    EachHolds,
    LeavesLoadStreams,
    NamesOnly,
    SendsReports,
    TellsIssued,
    TellsNoEndpoints,
)
from conformance.judging.expectations.name_lookups import LooksUp, NeverLooksUp
from conformance.judging.expectations.picks import Blames, BlamesOnly, Connects, Picks
from conformance.judging.expectations.policy_updates import HandsOn
from conformance.judging.expectations.ring_mapping import MapsLike
from conformance.judging.expectations.soak import FailsForAReason, OnlyListed
from conformance.judging.expectations.states import EndsIn, NeverIn
from conformance.judging.expectations.subscriptions import (
    AsksBesideClusters,
    AsksFor,
    AsksOnce,
    GoesOnAsking,
)
from conformance.judging.expectations.trees import AtTheFirst, InTreeOrder
from conformance.judging.observations import Seen

Expectation = (
    Outcome
    | Outcomes
    | OneEndpoint
    | SeveralEndpoints
    | FewAlike
    | Everywhere
    | OnlyAt
    | Avoids
    | Reaches
    | Shares
    | Evenly
    | Untouched
    | Answered
    | NamesEach
    | NamesTheResponse
    | NamesWhatHolds
    | SaysWhy
    | MovesOnly
    | Spread
    | MapsLike
    | Tried
    | InOrder
    | KeepsConnection
    | Apart
    | AtMost
    | Different
    | Takes
    | Picks
    | Connects
    | Blames
    | BlamesOnly
    | EndsIn
    | NeverIn
    | Balances
    | OnlyListed
    | FailsForAReason
    | AtTheFirst
    | InTreeOrder
    | AsksFor
    | AsksBesideClusters
    | AsksOnce
    | GoesOnAsking
    | Fails
    | Mentions
    | Admits
    | TellsDrops
    | LosesShare
    | DropsByShare
    | LooksUp
    | NeverLooksUp
    | HandsOn
    | BeginsWithNode
    | BeginsLoadStreams
    | NamesOnly
    | EachHolds
    | TellsNoEndpoints
    | TellsIssued
    | TellsMetrics
    | LeavesLoadStreams
    | SendsReports
)


def kind_of(expectation: Expectation) -> str:
    """Return the kind of an expectation, by which failures are grouped."""
    return str(type(expectation).__struct_config__.tag)


def fits(expectation: Expectation, seen: Seen) -> bool:
    """Whether an expectation holds, where nobody needs its words."""
    if isinstance(expectation, MapsLike):
        return expectation.fits(seen)
    return expectation.finding(seen).holds


__all__ = [
    "Admits",
    "Answered",
    "Apart",
    "AsksBesideClusters",
    "AsksFor",
    "AsksOnce",
    "AtMost",
    "AtTheFirst",
    "Avoids",
    "Balances",
    "BeginsLoadStreams",
    "BeginsWithNode",
    "Blames",
    "BlamesOnly",
    "Connects",
    "Different",
    "DropsByShare",
    "EachHolds",
    "EndsIn",
    "Evenly",
    "Everywhere",
    "Expectation",
    "Fails",
    "FailsForAReason",
    "FewAlike",
    "Finding",
    "GoesOnAsking",
    "HandsOn",
    "InOrder",
    "InTreeOrder",
    "KeepsConnection",
    "LeavesLoadStreams",
    "LooksUp",
    "LosesShare",
    "MapsLike",
    "Mentions",
    "MovesOnly",
    "NamesEach",
    "NamesOnly",
    "NamesTheResponse",
    "NamesWhatHolds",
    "NeverIn",
    "NeverLooksUp",
    "OneEndpoint",
    "OnlyAt",
    "OnlyListed",
    "Outcome",
    "Outcomes",
    "Picks",
    "Reaches",
    "SaysWhy",
    "SendsReports",
    "SeveralEndpoints",
    "Shares",
    "Spread",
    "Takes",
    "TellsDrops",
    "TellsIssued",
    "TellsMetrics",
    "TellsNoEndpoints",
    "Tried",
    "Untouched",
    "WrongKind",
    "fits",
    "kind_of",
]
