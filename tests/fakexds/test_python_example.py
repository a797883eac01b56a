"""The Python example of docs/fake-xds-server.md, as a reader runs it: in a folder of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs/fake-xds-server/test_in_process.py"

DEADLINE = 300.0
"""Seconds for three tests on a busy machine; a hang meets it."""


@pytest.mark.skipif(not EXAMPLE.exists(), reason="needs a checkout")
def test_the_example_passes(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE, tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE,
    )
    assert "3 passed" in ended.stdout, ended.stdout + ended.stderr
