"""Invoke the command within the test's process."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from conformance.cli.commands import main

MANIFEST = """
name = "some"
version = "1"
issues = "https://example.com/issues"
capabilities = []

[start]
command = ["{python}", "-c", "pass"]

[[editions]]
follows = ["A42"]
"""


def invoke(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def manifest(folder: Path, text: str) -> str:
    (folder / "client.toml").write_text(text)
    return str(folder)
