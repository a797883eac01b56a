"""The container file and the manifests, by who reads them; the scripts in them, run for real."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from client_under_test.manifests.clients import built_in, find

ROOT = Path(__file__).parents[2]
CONTAINER = ROOT / "ci" / "container"
FILE = CONTAINER / "Containerfile"
EXAMPLES = ROOT / "ci" / "examples"
SHARDS, MERGE = EXAMPLES / "kubernetes-shards.yml", EXAMPLES / "kubernetes-merge.yml"

# The wheel has no such file.
pytestmark = pytest.mark.skipif(not CONTAINER.exists(), reason="needs a checkout")


def lines(instruction: str) -> list[str]:
    text = FILE.read_text("utf-8")
    return re.findall(rf"^{instruction} (.*)$", text, re.MULTILINE)


def scripts() -> list[Path]:
    return [path for path in CONTAINER.iterdir() if path != FILE]


def check(module: str, *words: str | Path) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed: it is in what development needs")
    program = Path(sys.executable).with_name(module.replace("_", "-"))
    ran = subprocess.run(
        [program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout


# The container file.


def test_the_container_file_has_no_fault_that_is_known() -> None:
    program = Path(sys.executable).with_name("hadolint")
    if not program.exists():
        pytest.skip("hadolint is not installed: it is in what development needs")
    ran = subprocess.run([program, FILE], capture_output=True, encoding="utf-8", check=False)
    assert (ran.returncode, ran.stdout) == (0, "")


def test_its_images_have_short_names_with_a_tag() -> None:
    for image in lines("FROM"):
        assert re.fullmatch(r"[a-z]+:[\w.-]+( AS [a-z]+)?", image), image


def test_its_steps_are_scripts_that_are_there() -> None:
    steps = [line.removeprefix("/xdspec/").split() for line in lines("RUN")]
    assert {script for script, *_ in steps} == {
        f"ci/container/{name}" for name in ("packages", "suite", "clients")
    }
    assert all(os.access(ROOT / script, os.X_OK) for script, *_ in steps)


@pytest.mark.parametrize("name", ["clients", "merge", "packages", "shard", "suite", "try"])
def test_a_script_is_one_that_its_shell_takes(name: str) -> None:
    assert {script.name for script in scripts()} == {
        "clients",
        "merge",
        "packages",
        "shard",
        "suite",
        "try",
    }
    head = (CONTAINER / name).read_text("utf-8").splitlines()[0]
    shell = "bash" if head.endswith("bash") else "sh"
    assert subprocess.run([shell, "-n", CONTAINER / name], check=False).returncode == 0


def test_all_that_is_installed_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    copied = {word for line in lines("COPY") for word in line.split()[:-1]}
    assert {*wheel["packages"], *wheel["force-include"], project["project"]["readme"]} <= copied
    assert {*project["project"]["license-files"], "pyproject.toml", "requirements.lock"} <= copied
    assert all((ROOT / path).exists() for path in copied if not path.startswith(("/", "--")))


def test_the_clients_that_it_builds_are_those_that_are_built() -> None:
    (default,) = re.findall(r'^CLIENTS="(.*)"$', "\n".join(lines("ARG")), re.MULTILINE)
    named = {find(name).name for name in default.split()}
    need_tools = {name for name in built_in() if find(name).manifest.tools}
    assert named - {"python"} == need_tools - {"cpp"}  # which stays missing, as the file says


@pytest.mark.parametrize(("lacks", "code"), [("cpp", 0), ("go", 1)])
def test_a_toolchain_that_is_missing_ends_the_build(tmp_path: Path, lacks: str, code: int) -> None:
    """But that of cpp; the command stands in, as here all may be there."""
    (tmp_path / "ci" / "container").mkdir(parents=True)
    script = tmp_path / "ci" / "container" / "suite"
    script.write_bytes((CONTAINER / "suite").read_bytes())
    script.chmod(0o755)
    command = tmp_path / "xdspec"
    says = f"{lacks:14}cannot be built here\n    found     c++ 12\n    missing   it: get it\n"
    command.write_text(f"#!/bin/sh\n[ $1 = --version ] || {{ printf '{says}'; exit 4; }}\n")
    command.chmod(0o755)
    ran = subprocess.run(
        [script],
        env={**os.environ, "XDSPEC_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == code, ran.stderr
    assert ("ci/container: of go is    missing   it: get it" in ran.stderr) == bool(code)


@pytest.mark.parametrize(("said", "code"), [(0, 0), (1, 0), (5, 0), (6, 6), (3, 3)])
def test_the_build_ends_where_a_client_is_not_made(tmp_path: Path, said: int, code: int) -> None:
    """What it does is no matter; the command stands in."""
    (tmp_path / "ci" / "container").mkdir(parents=True)
    script = tmp_path / "ci" / "container" / "clients"
    script.write_bytes((CONTAINER / "clients").read_bytes())
    script.chmod(0o755)
    (tmp_path / "cache").mkdir()
    command = tmp_path / "xdspec"
    command.write_text(f"#!/bin/sh\nexit {said}\n")
    command.chmod(0o755)
    ran = subprocess.run(
        [script, "one"],
        env={**os.environ, "XDSPEC_CACHE": str(tmp_path / "cache")},
        check=False,
    )
    assert ran.returncode == code


# The manifests.


@pytest.mark.parametrize("file", [SHARDS, MERGE], ids=lambda path: path.name)
def test_kubernetes_takes_a_manifest(file: Path) -> None:
    check("kubernetes_validate", "--strict", "--quiet", file)


def test_gitlab_takes_the_shards() -> None:
    file = EXAMPLES / "gitlab-shards.yml"
    check("check_jsonschema", "--builtin-schema", "vendor.gitlab-ci", file)


def container_of(job: Any) -> Any:
    (only,) = job["spec"]["template"]["spec"]["containers"]
    return only


def environment_of(job: Any) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in container_of(job)["env"]}


def the_jobs() -> tuple[Any, Any]:
    _, shards = yaml.safe_load_all(SHARDS.read_text("utf-8"))
    return shards, yaml.safe_load(MERGE.read_text("utf-8"))


def test_each_pod_has_a_shard_and_there_is_one_for_each() -> None:
    spec = the_jobs()[0]["spec"]
    assert spec["completionMode"] == "Indexed"
    assert str(spec["completions"]) == environment_of(the_jobs()[0])["SHARDS"]
    assert spec["parallelism"] == spec["completions"]


def test_a_script_is_told_all_that_it_reads() -> None:
    for job in the_jobs():
        (command,) = container_of(job)["command"]
        script = ROOT / command.removeprefix("/xdspec/")
        wanted = {*re.findall(r"\$([A-Z]+)\b", script.read_text("utf-8"))}
        assert wanted == environment_of(job).keys(), script
        volumes = {mount["mountPath"] for mount in container_of(job)["volumeMounts"]}
        assert environment_of(job)["REPORTS"] in volumes


def test_the_client_of_the_job_is_one_that_the_image_has() -> None:
    assert environment_of(the_jobs()[0])["CLIENT"] in " ".join(lines("ARG"))


# What the pods do, two of them, one after the other.


def pod(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a container does, with the variables of its job and others in their place."""
    return subprocess.run(
        [CONTAINER / script],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )


