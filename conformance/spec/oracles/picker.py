"""Compute the result of a pick on a ring of endpoints in given states (A42, A61)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

State = Literal["READY", "IDLE", "CONNECTING", "TRANSIENT_FAILURE"]
"""An endpoint's state in the policy: TRANSIENT_FAILURE lasts until READY (A42-SUB-08)."""

PickerEdition = Literal["A42", "A61"]


class Pick(Struct, frozen=True, kw_only=True):
    """The outcome of one pick. An endpoint is its index in the ring order of the request.

    Attributes:
        outcome: the request is sent, waits for the next picker, or fails with UNAVAILABLE.
        endpoint: the endpoint that receives the request; None unless the pick completes.
        connects: endpoints that the pick connects, at once (A42-PICK-03) or after their backoff
            (A42-PICK-07).
    """

    outcome: Literal["complete", "queue", "fail"]
    endpoint: int | None = None
    connects: tuple[int, ...] = ()


def pick(walk: Sequence[State], edition: PickerEdition) -> Pick:
    """Decide on one request.

    Clauses: A42-PICK-02, A42-PICK-03, A42-PICK-04, A42-PICK-05, A42-PICK-07, A42-PICK-09,
    A42-PICK-10, A42-PICK-11, A42-PICK-12, A42-PICK-13, A42-PICK-14, A42-PICK-15, A42-PICK-16,
    A42-PICK-17, A42-PICK-18, A42-PICK-19, A42-PICK-20.

    Args:
        walk: the state of each endpoint, in ring order from the request's hash.
        edition: the edition that defines the picker.

    Raises:
        ValueError: there is no endpoint.
    """
    if not walk:
        message = "a ring without endpoints has no picker"
        raise ValueError(message)
    return _by_a61(walk) if edition == "A61" else _by_a42(walk)


def _by_a61(walk: Sequence[State]) -> Pick:
    """Pick by A61: the first endpoint not in TRANSIENT_FAILURE decides."""
    for index, state in enumerate(walk):
        if state != "TRANSIENT_FAILURE":
            return _decided_by(index, state, ())
    return Pick(outcome="fail")


def _by_a42(walk: Sequence[State]) -> Pick:
    """Pick by A42: wait for the first two endpoints; after them use only a READY endpoint."""
    connects: tuple[int, ...] = ()
    for index, state in enumerate(walk[:2]):
        if state != "TRANSIENT_FAILURE":
            return _decided_by(index, state, connects)
        connects = (*connects, index)
    rest = list(enumerate(walk))[2:]
    ready = next((index for index, state in rest if state == "READY"), None)
    for index, state in rest[: len(walk) if ready is None else ready - 2]:
        if state != "CONNECTING":
            connects = (*connects, index)
        if state != "TRANSIENT_FAILURE":
            break  # This endpoint connects: no pick connects a later endpoint (A42-PICK-18).
    if ready is not None:
        return Pick(outcome="complete", endpoint=ready, connects=connects)
    return Pick(outcome="fail", connects=connects)


def _decided_by(index: int, state: State, connects: tuple[int, ...]) -> Pick:
    if state == "READY":
        return Pick(outcome="complete", endpoint=index, connects=connects)
    told = (*connects, index) if state == "IDLE" else connects
    return Pick(outcome="queue", connects=told)
