"""Compare docs/architecture.md with the packages; import-linter checks the imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/architecture.md"
OTHERS = ("fake_control_plane", "test_servers", "client_under_test")

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
