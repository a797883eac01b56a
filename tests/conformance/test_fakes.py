"""Whole runs against adapters with one misdeed each: the verdict, the words and the exit code."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

SCENARIO = "ring.size[by-weight]"
CLAUSES = {"A42-RING-04", "A42-RING-09"}


@pytest.mark.parametrize(
    ("name", "verdict", "reason", "code", "words"),
    [
        ("liar", "fail", "lied", 1, "the client reports"),
        ("crasher", "fail", "crashed", 1, "died by SIGABRT; its stderr ends:\na last word"),
        ("exiter", "fail", "exited", 1, "exited with code 3 though nobody had asked it to"),
        ("breeder", "fail", "exited", 1, "exited with code 3 though nobody had asked it to"),
        ("flooder", "fail", "flooded", 1, "wrote without end"),
        ("babbler", "error", "adapter", 6, "does not know"),
        ("stillborn", "error", "adapter", 6, "exited with code 1"),
        ("old-contract", "error", "adapter", 6, "speaks version 99 of the contract"),
        ("mute", "error", "adapter", 6, "did not say hello within 6 s"),
        ("hanger", "fail", "hung", 1, "did not end 400 of 400 calls within 9 s"),
    ],
)
async def test_verdict(
    fakes: dict[str, asyncio.Task[Any]],
    name: str,
    verdict: str,
    reason: str,
    code: int,
    words: str,
) -> None:
    ended = await fakes[name]
    scenario = ended.scenarios[SCENARIO]
    assert (scenario["verdict"], scenario["reason"]) == (verdict, reason), ended.said
    assert scenario["clauses"] == dict.fromkeys(CLAUSES, verdict)
    assert {(one["verdict"], one["reason"]) for one in ended.clauses.values()} == {
        (verdict, reason)
    }
    assert all(words in one["saw"] for one in scenario["findings"])
    assert ended.code == code
    assert "Traceback" not in ended.said


@pytest.mark.parametrize("name", ["liar", "crasher", "mute", "stillborn"])
async def test_a_maintainer_can_act_on_what_is_said(
    fakes: dict[str, asyncio.Task[Any]], name: str
) -> None:
    ended = await fakes[name]
    scenario = ended.scenarios[SCENARIO]
    kind = "FAIL" if scenario["verdict"] == "fail" else "ERROR"
    said = ended.out
    assert f"{kind} ({scenario['reason']})  A42-RING-09  entries by weight" in said
    assert "[MUST]" in said
    assert f"files   {scenario['evidence']}" in said
    repeat = f"--seed {ended.report['provenance']['seed']} --scenario '{SCENARIO}'"
    assert f"adapters/{name} {repeat}" in said
    assert ("tracker   https://example.com/issues" in said) == (kind == "FAIL")


async def test_the_logs_are_told_and_kept(fakes: dict[str, asyncio.Task[Any]]) -> None:
    crashed = await fakes["crasher"]
    assert "a last word before the crash" in crashed.out
    folder = crashed.evidence / "crasher" / SCENARIO
    assert (folder / "stderr.log").read_text() == "a last word before the crash\n"
    assert "ClientCrashed" in (folder / "exception.txt").read_text()
    never_there = await fakes["stillborn"]
    assert "cannot find a library" in never_there.out
    folder = never_there.evidence / "stillborn" / SCENARIO
    assert (folder / "stderr.log").read_text() == "cannot find a library\n"


@pytest.mark.parametrize("name", ["crasher", "babbler", "mute"])
async def test_the_folder_is_judged_alike(
    fakes: dict[str, asyncio.Task[Any]], xdspec: Any, name: str
) -> None:
    ended = await fakes[name]
    scenario = ended.scenarios[SCENARIO]
    again = await xdspec.run("judge", scenario["evidence"])
    assert again.code == ended.code
    kind = "FAIL" if scenario["verdict"] == "fail" else "ERROR"
    lines = again.out.splitlines()
    verdicts = {line.split()[2] for line in lines if line.startswith(f"{kind} (")}
    assert verdicts == CLAUSES
    assert "not the verdicts of the run" not in again.out
