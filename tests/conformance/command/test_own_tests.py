"""What `xdspec test` hands to pytest."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.command.cli import main

HERE = Path(__file__).name


@pytest.mark.parametrize(
    ("arguments", "all_of_them"),
    [
        ((), True),
        (("-k", "census"), True),
        ((HERE,), False),
        ((f"{HERE}::test_of_it", "-x"), False),
        ((f"{HERE}::test_of_it[one::two]",), False),
        (("gone.py::test_of_it",), True),
    ],
)
def test_what_is_named_is_all_that_runs(
    arguments: tuple[str, ...], *, all_of_them: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.chdir(Path(__file__).parent)
    assert CliRunner().invoke(main, ["test", *arguments]).exit_code == 0
    (command,) = commands
    assert ("-n" in command) is all_of_them
    assert (str(Path(__file__).parents[2]) in command) is all_of_them
