"""Expect the results of requests on a ring whose endpoints are in given states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from conformance.judging.expectations.connections import attempts_of, attempts_text
from conformance.judging.expectations.finding import (
    Finding,
    all_failed,
    calls_of,
    details_text,
    tally,
)
from conformance.judging.expectations.timing_sensitivity import OutcomesCanBeLate, TimeDependent
from conformance.judging.observations import Observation
from conformance.spec.oracles.picker import PickerEdition, State, pick

STATUS = {"queue": "DEADLINE_EXCEEDED", "fail": "UNAVAILABLE"}
"""How a request that waits, or fails, ends: its deadline tells that it waited."""


def walk_text(walk: Sequence[tuple[str, State]]) -> str:
    """Return the endpoints in the order in which a call reaches them, with their states."""
    return ", then ".join(f"{address} ({state})" for address, state in walk)


class Picks(OutcomesCanBeLate, frozen=True, tag="picks", kw_only=True):
    """Every call meets these endpoints in this order, in these states, and fares accordingly.

    How it has to fare is computed by ``picker.pick``, which names the clauses.
    """

    walk: tuple[tuple[str, State], ...]
    edition: PickerEdition

    @property
    def waits(self) -> bool:
        """Return whether the calls must wait."""
        return pick([state for _, state in self.walk], self.edition).outcome == "queue"

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        picked = pick([state for _, state in self.walk], self.edition)
        walk = walk_text(self.walk)
        if picked.endpoint is not None:
            address, _ = self.walk[picked.endpoint]
            wanted = f"every call served by {address}"
            holds = {(call.status, call.endpoint) for call in calls} == {("OK", address)}
        else:
            status = STATUS[picked.outcome]
            fate = "waits until its deadline" if picked.outcome == "queue" else "fails"
            wanted = f"every call {fate} ({status})"
            ends = Counter(call.status for call in calls)
            holds = set(ends) == {status} and not any(call.endpoint for call in calls)
        return Finding(
            holds,
            f"{wanted}, since its order on the ring is {walk}",
            tally(calls),
            f"the picker rules of {self.edition}",
        )


class Connects(TimeDependent, frozen=True, tag="connects", kw_only=True):
    """The client tries those IDLE endpoints that the pick must connect.

    ``picker.pick`` computes them.

    Clauses: A42-PICK-03, A42-PICK-11, A42-PICK-17, A42-PICK-18.
    """

    walk: tuple[tuple[str, State], ...]
    edition: PickerEdition

    def finding(self, seen: Observation) -> Finding:
        """Weigh attempts at endpoints that were IDLE when the call was made."""
        picked = pick([state for _, state in self.walk], self.edition)
        told = {self.walk[index][0] for index in picked.connects}
        idle = [address for address, state in self.walk if state == "IDLE"]
        wanted = [f"{address} {'' if address in told else 'not '}tried" for address in idle]
        walk = walk_text(self.walk)
        tried = {attempt.address for attempt in attempts_of(seen)}
        return Finding(
            all((address in tried) == (address in told) for address in idle),
            f"{', '.join(wanted)}, since the order of the call on the ring is {walk}",
            attempts_text(seen),
            f"the picker rules of {self.edition}",
        )


class ErrorNamesOnly(OutcomesCanBeLate, frozen=True, tag="blames_only", kw_only=True):
    """Every call fails, and its details name one of these endpoints, and none of the others.

    Clauses: A56-TIMER-05.
    """

    these: tuple[str, ...]
    others: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        holds = all(
            any(name in call.details for name in self.these)
            and not any(name in call.details for name in self.others)
            for call in calls
        )
        return Finding(
            all_failed(calls) and holds,
            f"details that name {' or '.join(self.these)}, and not {' or '.join(self.others)}",
            details_text(calls),
        )


class ErrorNamesFirst(OutcomesCanBeLate, frozen=True, tag="blames", kw_only=True):
    """Every call fails, and its details name its first endpoint, perhaps beside others; or none.

    Clauses: A42-PICK-25.
    """

    firsts: tuple[str, ...]
    """Where the first of the calls, the second and so on would have gone."""
    whom: Literal["its first endpoint", "no endpoint"]

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        named = [tuple(name for name in self.firsts if name in call.details) for call in calls]
        blamed: dict[str, bool] = {
            "its first endpoint": len(named) == len(self.firsts)
            and all(first in names for first, names in zip(self.firsts, named, strict=True)),
            "no endpoint": not any(named),
        }
        told = "; ".join(f"{call.status}: {call.details or 'no details'}" for call in calls)
        return Finding(
            all_failed(calls) and blamed[self.whom],
            f"details that name {self.whom}, where {', '.join(self.firsts)} come first",
            told or "no call",
        )
