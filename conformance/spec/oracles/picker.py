"""Compute the result of a pick on a ring of endpoints in given states (A42, A61)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

State = Literal["READY", "IDLE", "CONNECTING", "TRANSIENT_FAILURE"]
"""Of an endpoint as the policy counts it: TRANSIENT_FAILURE sticks until READY (A42-SUB-08)."""

PickerEdition = Literal["A42", "A61"]


class Pick(Struct, frozen=True, kw_only=True):
    """The outcome of one pick. Endpoints are meant by their index on the walk.

    Attributes:
        outcome: the request is sent, waits for the next picker, or fails with UNAVAILABLE.
        endpoint: where it is sent; None unless it is.
        connects: endpoints that the pick itself has connected, at once (A42-PICK-03) or after their
            backoff (A42-PICK-07).
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
        walk: the states of the endpoints, each once, in the order in which the ring is walked from
            the request's hash.
        edition: whose picker.

    Raises:
        ValueError: there is no endpoint.
    """
    if not walk:
        message = "a walk without endpoints has no picker"
        raise ValueError(message)
    return _by_a61(walk) if edition == "A61" else _by_a42(walk)


def _by_a61(walk: Sequence[State]) -> Pick:
    """A61: the first endpoint that has not failed decides; failed ones retry by themselves."""
    for index, state in enumerate(walk):
        if state != "TRANSIENT_FAILURE":
            return _decided_by(index, state, ())
    return Pick(outcome="fail")


def _by_a42(walk: Sequence[State]) -> Pick:
    """A42: two endpoints are waited for; behind them only a READY one helps."""
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
            break  # told or under way: none behind it is told (A42-PICK-18)
    if ready is not None:
        return Pick(outcome="complete", endpoint=ready, connects=connects)
    return Pick(outcome="fail", connects=connects)


def _decided_by(index: int, state: State, connects: tuple[int, ...]) -> Pick:
    if state == "READY":
        return Pick(outcome="complete", endpoint=index, connects=connects)
    told = (*connects, index) if state == "IDLE" else connects
    return Pick(outcome="queue", connects=told)
