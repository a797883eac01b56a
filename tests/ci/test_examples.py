"""Workflows for GitHub: valid by their schema, and their steps work."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import pytest
import yaml

from client_under_test.manifests.clients import built_in, find
from conformance.cli.commands import main
from tests.ci.test_action import ACTION, EXAMPLES, ROOT, step
from tests.conformance.cli.test_source import COMPILED, commit, library
from tests.conformance.cli.test_source import ONE as BROKEN_SCENARIO
from tests.conformance.cli.test_source_go import checkout

__all__ = ["checkout", "library"]

pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="needs a checkout")

OWN: Final = {"grpc": "python", "grpc-go": "go", "grpc-java": "java", "grpc-node": "node"}
"""The repositories of gRPC that have a workflow of their own, with the client that it judges."""


def is_github_workflow(path: Path) -> bool:
    documents = list(yaml.safe_load_all(path.read_text("utf-8")))
    return "jobs" in documents[0]


GITHUB_WORKFLOWS: Final = sorted(filter(is_github_workflow, EXAMPLES.glob("*.yml")))

for_each_workflow = pytest.mark.parametrize(
    "workflow", GITHUB_WORKFLOWS, ids=[path.stem for path in GITHUB_WORKFLOWS]
)
for_each_repository = pytest.mark.parametrize("name", OWN)


def job(name: str, which: str) -> list[dict[str, Any]]:
    """The steps of a job."""
    read = yaml.safe_load((EXAMPLES / f"{name}.yml").read_text("utf-8"))
    steps: list[dict[str, Any]] = read["jobs"][which]["steps"]
    return steps


def steps_of(workflow: Path) -> list[dict[str, Any]]:
    read = yaml.safe_load(workflow.read_text("utf-8"))
    return [own for one_job in read["jobs"].values() for own in one_job["steps"]]


def test_each_repository_has_a_workflow() -> None:
    assert {path.stem for path in GITHUB_WORKFLOWS} == {*OWN, "github"}


@for_each_workflow
def test_github_takes_a_workflow(workflow: Path) -> None:
    words = ["--builtin-schema", "vendor.github-workflows", str(workflow)]
    command = [sys.executable, "-m", "check_jsonschema", *words]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stdout


@for_each_workflow
def test_a_workflow_gives_the_action_what_it_takes(workflow: Path, tmp_path: Path) -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
    own = [used for used in steps_of(workflow) if used.get("uses", "").startswith("./")]
    assert own
    for used in own:
        assert used["uses"].removeprefix("./xdspec/") == str(ACTION.relative_to(ROOT))
        assert used["with"].keys() <= action["inputs"].keys()
        parsed(arguments_of(tmp_path, used["with"]))


def arguments_of(folder: Path, inputs: dict[str, str]) -> list[str]:
    """The command that the action's step calls, by a stand-in for xdspec."""
    script = folder / "ci" / "action" / "run"
    script.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ACTION / "run", script)
    command = folder / "xdspec"
    command.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{folder}/words"\n')
    command.chmod(0o755)
    given = {f"INPUT_{name.upper().replace('-', '_')}": inputs[name] for name in inputs}
    files = {name: str(folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    own = {**os.environ, **given, **files, "RUNNER_TEMP": str(folder / "temporary")}
    subprocess.run([script], env=own, check=True, capture_output=True)
    return (folder / "words").read_text("utf-8").splitlines()


def parsed(words: list[str]) -> None:
    """Check that the command exists and takes these options."""
    name, *rest = words
    command = main.commands[name]
    # A command keeps the help option of the first context that it sees, also for later tests.
    context = click.Context(command, parent=click.Context(main, **main.context_settings))
    command.make_parser(context).parse_args(rest)


def test_an_option_that_does_not_exist_is_found(tmp_path: Path) -> None:
    inputs = {"client": "go", "base": "HEAD^1", "arguments": "--quik"}
    with pytest.raises(click.NoSuchOption):
        parsed(arguments_of(tmp_path, inputs))


@for_each_workflow
def test_the_commands_of_a_workflow_are_there(workflow: Path) -> None:
    for own in steps_of(workflow):
        if "run" not in own:
            continue
        checked = subprocess.run(["bash", "-n"], input=own["run"], encoding="utf-8", check=False)
        assert checked.returncode == 0, own["run"]
        program = own["run"].split()[0]
        if program.startswith("xdspec/"):
            path = ROOT / program.removeprefix("xdspec/")
            assert os.access(path, os.X_OK), program
            assert own["env"].keys() <= variables(path)
        else:
            assert program in {"./gradlew", "git", "npm"}


def variables(script: Path) -> set[str]:
    """The variables of the environment that a script reads: the lower-case ones are its own."""
    return set(re.findall(r"\$\{?([A-Z][A-Z_]+)\b", script.read_text("utf-8")))


@for_each_repository
def test_both_jobs_judge_the_checkout(name: str) -> None:
    """Of a pull request, and every night: the client is the one that the repository makes."""
    gate, nightly = job(name, "gate"), job(name, "nightly")
    assert [steps[0]["with"]["path"] for steps in (gate, nightly)] == [name, name]
    judged, nights = gate[-1]["with"], nightly[-2]["env"]
    assert judged["client"] == nights["CLIENT"] == OWN[name]
    assert OWN[name] in built_in()
    assert find(OWN[name]).manifest.source
    for source in (judged["source"], nights["SOURCE"]):
        published = source.rpartition("/")[2]
        made = [own["run"] for own in (*gate, *nightly) if f"$RUNNER_TEMP/{published}" in str(own)]
        assert source == name or made, source


# The steps, run for real.


def git(folder: Path, *words: str) -> str:
    own = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.com",
        "-c",
        "protocol.file.allow=always",
    ]
    command = ["git", "-C", str(folder), *own, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def merged(folder: Path, edit: tuple[str, str, str]) -> None:
    """Make the folder a checkout of a pull request, as GitHub makes it: a merge.

    Args:
        folder: with the files of the target branch.
        edit: the change: a file, and the text that becomes another one in it.
    """
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", "The target branch")
    git(folder, "switch", "-q", "-c", "change")
    path = folder / edit[0]
    content = path.read_text("utf-8")
    assert content.count(edit[1]) == 1
    path.write_text(content.replace(*edit[1:]), "utf-8")
    git(folder, "commit", "-q", "-a", "-m", "The change")
    git(folder, "switch", "-q", "main")
    git(folder, "merge", "-q", "--no-ff", "-m", "The merge", "change")


@pytest.mark.parametrize("name", ["grpc", "grpc-java", "grpc-node"])
def test_the_base_is_the_target_branch(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its submodules, if the repository has any."""
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "always")
    third, change = tmp_path / "third party", tmp_path / name
    for folder in (third, change):
        folder.mkdir()
        (folder / "file").write_text("old")
        git(folder, "init", "-q", "-b", "main")
    git(third, "add", ".")
    git(third, "commit", "-q", "-m", "A submodule")
    has_submodules = "submodules" in job(name, "gate")[0]["with"]
    if has_submodules:
        git(change, "submodule", "--quiet", "add", third.as_uri(), "third_party")
    merged(change, ("file", "old", "new"))
    (own,) = [own["run"] for own in job(name, "gate") if "worktree" in own.get("run", "")]
    subprocess.run(["bash", "-e", "-c", own], cwd=tmp_path, check=True, capture_output=True)
    base = tmp_path / "base"
    assert (base / "file").read_text() == "old"
    assert (change / "file").read_text() == "new"
    assert (base / "third_party" / "file").exists() is has_submodules
    assert git(base, "rev-parse", "HEAD") == git(change, "rev-parse", "HEAD^1")
    assert git(change, "status", "--porcelain") == "", "the change is still clean"


RING: Final = ("balancer/ringhash/ring.go", "math.Ceil(minWeight", "math.Floor(minWeight")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="needs go")
def test_the_gate_of_grpc_go(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    merged(checkout.rename(workspace / "grpc-go"), RING)
    inputs = dict(job("grpc-go", "gate")[-1]["with"])
    selection = "--scenario 'ring.size[[]lightest-whole]' --jobs 1"
    left = step(tmp_path, inputs.pop("client"), selection, cwd=workspace, **inputs)
    assert left.code == 1, left.said
    assert left.page.startswith("### xdspec: this change breaks ")
    rows = [line.split()[1] for line in left.page.splitlines() if line.startswith("| A")]
    assert "A42-RING-06" in rows
    assert {*rows} <= {"A42-RING-04", "A42-RING-05", "A42-RING-06"}, "what this scenario decides"
    assert git(workspace / "grpc-go", "status", "--porcelain") == ""


class Night(NamedTuple):
    """What a night left."""

    code: int
    said: str
    page: str


def night(folder: Path, source: Path, arguments: str, clients: str = "reference") -> Night:
    page = folder / "page"
    page.write_text("")
    own = {
        "CLIENT": COMPILED,
        "SOURCE": str(source),
        "FOLDER": str(folder / "nightly"),
        "CLIENTS": clients,
        "ARGUMENTS": arguments,
        "GITHUB_STEP_SUMMARY": str(page),
    }
    ran = subprocess.run(
        [ACTION / "nightly"],
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return Night(ran.returncode, ran.stdout, page.read_text("utf-8"))


NIGHT: Final = "--scenario 'ring.size[[]minimum-not-divisible]' --jobs 1"


@pytest.mark.slow
def test_nights(tmp_path: Path, library: Path) -> None:
    assert NIGHT.split()[1].strip("'") in BROKEN_SCENARIO
    good = commit(library)
    first = night(tmp_path, library, NIGHT)
    assert first.code == 0, first.said
    assert "### compiled 1.7.0: no failures" in first.page
    assert f"commit {good[:12]}, clean" in first.page
    assert "### reference 1.0.0: no failures" in first.page
    (library / "ring").write_text("down")
    bad = commit(library, "Break it")
    second = night(tmp_path, library, NIGHT)
    assert second.code == 1, second.said
    head = f"| clause | 1.7.0 ({good[:12]}) | 1.7.0 ({bad[:12]}) | changes |"
    assert head in second.page.splitlines()
    assert f"broken from 1.7.0 ({good[:12]}) to 1.7.0 ({bad[:12]}): pass → fail" in second.page
    assert "::error title=compiled" in second.said
    folder = tmp_path / "nightly"
    reports = sorted((folder / "nights").iterdir())
    commits = [json.loads(path.read_text())["runs"][0]["identity"]["commit"] for path in reports]
    assert commits == [good, bad]
    assert (folder / "site" / "index.html").is_file()
    assert (folder / "evidence").is_dir()


@pytest.mark.slow
def test_a_night_keeps_thirty_reports(tmp_path: Path, library: Path) -> None:
    first = night(tmp_path, library, NIGHT)
    assert first.code == 0, first.said
    (report,) = (tmp_path / "nightly" / "nights").iterdir()
    for number in range(1, 41):
        shutil.copy(report, report.with_name(f"2020-01-{number:02}T000000.json"))
    again = night(tmp_path, library, NIGHT)
    assert again.code == 0, again.said
    left = sorted(path.name for path in report.parent.iterdir())
    assert len(left) == 30
    assert left[0] == "2020-01-13T000000.json"
    assert report.name in left


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "clients", "code", "says"),
    [
        ("--scenario 'ring", "reference", 4, "ARGUMENTS: no shell would take --scenario 'ring"),
        (NIGHT, "nobody", 4, "there is no client nobody"),
    ],
)
def test_a_night_of_which_the_input_is_bad(
    arguments: str, clients: str, code: int, says: str, tmp_path: Path, library: Path
) -> None:
    ended = night(tmp_path, library, arguments, clients)
    assert ended.code == code, ended.said
    assert says in ended.said
    assert "Traceback" not in ended.said
