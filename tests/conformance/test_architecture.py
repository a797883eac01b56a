"""docs/architecture.md held against the packages and what they import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/architecture.md"
PACKAGES = (
    "fake_control_plane",
    "test_servers",
    "client_under_test",
    "conformance",
    "pytest_xdspec",
    "regular_files",
)
WAY = ("manifest", "world", "seen", "oracle", "expectation", "verdict", "report")
"""Of the data, from what a client states to what is said of it."""

# The wheel has no docs.
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="needs a checkout")


def tables() -> dict[str, dict[str, set[str]]]:
    """By package, its rooms, and which of the others each uses."""
    found: dict[str, dict[str, set[str]]] = {}
    rooms: dict[str, set[str]] = {}
    for line in PAGE.read_text().splitlines():
        if head := re.match(r"\| room of `(\w+)` \|", line):
            rooms = found.setdefault(head[1], {})
        elif row := re.match(r"\| `(\w+)` \|.*\|([^|]*)\|$", line):
            rooms[row[1]] = set(re.findall(r"\w+", row[2]))
    return found


def picture() -> str:
    return PAGE.read_text().split("```")[1]


def rooms_of(package: str) -> dict[str, Path]:
    """The folders of a package in which there is code."""
    folders = sorted(path for path in (ROOT / package).iterdir() if path.is_dir())
    return {one.name: one for one in folders if any(one.rglob("*.py"))}


def imported(file: Path) -> Iterator[str]:
    """What a module imports, wherever in it; names of a package count as its modules."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def used_by(folder: Path, package: str) -> set[str]:
    """The other rooms of its package that a room imports from."""
    names = (name.split(".") for file in folder.rglob("*.py") for name in imported(file))
    used = {name[1] for name in names if name[0] == package and len(name) > 1}
    return used & rooms_of(package).keys() - {folder.name}


def test_the_picture_shows_the_way_of_the_data() -> None:
    places = [picture().index(one) for one in WAY]
    assert places == sorted(places)


def test_the_picture_shows_each_room_of_conformance_and_each_package() -> None:
    named = set(re.findall(r"\w+", picture()))
    assert not {*rooms_of("conformance"), *PACKAGES[:2]} - named
    assert all(one in PAGE.read_text() and (ROOT / one).is_dir() for one in PACKAGES)


@pytest.mark.parametrize("package", ["client_under_test", "conformance"])
def test_the_rooms_of_a_package_are_its_folders(package: str) -> None:
    assert tables()[package].keys() == rooms_of(package).keys()


@pytest.mark.parametrize(
    ("package", "room"),
    [(package, room) for package in PACKAGES[2:] for room in rooms_of(package)],
)
def test_the_arrows_of_a_room_are_its_imports(package: str, room: str) -> None:
    assert used_by(rooms_of(package)[room], package) == tables()[package][room]


def test_scenarios_know_of_other_packages_only_what_those_give_to_all() -> None:
    others = {
        name
        for file in rooms_of("conformance")["scenarios"].rglob("*.py")
        for name in imported(file)
        if name.split(".")[0] in PACKAGES[:3] and name.count(".") > 1
    }
    assert not others


def test_nobody_imports_a_scenario() -> None:
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    names = {name for file in files for name in imported(file)}
    assert not [name for name in names if name.startswith("conformance.scenarios")]


def test_each_file_that_is_named_exists() -> None:
    named = re.findall(r"`([\w.]+/[\w./]*)`", PAGE.read_text())
    assert named
    assert not [one for one in named if not (ROOT / one).exists()]
