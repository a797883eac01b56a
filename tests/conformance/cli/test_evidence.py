"""What a run leaves in its evidence folder, and what it takes away."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.commands import run
from conformance.cli.option_values import tool

ADAPTERS = Path(__file__).parents[2] / "adapters"

REFERENCE = "reference"

AGREE = 0.1
"""Seconds by which two clocks may disagree that were compared through a pipe."""


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def everything_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def recorded(scenario: dict[str, Any]) -> dict[str, Any]:
    """The record in the evidence of a scenario of a report."""
    found: dict[str, Any] = json.loads((Path(scenario["evidence"]) / "scenario.json").read_text())
    return found


async def test_all_that_happened_is_on_one_clock(xdspec: Any) -> None:
    patterns = ("load_report.cluster_and_service_names", "aggregated_state.one_ready")
    words = [word for pattern in patterns for word in ("--scenario", pattern)]
    ended = await xdspec.run("run", REFERENCE, *words, "--keep-evidence")
    assert ended.code == 0, ended.said
    told: set[str] = set()
    for scenario in ended.scenarios.values():
        folder = Path(scenario["evidence"])
        began = recorded(scenario)["began"]
        over = began + scenario["seconds"]
        rpcs = {
            value: row
            for row in rows(folder, "rpcs.jsonl")
            for key, value in row["metadata"]
            if key == "xdspec-call"
        }
        for call in rows(folder, "calls.jsonl"):
            told.add("calls")
            begin, end = call["started_at"] - AGREE, call["ended_at"] + AGREE
            assert began - AGREE <= begin + AGREE <= end - AGREE <= over + AGREE
            if call["endpoint"]:
                assert begin <= rpcs[call["id"]]["at"] <= end
        for name in ("states.jsonl", "load.jsonl"):
            times = [row["at"] for row in rows(folder, name)]
            assert times == sorted(times)
            assert all(began - AGREE <= at <= over + AGREE for at in times), name
            told.update([name] if times else [])
    assert told == {"calls", "states.jsonl", "load.jsonl"}


@pytest.mark.slow
async def test_a_repeat_keeps_the_evidence_of_the_run_before_it(
    xdspec: Any, tmp_path: Path
) -> None:
    words = ["run", REFERENCE, "--scenario", "ring.search", "--out", str(tmp_path)]
    kept = await xdspec.run(*words, "--keep-evidence")
    folder = Path(kept.scenarios["ring.search"]["evidence"])
    alone = folder.with_name("ring.search-alone")
    shutil.copytree(folder, alone)
    (folder / "of-yesterday").touch()
    await xdspec.run(*words, "--keep-evidence")
    before = folder.with_name("ring.search-before")
    left = everything_in(tmp_path)
    assert {folder, before / "of-yesterday"} <= left
    assert not {alone, folder / "of-yesterday"} & left, "it ran once"
    passed = await xdspec.run(*words)
    assert passed.scenarios["ring.search"]["evidence"] is None
    left = everything_in(tmp_path)
    assert before in left
    assert not {folder, before / "of-yesterday"} & left


@pytest.mark.slow
async def test_what_kept_a_client_from_starting_is_gone_once_it_starts(
    xdspec: Any, tmp_path: Path
) -> None:
    old = tmp_path / REFERENCE / "stderr.log"
    old.parent.mkdir()
    old.write_text("no such module")
    await xdspec.run("run", REFERENCE, "--scenario", "ring.search", "--out", str(tmp_path))
    assert not old.exists()


CORES = Path("/proc/sys/kernel/core_pattern")
WITH_CORES = "sh -c 'ulimit -c unlimited; exec \"$@\"' sh"


@pytest.mark.slow
@pytest.mark.skipif(
    not CORES.exists() or CORES.read_text()[0] in "|/",
    reason="cores of this machine go elsewhere",
)
async def test_a_core_file_is_kept_and_named(xdspec: Any) -> None:
    words = ("--scenario", "ring.search", "--wrap", WITH_CORES)
    ended = await xdspec.run("run", str(ADAPTERS / "crasher"), *words)
    scenario = ended.scenarios["ring.search"]
    (name,) = scenario["left"]
    assert name.startswith("left/core")
    assert (Path(scenario["evidence"]) / name).read_bytes()[:4] == b"\x7fELF"
    assert f"left      files of the client: {name}" in ended.out
    (told,) = {
        line.split("repeat ", 1)[1].strip()
        for line in ended.out.splitlines()
        if line.strip().startswith("repeat ")
    }
    assert "--wrap" in told
    program, _, told_words = told.partition(" run ")  # how it is called depends on the folder
    assert "xdspec" in program
    assert recorded(scenario)["repeat"].partition(" run ")[2] == told_words
    assert not [path for path in everything_in(ended.folder) if path.name.endswith(".files")]


async def test_reports_tell_how_to_repeat_and_keep_what_env_gave_to_themselves(xdspec: Any) -> None:
    """A site or a bundle is given away, and a terminal may be the log of a CI."""
    given = ("--env", "TOKEN=not for you", "--fast")
    ended = await xdspec.run("run", str(ADAPTERS / "crasher"), "--scenario", "ring.search", *given)
    assert "--fast --env 'TOKEN=…' --scenario ring.search" in ended.out
    assert "not for you" not in ended.said
    (run,) = ended.report["runs"]
    assert f"xdspec run {shlex.quote(str(ADAPTERS / 'crasher'))} --seed " in run["repeat"]
    assert run["repeat"].endswith(" --fast --env 'TOKEN=…'")
    record = recorded(ended.scenarios["ring.search"])
    assert record["repeat"] == f"{run['repeat']} --scenario ring.search"
    for file in filter(Path.is_file, everything_in(ended.folder)):
        assert b"not for you" not in file.read_bytes(), file


def test_deadlines_grow_behind_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    option = next(param for param in run.params if param.name == "wrap")
    monkeypatch.setenv("XDSPEC_TIME_SCALE", "1")
    with run.make_context("run", ["--out", str(tmp_path)]) as context:
        monkeypatch.delenv("XDSPEC_TIME_SCALE")
        program, *arguments = tool(context, option, "sh -c x")
        assert (Path(program).name, arguments) == ("sh", ["-c", "x"])
        assert os.environ["XDSPEC_TIME_SCALE"] == "10"
        monkeypatch.setenv("XDSPEC_TIME_SCALE", "3")
        tool(context, option, "sh -c x")
        assert os.environ["XDSPEC_TIME_SCALE"] == "3"


def test_deadlines_are_read_after_the_options() -> None:
    program = "import sys, conformance.cli.commands; sys.exit('conformance.timing' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
