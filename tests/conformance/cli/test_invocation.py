"""The command that repeats a scenario has all options that decided its verdict."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from client_under_test.environments import Prepared
from client_under_test.manifests.clients import find
from conformance.cli.invocation import (
    Judging,
    again,
    conditions,
    counting_known,
    pasteable,
    portable_program,
    program,
)

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


def test_a_command_that_counts_known_failures_says_so_once() -> None:
    once = "./xdspec run go@1.85.0 --seed 7 --no-baseline"
    assert counting_known("./xdspec run go@1.85.0 --seed 7") == counting_known(once) == once


def test_no_value_of_env_is_in_a_command_to_repeat() -> None:
    said = again(CLIENT, seed=7, fast=False, variables={"TOKEN": "not for you"}, judging=Judging())
    assert "--env 'TOKEN=…'" in said
    assert "not for you" not in said


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose command runs."""
    folder = tmp_path / "a checkout"
    for name in ("docs", "conformance"):
        (folder / name).mkdir(parents=True)
    monkeypatch.setattr("sys.argv", [str(folder / "conformance" / "__main__.py")])
    return folder


@pytest.mark.parametrize(
    ("folder", "typed"),
    [
        ("a checkout", "./xdspec"),
        ("a checkout/docs", "../xdspec"),
        ("", "'a checkout/xdspec'"),
        ("other", "'../a checkout/xdspec'"),
    ],
)
def test_a_checkout_is_called_from_where_the_user_is(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, typed: str
) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / folder)
    assert checkout.is_dir()
    assert program() == typed
    assert portable_program() == "./xdspec"
    assert pasteable("XDSPEC_SOAK=9 ./xdspec run 'a b'") == f"XDSPEC_SOAK=9 {typed} run 'a b'"


def test_a_checkout_far_away_has_its_whole_path(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/usr/lib")
    assert shlex.split(program()) == [str(checkout / "xdspec")]


def test_an_installed_command_is_called_by_its_path_unless_the_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "xdspec"
    script.write_text("#!/bin/sh\n", "utf-8")
    script.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(script)])
    monkeypatch.setenv("PATH", "/nowhere")
    assert program() == str(script)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() == portable_program() == "xdspec"


@pytest.mark.parametrize("command", ["", "pytest -p pytest_xdspec 'a b.py::c'", "sh -c xdspec"])
def test_another_command_stays_as_it_is(checkout: Path, command: str) -> None:
    assert checkout.is_dir()
    assert pasteable(command) == command
