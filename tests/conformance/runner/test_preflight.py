"""What a run needs of the machine, and what is said where it is not there."""

from __future__ import annotations

import threading

import pytest

from conformance.runner import preflight


def test_a_machine_that_carries_a_run() -> None:
    before = threading.active_count()
    preflight.check(2)
    assert threading.active_count() == before


def test_a_limit_of_threads_is_told_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, start = list[threading.Thread](), threading.Thread.start

    def alive() -> int:  # of these alone: what other tests have left may end meanwhile
        return sum(child.is_alive() for child in begun)

    def limited(thread: threading.Thread) -> None:
        if alive() == 40:
            raise RuntimeError("can't start new thread")
        start(thread)
        begun.append(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    preflight.check(1)
    with pytest.raises(preflight.Unfit, match=r"allows 40 more .* 2 .*need 64.*ulimit -u"):
        preflight.check(2)
    assert alive() == 0


def test_no_number_of_jobs_asks_for_more_than_can_be_tried() -> None:
    preflight.check(10**9)
