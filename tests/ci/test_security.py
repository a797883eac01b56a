"""What SECURITY.md and the threat model say is held by tests that exist, and by pinned actions."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from client_under_test.manifests.clients import built_in, find
from tests.ci.test_examples import GITHUB_WORKFLOWS

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "docs/threat-model.md"

pytestmark = pytest.mark.skipif(not MODEL.exists(), reason="needs a checkout")


def rows() -> list[list[str]]:
    """The inputs, each with what the table says of it."""
    section = MODEL.read_text("utf-8").split("## Inputs")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def exists(named: str) -> bool:
    """Whether there is a test file of this name, and a test of this name in it."""
    file, _, test = named.partition("::")
    if not (ROOT / file).is_file():
        return False
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    tests = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }
    return test in tests if test else bool(tests)


def test_each_input_is_held_by_a_test_that_exists() -> None:
    held = {row[0]: re.findall(r"`(tests/[^`]+)`", row[3]) for row in rows()}
    assert len(held) > 20
    assert not [name for name, tests in held.items() if not tests]
    assert not [test for tests in held.values() for test in tests if not exists(test)]


def test_a_test_that_is_gone_is_found() -> None:
    assert exists("tests/ci/test_security.py::test_a_test_that_is_gone_is_found")
    assert not exists("tests/ci/test_security.py::test_of_yesterday")
    assert not exists("tests/ci/gone.py")


@pytest.mark.parametrize(
    "file",
    ["ci/action/action.yml", *(f"ci/examples/{path.name}" for path in GITHUB_WORKFLOWS)],
)
def test_actions_of_others_are_pinned_by_commit(file: str) -> None:
    used = re.findall(r"uses: (\S+)(.*)", (ROOT / file).read_text("utf-8"))
    assert used
    for name, comment in used:
        pinned = re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", name)
        assert name.startswith("./") or (pinned and re.match(r" # v\d", comment)), name


def locks() -> dict[str, Path]:
    """The lock files of shipped clients, with hashes of all that their own versions need."""
    found = {}
    for name in built_in():
        client = find(name)
        if client.manifest.build and client.manifest.build.lock:
            found[name] = client.folder / client.manifest.build.lock
    return found


def test_each_lock_is_there() -> None:
    assert {"go", "node"} <= locks().keys()
    assert all(path.is_file() for path in locks().values())


def test_the_modules_of_go_have_hashes() -> None:
    version = find("go").manifest.version
    assert f"google.golang.org/grpc v{version} h1:" in locks()["go"].read_text("utf-8")


def test_packages_of_node_have_hashes() -> None:
    import json  # noqa: PLC0415

    lock = json.loads(locks()["node"].read_text("utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert not [
        name for name, package in packages.items() if not package["integrity"].startswith("sha512-")
    ]


@pytest.mark.parametrize("folder", ["java", "interop/java"])
def test_maven_fails_on_a_wrong_checksum(folder: str) -> None:
    build = (ROOT / "client_under_test/adapters" / folder / "build.sh").read_text("utf-8")
    assert "mvn" in build
    assert all("--strict-checksums" in line for line in build.splitlines() if "mvn " in line)
