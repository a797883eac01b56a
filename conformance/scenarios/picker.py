"""A42, Picker Behavior: what becomes of a request on a ring of endpoints in given states."""

import pytest

from conformance.declare import row
from conformance.oracles.picker import State
from conformance.walk import walk
from conformance.world import World

FAILED: State = "TRANSIENT_FAILURE"


@pytest.mark.parametrize(
    ("clause", "states"),
    [
        row("first-ready", "A42-PICK-02", ("READY", "READY", "READY")),
        row("first-idle", "A42-PICK-04", ("IDLE", "READY", "READY")),
        row("first-connecting", "A42-PICK-05", ("CONNECTING", "READY", "READY")),
        row("second-ready", "A42-PICK-10", (FAILED, "READY", "READY")),
        row("second-idle", "A42-PICK-12", (FAILED, "IDLE", "READY")),
        row("second-connecting", "A42-PICK-13", (FAILED, "CONNECTING", "READY")),
        row("third-connecting", "A42-PICK-15", (FAILED, FAILED, "CONNECTING", "READY")),
        row("none-ready", "A42-PICK-16", (FAILED, FAILED, "CONNECTING", "CONNECTING")),
        row("all-failed", "A42-PICK-20", (FAILED, FAILED, FAILED)),
    ],
)
async def test_states(world: World, clause: str, states: tuple[State, ...]) -> None:
    met = await walk(world, len(states))
    await met.arrange(*states)
    await met.judge(clause, *states)
