"""The expectation of what becomes of requests on a ring whose endpoints are in given states."""

from __future__ import annotations

from collections import Counter

import msgspec

from conformance.expectations.weighing import Finding, calls_of, tally
from conformance.oracles.picker import PickerEdition, State, pick
from conformance.seen import Seen

STATUS = {"queue": "DEADLINE_EXCEEDED", "fail": "UNAVAILABLE"}
"""How a request that waits, or fails, ends: its deadline tells that it waited."""


class Picks(msgspec.Struct, frozen=True, tag="picks", kw_only=True):
    """Every call meets these endpoints in this order, in these states, and fares accordingly."""

    walk: tuple[tuple[str, State], ...]
    edition: PickerEdition

    @property
    def waits(self) -> bool:
        """Whether the calls are to wait."""
        return pick([state for _, state in self.walk], self.edition).outcome == "queue"

    def finding(self, seen: Seen) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        picked = pick([state for _, state in self.walk], self.edition)
        walk = ", ".join(f"{address} {state}" for address, state in self.walk)
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
        return Finding(holds, f"{wanted}: on its walk are {walk}", tally(calls), "picker.pick")
