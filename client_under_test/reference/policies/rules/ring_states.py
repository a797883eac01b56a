"""The states of endpoints as ring_hash counts them, and the state that it reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from client_under_test.reference.values import State

_ENOUGH_FAILED: Final = 2  # A42-AGG-02


def counted_state(counted: State, reported: State) -> State:
    """Return the state that an endpoint counts as after a report.

    TRANSIENT_FAILURE sticks until READY; all else counts as reported, so that a connection which
    was lost is IDLE.

    Clauses: A42-SUB-04, A42-SUB-05, A42-SUB-06, A42-SUB-08, A42-SUB-09, A42-SUB-10, A42-SUB-11,
    A42-SUB-12.
    """
    if counted is State.TRANSIENT_FAILURE and reported is not State.READY:
        return State.TRANSIENT_FAILURE
    return reported


def aggregated_state(states: Sequence[State]) -> State:
    """Return the state of the first rule that applies; each endpoint counts once.

    Clauses: A42-AGG-01, A42-AGG-02, A42-AGG-03, A42-AGG-04, A42-AGG-05, A42-AGG-06, A42-AGG-07,
    A42-AGG-08, A42-AGG-09, A42-AGG-10, A42-AGG-11, A42-AGG-12, A42-AGG-13, A42-AGG-14.
    """
    failed = states.count(State.TRANSIENT_FAILURE)
    if State.READY in states:  # A42-AGG-01, A42-AGG-07
        return State.READY
    if failed >= _ENOUGH_FAILED:  # A42-AGG-02, A42-AGG-08
        return State.TRANSIENT_FAILURE
    if State.CONNECTING in states:  # A42-AGG-03, A42-AGG-09
        return State.CONNECTING
    if failed == 1 and len(states) > 1:  # A42-AGG-04, A42-AGG-10
        return State.CONNECTING
    if State.IDLE in states:  # A42-AGG-05, A42-AGG-11
        return State.IDLE
    return State.TRANSIENT_FAILURE  # A42-AGG-06, A42-AGG-13


class Prospect(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint that ring_hash might connect of its own accord.

    `under_way`: an attempt is being made at it, or will be as soon as its backoff is over.
    `failed_now`: it has just turned TRANSIENT_FAILURE, and that is being answered.
    """

    identity: str
    counted: State
    under_way: bool
    failed_now: bool = False


def proactive_attempt(
    aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
) -> str | None:
    """Which endpoint to connect without being picked, if any.

    Prospects are in ring order. While CONNECTING or TRANSIENT_FAILURE is reported at least one
    endpoint is under way; after a failure it is the next one's turn, round and round.

    Clauses: A42-PRO-01, A42-PRO-02, A42-PRO-03, A42-PRO-04, A42-PRO-05, A42-PRO-06, A42-PRO-07,
    A42-PRO-08, A42-PRO-09, A42-PRO-10, A42-PRO-11.
    """
    if aggregated not in {State.CONNECTING, State.TRANSIENT_FAILURE}:  # A42-PRO-01, A42-PRO-07
        return None
    if not prospects or any(prospect.under_way for prospect in prospects):  # A42-PRO-12
        return None
    identities = [prospect.identity for prospect in prospects]
    if last_failed not in identities:
        return identities[0]
    return identities[
        (identities.index(last_failed) + 1) % len(identities)
    ]  # A42-PRO-04, A42-PRO-05, A42-PRO-06


def proactive_attempt_a61(
    aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
) -> str | None:
    """One IDLE endpoint while none is CONNECTING.

    Those that failed go on retrying by themselves beside it.

    Clauses: A42-PRO-01, A42-PRO-02, A42-PRO-03, A42-PRO-04, A42-PRO-05, A42-PRO-06, A42-PRO-07,
    A42-PRO-09, A42-PRO-10, A42-PRO-11, A42-PRO-12, A42-SUB-01, A42-SUB-03, A42-SUB-13 (A61),
    A61-PRO-01, A61-PRO-02, A61-PRO-03.
    """
    del last_failed
    if aggregated not in {State.CONNECTING, State.TRANSIENT_FAILURE}:
        return None
    if any(prospect.counted is State.CONNECTING for prospect in prospects):
        return None
    idle = (prospect.identity for prospect in prospects if prospect.counted is State.IDLE)
    return next(idle, None)


def proactive_attempt_a61_2023(
    aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
) -> str | None:
    """One IDLE endpoint when another one fails, and not when READY is lost or removed.

    Clauses: A42-PRO-10, A42-PRO-11 (A61-2023).
    """
    if not any(prospect.failed_now for prospect in prospects):
        return None
    return proactive_attempt_a61(aggregated, prospects, last_failed)


@dataclass(frozen=True, kw_only=True)
class RingStateRules:
    """The states of ring_hash, and the attempts that it makes proactively."""

    counted_state: Callable[[State, State], State] = counted_state
    aggregated_state: Callable[[Sequence[State]], State] = aggregated_state
    proactive_attempt: Callable[[State, Sequence[Prospect], str | None], str | None] = (
        proactive_attempt
    )
    ring_endpoints_retry: bool = False
    """Set if the ring retries a failed endpoint on its own, and not only when it is picked.

    Clauses: A42-SUB-07, A42-PICK-07, A42-PICK-14, A42-PICK-19, A61-PRO-02.
    """
