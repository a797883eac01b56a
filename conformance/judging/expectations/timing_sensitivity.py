"""Decide whether lateness alone can explain a missed expectation.

A scenario whose time was doubtful runs again alone, and that overrules what was missed for want of
time. It overrules nothing else: a request on a wrong arc of the ring, or a good resource that was
refused, is none the better for not happening twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, assert_never

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
    EachRoundEndsWith,
    EachServesSome,
    EndsWith,
    EqualShares,
    ErrorMentions,
    Fails,
    NoneServedBy,
    OneEndpoint,
    OnlyTheseMoved,
    Proportions,
    RandomOverRing,
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
from conformance.judging.expectations.finding import WrongKind
from conformance.judging.expectations.load import DropProportions, DropsReported, LoadMatches
from conformance.judging.expectations.load_streams import (
    FirstRequestHasNode,
    IssuedReported,
    LoadStreamsKept,
    LoadStreamsStarted,
    NoEndpointLoad,
    OnlyTheseReported,
    ReportIntervals,
    RequestsInProgress,
)
from conformance.judging.expectations.name_lookups import NeverResolves, Resolves
from conformance.judging.expectations.picks import Connects, ErrorNamesFirst, ErrorNamesOnly, Picks
from conformance.judging.expectations.policy_updates import ConfigReceived
from conformance.judging.expectations.ring_mapping import MatchesRing
from conformance.judging.expectations.soak import FailuresExplained, OnlyListedServe
from conformance.judging.expectations.states import EndsInState, NeverInState
from conformance.judging.expectations.subscriptions import (
    SendsNewestNonce,
    StaysSubscribed,
    SubscribesBesidesClusters,
    SubscribesOnce,
    SubscribesTo,
)
from conformance.judging.expectations.trees import FirstUsablePriority, LeafOrder
from conformance.judging.observations import WAITING, Call, Calls, Contrast, Observation

if TYPE_CHECKING:
    from conformance.judging.expectations import Expectation

OF_TIME = frozenset({"OK", "UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"})
"""Statuses with which a call of a right client may end for want of time alone."""


def is_timing_sensitive(
    expectation: Expectation, seen: Observation, before: MatchesRing | None = None
) -> bool:
    """Return whether lateness of a conforming client or of the suite can explain the observation.

    Args:
        expectation: the expectation that was missed.
        seen: the observation.
        before: the ring before the current one, if calls were repeated until they fit.
    """
    is_so = True  # timers, states, and all else that a time decides
    match expectation:
        case (
            AckedOrNacked()
            | NackNames()
            | NackVersion()
            | AnswerVersion()
            | NackHasDetail()
            | SubscribesOnce()
            | StaysSubscribed()
            | SendsNewestNonce()
        ):
            is_so = False
        case (
            DropRate()
            | Resolves()
            | NeverResolves()
            | SubscribesBesidesClusters()
            | FirstRequestHasNode()
            | RequestsInProgress()
            | NoEndpointLoad()
        ):
            is_so = False
        case MatchesRing():
            is_so = _ends_of_time(seen) and (
                _can_be_late(seen) or _strays(expectation, seen, before)
            )
        case NoneServedBy() | OneEndpoint() | EachServesSome() | SeveralEndpoints():
            is_so = _can_be_late(seen) or _is_overdue(seen)
        case (
            AllEndpointsServe()
            | OnlyTheseMoved()
            | ChannelsDiffer()
            | Proportions()
            | RandomOverRing()
        ):
            is_so = _can_be_late(seen) or _is_overdue(seen)
        case (
            EqualShares()
            | AllServedBy()
            | Picks()
            | ErrorNamesFirst()
            | ErrorNamesOnly()
            | EndsWith()
            | EachRoundEndsWith()
            | FirstUsablePriority()
            | Fails()
            | ErrorMentions()
        ):
            # It takes time until an endpoint is READY; a rotation begins anew when another is.
            is_so = _ends_of_time(seen)
        case (
            NoAttempts()
            | AttemptCount()
            | AttemptOrder()
            | AttemptSpacing()
            | EndpointsTried()
            | DistinctAttempts()
            | Connects()
            | LeafOrder()
            | SubscribesTo()
            | EndsInState()
            | NeverInState()
            | Duration()
            | OnlyListedServe()
            | KeepsConnection()
            | FailuresExplained()
            | DropsReported()
            | DropProportions()
            | ConfigReceived()
            | OnlyTheseReported()
            | LoadStreamsStarted()
            | IssuedReported()
            | LoadStreamsKept()
            | ReportIntervals()
        ):
            pass
        case RequestsAdmitted():
            # An update, or the end of a stream, may be late to be known; no count is.
            is_so = _is_overdue(seen) or any(call.status == WAITING for call in _calls(seen))
        case LoadMatches() | MetricsReported():
            is_so = not expectation.is_exceeded(seen)
        case _:
            assert_never(expectation)
    return is_so


def _ends_of_time(seen: Observation) -> bool:
    return {call.status for call in _calls(seen)} <= OF_TIME


def _can_be_late(seen: Observation) -> bool:
    """Return whether some calls failed, and all failures may be due to lateness."""
    calls = _calls(seen)
    return any(call.status != "OK" for call in calls) and _ends_of_time(seen)


def _is_overdue(seen: Observation) -> bool:
    return isinstance(seen, Calls) and seen.overdue


def _strays(expected: MatchesRing, seen: Observation, before: MatchesRing | None) -> bool:
    """Return whether calls that all succeeded show more than a wrong ring.

    This holds for calls at endpoints that are not on the ring: those of another priority or of an
    earlier list. If calls were repeated until they fit, it holds if each call went to its endpoint
    on the current ring or on the ring before.
    """
    calls = _calls(seen)
    on_the_ring = {
        endpoint.address for place in expected.localities for endpoint in place.endpoints
    }
    if not _is_overdue(seen):
        return any(call.endpoint not in on_the_ring for call in calls)
    if before is None or expected.by_arcs:  # where each call belongs is not known
        return True
    headers = [dict(call.metadata) for call in calls]
    if any(len(header) < len(call.metadata) for header, call in zip(headers, calls, strict=True)):
        return True  # a header that is repeated: not to be told here
    try:
        ways = product(expected.ways(headers), before.ways(headers))
    except WrongKind:  # of before: its hashes were random
        return True
    return any(
        all(call.endpoint in {new, old} for call, new, old in zip(calls, now, then, strict=True))
        for now, then in ways
    )


def _calls(seen: Observation) -> tuple[Call, ...]:
    both: Iterable[Call]
    match seen:
        case Calls():
            both = seen
        case Contrast():
            both = (*seen.before, *seen.after)
        case _:
            both = ()
    return tuple(both)
