"""What the CI of others is given, by the schemas of who reads it; and its step, run for real."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.conformance.cli.test_source import COMPILED, commit, library
from tests.conformance.cli.test_source import ONE as BROKEN_SCENARIO

__all__ = ["library"]

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "ci" / "action"
EXAMPLES = ROOT / "ci" / "examples"
LIAR = ROOT / "tests" / "adapters" / "liar"

pytestmark = pytest.mark.skipif(not ACTION.exists(), reason="needs a checkout")

BROKEN = shlex.join(BROKEN_SCENARIO)
"""The scenario that the broken library of these tests fails."""

ONE = "--scenario 'ring.size[[]by-weight]' --jobs 1"


class Step(NamedTuple):
    """What a step left."""

    code: int
    said: str
    page: str
    outputs: dict[str, str]


def step(folder: Path, client: str, arguments: str, *, cwd: Path = ROOT, **inputs: str) -> Step:
    page, outputs = folder / "page", folder / "outputs"
    told = {
        "RUNNER_TEMP": str(folder),
        "GITHUB_STEP_SUMMARY": str(page),
        "GITHUB_OUTPUT": str(outputs),
        "INPUT_CLIENT": client,
        "INPUT_ARGUMENTS": arguments,
        **{f"INPUT_{name.upper()}": value for name, value in inputs.items()},
    }
    for file in (page, outputs):
        file.write_text("", "utf-8")
    ran = subprocess.run(
        [ACTION / "run"],
        cwd=cwd,
        env={**os.environ, **told},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    lines = outputs.read_text("utf-8").splitlines()
    return Step(
        code=ran.returncode,
        said=ran.stdout + ran.stderr,
        page=page.read_text("utf-8"),
        outputs={name: value for name, _, value in (line.partition("=") for line in lines)},
    )


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-actions", ACTION / "action.yml"),
        ("vendor.gitlab-ci", EXAMPLES / "gitlab-ci.yml"),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_who_reads_it_takes_it(schema: str, file: Path) -> None:
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)]
    ran = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stdout


def test_the_step_is_told_every_input_that_it_reads() -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
    (run,) = [
        action_step for action_step in action["runs"]["steps"] if action_step.get("id") == "run"
    ]
    source = (ACTION / "run").read_text("utf-8")
    assert all(f"${{{name}" in source or f"${name}" in source for name in run["env"])
    used = {value.split("inputs.")[1].split()[0] for value in run["env"].values()}
    assert used | {"artifact"} == set(action["inputs"])
    assert all(f"{name}=" in source for name in action["outputs"])


def test_nothing_that_is_built_from_a_commit_goes_to_the_next_job(tmp_path: Path) -> None:
    """Else a later pull request could be judged with the binary of an earlier one."""
    action = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
    steps = action["runs"]["steps"]
    cached, bases = [step["with"] for step in steps if "cache" in step.get("uses", "")]
    there = ("builds/go", "gate/go", "trees/go", "work/1", "python/cp/sources", "python/cp/grpcio")
    for name in there:
        (tmp_path / ".cache/xdspec" / name).mkdir(parents=True)
    kept: set[Path] = set()
    for pattern in cached["path"].split():
        found = {*tmp_path.glob(pattern.removeprefix("!").removeprefix("~/"))}
        # The cache keeps what a pattern names with all that is in it, whatever is excluded there.
        kept = kept - found if pattern[0] == "!" else kept | found
    assert kept == {tmp_path / ".cache/xdspec/python/cp/grpcio"}
    # Runs of bases are named by all that decides them, so they may be shared.
    assert bases["path"] == "~/.cache/xdspec/gate"


@pytest.mark.slow
def test_a_step_without_failures(tmp_path: Path) -> None:
    two = step(tmp_path, "reference", "--scenario 'ring.size[[]*i*]' --jobs 2")
    assert two.code == 0, two.said
    assert "### reference 1.0.0: no failures" in two.page
    assert "::error" not in two.said
    assert two.outputs["code"] == "0"
    before = Path(two.outputs["report"]).rename(tmp_path / "before.json")
    done = step(tmp_path, "reference", ONE, compare_with=str(before))
    assert done.outputs["code"] == "1", done.said
    assert "### reference 1.0.0: no failures" in done.page
    assert "### xdspec: is worse" in done.page
    assert "| gone |" in done.page


@pytest.mark.slow
def test_a_step_of_a_client_that_does_not(tmp_path: Path) -> None:
    left = step(tmp_path, str(LIAR), ONE)
    assert left.code == 1, left.said
    assert "### liar 0: does not conform (" in left.page
    assert "fail (lied)" in left.page
    assert "::error title=liar 0%3A " in left.said
    assert left.outputs["code"] == "1"
    kept = Path(left.outputs["folder"])
    assert {"report.json", "junit.xml", "evidence"} <= {path.name for path in kept.iterdir()}


@pytest.mark.slow
def test_a_step_of_a_change(tmp_path: Path, library: Path) -> None:
    commit(library)
    (library / "ring").write_text("down")
    left = step(tmp_path, COMPILED, BROKEN, source=str(library), base="v1.7.0")
    assert left.code == 1, left.said
    word = (
        "this change breaks 2 clauses: 1 fails the gate, 1 does not "
        "(A42-RING-04 is SHOULD; --strict counts it)"
    )
    assert left.page.startswith(f"### xdspec: {word}\n")
    assert f"::error title=xdspec::{word}" in left.said.splitlines()
    (own,) = [line for line in left.said.splitlines() if line.startswith("::error title=A42")]
    assert re.search(r"::error title=A42-RING-\d\d%3A .*%0Aexpected: .*%0Aobserved: .*%0A", own)
    assert left.outputs["code"] == "1"
    assert '"is_fatal": true' in Path(left.outputs["report"]).read_text("utf-8")
    kept = Path(left.outputs["folder"])
    assert {"report.json", "junit.xml", "evidence"} <= {path.name for path in kept.iterdir()}
    (library / "ring").write_text("up")
    (library / "notes").write_text("another file")
    good = step(tmp_path, COMPILED, BROKEN, source=str(library), base="v1.7.0")
    assert good.code == 0, good.said
    assert good.page.startswith("### xdspec: this change breaks nothing\n")
    assert "::error" not in good.said


def test_a_step_compares_in_one_way_only(tmp_path: Path) -> None:
    left = step(tmp_path, "reference", ONE, base="1.0.0", compare_with="before.json")
    assert left.code == 4
    assert "base and compare-with exclude each other" in left.said
    assert left.page == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("client", "arguments", "words"),
    [
        ("nobody", ONE, "there is no client nobody"),
        ("reference", "--scenario 'ring", "arguments: no shell would take"),
        ("reference", "--scenario there.is_none", "there is no scenario there.is_none"),
    ],
)
def test_a_step_of_which_the_input_is_bad(
    tmp_path: Path, client: str, arguments: str, words: str
) -> None:
    left = step(tmp_path, client, arguments)
    assert left.code == 4
    assert words in left.said
    assert "Traceback" not in left.said
    assert left.page == ""


def test_a_gate_that_compares_nothing_says_why_on_the_page(tmp_path: Path) -> None:
    left = step(tmp_path, "nobody", ONE, base="1.0.0")
    assert left.code == 4
    assert "::error title=xdspec::xdspec: there is no client nobody" in left.said
    assert left.page.startswith("### xdspec: not judged (code 4)\n")
    assert "there is no client nobody" in left.page
