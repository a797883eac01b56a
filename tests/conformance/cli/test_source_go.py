"""grpc-go as a maintainer has it: a token changes in the checkout, and with it the verdict."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from client_under_test.contract.exceptions import UnfitSource
from client_under_test.environments import fingerprint, prepare
from client_under_test.environments.sources import version_of
from client_under_test.manifests.clients import find

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
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="needs go")
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
    assert "using the cached build of go" in good.said
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
    assert "using the cached build of go" in again.said


def module(folder: Path, name: str = MODULE, version: str = 'const Version = "1.99.0"') -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "go.mod").write_text(f"module {name}\n")
    (folder / "version.go").write_text(f"package grpc\n\n{version}\n")
    return folder


def without_version(folder: Path) -> Path:
    (module(folder) / "version.go").unlink()
    return folder


def inner(folder: Path) -> Path:
    place = module(folder) / "balancer"
    place.mkdir()
    return place


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: folder, "it has no go.mod"),
        (
            lambda folder: module(folder, "example.com/other"),
            "of the module example.com/other",
        ),
        (inner, "it has no go.mod; did you mean "),
        (without_version, "its version.go cannot be read"),
        (lambda folder: module(folder, version="var x = 1"), "its version.go has no constant"),
        (
            lambda folder: module(folder, version='const Version = "1.63.0"'),
            "is version 1.63.0, and the adapter of go is for >=1.64",
        ),
        (
            lambda folder: module(folder, version='const Version = "next"'),
            "calls its version next, which is none such as 1.70.0",
        ),
    ],
)
def test_folders_that_cannot_be_judged(
    make: Callable[[Path], Path], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UnfitSource) as refused:
        version_of(find("go").built_from(make(tmp_path)))
    assert says in str(refused.value)
