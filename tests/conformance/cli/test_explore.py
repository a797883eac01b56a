"""``xdspec explore``: searches, replays a course, and says what is wrong with bad input."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance import timing
from conformance.cli.commands import main
from conformance.reporting.report import Exit
from conformance.runner.explore import courses
from conformance.runner.explore.courses import (
    Configuration,
    Course,
    Gate,
    Kill,
    Listed,
    Settle,
    Value,
)

FORGETS = "conformance.mutation.mutants.ring_hash.subchannel_states:failed_once_and_for_all"

RECOVERS = Course(
    members=2,
    initial=Configuration((Listed(0), Listed(1))),
    steps=(
        Settle((Value((0,)), Value((1,)))),
        Gate(0, "close"),
        Kill(0),
        Settle((Value((0, 1)),)),
        Gate(0, "serve"),
        Settle((Value((0, 1)),)),
    ),
)
"""An endpoint fails and serves again."""


def invoke(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.fixture
def file(tmp_path: Path) -> str:
    courses.write(tmp_path / "course.json", RECOVERS)
    return str(tmp_path / "course.json")


def test_search(tmp_path: Path) -> None:
    limits = ("--minutes", "0.05", "--seed", "4", "--jobs", "2")
    found = invoke("explore", "reference", *limits, "--out", str(tmp_path))
    assert found.exit_code == Exit.CONFORMS, found.output
    assert "area ring, seed 4, 2 at once" in found.output
    assert "no repeatable failures" in found.output
    assert not list(tmp_path.rglob("course.json"))


@pytest.mark.slow
def test_search_of_a_client_that_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "SHRINKING", 20.0)
    monkeypatch.setattr(timing, "EXAMINATION", 30.0)
    limits = ("--minutes", "0.05", "--seed", "4", "--jobs", "1")
    mutant = ("--env", f"XDSPEC_REFERENCE_MUTANT={FORGETS}")
    found = invoke("explore", "reference", *limits, *mutant, "--out", str(tmp_path))
    assert found.exit_code == Exit.DEVIATES, found.output
    assert "expected: " in found.output
    assert "--replay" in found.output
    (first, *_) = list(tmp_path.rglob("course.json"))
    assert courses.read(first).steps
    assert "!! " in (first.parent / "timeline.txt").read_text()


def test_replay(file: str, tmp_path: Path) -> None:
    words = ("explore", "reference", "--replay", file, "--times", "1", "--out", str(tmp_path))
    right = invoke(*words)
    assert right.exit_code == Exit.CONFORMS, right.output
    wrong = invoke(*words, "--env", f"XDSPEC_REFERENCE_MUTANT={FORGETS}")
    assert wrong.exit_code == Exit.DEVIATES, wrong.output
    assert "failed 1 of 1 times" in wrong.output
    (saved,) = (tmp_path / "reference").rglob("course.json")
    assert courses.read(saved) == RECOVERS


def test_bad_input(file: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    for words, said in {
        ("reference", "--replay", str(tmp_path / "none.json")): "none.json is not a course",
        ("reference", "--replay", str(bad)): "bad.json is not a course",
        ("nobody", "--replay", file): "nobody",
        ("reference", "--only", "spokes"): "spokes",
        ("reference", "--minutes", "0"): "minutes",
        ("reference", "--commit", "HEAD"): "--commit needs --source",
        ("interop", "--replay", file): "",
    }.items():
        found = invoke("explore", *words)
        assert found.exit_code == Exit.BAD_INPUT, (words, found.output)
        assert said in found.output
