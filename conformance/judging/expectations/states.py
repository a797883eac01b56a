"""Expect the connectivity states that a channel reports.

A channel need not report each of its states: if the state changes twice before the watch is
notified, the channel reports the last. If no relevant state was reported, no client is accused.
"""

from __future__ import annotations

from conformance.judging.expectations.finding import Finding, WrongKind
from conformance.judging.expectations.timing_sensitivity import TimeDependent
from conformance.judging.observations import Observation, States


class EndsInState(TimeDependent, frozen=True, tag="ends_in"):
    """The last state that the channel reported is one of these; none reported is doubtful.

    Clauses: A42-SUB-04, A42-SUB-05, A42-SUB-06, A42-SUB-12, A37-TROUBLE-33, A56-USE-01,
    A28-TARGET-01, A62-TARGET-01.
    """

    states: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh states."""
        reported = _states(seen)
        wanted = f"the channel in {' or '.join(self.states)} at the end"
        holds = bool(reported) and reported[-1] in self.states
        return Finding(holds, wanted, _told(reported), doubtful=not reported)


class NeverInState(TimeDependent, frozen=True, tag="never_in"):
    """The channel reports none of these; that it reported no state at all is doubtful.

    Clauses: A42-AGG-10, A42-SUB-09.
    """

    states: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh states."""
        reported = _states(seen)
        wanted = f"the channel never in {' or '.join(self.states)}"
        holds = bool(reported) and not set(reported) & set(self.states)
        return Finding(holds, wanted, _told(reported), doubtful=not reported)


def _states(seen: Observation) -> list[str]:
    if not isinstance(seen, States):
        raise WrongKind(f"states are expected here, not {type(seen).__name__}")
    return [state.state for state in seen.states]


def _told(reported: list[str]) -> str:
    return "the channel reported " + (", then ".join(reported) or "nothing")
