"""A maintainer repacks a wheel of grpcio, and the verdict changes with it."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from client_under_test.environments import prepare
from client_under_test.manifests.clients import find

RELEASE = "python@1.85.1"
CLAUSE = "A42-RING-05"
ONE = ("--scenario", "ring.size[[]minimum-not-divisible]", "--jobs", "1")

# The field that the policy reads in its configuration; the core writes another constant there.
FIELD, MISSPELLED = b".minRingSize\0", b".minRingsize\0"


def repacked(folder: Path, old: bytes = b"", new: bytes = b"") -> Path:
    """The wheel of which the release was installed; in its core, `new` stands for `old`."""
    python = Path(prepare(find(RELEASE)).command[0])
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    (info,) = packages.glob("grpcio-*.dist-info")
    tags = [line for line in (info / "WHEEL").read_text().splitlines() if line.startswith("Tag")]
    tag = tags[0].removeprefix("Tag: ")
    wheel = folder / f"{info.name.removesuffix('.dist-info')}-{tag}.whl"
    files = [line.split(",")[0] for line in (info / "RECORD").read_text().splitlines()]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in files:
            if "__pycache__" in name or name.startswith(".."):
                continue
            content = (packages / name).read_bytes()
            if old and name.endswith(".so"):
                assert content.count(old) == 1
                content = content.replace(old, new)
            archive.writestr(name, content)
    return wheel


@pytest.mark.slow
async def test_a_changed_byte_changes_the_verdict(
    xdspec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my wheels, @ü"
    folder.mkdir()
    wheel = repacked(folder)
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    words = ("run", "python", "--source", str(wheel), *ONE)
    good = await xdspec.run(*words)
    assert good.code == 0, good.said
    assert good.out.splitlines()[-1].startswith(f"python 1.85.1 ({wheel}, sha256 ")

    monkeypatch.delenv("XDSPEC_CACHE")
    repacked(folder, FIELD, MISSPELLED)
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    bad = await xdspec.run(*words)
    assert bad.code == 1, bad.said
    assert bad.report["runs"][0]["clauses"][CLAUSE]["verdict"] == "fail"
