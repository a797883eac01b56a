"""`xdspec gate` on a client that is built from sources, from the command line to the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli.commands import main

from .test_source import CLAUSE, COMPILED, ONE, commit, library, names

__all__ = ["library"]

SHOULD = "A42-RING-04"
"""Which a ring that is too small breaks as well."""


@pytest.mark.slow
async def test_a_change_is_held_against_a_commit(xdspec: Any, library: Path) -> None:
    commit(library)
    (library / "ring").write_text("down")
    words = ("gate", COMPILED, "--source", str(library), "--base", "v1.7.0", *ONE)
    bad = await xdspec.run(*words, "--json", "gate.json", "--junit", "gate.xml")
    assert bad.code == 1, bad.said
    last = "this change breaks 2 clauses, of which 1 fails the gate"
    assert bad.out.splitlines()[-1] == last
    found = json.loads((bad.folder / "gate.json").read_text())
    assert [change["clause"] for change in found["changes"]] == [SHOULD, CLAUSE]
    assert [change["head"] for change in found["changes"]] == [{"count": 1, "runs": 1}] * 2
    assert [change["base"] for change in found["changes"]] == [{"count": 0, "runs": 1}] * 2
    assert 'failures="1"' in (bad.folder / "gate.xml").read_text()
    (library / "ring").write_text("up")
    good = await xdspec.run(*words)
    assert good.code == 0, good.said
    assert good.out.splitlines()[-1] == "this change breaks nothing"
    assert names(library) == {".git", "ring", "version"}, "nothing is written there"


async def test_a_change_is_held_against_a_report(xdspec: Any, library: Path) -> None:
    words = (COMPILED, "--source", str(library), *ONE)
    first = await xdspec.run("run", *words, "--json", "base.json")
    base = first.folder / "base.json"
    (library / "ring").write_text("down")
    bad = await xdspec.run("gate", *words, "--base", str(base), "--markdown")
    assert bad.code == 1, bad.said
    assert bad.out.startswith("### xdspec: this change breaks 2 clauses")
    other = await xdspec.run("gate", *words[:3], "--base", str(base), "--scenario", "ring.search")
    assert other.code == 4, other.said
    assert "was judged by other scenarios than the change" in other.said
    report = json.loads(base.read_text())
    report["provenance"]["suite"]["version"] = "0.0.1"
    base.write_text(json.dumps(report))
    old = await xdspec.run("gate", *words, "--base", str(base))
    assert old.code == 4, old.said
    assert "was made by xdspec 0.0.1" in old.said


async def test_a_change_that_cannot_be_built_is_no_verdict(xdspec: Any, library: Path) -> None:
    commit(library)
    (library / "ring").unlink()
    words = ("gate", COMPILED, "--source", str(library), "--base", "v1.7.0", *ONE)
    ended = await xdspec.run(*words)
    assert ended.code in {4, 6}, ended.said
    assert "this change" not in ended.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["gate", COMPILED], "Missing option '--base'"),
        (["gate", COMPILED, "--base", "no-such"], "no-such is no base: name a version such as"),
        (["gate", COMPILED, "--source", "/", "--base", "main"], "/ is no git checkout"),
        (["gate", COMPILED, "--base", "1.0", "--commit", "x"], "--commit selects a commit"),
        (["gate", "nobody", "--base", "1.0"], "nobody"),
        (["gate", COMPILED, "--base", __file__], "is not a report of this suite"),
    ],
)
def test_bad_input(words: list[str], says: str) -> None:
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code == 4, ended.output
    assert says in ended.output
