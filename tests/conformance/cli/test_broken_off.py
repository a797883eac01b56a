"""A run that breaks off, and reports that cannot be written: all that is there is told."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli.commands import main

Started = Callable[..., AbstractAsyncContextManager[Any]]

CRASHER = str(Path(__file__).parents[2] / "adapters" / "crasher")
ONE = ("--scenario", "ring.size[[]by-weight]")


def invoke(*words: str) -> tuple[int, str]:
    ended = CliRunner().invoke(main, words)
    return ended.exit_code, ended.output


def parent(pid: int) -> int:
    """Return the id of a process's parent; 0 if it has ended meanwhile, as clients of others do."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


@pytest.mark.slow
async def test_a_worker_that_is_killed(started: Started) -> None:
    async with started("run", "reference", "--scenario", "ring.*", "--jobs", "2") as running:
        await running.line("1/")
        clients = [
            pid
            for pid, words in running.processes().items()
            if "-m client_under_test.reference" in words
        ]
        workers = [
            client for client in map(parent, clients) if parent(client) == running.process.pid
        ]
        os.kill(workers[0], signal.SIGKILL)
        ended = await running.ended()
    assert ended.code == 3
    (made,) = ended.report["runs"]
    assert made["complete"] is False
    assert any("crashed while running" in trouble for trouble in made["troubles"])
    assert "! " in ended.out
    assert "errors of the suite or the machine" in ended.out
    assert "Traceback" not in ended.said
    code, said = invoke("summary", str(ended.folder / "r.json"))
    assert code == 4
    assert "has a run of reference 1.0.0 that did not finish" in said


@pytest.mark.slow
async def test_nobody_reads_what_a_run_says(started: Started) -> None:
    async with started("run", "reference", "--scenario", "ring.*", "--jobs", "2") as running:
        await running.line("1/")
        running.process._transport.get_pipe_transport(1).close()
        _, err = await asyncio.wait_for(running.process.communicate(), 60)
    assert running.process.returncode == 3
    assert err.decode() == "xdspec: standard output was closed\n"
    (made,) = json.loads((running.folder / "r.json").read_text())["runs"]
    assert made["complete"] is False


@pytest.mark.parametrize(
    ("options", "count"), [((), ", 1 with new failures, "), (("--no-baseline",), ", 1 failed, ")]
)
def test_progress_calls_a_failure_new_only_beside_a_baseline(
    tmp_path: Path, options: tuple[str, ...], count: str
) -> None:
    code, said = invoke("run", CRASHER, *ONE, "--out", str(tmp_path), *options)
    assert code == 1
    assert f"scenarios run{count}" in said


@pytest.mark.slow
async def test_reports_that_cannot_be_written_any_more(started: Started, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    files = ("--json", str(folder / "r.json"), "--junit", str(folder / "r.xml"))
    async with started("run", CRASHER, "--scenario", "ring.*", *files) as running:
        await running.line("1/")  # it is far from its end
        assert json.loads((folder / "r.json").read_text())["runs"] == []
        shutil.rmtree(folder)
        ended = await running.ended()
    assert ended.code == 3
    assert "FAIL (crashed)" in ended.out
    assert f"! {folder / 'r.json'} cannot be written: No such file or directory; " in ended.out
    assert f"{folder / 'r.xml'} cannot be written" in ended.out


@pytest.mark.slow
async def test_evidence_that_cannot_be_kept(xdspec: Any, started: Started) -> None:
    async with started("run", CRASHER, *ONE) as running:
        folder = running.folder / "out" / "crasher"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ring.size[by-weight]").touch()
        ended = await running.ended()
    assert ended.code == 3
    (made,) = ended.report["runs"]
    assert made["complete"] is True
    assert made["troubles"] == ["evidence could not be kept: File exists"]
    assert "FAIL (crashed)" in ended.out
    assert " show " not in ended.out


def test_one_file_for_both_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, said = invoke("run", CRASHER, "--json", "r", "--junit", str(tmp_path / "r"))
    assert (code, [*tmp_path.iterdir()]) == (4, [])
    assert "--json and --junit name one file: each report needs its own" in said


@pytest.mark.parametrize("option", ["--json", "--junit"])
@pytest.mark.parametrize(
    "path",
    [
        "/proc/r",
        pytest.param(
            "/dev/full",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device"),
        ),
    ],
)
def test_a_report_that_cannot_be_written_is_found_before_the_first_scenario(
    option: str, path: str, tmp_path: Path
) -> None:
    code, said = invoke("run", CRASHER, option, path, "--out", str(tmp_path / "out"))
    assert code == 4
    assert f"{path} cannot be written: No s" in said
    assert "1/" not in said
    assert not (tmp_path / "out").exists()


def test_what_an_earlier_command_has_left_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("stale")
    lost = str(tmp_path / "client")
    shutil.copytree(CRASHER, lost)
    toml = Path(lost, "client.toml")
    tool = '[build]\ncommand = ["no-such-program"]\n[[build.tools]]\nprogram = "no-such-program"\n'
    toml.write_text(toml.read_text() + tool + 'get = "ask for it"\n')
    code, said = invoke("run", lost, "--json", str(path))
    assert (code, "ask for it" in said) == (4, True)
    code, said = invoke("summary", str(path))
    assert (
        code,
        "contains no runs: the command that wrote it failed before starting one" in said,
    ) == (4, True)
