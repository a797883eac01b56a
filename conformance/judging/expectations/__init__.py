"""What a clause expects of what was seen, as frozen values that can be written and weighed again.

Each expectation holds the inputs of its oracle, not the oracle's answer: the answer is computed
when it is weighed, so that an evidence folder is judged by the oracle of today.
"""

from __future__ import annotations

from conformance.judging.expectations.answers import (
    AckedOrNacked,
    AnswerVersion,
    NackHasDetail,
    NackNames,
    NackVersion,
)
from conformance.judging.expectations.backend_metrics import MetricsReported
from conformance.judging.expectations.calls import (
    AllEndpointsServe,
    AllServedBy,
    ChannelsDiffer,
    EachServesSome,
    EndsWith,
    EqualShares,
    ErrorMentions,
    Fails,
    MinimumShare,
    NoneServedBy,
    OneEndpoint,
    OnlyTheseMoved,
    Proportions,
    RandomOverRing,
    RoundsEndWith,
    SeveralEndpoints,
)
from conformance.judging.expectations.circuit_breaking import DropRate, RequestsAdmitted
from conformance.judging.expectations.connections import (
    AttemptCount,
    AttemptOrder,
    AttemptSpacing,
    DistinctAttempts,
    EndpointsTried,
    KeepsConnection,
    NoAttempts,
)
from conformance.judging.expectations.durations import Duration
from conformance.judging.expectations.finding import Finding, WrongKind
from conformance.judging.expectations.load import DropProportions, DropsReported, LoadMatches
from conformance.judging.expectations.load_streams import (
    FirstRequestHasNode,
    LoadStreamsKept,
    LoadStreamsStarted,
    NoEndpointLoad,
    OnlyTheseReported,
    ReportIntervals,
    RequestsInProgress,
    RequestsReported,
)
from conformance.judging.expectations.name_lookups import NeverResolves, Resolves
from conformance.judging.expectations.outlier_detection import (
    EjectionLasts,
    EjectsByChance,
    EjectsOutliers,
)
from conformance.judging.expectations.picks import Connects, ErrorNamesFirst, ErrorNamesOnly, Picks
from conformance.judging.expectations.policy_updates import ConfigReceived
from conformance.judging.expectations.ring_mapping import MatchesRing
from conformance.judging.expectations.routing import RoutedTo
from conformance.judging.expectations.session_affinity import (
    CookieForm,
    ServedInOrder,
    SetsCookies,
    SetsNoCookie,
)
from conformance.judging.expectations.soak import FailuresExplained, OnlyListedServe
from conformance.judging.expectations.states import EndsInState, NeverInState
from conformance.judging.expectations.stream_requests import (
    LaterRequestsHaveNode,
    NoWildcard,
    ResubscribesTo,
    SendsAcceptedVersion,
    SendsOwnNonces,
    StreamsBeginWithNode,
)
from conformance.judging.expectations.subscriptions import (
    SendsNewestNonce,
    StaysSubscribed,
    SubscribesBesidesClusters,
    SubscribesByName,
    SubscribesOnce,
    SubscribesTo,
)
from conformance.judging.expectations.trees import FirstUsablePriority, LeafOrder
from conformance.judging.observations import Observation

