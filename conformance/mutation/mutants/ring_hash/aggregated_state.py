"""Mutants of the clauses in aggregated_state.toml."""

from collections.abc import Callable, Sequence

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.ring_states import aggregated_state
from client_under_test.reference.values import Endpoint, State

IDLE, CONNECTING, READY, FAILED = (
    State.IDLE,
    State.CONNECTING,
    State.READY,
    State.TRANSIENT_FAILURE,
)


SEVERAL = 2


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


def until_one_is_lost() -> Rule:
    """Report IDLE instead of READY once fewer endpoints are READY than before."""
    most = 0

    def broken(states: Sequence[State]) -> State:
        nonlocal most
        found, ready = aggregated_state(states), states.count(READY)
        if found is READY and ready < most:
            return IDLE
        most = ready
        return found

    return broken


idle_once_one_is_lost = Mutant(
    clause="A42-AGG-01",
    broken="when one of several READY endpoints loses its connection, the policy is IDLE",
    rules={"aggregated_state": until_one_is_lost()},
)


ready_only_if_all_are = Mutant(
    clause="A42-AGG-01",
    broken="the policy is READY only when every endpoint is",
    rules={
        "aggregated_state": instead(READY, CONNECTING, where=lambda states: set(states) != {READY})
    },
)


ready_unless_one_failed = Mutant(
    clause="A42-AGG-01",
    broken="one failed endpoint makes the policy CONNECTING although another is READY",
    rules={"aggregated_state": instead(READY, CONNECTING, where=failed(1))},
)


ready_unless_one_connects = Mutant(
    clause="A42-AGG-01",
    broken="an endpoint that is CONNECTING takes precedence over one that is READY",
    rules={
        "aggregated_state": instead(READY, CONNECTING, where=lambda states: CONNECTING in states)
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


two_of_two_are_not_enough = Mutant(
    clause="A42-AGG-02",
    broken="a policy whose two endpoints have failed is CONNECTING",
    rules={
        "aggregated_state": instead(FAILED, CONNECTING, where=lambda states: len(states) == SEVERAL)
    },
)


two_of_three_are_not_enough = Mutant(
    clause="A42-AGG-02",
    broken="a policy of three endpoints is CONNECTING while one has not failed",
    rules={
        "aggregated_state": instead(
            FAILED, CONNECTING, where=lambda states: len(states) == SEVERAL + 1
        )
    },
)


def three_of_more(states: Sequence[State]) -> bool:
    """Match states with three failed endpoints or more, but not all."""
    return len(states) > states.count(FAILED) > 2  # noqa: PLR2004


failed_at_two_only = Mutant(
    clause="A42-AGG-02",
    broken="the policy is TRANSIENT_FAILURE at two failed endpoints, and CONNECTING at three",
    rules={"aggregated_state": instead(FAILED, CONNECTING, where=three_of_more)},
)


connecting_unseen = Mutant(
    clause="A42-AGG-03",
    broken="an endpoint that is CONNECTING leaves the policy IDLE",
    rules={"aggregated_state": instead(CONNECTING, IDLE, where=failed(0))},
)


one_connecting_only = Mutant(
    clause="A42-AGG-03",
    broken="with two endpoints CONNECTING the policy is IDLE",
    rules={
        "aggregated_state": instead(
            CONNECTING, IDLE, where=lambda states: states.count(CONNECTING) > 1
        )
    },
)


failed_at_the_first = Mutant(
    clause="A42-AGG-04",
    broken="one failed endpoint of several makes the policy fail",
    rules={"aggregated_state": instead(CONNECTING, FAILED, where=failed(1))},
)


failed_at_the_first_of_many = Mutant(
    clause="A42-AGG-04",
    broken="one failed endpoint of more than three makes the policy fail",
    rules={
        "aggregated_state": instead(
            CONNECTING,
            FAILED,
            where=lambda states: failed(1)(states) and len(states) > 3,  # noqa: PLR2004
        )
    },
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


def if_two_were_ready() -> Rule:
    """Report READY instead of IDLE once two endpoints were READY."""
    were_ready = False

    def broken(states: Sequence[State]) -> State:
        nonlocal were_ready
        were_ready = were_ready or states.count(READY) == SEVERAL
        found = aggregated_state(states)
        return READY if were_ready and found is IDLE else found

    return broken


both_lost_is_ready = Mutant(
    clause="A42-AGG-05",
    broken="when two READY endpoints lose their connections, the policy stays READY",
    rules={"aggregated_state": if_two_were_ready()},
)


only_one_failed_is_connecting = Mutant(
    clause="A42-AGG-06",
    broken="a policy whose only endpoint failed is CONNECTING",
    rules={"aggregated_state": instead(FAILED, CONNECTING, where=lambda states: len(states) == 1)},
)


def unless_fewer(before: Sequence[Endpoint], now: Sequence[Endpoint]) -> Sequence[Endpoint]:
    """Keep the old list if the new one only lacks some of it."""
    listed, kept = ({endpoint.addresses for endpoint in each} for each in (before, now))
    return before if now and kept < listed else now


counted_when_gone = Mutant(
    clause="A42-AGG-06",
    broken="the failed endpoint is not the only one, as one that was removed still counts",
    rules={"ring_endpoints": unless_fewer},
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


class Replaced:
    """Reports CONNECTING in place of IDLE once an update has replaced all endpoints."""

    def __init__(self) -> None:
        self._is_new = False

    def endpoints(self, before: Sequence[Endpoint], now: Sequence[Endpoint]) -> Sequence[Endpoint]:
        """Return the new list, and note whether it has none of the old endpoints."""
        kept = {endpoint.addresses for endpoint in before}
        self._is_new |= bool(kept) and kept.isdisjoint(endpoint.addresses for endpoint in now)
        return now

    def state(self, states: Sequence[State]) -> State:
        """Return the state that the policy reports."""
        found = aggregated_state(states)
        return CONNECTING if self._is_new and found is IDLE else found


REPLACED = Replaced()

connecting_when_replaced = Mutant(
    clause="A42-AGG-11",
    broken="when an update replaces all endpoints, the policy is CONNECTING, and connects",
    rules={"ring_endpoints": REPLACED.endpoints, "aggregated_state": REPLACED.state},
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


removed_ones_count_beside_others = Mutant(
    clause="A42-AGG-14",
    broken="an endpoint that was removed still counts if the others stay",
    rules={"ring_endpoints": unless_fewer},
)


class NotIdleAfter:
    """Reports a state instead of IDLE once it was reported."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._was_reported = False

    def state(self, states: Sequence[State]) -> State:
        """Return the state that the policy reports."""
        found = aggregated_state(states)
        self._was_reported = self._was_reported or found is self._state
        return self._state if self._was_reported and found is IDLE else found


removed_ready_one_counts = Mutant(
    clause="A42-AGG-14",
    broken="the policy stays READY when an update removes the only READY endpoint",
    rules={"aggregated_state": NotIdleAfter(READY).state},
)


removed_connecting_one_counts = Mutant(
    clause="A42-AGG-14",
    broken="the policy stays CONNECTING when an update removes the only CONNECTING endpoint",
    rules={"aggregated_state": NotIdleAfter(CONNECTING).state},
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


emptied_ring_stays = Mutant(
    clause="A42-AGG-13",
    broken="a ring that an update empties keeps its endpoints",
    rules={"ring_endpoints": lambda before, now: now or before},
)