def shard(index: int, reports: Path, client: str) -> subprocess.CompletedProcess[str]:
    given = environment_of(the_jobs()[0]) | {"CLIENT": client, "SHARDS": "2"}
    given |= {"REPORTS": str(reports), "JOB_COMPLETION_INDEX": str(index)}
    return pod("shard", **given, ARGUMENTS="--scenario ring.size[[]*i*] --jobs 1")


def merge(reports: Path) -> subprocess.CompletedProcess[str]:
    return pod("merge", REPORTS=str(reports))


@pytest.mark.slow
def test_pods_share_a_run_and_the_merge_has_all_of_it(tmp_path: Path) -> None:
    empty = merge(tmp_path)
    assert empty.returncode == 4
    assert "there is no part-*.json" in empty.stdout
    first = shard(0, tmp_path, "reference")
    assert first.returncode == 0, first.stdout
    half = merge(tmp_path)
    assert half.returncode == 4
    assert "part 2 of 2 is missing" in half.stdout
    second = shard(1, tmp_path, "reference")
    assert second.returncode == 0, second.stdout
    whole = merge(tmp_path)
    assert whole.returncode == 0, whole.stdout
    parts = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("part-*.json"))]
    had = [{scenario["id"] for scenario in part["runs"][0]["scenarios"]} for part in parts]
    assert all(had)
    report = json.loads((tmp_path / "report.json").read_text())
    assert {scenario["id"] for scenario in report["runs"][0]["scenarios"]} == had[0] | had[1]
    assert "### reference 1.0.0: no failures" in (tmp_path / "summary.md").read_text("utf-8")
    assert (tmp_path / "junit.xml").stat().st_size


@pytest.mark.slow
def test_of_a_client_that_does_not_conform_the_merge_says_so(tmp_path: Path) -> None:
    liar = str(ROOT / "tests" / "adapters" / "liar")
    for index in (0, 1):
        ran = shard(index, tmp_path, liar)
        assert ran.returncode == 0, ran.stdout
    assert "does not conform, which is told by the merge" in ran.stdout
    whole = merge(tmp_path)
    assert whole.returncode == 1, whole.stdout
    assert "fail (lied)" in (tmp_path / "summary.md").read_text("utf-8")


@pytest.mark.slow
def test_a_pod_whose_input_is_bad_fails(tmp_path: Path) -> None:
    ran = shard(0, tmp_path, "nobody")
    assert ran.returncode == 4
    assert "there is no client nobody" in ran.stdout
