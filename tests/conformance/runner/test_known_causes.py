"""What the processes of a run learn from each other of why scenarios wait in vain."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.judging.verdicts import Cause
from conformance.runner.known_causes import ENOUGH, FILE, ONE_IN, KnownCauses, waits_to_the_end

ONE = Cause(resource="cluster", words="it requests none")
OTHER = Cause(resource="route", words="it requests none")


def test_a_cause_is_known_once_enough_scenarios_confirm_it(tmp_path: Path) -> None:
    writes, reads = KnownCauses(tmp_path), KnownCauses(tmp_path)
    assert reads.known() == frozenset()
    for number in range(ENOUGH):
        assert reads.known() == frozenset()
        writes.confirm(ONE, f"scenario-{number}")
    assert reads.known() == writes.known() == {ONE}


def test_one_scenario_confirms_once(tmp_path: Path) -> None:
    causes = KnownCauses(tmp_path)
    for _ in range(ENOUGH):
        causes.confirm(ONE, "the same")
    assert causes.known() == frozenset()


@pytest.mark.parametrize("is_first", [True, False])
def test_one_scenario_refutes_it_for_good(tmp_path: Path, *, is_first: bool) -> None:
    writes, reads = KnownCauses(tmp_path), KnownCauses(tmp_path)
    if is_first:
        writes.refute(ONE, "a")
    for number in range(ENOUGH):
        reads.confirm(ONE, f"scenario-{number}")
        reads.confirm(OTHER, f"scenario-{number}")
    writes.refute(ONE, "a")
    for process in (reads, writes):
        assert process.known() == {OTHER}
        assert process.refuted() == {ONE}


def test_what_is_known_already_is_not_written_again(tmp_path: Path) -> None:
    causes = KnownCauses(tmp_path)
    for _ in range(3):
        causes.refute(ONE, "a")
        causes.confirm(OTHER, "b")
    assert len((tmp_path / FILE).read_bytes().splitlines()) == 2


def test_a_line_that_is_not_whole_yet_is_read_later(tmp_path: Path) -> None:
    writes, reads = KnownCauses(tmp_path), KnownCauses(tmp_path)
    writes.refute(ONE, "a")
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[:10])
    assert reads.refuted() == frozenset()
    (tmp_path / FILE).write_bytes(whole)
    assert reads.refuted() == {ONE}


def test_about_one_in_eight_waits_to_the_end_whatever_the_seed() -> None:
    names = [f"scenario-{number}" for number in range(2000)]
    for seed in (None, 1, 2):
        chosen = [name for name in names if waits_to_the_end(name, seed=seed)]
        assert len(names) / ONE_IN / 1.3 < len(chosen) < len(names) / ONE_IN * 1.3
    by_seed = [{name for name in names if waits_to_the_end(name, seed=seed)} for seed in (1, 2)]
    assert by_seed[0] != by_seed[1]