Expectation = (
    EndsWith
    | RoundsEndWith
    | OneEndpoint
    | SeveralEndpoints
    | ChannelsDiffer
    | AllEndpointsServe
    | MinimumShare
    | AllServedBy
    | NoneServedBy
    | EachServesSome
    | Proportions
    | EqualShares
    | NoAttempts
    | AckedOrNacked
    | NackNames
    | NackVersion
    | AnswerVersion
    | NackHasDetail
    | OnlyTheseMoved
    | RandomOverRing
    | MatchesRing
    | AttemptCount
    | AttemptOrder
    | KeepsConnection
    | AttemptSpacing
    | EndpointsTried
    | DistinctAttempts
    | Duration
    | Picks
    | Connects
    | ErrorNamesFirst
    | ErrorNamesOnly
    | EndsInState
    | NeverInState
    | LoadMatches
    | OnlyListedServe
    | FailuresExplained
    | FirstUsablePriority
    | LeafOrder
    | SubscribesTo
    | SubscribesBesidesClusters
    | SubscribesByName
    | SubscribesOnce
    | StaysSubscribed
    | SendsNewestNonce
    | LaterRequestsHaveNode
    | NoWildcard
    | SendsAcceptedVersion
    | SendsOwnNonces
    | StreamsBeginWithNode
    | ResubscribesTo
    | Fails
    | ErrorMentions
    | RequestsAdmitted
    | DropsReported
    | DropRate
    | DropProportions
    | Resolves
    | NeverResolves
    | ConfigReceived
    | FirstRequestHasNode
    | LoadStreamsStarted
    | OnlyTheseReported
    | RequestsInProgress
    | NoEndpointLoad
    | RequestsReported
    | MetricsReported
    | LoadStreamsKept
    | ReportIntervals
    | RoutedTo
    | CookieForm
    | ServedInOrder
    | SetsCookies
    | SetsNoCookie
    | EjectionLasts
    | EjectsByChance
    | EjectsOutliers
)


def kind_of(expectation: Expectation) -> str:
    """Return the kind of an expectation, by which failures are grouped."""
    return str(type(expectation).__struct_config__.tag)


def fits(expectation: Expectation, seen: Observation) -> bool:
    """Return whether an expectation holds, without the text of a finding."""
    if isinstance(expectation, MatchesRing):
        return expectation.fits(seen)
    return expectation.finding(seen).holds


__all__ = [
    "AckedOrNacked",
    "AllEndpointsServe",
    "AllServedBy",
    "AnswerVersion",
    "AttemptCount",
    "AttemptOrder",
    "AttemptSpacing",
    "ChannelsDiffer",
    "ConfigReceived",
    "Connects",
    "CookieForm",
    "DistinctAttempts",
    "DropProportions",
    "DropRate",
    "DropsReported",
    "Duration",
    "EachServesSome",
    "EjectionLasts",
    "EjectsByChance",
    "EjectsOutliers",
    "EndpointsTried",
    "EndsInState",
    "EndsWith",
    "EqualShares",
    "ErrorMentions",
    "ErrorNamesFirst",
    "ErrorNamesOnly",
    "Expectation",
    "Fails",
    "FailuresExplained",
    "Finding",
    "FirstRequestHasNode",
    "FirstUsablePriority",
    "KeepsConnection",
    "LaterRequestsHaveNode",
    "LeafOrder",
    "LoadMatches",
    "LoadStreamsKept",
    "LoadStreamsStarted",
    "MatchesRing",
    "MetricsReported",
    "MinimumShare",
    "NackHasDetail",
    "NackNames",
    "NackVersion",
    "NeverInState",
    "NeverResolves",
    "NoAttempts",
    "NoEndpointLoad",
    "NoWildcard",
    "NoneServedBy",
    "OneEndpoint",
    "OnlyListedServe",
    "OnlyTheseMoved",
    "OnlyTheseReported",
    "Picks",
    "Proportions",
    "RandomOverRing",
    "ReportIntervals",
    "RequestsAdmitted",
    "RequestsInProgress",
    "RequestsReported",
    "Resolves",
    "ResubscribesTo",
    "RoundsEndWith",
    "RoutedTo",
    "SendsAcceptedVersion",
    "SendsNewestNonce",
    "SendsOwnNonces",
    "ServedInOrder",
    "SetsCookies",
    "SetsNoCookie",
    "SeveralEndpoints",
    "StaysSubscribed",
    "StreamsBeginWithNode",
    "SubscribesBesidesClusters",
    "SubscribesByName",
    "SubscribesOnce",
    "SubscribesTo",
    "WrongKind",
    "fits",
    "kind_of",
]
