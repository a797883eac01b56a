"""Whole runs against adapters with one misdeed each: the verdict, the words and the exit code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.spec.catalogue import load

ADAPTERS = Path(__file__).parents[2] / "adapters"

SCENARIO = "ring.size[by-weight]"
CLAUSES = {"A42-RING-04", "A42-RING-09"}

Fakes = Mapping[str, Callable[[], Awaitable[Any]]]


@pytest.mark.parametrize(
    ("name", "verdict", "reason", "code", "words"),
    [
        ("liar", "fail", "lied", 1, "the client reports"),
        (
            "denier",
            "fail",
            "lied",
            1,
            r"as UNAVAILABLE \(no connection\), but the backend that received it answered OK",
        ),
        (
            "jumper",
            "error",
            "adapter",
            6,
            r"says that call-0 started 3\d\d\d\.\d+ s after it said so \(.* us\): take every time",
        ),
        ("crasher", "fail", "crashed", 1, "died by SIGABRT; its stderr ends:\na last word"),
        (
            "exiter",
            "fail",
            "exited",
            1,
            "exited with code 3, but the suite had not asked it to exit",
        ),
        (
            "breeder",
            "fail",
            "exited",
            1,
            "exited with code 3, but the suite had not asked it to exit",
        ),
        (
            "quitter",
            "error",
            "adapter",
            6,
            "exited with code 3 after the end of stdin: the contract requires .*\na last word",
        ),
        ("late-crasher", "error", "adapter", 6, "died by SIGSEGV after the end of stdin: the con"),
        ("flooder", "fail", "flooded", 1, "wrote without end"),
        ("babbler", "error", "adapter", 6, "wrote a line that is not a valid message"),
        (
            "undone",
            "error",
            "adapter",
            6,
            "all calls have `finished`, but there is no `done` for request ",
        ),
        (
            "stray",
            "error",
            "adapter",
            6,
            r"never opened a stream to the control plane: (4\d\d) of \1",
        ),
        ("refuser", "fail", "deviates", 1, "the client refused the CLUSTER resource"),
        ("hanger", "fail", "hung", 1, r"did not end (4\d\d) of \1 calls within 36 s"),
    ],
)
async def test_verdict(
    fakes: Fakes,
    name: str,
    verdict: str,
    reason: str,
    code: int,
    words: str,
) -> None:
    ended = await fakes[name]()
    scenario = ended.scenarios[SCENARIO]
    assert (scenario["verdict"], scenario["reason"]) == (verdict, reason), ended.said
    assert scenario["clauses"] == dict.fromkeys(CLAUSES, verdict)
    assert {(clause["verdict"], clause["reason"]) for clause in ended.clauses.values()} == {
        (verdict, reason)
    }
    assert all(re.search(words, finding["saw"]) for finding in scenario["findings"])
    assert ended.code == code
    assert "Traceback" not in ended.said


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "stillborn",
            "exited with code 1, but the suite had not asked it to exit; its stderr ends:",
        ),
        ("old-contract", "speaks version 99 of the contract, this suite version 1"),
        ("mute", "did not say hello within 4.5 s"),
        ("unwilling", "the adapter refused `hello`: a library is missing"),
        ("impostor", "hello has version 9, and client.toml says 0: let the adapter and its manif"),
        (
            "boaster",
            "client.toml declares `cancel`, `channels`, `connect`, `watch`, and hello does not",
        ),
    ],
)
async def test_an_adapter_that_does_not_come_up_is_told_of_once(
    fakes: Fakes, name: str, words: str
) -> None:
    ended = await fakes[name]()
    assert ended.code == 6
    assert ended.report["runs"] == []
    (left,) = ended.report["not_run"]
    assert (left["client"], left["verdict"], left["reason"]) == (name, "error", "adapter")
    assert words in left["words"]
    indented = left["words"].replace("\n", "\n    ")
    assert ended.out.count(f"error (adapter)  {name}: {indented}") == 1
    assert "xdspec doctor" in ended.out
    waited = "still waiting for the hello of mute, 1.5 s" in ended.out
    assert waited == (name == "mute")
    assert (ended.evidence / name / "stderr.log").exists()
    assert "Traceback" not in ended.said


@pytest.mark.parametrize("name", ["liar", "crasher", "babbler"])
async def test_a_maintainer_can_act_on_what_is_said(fakes: Fakes, name: str) -> None:
    ended = await fakes[name]()
    scenario = ended.scenarios[SCENARIO]
    kind = "FAIL" if scenario["verdict"] == "fail" else "ERROR"
    said = ended.out
    assert f"{kind} ({scenario['reason']})  A42-RING-09  {load()['A42-RING-09'].title}" in said
    assert "[MUST]" in said
    folder = ended.evidence / name / SCENARIO
    assert scenario["evidence"] == str(folder)
    assert re.search(rf"show '?\S*{re.escape(str(Path(name, SCENARIO)))}'?\n", said)
    repeat = f"--seed {ended.report['provenance']['seed']} --scenario '{SCENARIO}'"
    assert f" run {shlex.quote(str(ADAPTERS / name))} {repeat}" in said
    assert "https://example.com/issues" not in said  # it is the user's own adapter


async def test_the_logs_are_told_and_kept(fakes: Fakes) -> None:
    crashed = await fakes["crasher"]()
    assert "a last word before the crash" in crashed.out
    folder = crashed.evidence / "crasher" / SCENARIO
    assert (folder / "stderr.log").read_text() == "a last word before the crash\n"
    assert "ClientCrashed" in (folder / "exception.txt").read_text()
    never_there = await fakes["stillborn"]()
    assert "cannot find a library" in never_there.out
    left = never_there.evidence / "stillborn" / "stderr.log"
    assert left.read_text() == "cannot find a library\n"


@pytest.mark.parametrize("name", ["crasher", "babbler"])
async def test_the_folder_is_judged_alike(fakes: Fakes, xdspec: Any, name: str) -> None:
    ended = await fakes[name]()
    scenario = ended.scenarios[SCENARIO]
    again = await xdspec.run("judge", scenario["evidence"])
    assert again.code == ended.code
    kind = "FAIL" if scenario["verdict"] == "fail" else "ERROR"
    lines = again.out.splitlines()
    verdicts = {line.split()[2] for line in lines if line.startswith(f"{kind} (")}
    assert verdicts == CLAUSES
    assert "not the verdicts of the run" not in again.out


async def test_several_clients_in_one_report(xdspec: Any) -> None:
    """One that does not come up does not stop the others, and the worst code is the command's."""
    names = ["crasher", "stillborn", "exiter"]
    folders = [str(ADAPTERS / name) for name in names]
    ended = await xdspec.run("run", *folders, "--scenario", SCENARIO, "--jobs", "1")
    assert ended.code == 6
    assert [run["client"]["name"] for run in ended.report["runs"]] == ["crasher", "exiter"]
    assert [left["client"] for left in ended.report["not_run"]] == ["stillborn"]
    summary = ended.out.split("\n\n")[-1].splitlines()
    told = [
        re.split(r" \(adapter [^)]*\) +", re.split(" scenarios? in ", line)[0]) for line in summary
    ]
    assert told[:2] == [
        ["crasher 0", "2 clauses: 2 fail (1 MUST, 1 SHOULD); 1"],
        ["exiter 0", "2 clauses: 2 fail (1 MUST, 1 SHOULD); 1"],
    ]
    words = "error (adapter): the client exited with code 1"
    assert re.match(rf"stillborn +{re.escape(words)}", summary[2])


