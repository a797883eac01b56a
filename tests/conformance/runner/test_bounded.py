"""A scenario ends, whatever it does."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

import pytest

from conformance import timing
from conformance.runner.plugin.alarm import ScenarioTimeout, bounded


def spins() -> None:
    while True:
        pass


def waits() -> None:
    asyncio.run(asyncio.Event().wait())


def has_a_task_that_spins() -> None:
    async def scenario() -> None:
        asyncio.get_running_loop().call_soon(spins)
        await asyncio.Event().wait()

    asyncio.run(scenario())


@pytest.mark.parametrize("scenario", [spins, waits, has_a_task_that_spins])
def test_what_goes_on_for_ever_is_ended(
    scenario: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "SCENARIO", 0.05)
    with pytest.raises(ScenarioTimeout, match=r"for more than 0\.05 s"), bounded():
        scenario()
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_what_ends_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "SCENARIO", 0.05)
    with bounded():
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    with pytest.raises(ValueError, match="its own"), bounded():
        raise ValueError("its own")
