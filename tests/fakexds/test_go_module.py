"""The Go helper module: its own tests pass against the servers of this checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "go" / "fakexds"

DEADLINE = 900.0
"""Seconds for a first build of grpc-go on a busy machine."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not MODULE.exists(), reason="needs a checkout"),
    pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go toolchain here"),
    pytest.mark.xdist_group("serve_go"),
]


def go(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["go", *arguments],
        cwd=MODULE,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE,
    )


def test_calls_and_faults_from_go() -> None:
    ended = go("test", "-count=1", "./...", XDSPEC_PYTHON=sys.executable)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_python_without_xdspec_is_reported() -> None:
    ended = go("test", "-count=1", "-run", "Reach", "./...", XDSPEC_PYTHON="/bin/false")
    assert ended.returncode == 1
    assert "/bin/false -m fake_control_plane" in ended.stdout
    assert "did not start" in ended.stdout
