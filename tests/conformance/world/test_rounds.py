"""Rounds of calls until they fit; the calls are made up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.judging.expectations import EndsWith
from conformance.judging.observations import Call, Calls
from conformance.judging.ring_keys import RingKeys
from conformance.world.rounds import Round, Rounds

SERVED, ROUNDS = EndsWith("OK"), Rounds(RingKeys())


def calls(status: str) -> Calls:
    call = Call(id=status, channel="channel-1", path="/s/m", metadata=(), status=status)
    return Calls((call,))


def each_of(*statuses: str) -> tuple[Round, list[str]]:
    """A round for each of these, and which were made."""
    left: Iterator[str] = iter(statuses)
    made: list[str] = []

    async def make() -> Calls:
        made.append(next(left))
        return calls(made[-1])

    return make, made


async def test_until_it_fits() -> None:
    make, made = each_of("UNAVAILABLE", "UNAVAILABLE", "OK", "UNAVAILABLE")
    seen = await ROUNDS.eventually(SERVED, make)
    assert (len(made), seen.overdue, seen.calls[0].status) == (3, False, "OK")


async def test_until_it_lasts() -> None:
    make, made = each_of("UNAVAILABLE", "OK", "UNAVAILABLE")
    seen = await ROUNDS.eventually_stable(SERVED, make)
    assert (len(made), seen.calls[0].status) == (3, "UNAVAILABLE")


async def test_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "APPLY", -1.0)
    make, made = each_of("UNAVAILABLE", "OK")
    seen = await ROUNDS.eventually(SERVED, make)
    assert (made, seen.overdue) == (["UNAVAILABLE"], True)
    make, made = each_of("UNAVAILABLE", "OK")
    with pytest.raises(PreconditionTimeout, match="though an update was ACKed"):
        await ROUNDS.require(SERVED, make, why="an update was ACKed")
    make, made = each_of("UNAVAILABLE", "OK")
    assert (await ROUNDS.eventually_stable(SERVED, make)).overdue
    assert made == ["UNAVAILABLE"]
