"""Product code reads files by `regular_files` alone: nothing else is bounded, or refuses a FIFO."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    *("client_under_test", "conformance", "fake_control_plane"),
    *("pytest_xdspec", "request_filter", "test_servers"),
)
PROGRAMS = ("client_under_test/adapters", "client_under_test/scaffold")
"""They run in environments of their own, and read nothing but what lies beside them."""

READS = {"read_text", "read_bytes"}
LIBRARY = {"load", "copy", "copy2", "copyfile", "copytree"}
"""Of modules that read a file by its name: `shutil`, `tomllib`, `json`."""
MODULES = {"shutil", "tomllib", "json", "yaml", "os", "io", "pickle", "codecs"}

ELSEWHERE = {
    ("client_under_test/environments/build_cache.py", "os.open"): "a lock of the cache, never read",
    ("client_under_test/supervision/supervisor.py", "open"): "/proc; the guard imports nothing",
    ("client_under_test/launching/zygote.py", "read_bytes"): "runs in the client's environment",
    ("client_under_test/launching/process.py", "open"): "the end of a log of the suite's own",
    ("conformance/cli/error_report.py", "os.open"): "/dev/null, to write",
    ("conformance/runner/interruption.py", "open"): "/proc, amid a signal",
    ("conformance/runner/growth.py", "read_text"): "/proc",
    ("conformance/runner/workers/workers.py", "os.open"): "/dev/null, in place of a terminal",
    ("conformance/runner/files.py", "os.open"): "a lock, never read; asks whether it is a terminal",
    ("fake_control_plane/__main__.py", "os.open"): "holds a folder, never read",
    ("request_filter/hidden_server.py", "os.open"): "a lock, never read",
}
"""Every other place, and why it may."""


def readers(file: Path) -> Iterator[tuple[str, int]]:
    """What of a module may read a file, each with its line."""
    tree = ast.parse(file.read_text("utf-8"))
    own = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "regular_files"
        for name in node.names
    }
    handles = {"place", "opened", "folder", "found"} if "UntrustedFolder" in own else set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        of = node.func
        if isinstance(of, ast.Name):
            if (of.id == "open" or of.id in READS - own) and not _writes(node):
                yield of.id, node.lineno
        elif isinstance(of, ast.Attribute):
            module = of.value.id if isinstance(of.value, ast.Name) else ""
            if module in MODULES and of.attr in LIBRARY | {"open"}:
                yield f"{module}.{of.attr}", node.lineno
            elif (of.attr in READS and module not in handles) or (
                of.attr == "open" and node.args and _mode(node) and not _writes(node)
            ):
                yield of.attr, node.lineno


def _mode(call: ast.Call) -> str:
    """The mode of a file that is opened; empty, if something else is opened."""
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    said = [argument.value for argument in given if isinstance(argument, ast.Constant)]
    return next(
        (text for text in said if isinstance(text, str) and set(text) <= set("rwaxbt+")), ""
    )


def _writes(call: ast.Call) -> bool:
    return bool(set(_mode(call)) & set("wax"))


def test_every_package_is_looked_at() -> None:
    project = ROOT / "pyproject.toml"
    if project.exists():
        wheel = tomllib.loads(project.read_text("utf-8"))["tool"]["hatch"]["build"]["targets"][
            "wheel"
        ]
        assert {*wheel["packages"]} == {*PACKAGES, "regular_files"}


def found() -> Iterator[tuple[str, str, int]]:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            place = file.relative_to(ROOT).as_posix()
            if not place.startswith(PROGRAMS) or place == "client_under_test/scaffold/__init__.py":
                yield from ((place, what, line) for what, line in readers(file))


@pytest.mark.skipif(not (ROOT / "ci").exists(), reason="needs a checkout")
def test_nothing_else_reads_files() -> None:
    there = list(found())
    others = [
        f"{place}:{line} {what}" for place, what, line in there if (place, what) not in ELSEWHERE
    ]
    assert not others, "read by `regular_files`, or say in ELSEWHERE why not"
    assert {(place, what) for place, what, _ in there} == ELSEWHERE.keys()


def test_each_way_to_read_is_found(tmp_path: Path) -> None:
    lines = (
        "path.read_text('utf-8')",
        "path.read_bytes()",
        "open(path)",
        "path.open('rb')",
        "os.open(path, 0)",
        "shutil.copyfile(a, b)",
        "json.load(a)",
        "path.open('wb')",
        "channels.open()",
        "open(path, 'ab')",
    )
    (tmp_path / "some.py").write_text("\n".join(lines), "utf-8")
    assert [line for _, line in readers(tmp_path / "some.py")] == [1, 2, 3, 4, 5, 6, 7]
