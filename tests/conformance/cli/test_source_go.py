"""grpc-go as a maintainer has it: a token changes in the checkout, and with it the verdict."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from client_under_test import find, prepare
from client_under_test.environments import fingerprint

pytestmark = [
    pytest.mark.skipif(shutil.which("go") is None, reason="needs go"),
    pytest.mark.slow,
]

MODULE = "google.golang.org/grpc"
CLAUSE = "A42-RING-12"
ONE = ("--scenario", "ring.hash_of_an_entry", "--jobs", "1")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The source of the release that the adapter pins, behind a path that is hard to quote."""
    version = find("go").manifest.version
    command = ["go", "mod", "download", "-json", f"{MODULE}@v{version}"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"the module proxy was not reached: {done.stdout}")
    folder = tmp_path / "grpc-go, mine @ü"
    shutil.copytree(json.loads(done.stdout)["Dir"], folder)
    for one in (folder, *folder.rglob("*")):
        one.chmod(one.stat().st_mode | 0o200)
    return folder


async def test_a_changed_token_changes_the_verdict(
    xdspec: Any, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    before = fingerprint.digest([checkout])
    built = prepare(find("go").built_from(checkout)).identity  # it may take longer than a command
    assert fingerprint.digest([checkout]) == before, "nothing is written there"
    words = ("run", "go", "--source", str(checkout), *ONE)
    good = await xdspec.run(*words)
    assert good.code == 0, good.said
    assert "reusing the build of go" in good.said
    assert good.report["runs"][0]["identity"]["build"] == built.build

    ring = checkout / "balancer" / "ringhash" / "ring.go"
    source = ring.read_text()
    code = "return r.items[i].hash >= h }"
    assert source.count(code) == 1
    ring.write_text(source.replace(code, code.replace(">=", "<=")))
    prepare(find("go").built_from(checkout))
    bad = await xdspec.run(*words)
    assert bad.code == 1, bad.said
    assert bad.report["runs"][0]["clauses"][CLAUSE]["verdict"] == "fail"

    ring.write_text(source.replace("import (", "import ( nonsense", 1))
    broken = await xdspec.run(*words)
    assert broken.code == 6, broken.said
    assert "ring.go" in broken.said
    assert "the whole log: " in broken.said
    ring.write_text(source)
    again = await xdspec.run(*words)
    assert again.code == 0, again.said
    assert "reusing the build of go" in again.said
