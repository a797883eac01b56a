"""When workers are added to a run, and when one is given up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance import timing
from conformance.runner import growth
from conformance.runner.growth import AT_ONCE, MOST_PER_CORE, Growing, Sample


@pytest.mark.parametrize(
    ("idle", "late", "workers", "left", "by"),
    [
        pytest.param(4.0, 0.0, 8, 500, AT_ONCE, id="all-processors-idle"),
        pytest.param(2.0, 0.0, 8, 500, 4, id="half-of-them-idle"),
        pytest.param(1.2, 0.0, 8, 500, 0, id="almost-busy"),
        pytest.param(0.1, 0.0, 8, 500, -1, id="busy"),
        pytest.param(4.0, timing.LATE, 8, 500, -1, id="the-suite-is-late"),
        pytest.param(4.0, 0.0, 8, 9, 1, id="one-scenario-more-than-workers"),
        pytest.param(4.0, 0.0, 8, 0, 0, id="no-scenario-left"),
        pytest.param(4.0, 0.0, 2 * MOST_PER_CORE - 1, 500, 1, id="almost-as-many-as-allowed"),
        pytest.param(4.0, 0.0, 2 * MOST_PER_CORE + 8, 500, 0, id="more-than-allowed-at-first"),
    ],
)
def test_growth(idle: float, late: float, workers: int, left: int, by: int) -> None:
    """Two seconds on two processors."""
    before, now = Sample(10.0, 100.0), Sample(12.0, 100.0 + idle)
    assert growth.growth(before, now, workers=workers, left=left, late=late, processors=2) == by


def test_a_sample_of_this_machine() -> None:
    first = growth.sample()
    assert first is not None
    second = growth.sample()
    assert second is not None
    assert (
        0
        <= second.idle - first.idle
        <= (second.at - first.at + 0.02) * len(os.sched_getaffinity(0))
    )


@pytest.mark.parametrize("stat", ["", "cpu  1 2 3 4 5\n", "nothing\ncpu0 1 2 3 x y\n"])
def test_where_the_system_does_not_tell_nothing_grows(
    stat: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stat").write_text(stat)
    monkeypatch.setattr(growth, "STAT", tmp_path / "stat")
    assert growth.sample() is None
    assert Growing(enabled=True).change(workers=1, left=100) == 0


def test_nothing_grows_where_memory_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 2097152 kB\nMemAvailable: 1000 kB\n")
    monkeypatch.setattr(growth, "MEMINFO", tmp_path / "meminfo")
    assert growth.sample() is None


def test_a_decision_is_made_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [Sample(0.0, 0.0), Sample(5.0, 10.0), Sample(10.0, 20.0)]
    clock = iter((0.5, 5.0, 5.5, 10.0))
    monkeypatch.setattr(growth, "sample", lambda: samples.pop(0))
    monkeypatch.setattr(growth, "now", lambda: next(clock))
    monkeypatch.setattr(growth, "cores", lambda: 2)
    growing = Growing(enabled=True)
    assert [growing.change(workers=4, left=50) for _ in range(2)] == [0, AT_ONCE]
    growing.was_late(timing.LATE)
    growing.was_late(0.0)
    assert [growing.change(workers=4, left=50) for _ in range(2)] == [0, -1]
