"""Calls that were started: who is late with them."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest

from client_under_test.contract.exceptions import ClientHung
from client_under_test.launching.channels import Call, Outcome
from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.world import PendingCalls
from conformance.world.clock import Clock

ROUNDS = int(timing.BATCH / timing.CALL)
"""How many calls, one after the other, end in BATCH by their deadlines."""


class Late:
    """Maker, caller and batch in one, where nothing more ends in time."""

    tells_calls_apart = True

    def __init__(self, ended: int) -> None:
        self.outcomes = (None,) * ended

    async def finished(self, *, deadline: float, done_deadline: float | None = None) -> None:
        del done_deadline
        raise ClientHung(f"not within {deadline:g} s", hello_said=True, stderr_tail="")

    async def unless_refused(self, waiting: Coroutine[Any, Any, Any], _: object) -> Any:
        return await waiting


@pytest.mark.parametrize(
    ("concurrency", "ended", "said"),
    [
        (1, ROUNDS, PreconditionTimeout),
        (1, ROUNDS - 1, ClientHung),
        (4, 4 * ROUNDS, PreconditionTimeout),
        (4, 4 * ROUNDS - 1, ClientHung),
        (None, 39, ClientHung),
    ],
)
async def test_a_client_hangs_only_if_calls_do_not_end_by_their_deadlines(
    concurrency: int | None, ended: int, said: type[Exception]
) -> None:
    """Those that wait for their turn do so behind others that are not served, each in its time."""
    fake: Any = Late(ended)
    planned = [Call(id=str(number), path="/a/b", deadline=timing.CALL) for number in range(40)]
    with pytest.raises(said, match="not within"):
        await PendingCalls(
            fake, fake, "channel-1", planned, fake, 0, concurrency=concurrency
        ).over()


async def test_spans_hold_whatever_the_client_clock_allows() -> None:
    """A fault 0.2 ms after the reported end of a call that it ended was said not to explain it."""
    fake: Any = Late(0)
    fake.clock, fake.tells_times = Clock(), True
    began = fake.clock.began
    fake.outcomes = [
        Outcome(
            id="call",
            status="UNAVAILABLE",
            details="",
            hostname=None,
            started_at=began + 1.0,
            ended_at=began + 1.5,
            clock_error=0.01,
        )
    ]
    pending = PendingCalls(fake, fake, "channel-1", [Call(id="call", path="/a/b")], fake, 0)
    assert pending.spans == {"call": (0.99, 1.51)}
