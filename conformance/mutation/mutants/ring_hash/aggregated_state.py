"""Mutants of the clauses in aggregated_state.toml."""

from collections.abc import Callable, Sequence

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.ring_states import aggregated_state
from client_under_test.reference.values import State

IDLE, CONNECTING, READY, FAILED = (
    State.IDLE,
    State.CONNECTING,
    State.READY,
    State.TRANSIENT_FAILURE,
)


Rule = Callable[[Sequence[State]], State]


def instead(of: State, reported: State, *, where: Callable[[Sequence[State]], bool]) -> Rule:
    """Report another state than `of` if the states of the endpoints match."""

    def broken(states: Sequence[State]) -> State:
        found = aggregated_state(states)
        return reported if found is of and where(states) else found

    return broken


def anywhere(_states: Sequence[State]) -> bool:
    """Match any states."""
    return True


def failed(count: int) -> Callable[[Sequence[State]], bool]:
    """Match states with `count` failed endpoints."""
    return lambda states: states.count(FAILED) == count


ready_only_if_all_are = Mutant(
    clause="A42-AGG-01",
    broken="the policy is READY only when every endpoint is",
    rules={
        "aggregated_state": instead(READY, CONNECTING, where=lambda states: set(states) != {READY})
    },
)


failed_only_if_all_have = Mutant(
    clause="A42-AGG-02",
    broken="two failed endpoints of several do not make the policy fail",
    rules={
        "aggregated_state": instead(
            FAILED, CONNECTING, where=lambda states: set(states) != {FAILED}
        )
    },
)


connecting_unseen = Mutant(
    clause="A42-AGG-03",
    broken="an endpoint that is CONNECTING leaves the policy IDLE",
    rules={"aggregated_state": instead(CONNECTING, IDLE, where=failed(0))},
)


failed_at_the_first = Mutant(
    clause="A42-AGG-04",
    broken="one failed endpoint of several makes the policy fail",
    rules={"aggregated_state": instead(CONNECTING, FAILED, where=failed(1))},
)


ready_with_one_failed = Mutant(
    clause="A42-AGG-04",
    broken="one failed endpoint of several leaves the policy READY",
    rules={"aggregated_state": instead(CONNECTING, READY, where=failed(1))},
)


lost_is_connecting = Mutant(
    clause="A42-AGG-05",
    broken="with all endpoints IDLE the policy is CONNECTING",
    rules={"aggregated_state": instead(IDLE, CONNECTING, where=anywhere)},
)


only_one_failed_is_connecting = Mutant(
    clause="A42-AGG-06",
    broken="a policy whose only endpoint failed is CONNECTING",
    rules={"aggregated_state": instead(FAILED, CONNECTING, where=lambda states: len(states) == 1)},
)


failed_before_ready = Mutant(
    clause="A42-AGG-07",
    broken="two failed endpoints take precedence over one that is READY",
    rules={"aggregated_state": instead(READY, FAILED, where=failed(2))},
)


connecting_before_failed = Mutant(
    clause="A42-AGG-08",
    broken="an endpoint that is CONNECTING takes precedence over two failed ones",
    rules={
        "aggregated_state": instead(FAILED, CONNECTING, where=lambda states: CONNECTING in states)
    },
)


idle_before_connecting = Mutant(
    clause="A42-AGG-09",
    broken="an IDLE endpoint takes precedence over one that is CONNECTING",
    rules={"aggregated_state": instead(CONNECTING, IDLE, where=lambda states: IDLE in states)},
)


idle_between_attempts = Mutant(
    clause="A42-AGG-10",
    broken="between two attempts the policy is IDLE",
    rules={"aggregated_state": instead(CONNECTING, IDLE, where=failed(1))},
)


connecting_from_the_start = Mutant(
    clause="A42-AGG-11",
    broken="with endpoints that were never tried the policy is CONNECTING, and connects",
    rules={"aggregated_state": instead(IDLE, CONNECTING, where=anywhere)},
)


several_entries_several_endpoints = Mutant(
    clause="A42-AGG-12",
    broken="a failed endpoint counts as several, as it has several entries",
    rules={"aggregated_state": instead(CONNECTING, FAILED, where=failed(1))},
)


nothing_is_idle = Mutant(
    clause="A42-AGG-13",
    broken="without endpoints the policy is IDLE",
    rules={"aggregated_state": instead(FAILED, IDLE, where=lambda states: not states)},
)


removed_ones_count = Mutant(
    clause="A42-AGG-14",
    broken="endpoints that were removed still count",
    rules={"ring_endpoints": lambda before, now: list(dict.fromkeys([*before, *now]))},
)


def less_than_half(states: Sequence[State]) -> bool:
    """Return whether fewer than half of the endpoints have failed."""
    return 2 * states.count(FAILED) < len(states)


two_of_five_are_not_enough = Mutant(
    clause="A42-AGG-02",
    broken="two failed endpoints count only if they are half of all",
    rules={"aggregated_state": instead(FAILED, CONNECTING, where=less_than_half)},
)


two_of_five_are_not_enough_beside_connecting = Mutant(
    clause="A42-AGG-08",
    broken="two failed endpoints next to a CONNECTING one count only if they are half of all",
    rules={"aggregated_state": instead(FAILED, CONNECTING, where=less_than_half)},
)


half_is_enough = Mutant(
    clause="A42-AGG-04",
    broken="one failed endpoint of two is TRANSIENT_FAILURE",
    rules={
        "aggregated_state": instead(
            CONNECTING, FAILED, where=lambda states: len(states) == 2 * states.count(FAILED)
        )
    },
)
