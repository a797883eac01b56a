"""Mutants of the clauses in weighted_target.toml."""

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.localities import state_of_targets
from client_under_test.reference.values import State

failure_comes_first = Mutant(
    clause="A28-TARGET-01",
    broken="requests fail if one target has failed and none is READY, although others connect",
    rules={
        "state_of_targets": lambda states: (
            State.TRANSIENT_FAILURE
            if State.READY not in states and State.TRANSIENT_FAILURE in states
            else state_of_targets(states)
        )
    },
)


idle_ones_connect = Mutant(
    clause="A62-TARGET-01",
    broken="a locality that becomes IDLE connects at once",
    rules={"leaves_target_idle": lambda state: state is not State.IDLE},
    reports="connects",
)


idle_ones_wait = Mutant(
    clause="A62-TARGET-02",
    broken="requests wait while no locality is READY, and connect none of them",
    rules={"picks_idle_targets": False},
)
