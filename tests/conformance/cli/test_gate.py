"""`xdspec gate` on a client that is built from sources, from the command line to the exit code."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from click.testing import CliRunner

from client_under_test.environments import prepare
from client_under_test.manifests.clients import find
from conformance import timing
from conformance.cli import base_cache, gate
from conformance.cli.commands import main
from conformance.cli.run_options import RunOptions
from conformance.judging.evidence import JudgedClient, Record, Trouble
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting.provenance import Suite

from .test_source import CLAUSE, COMPILED, ONE, commit, git, library, names

__all__ = ["library"]

SHOULD = "A42-RING-04"
"""Which a ring that is too small breaks as well."""

BROKEN = (
    "this change breaks 2 clauses: 1 fails the gate, 1 does not "
    f"({SHOULD} is SHOULD; --strict counts it)"
)

SLOW, SLOW_CLAUSE = "missing_resources.changed_routes", "A74-CONFIG-03"
"""A scenario that is recorded here as longer than a quick run, and the clause it alone decides."""


@pytest.mark.slow
async def test_a_change_is_held_against_a_commit(xdspec: Any, library: Path) -> None:
    commit(library)
    (library / "ring").write_text("down")
    words = ("gate", COMPILED, "--source", str(library), "--base", "v1.7.0", *ONE)
    bad = await xdspec.run(*words)
    assert bad.code == 1, bad.said
    assert bad.out.splitlines()[-1] == BROKEN
    (library / "ring").write_text("up")
    same = await xdspec.run(*words)
    assert same.code == 4, same.said
    assert "the change and its base are the same commit" in same.err
    (library / "notes").write_text("another file")
    good = await xdspec.run(*words)
    assert good.code == 0, good.said
    assert good.out.splitlines()[-1] == "this change breaks nothing"
    assert names(library) == {".git", "notes", "ring", "version"}, "nothing is written there"


async def test_a_base_that_went_on_is_noted(xdspec: Any, library: Path) -> None:
    since = commit(library)
    git(library, "checkout", "-q", "-b", "base")
    (library / "notes").write_text("another file")
    commit(library, "Go on")
    git(library, "checkout", "-q", "-b", "work", since)
    (library / "ring").write_text("up and up")
    words = ("gate", COMPILED, "--source", str(library), "--base", "base", *ONE)
    ended = await xdspec.run(*words, "--summary", "page.md")
    note = "base has 1 commit that the change lacks. "
    assert note in ended.out
    assert f"rebase the change, or use --base {since[:12]}" in ended.out
    assert note in (ended.folder / "page.md").read_text()


@pytest.mark.slow
async def test_all_results_of_a_change_agree(xdspec: Any, library: Path, tmp_path: Path) -> None:
    commit(library)
    (library / "ring").write_text("down")
    words = ("gate", COMPILED, "--source", str(library), "--base", "v1.7.0", *ONE)
    out = tmp_path / "evidence"
    ran = await xdspec.run("run", *words[1:4], *ONE, "--out", str(out))
    assert ran.code == 1, ran.said
    of_run = {path: path.stat().st_mtime_ns for path in out.rglob("scenario.json")}
    written = ("--json", "gate.json", "--junit", "gate.xml", "--markdown", "--out", str(out))
    bad = await xdspec.run(*words, *written)
    now = {path: path.stat().st_mtime_ns for path in out.rglob("scenario.json")}
    assert of_run.items() <= now.items(), "a gate replaces no evidence of a run"
    added = {path.relative_to(out).parts[:2] for path in now.keys() - of_run.keys()}
    assert ("gate", "compiled@source") in added
    assert {folder for folder, _ in added} == {"gate"}
    found = json.loads((bad.folder / "gate.json").read_text())
    assert [change["clause"] for change in found["changes"]] == [SHOULD, CLAUSE]
    assert [change["is_fatal"] for change in found["changes"]] == [False, True]
    assert [change["head"] for change in found["changes"]] == [{"count": 1, "runs": 1}] * 2
    assert [change["base"] for change in found["changes"]] == [{"count": 0, "runs": 1}] * 2
    for change in found["changes"]:
        folder = Path(change["base_evidence"][change["scenarios"][0]])
        shown = await xdspec.run("show", str(folder))
        assert shown.code == 0, shown.said
        assert "--commit" in shown.out, "its command repeats the base"
        assert f"--scenario {change['scenarios'][0]}" in shown.out.replace("'", "")
    suite = ET.fromstring((bad.folder / "gate.xml").read_text())  # noqa: S314 - written just now
    *differ, rest = suite.findall("testcase")
    by_clause = {change["clause"]: change for change in found["changes"]}
    assert [f"{case.get('name')}" for case in differ] == [
        f"{clause} {change['title']}" for clause, change in by_clause.items()
    ]
    failed = [case.find("failure") is not None for case in differ]
    assert failed == [change["is_fatal"] for change in by_clause.values()]
    assert rest.get("name") == "0 scenarios, unchanged: no clause"
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    lines = bad.out.splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| A")]
    assert [row[0].split()[1] for row in rows] == [*by_clause]
    assert [row[1] for row in rows] == [change["title"] for change in by_clause.values()]
    assert all("reproduced, not on the base" in row[2] for row in rows)
    outcome = suite.find("properties/property[@name='outcome']")
    assert outcome is not None
    assert lines[0] == f"### xdspec: {outcome.get('value')}" == f"### xdspec: {BROKEN}"
    assert all(name in line for name in (found["head"], found["base"]) for line in lines[2:3])


@pytest.mark.slow
async def test_a_change_is_held_against_a_report(xdspec: Any, library: Path) -> None:
    words = (COMPILED, "--source", str(library), *ONE)
    first = await xdspec.run("run", *words, "--json", "base.json")
    base = first.folder / "base.json"
    (library / "ring").write_text("down")
    bad = await xdspec.run("gate", *words, "--base", str(base), "--markdown")
    assert bad.code == 1, bad.said
    assert bad.out.startswith("### xdspec: this change breaks 2 clauses")
    assert "\n- expected: " in bad.out
    assert "\n- observed: " in bad.out
    assert "\n- repeat: `" in bad.out
    other = await xdspec.run("gate", *words[:3], "--base", str(base), "--scenario", "ring.search")
    assert other.code == 4, other.said
    assert "was judged by other scenarios than the change" in other.said
    report = json.loads(base.read_text())
    for field, value, says in (
        ("content", "0" * 64, ", content 000000000000, and this is 0.1.0, "),
        ("version", "0.0.1", "was made by xdspec 0.0.1"),
    ):
        report["provenance"]["suite"][field] = value
        base.write_text(json.dumps(report))
        old = await xdspec.run("gate", *words, "--base", str(base))
        assert old.code == 4, old.said
        assert says in old.said


AGE = r"\d+ (s|min) ago"

CHOICE = "ring.search"
"""A scenario whose clause leaves a choice, so the base always has to run it, too."""


@pytest.mark.slow
async def test_a_base_runs_only_scenarios_that_are_not_kept(xdspec: Any, library: Path) -> None:
    commit(library)
    (library / "ring").write_text("down")
    words = ("gate", COMPILED, "--source", str(library), "--base", "v1.7.0", *ONE)
    first = await xdspec.run(*words)
    assert first.code == 1, first.said
    assert "base: 1 scenario in " in first.said
    assert "reused" not in first.said
    second = await xdspec.run(*words)
    assert second.code == 1, second.said
    (kept,) = (library.parent / "cache" / "gate").glob("*.json")
    assert re.search(rf"base: 1 scenario reused from {AGE} \(kept in {kept}\)\n", second.said)
    assert second.out.splitlines()[-1] == BROKEN
    more = await xdspec.run(*words, "--scenario", CHOICE)
    assert more.code == 1, more.said
    assert re.search(rf"base: 1 scenario in \d+ s, 1 reused from {AGE} \(kept in ", more.said)
    assert more.out.splitlines()[-1] == BROKEN
    there = json.loads(kept.read_text())["scenarios"]
    assert {scenario["ended"]["scenario"].partition("[")[0] for scenario in there} == {
        "ring.size",
        CHOICE,
    }
    kept.write_text("{}")
    anew = await xdspec.run(*words)
    assert anew.code == 1, anew.said
    assert "reused" not in anew.said


OTHER = "ring.hash_of_an_entry"
"""A scenario that decides other clauses than the broken library fails."""


@pytest.mark.slow
async def test_a_base_runs_what_decides_whether_the_change_breaks_something(
    xdspec: Any, library: Path
) -> None:
    commit(library)
    (library / "ring").write_text("down")
    words = ("gate", COMPILED, "--source", str(library), "--base", "v1.7.0", *ONE)
    bad = await xdspec.run(*words, "--scenario", OTHER)
    assert bad.code == 1, bad.said
    assert re.search(r"change: 2 scenarios in \d+ s\n", bad.said)
    assert "s; 1 not needed: the change passes what they decide\n" in bad.said
    assert "base: running 1 scenario …\n" in bad.said
    assert "run again, to rule out races: 1 scenario on both sides in " in bad.said
    assert "conforms" not in bad.said
    (kept,) = (library.parent / "cache" / "gate").glob("*.json")
    assert len(json.loads(kept.read_text())["scenarios"]) == 1


@pytest.mark.slow
async def test_a_failure_that_does_not_come_again_is_repeated_and_not_counted(
    xdspec: Any, library: Path
) -> None:
    commit(library)
    (library / "ring").write_text("down 2")  # the run starts the client once before its scenario
    words = ("gate", COMPILED, "--source", str(library), "--base", "v1.7.0", *ONE)
    ended = await xdspec.run(*words)
    assert ended.code == 0, ended.said
    assert "run again, to rule out races: 1 scenario on both sides in " in ended.said
    assert "run again, to rule out races: 1 scenario 9 more times on both sides in " in ended.said
    assert "reproduced in 0 of 10 runs, on the base in 0 of 10" in ended.said
    assert ended.out.splitlines()[-1] == "this change breaks nothing"


def ran(scenario: str, verdict: Verdict, **more: Any) -> Record:
    judged = JudgedClient(name="one", version="1.0", variant=None, follows=("A42",))
    decision = Decision(clause=CLAUSE, verdict=verdict)
    return Record(
        scenario=scenario,
        clauses=(CLAUSE,),
        client=judged,
        seed=1,
        seconds=1.0,
        decisions=(decision,),
        **more,
    )


def test_what_is_doubtful_of_a_base_is_not_kept() -> None:
    def known(scenario: str, decision: Decision) -> bool:
        return decision.verdict is Verdict.FAIL and scenario == "ring.known"

    early = Trouble(verdict=Verdict.FAIL, reason=Reason.HUNG, what="it hung", early=True)
    kept = base_cache.with_more(
        None,
        [
            ran("ring.good", Verdict.PASS),
            ran("ring.error", Verdict.ERROR),
            ran("ring.early", Verdict.FAIL, trouble=early),
            ran("ring.failure", Verdict.FAIL),
            ran("ring.known", Verdict.FAIL),
        ],
        "2026-01-01T00:00:00+00:00",
        known,
    )
    assert kept is not None
    assert kept.names == {"ring.good", "ring.known"}
    later = "2026-01-02T00:00:00Z"
    again = base_cache.with_more(kept, [ran("ring.error", Verdict.PASS)], later, known)
    assert again is not None
    assert again.names == {"ring.good", "ring.known", "ring.error"}
    assert {record.scenario for record in again.records({"ring.good"})} == {"ring.good"}
    failed = base_cache.with_more(again, [ran("ring.good", Verdict.ERROR)], later, known)
    assert failed is not None
    assert failed.names == {"ring.known", "ring.error"}


def test_another_suite_keeps_runs_of_bases_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    client = prepare(find("reference"))
    options = RunOptions(
        only=(),
        scenario_patterns=(),
        clauses=(),
        seed=1,
        jobs=1,
        environment={},
        wrap=(),
        out=tmp_path,
        fast=False,
        worker=None,
    )
    commits = {"1": "a", "2": "a-dirty", "3": "a-dirty", "4": None}
    places = set()
    for content, commit_of_suite in commits.items():
        here = Suite(version="0.1.0", commit=commit_of_suite, content=content)
        monkeypatch.setattr(base_cache, "suite", partial(Suite, **msgspec.structs.asdict(here)))
        places.add(base_cache.place_of(client, options))
        places.add(base_cache.place_of(client, msgspec.structs.replace(options, only=(CLAUSE,))))
    assert None not in places
    assert len(places) == len(commits), "whatever is selected"


@pytest.mark.slow
async def test_a_change_is_held_against_other_sources(
    xdspec: Any, library: Path, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    shutil.copytree(library, base)
    (library / "ring").write_text("down")
    words = ("gate", COMPILED, "--source", str(library), *ONE)
    bad = await xdspec.run(*words, "--base", str(base))
    assert bad.code == 1, bad.said
    assert f"base    compiled 1.7.0 ({base}, sha256 " in bad.out
    assert bad.out.splitlines()[-1] == BROKEN


@pytest.mark.slow
async def test_a_base_that_was_made_with_other_options_is_refused(
    xdspec: Any, library: Path
) -> None:
    words = (COMPILED, "--source", str(library), *ONE)
    made = await xdspec.run("run", *words, "--env", "COLOR=red", "--json", "base.json")
    base = ("--base", str(made.folder / "base.json"))
    other = await xdspec.run("gate", *words, *base, "--fast")
    assert other.code == 4, other.said
    assert "was made with other options (there: --env 'COLOR=…'; here: --fast)" in other.said
    same = await xdspec.run("gate", *words, *base, "--env", "COLOR=blue")
    assert same.code == 0, same.said
    quick = await xdspec.run("gate", *words, *base, "--env", "COLOR=blue", "--quick")
    assert quick.code == 4, quick.said
    assert "--quick selects other scenarios than a report has" in quick.said


@pytest.mark.slow
def test_a_quick_gate_names_what_it_leaves_out(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gate, "recorded", lambda: {SLOW: 2 * timing.QUICK})
    commit(library)
    (library / "notes").write_text("another file")
    words = ["gate", COMPILED, "--source", str(library), "--base", "v1.7.0", "--quick"]
    slow = ["--scenario", SLOW]
    written = ["--json", "gate.json", "--junit", "gate.xml"]
    ended = CliRunner().invoke(main, [*words, *ONE, *slow, *written])
    assert ended.exit_code == 0, ended.output
    last = "no break found, but --quick left 1 clause out: run without --quick before you merge"
    assert ended.stdout.splitlines()[-1] == last
    assert f"left out by --quick: {SLOW_CLAUSE}" in ended.stdout
    found = json.loads(Path("gate.json").read_text())
    assert (found["left_out"], found["left_out_scenarios"]) == ([SLOW_CLAUSE], [SLOW])
    assert f'<skipped message="{SLOW_CLAUSE}"' in Path("gate.xml").read_text()
    nothing = CliRunner().invoke(main, [*words, *slow])
    assert nothing.exit_code == 4, nothing.output
    assert "none of the 1 selected scenarios is short enough for --quick" in nothing.output


async def test_a_change_that_cannot_be_built_is_no_verdict(xdspec: Any, library: Path) -> None:
    commit(library)
    (library / "ring").unlink()
    words = ("gate", COMPILED, "--source", str(library), "--base", "v1.7.0", *ONE)
    ended = await xdspec.run(*words)
    assert ended.code in {4, 6}, ended.said
    assert "this change" not in ended.out


@pytest.mark.parametrize("base", ["no-such", "origin/no-such", "HEAD~7", "0.9.0-x"])
def test_a_base_that_the_checkout_does_not_have(base: str, library: Path) -> None:
    commit(library)
    words = ["gate", COMPILED, "--source", str(library), "--base", base]
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code == 4, ended.output
    assert f"{library} has no commit {base}: name a branch, tag or hash" in ended.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["gate", COMPILED], "gate needs a base: a commit of the --source checkout"),
        (["gate", COMPILED, "--base", "no-such.json"], "there is no file no-such.json"),
        (["gate", COMPILED, "--base", "no-such"], "no-such is no base: name a version such as"),
        (["gate", COMPILED, "--source", "/", "--base", "main"], "/ is no git checkout"),
        (["gate", COMPILED, "--base", "1.0", "--commit", "x"], "--commit selects a commit"),
        (
            ["gate", COMPILED, "--base", "1.0", "--clause", CLAUSE, "--scenario", "ads.*"],
            "no scenario matches both --scenario and --clause",
        ),
        (["gate", "nobody", "--base", "1.0"], "nobody"),
        (["gate", "reference", "--base", __file__], "is not a report of this suite"),
    ],
)
def test_bad_input(words: list[str], says: str) -> None:
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code in {4, 5}, ended.output
    assert says in ended.output


@pytest.mark.parametrize("side", ["change", "base"])
async def test_a_build_that_fails_is_reported_once(xdspec: Any, library: Path, side: str) -> None:
    ring = library / "ring"
    for_base, for_change = ("up", None) if side == "change" else (None, "up")
    _put(ring, for_base)
    commit(library)
    _put(ring, for_change)
    ended = await xdspec.run("gate", COMPILED, "--source", str(library), "--base", "v1.7.0", *ONE)
    assert ended.code == 6, ended.said
    assert ended.said.count("could not be built") == 1
    assert ended.said.count("building compiled@") <= 2, ended.said


def _put(path: Path, text: str | None) -> None:
    """Write a file of a library, or leave it out, which no build survives."""
    if text is None:
        path.unlink(missing_ok=True)
        (path.parent / "without").write_text("a ring")
    else:
        path.write_text(text)
