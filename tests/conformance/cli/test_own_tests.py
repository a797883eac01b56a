"""Check what `xdspec test` hands to pytest, and when slow tests run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli.commands import main
from conformance.reporting.report import Exit

HERE = Path(__file__).name
CONFIGURATION = Path(__file__).parents[2] / "conftest.py"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands that would have been started."""
    started: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        started.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.chdir(Path(__file__).parent)
    return started


@pytest.mark.parametrize(
    ("arguments", "all_of_them"),
    [
        ((), True),
        (("-k", "census"), True),
        ((HERE,), False),
        ((f"{HERE}::test_of_it", "-x"), False),
        ((f"{HERE}::test_of_it[one::two]",), False),
    ],
)
def test_what_is_named_is_all_that_runs(
    arguments: tuple[str, ...], *, all_of_them: bool, commands: list[list[str]]
) -> None:
    assert CliRunner().invoke(main, ["test", *arguments]).exit_code == 0
    (command,) = commands
    assert "--slow" not in command
    assert ("-n" in command) is all_of_them
    assert (str(Path(__file__).parents[2]) in command) is all_of_them


@pytest.mark.parametrize("argument", ["gone.py", "gone.py::test_of_it"])
def test_a_file_that_does_not_exist_is_named(argument: str, commands: list[list[str]]) -> None:
    result = CliRunner().invoke(main, ["test", argument])
    assert result.exit_code == Exit.BAD_INPUT
    assert f"there is no file {Path.cwd() / 'gone.py'}" in result.output
    assert commands == []


def test_slow_tests_are_an_option(commands: list[list[str]]) -> None:
    assert CliRunner().invoke(main, ["test", "--slow", "-x"]).exit_code == 0
    (command,) = commands
    assert {"-n", "--slow", "-x"} <= {*command}


TESTS = """
import pytest
from hypothesis import settings

@pytest.mark.{mark}
def test_of_many_examples():
    assert settings().max_examples == {examples}

def test_other():
    pass
"""


@pytest.mark.parametrize(
    ("arguments", "passed", "examples"),
    [
        ((".",), 1, 0),
        ((".", "--slow"), 2, 200),
        ((".", "-m", "slow"), 1, 30),
        (("test_some.py",), 2, 30),
    ],
)
def test_when_slow_tests_run(
    tmp_path: Path, arguments: tuple[str, ...], passed: int, examples: int
) -> None:
    (tmp_path / "conftest.py").write_text(CONFIGURATION.read_text("utf-8"), "utf-8")
    (tmp_path / "test_some.py").write_text(TESTS.format(examples=examples, mark="slow"), "utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert f"{passed} passed" in ended.stdout
    assert ("slow tests are left out: --slow runs them" in ended.stdout) == (not examples)
