"""The command that repeats a scenario has all options that decided its verdict."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from client_under_test import Prepared, find
from conformance.cli.invocation import Judging, again, conditions

CLIENT = Prepared(
    client=find("reference"), version="1.0.0", command=("client",), environment={}, editions=()
)


@pytest.mark.parametrize(
    ("judging", "fast", "words"),
    [
        (Judging(), False, []),
        (Judging(no_baseline=True), True, ["--fast", "--no-baseline"]),
        (Judging(strict=True), False, ["--strict"]),
        (
            Judging(baseline=Path("a b.toml")),
            False,
            ["--baseline", str(Path("a b.toml").absolute())],
        ),
    ],
)
def test_options_that_decide_a_verdict(judging: Judging, *, fast: bool, words: list[str]) -> None:
    said = again(CLIENT, seed=7, fast=fast, variables=(), judging=judging)
    named = shlex.split(said)
    assert named[named.index("run") :] == ["run", "reference", "--seed", "7", *words]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("xdspec run go@1.85.0 --seed 7 --strict --no-baseline", set()),
        (
            "XDSPEC_SOAK=9 xdspec run go --source . --fast --env 'A=…' --wrap 'strace -f'",
            {"XDSPEC_SOAK=9", "--fast", "--env 'A=…'", "--wrap 'strace -f'"},
        ),
    ],
)
def test_options_that_decide_how_a_client_runs(command: str, found: set[str]) -> None:
    assert conditions(shlex.split(command)) == found


def test_no_value_of_env_is_in_a_command_to_repeat() -> None:
    said = again(CLIENT, seed=7, fast=False, variables={"TOKEN": "not for you"}, judging=Judging())
    assert "--env 'TOKEN=…'" in said
    assert "not for you" not in said
