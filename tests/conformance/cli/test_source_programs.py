"""A maintainer names a program that the adapter starts, and the verdict is that of this program."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from client_under_test.contract.exceptions import UnfitSource
from client_under_test.environments import prepare
from client_under_test.environments.sources import version_of
from client_under_test.manifests.clients import find

STOCK = Path(__file__).parents[2] / "adapters" / "stock" / "stock.py"

PRIME: Final = 0x9E3779B185EBCA87
"""The first prime of XXH64, which its code has as a number of 8 bytes."""


def program(path: Path, *lines: str, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(mode)
    return path


def envoy_binary() -> Path:
    python = Path(prepare(find("envoy")).command[0])
    (found,) = python.parents[1].glob("lib/python*/site-packages/envoy/_bin/envoy")
    return found


@pytest.mark.slow
async def test_another_envoy_changes_the_verdict(xdspec: Any, tmp_path: Path) -> None:
    """Here, one whose hash function is not XXH64."""
    selection = ("--scenario", "ring.size[[]lightest-whole]", "--jobs", "1")
    released = envoy_binary()
    words = ("run", "envoy", "--source", str(released), *selection)
    good = await xdspec.run(*words)
    assert good.code == 0, good.said
    version = find("envoy").manifest.python.version  # type: ignore[union-attr]
    assert good.out.splitlines()[-1].startswith(f"envoy {version} ({released}, sha256 ")

    changed = tmp_path / "my envoy, @ü"
    content = released.read_bytes()
    assert content.count(PRIME.to_bytes(8, "little"))
    changed.write_bytes(
        content.replace(PRIME.to_bytes(8, "little"), (PRIME + 2).to_bytes(8, "little"))
    )
    changed.chmod(0o555)
    bad = await xdspec.run("run", "envoy", "--source", str(changed), *selection)
    assert bad.code == 1, bad.said
    assert bad.report["runs"][0]["clauses"]["A42-RING-06"]["verdict"] == "fail"
    assert bad.report["runs"][0]["identity"]["source"] == str(changed)


@pytest.mark.slow
async def test_another_stock_client_changes_the_verdict(xdspec: Any, tmp_path: Path) -> None:
    client = tmp_path / "stock client, @ü"
    words = ("run", "interop", "--source", str(client), "--scenario", "cluster.round_robin")
    program(client, f'exec {sys.executable} {STOCK} "$@"')
    good = await xdspec.run(*words)
    assert good.code == 0, good.said
    assert good.out.splitlines()[-1].startswith(f"interop 1.0.0 ({client}, sha256 ")
    program(client, f'exec {sys.executable} {STOCK} --misdeed=lies "$@"')
    bad = await xdspec.run(*words)
    assert bad.code == 1, bad.said
    assert bad.scenarios["cluster.round_robin"]["reason"] == "lied"
    assert f"run interop --source '{client}' --seed " in bad.said
    both = [outcome.report["runs"][0]["identity"]["tree"] for outcome in (good, bad)]
    assert len(set(both)) == 2


def test_the_user_is_not_asked_for_what_the_source_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDSPEC_INTEROP_CLIENT", "another")
    client = program(tmp_path / "client")
    made = prepare(find("interop").built_from(client))
    assert made.environment["XDSPEC_INTEROP_CLIENT"] == str(client)
    assert made.told == ""


SAYS = 'echo "$0  version: 9e55809337/1.41.0-dev/Modified/RELEASE/BoringSSL"'


def test_the_version_is_that_of_the_binary(tmp_path: Path) -> None:
    client = find("envoy").built_from(program(tmp_path / "my envoy", SAYS))
    assert version_of(client) == "1.41.0-dev"


@pytest.mark.parametrize(
    ("name", "lines", "mode", "says"),
    [
        ("envoy", (SAYS,), 0o644, r"is not an Envoy binary: it cannot be executed: run `chmod"),
        ("envoy", ("echo version 1",), 0o755, r"--version prints no version as Envoy does"),
        ("envoy", (SAYS, "exit 1"), 0o755, r"--version prints no version as Envoy does"),
        ("interop", (), 0o644, r"is not a stock xDS interop client, as one program: it cannot"),
    ],
)
def test_files_that_are_no_such_program(
    name: str, lines: tuple[str, ...], mode: int, says: str, tmp_path: Path
) -> None:
    with pytest.raises(UnfitSource, match=says):
        version_of(find(name).built_from(program(tmp_path / "a", *lines, mode=mode)))


@pytest.mark.parametrize("name", ["envoy", "interop"])
def test_folders_are_no_programs(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnfitSource, match=r"it is a folder: name the program"):
        version_of(find(name).built_from(tmp_path))


def test_a_file_that_the_system_does_not_start(tmp_path: Path) -> None:
    file = tmp_path / "envoy"
    file.write_bytes(b"\x7fELF nonsense")
    file.chmod(0o755)
    with pytest.raises(UnfitSource, match=re.escape("it cannot be started: Exec format error")):
        version_of(find("envoy").built_from(file))
