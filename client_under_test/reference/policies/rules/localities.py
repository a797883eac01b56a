"""What wrr_locality makes of localities and their weights, as rules."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from client_under_test.reference.values import Locality, State


def locality_target(locality: Locality) -> str:
    """A52: each locality has a policy of its own, which goes on with the name of the locality.

    Clauses: A42-LOC-06, A52-WRR-01, A52-CUSTOM-11, A52-DEPTH-04 (our choice: within another, too).
    """
    return repr((locality.region, locality.zone, locality.sub_zone))


def target_weight(_target: str, weight: int) -> int:
    """A52: a locality's weight is the one that its first endpoint has now.

    Clauses: A27-WEIGHT-02, A27-WEIGHT-03, A27-WEIGHT-04, A27-WEIGHT-05, A52-WRR-01, A52-WRR-02,
    A52-WRR-04, A52-WRR-06, A52-WRR-08, A52-WRR-07 (our choice: in each priority its own).
    """
    return weight


def state_of_targets(states: Collection[State]) -> State:
    """A28: READY if any target is, else CONNECTING, else IDLE, else TRANSIENT_FAILURE.

    Clauses: A28-TARGET-01, A27-PRIO-10.
    """
    order = (State.READY, State.CONNECTING, State.IDLE, State.TRANSIENT_FAILURE)
    return next(state for state in order if state in states)


def leaves_target_idle(_state: State) -> bool:
    """A28, A62: a target that has become IDLE is not told to connect: that is for requests to do.

    Clauses: A62-TARGET-01 (our choice).
    """
    return True


@dataclass(frozen=True, kw_only=True)
class LocalityRules:
    """The rules of wrr_locality."""

    locality_target: Callable[[Locality], str] = locality_target
    """Returns the name of a locality's target; localities with equal names share a policy."""
    target_weight: Callable[[str, int], int] = target_weight
    """Takes the target's name and the locality weight of its first endpoint."""
    state_of_targets: Callable[[Collection[State]], State] = state_of_targets
    """Takes the states of all targets, at least one."""
    picks_idle_targets: bool = True
    """A62-TARGET-02: whether a request goes to IDLE targets, if there are no better ones."""
    leaves_target_idle: Callable[[State], bool] = leaves_target_idle
    """Takes the state that a target reports; returns whether to leave the target unconnected."""
