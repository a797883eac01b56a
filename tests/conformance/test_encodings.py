"""Every file and pipe of text says its encoding: else it is whatever the user's locale has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = (
    "conformance",
    "client_under_test",
    "fake_control_plane",
    "test_servers",
    "request_filter",
    "ci",
)

# The positional argument, counted from 0, that is the encoding of a method, or of a function.
AS_METHOD = {"read_text": 0, "write_text": 1}
OPENS = {"open", "fdopen", "NamedTemporaryFile", "TemporaryFile"}


def texts(file: Path) -> Iterator[int]:
    """The lines that read or write text in no particular encoding."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        if "encoding" in named:
            continue
        is_method = isinstance(node.func, ast.Attribute)
        if is_method and name in AS_METHOD and len(node.args) <= AS_METHOD[name]:
            yield node.lineno
        if any(
            isinstance(named.get(keyword), ast.Constant)
            for keyword in ("text", "universal_newlines")
        ):
            yield node.lineno
        if name in OPENS:
            modes = [*node.args, named.get("mode")]
            said = [mode.value for mode in modes if isinstance(mode, ast.Constant)]
            if any(
                isinstance(value, str) and value in {"r", "w", "a", "x", "r+"} for value in said
            ):
                yield node.lineno


@pytest.mark.skipif(not (ROOT / "ci").exists(), reason="needs a checkout")
def test_every_text_has_an_encoding() -> None:
    files = [file for place in PLACES for file in (ROOT / place).rglob("*.py")]
    without = [f"{file}:{line}" for file in files for line in texts(file)]
    assert not without


def test_what_has_none_is_found(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text(
        "a.read_text()\na.write_text(b)\nopen(a, 'w')\na.open('r')\nrun(a, text=True)\n"
        "a.read_text('utf-8')\na.open('rb')\nopen(a, 'w', encoding='utf-8')\n",
        "utf-8",
    )
    assert sorted(texts(file)) == [1, 2, 3, 4, 5]
