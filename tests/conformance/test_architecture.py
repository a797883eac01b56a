"""Compare docs/architecture.md with the packages, and bound them; import-linter checks imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/architecture.md"
OTHERS = ("fake_control_plane", "test_servers", "client_under_test")
CODE = (*OTHERS, "conformance", "pytest_xdspec", "regular_files", "request_filter", "ci")

LONGEST = 450
"""Lines of a module. One that grows beyond them has two subjects: move one of them out."""

# The wheel has no docs.
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="needs a checkout")


def tables() -> dict[str, set[str]]:
    """Return the subpackages that the page lists, by package."""
    found: dict[str, set[str]] = {}
    listed: set[str] = set()
    for line in PAGE.read_text().splitlines():
        if head := re.match(r"\| in `(\w+)` \|", line):
            listed = found.setdefault(head[1], set())
        elif row := re.match(r"\| `(\w+)` \|", line):
            listed.add(row[1])
    return found


def subpackages_of(package: str) -> dict[str, Path]:
    """Return the folders of a package that contain code."""
    folders = sorted(path for path in (ROOT / package).iterdir() if path.is_dir())
    return {folder.name: folder for folder in folders if any(folder.rglob("*.py"))}


def imported(file: Path) -> Iterator[str]:
    """What a module imports, wherever in it; names of a package count as its modules."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("package", ["client_under_test", "conformance"])
def test_the_page_lists_every_subpackage(package: str) -> None:
    assert tables()[package] == subpackages_of(package).keys()


def test_scenarios_import_only_the_public_names_of_other_packages() -> None:
    others = {
        name
        for file in subpackages_of("conformance")["scenarios"].rglob("*.py")
        for name in imported(file)
        if name.split(".")[0] in OTHERS and name.count(".") > 1
    }
    assert not others


def test_each_file_that_is_named_exists() -> None:
    named = re.findall(r"`([\w.]+/[\w./]*)`", PAGE.read_text())
    assert named
    assert not [path for path in named if not (ROOT / path).exists()]


def test_no_module_is_longer_than_the_bound() -> None:
    """Lists of mutants grow with the clauses, so they have no bound; nor has generated code."""
    mutants = ROOT / "conformance/mutation/mutants"
    modules = {
        file.relative_to(ROOT).as_posix(): len(file.read_text("utf-8").splitlines())
        for package in (*CODE, "tests")
        for file in (ROOT / package).rglob("*.py")
        if not file.is_relative_to(mutants)
        and "_pb2" not in file.name
        and "node_modules" not in file.parts
    }
    assert "conformance/world/world.py" in modules
    assert {file: lines for file, lines in modules.items() if lines > LONGEST} == {}


def test_conformance_has_few_packages() -> None:
    assert len(subpackages_of("conformance")) <= 9