@pytest.mark.parametrize(
    ("name", "more", "blocker", "words"),
    [
        # What needs to know where a request goes ends by the same, as the calibration has.
        ("refuser", ["subchannel_states.one_hash"], "A42-CDS-01", "the client refused the CLUSTER"),
        ("crasher", [], "A42-HASH-03", "the client died by SIGABRT"),
    ],
)
async def test_what_ends_every_scenario_is_told_once(
    xdspec: Any, name: str, more: list[str], blocker: str, words: str
) -> None:
    """The first clause of all, or the first that is about what was refused."""
    wanted = ("hash_policy.same_results_same_hash", "cluster.ring_hash", "ring.size", "ring.search")
    chosen = [word for pattern in (*wanted, *more) for word in ("--scenario", pattern)]
    ended = await xdspec.run("run", str(ADAPTERS / name), *chosen, "--jobs", "2")
    assert ended.code == 1
    assert "Traceback" not in ended.said
    failed = [clause for clause, result in ended.clauses.items() if result["verdict"] == "fail"]
    assert failed == [blocker]
    others = {clause: result for clause, result in ended.clauses.items() if clause != blocker}
    assert len(others) > 5
    assert {(result["reason"], result["blocked_by"]) for result in others.values()} == {
        ("blocked", blocker)
    }
    count = f"{len(others)} clauses"
    assert f"  skip (blocked)  {count}: blocked by the failure of {blocker}: {words}" in ended.out
    assert f"skip ({len(others)} blocked)" in ended.out
    assert ended.out.count("\nFAIL (") == 1


async def test_a_brief_run_lists_what_needs_attention(xdspec: Any) -> None:
    words = (str(ADAPTERS / "crasher"), "--scenario", "ring.size[[]by-weight]", "--jobs", "1")
    ended = await xdspec.run("run", *words, brief=True)
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert lines[0].startswith("     1/1  fail (crashed)  ring.size[by-weight]")
    assert lines[1].startswith("     1/1  scenarios run, 1 with new failures, in ")
    assert sum(line.startswith("FAIL (crashed)") for line in lines) == 1
    assert not any(line.startswith("  A42-RING-09 ") for line in lines)
    assert lines[-1].endswith("s: does not conform (2 newly failed clauses)")
