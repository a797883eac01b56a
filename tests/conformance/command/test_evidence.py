"""What a run leaves in its evidence folder, and what it takes away."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

REFERENCE = "reference"

AGREE = 0.1
"""Seconds by which two clocks may disagree that were compared through a pipe."""


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def everything_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


async def test_all_that_happened_is_on_one_clock(xdspec: Any) -> None:
    patterns = ("load_report.names", "aggregated_state.one_ready")
    words = [word for one in patterns for word in ("--scenario", one)]
    ended = await xdspec.run("run", REFERENCE, *words, "--keep-evidence")
    assert ended.code == 0, ended.said
    told: set[str] = set()
    for one in ended.scenarios.values():
        folder = Path(one["evidence"])
        began = json.loads((folder / "scenario.json").read_text())["began"]
        over = began + one["seconds"]
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


async def test_what_runs_again_replaces_what_it_had_left(xdspec: Any, tmp_path: Path) -> None:
    words = ["run", REFERENCE, "--scenario", "ring.search", "--out", str(tmp_path)]
    kept = await xdspec.run(*words, "--keep-evidence")
    folder = Path(kept.scenarios["ring.search"]["evidence"])
    alone = folder.with_name("ring.search-alone")
    shutil.copytree(folder, alone)
    (folder / "of-yesterday").touch()
    await xdspec.run(*words, "--keep-evidence")
    left = everything_in(tmp_path)
    assert folder in left
    assert not {alone, folder / "of-yesterday"} & left, "it ran once"
    passed = await xdspec.run(*words)
    assert passed.scenarios["ring.search"]["evidence"] is None
    assert folder not in everything_in(tmp_path)


async def test_what_kept_a_client_from_starting_is_gone_once_it_starts(
    xdspec: Any, tmp_path: Path
) -> None:
    old = tmp_path / REFERENCE / "stderr.log"
    old.parent.mkdir()
    old.write_text("no such module")
    await xdspec.run("run", REFERENCE, "--scenario", "ring.search", "--out", str(tmp_path))
    assert not old.exists()
