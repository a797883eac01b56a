"""A maintainer changes a token of grpc-js-xds, and the verdict changes with it."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from client_under_test.contract.exceptions import UnfitSource
from client_under_test.environments import fingerprint, prepare
from client_under_test.environments.sources import version_of
from client_under_test.manifests.clients import find

CLAUSE = "A42-RING-06"
ONE = ("--scenario", "ring.size[[]lightest-whole]", "--jobs", "1")
CODE = "Math.ceil(minNormalizedWeight"
BREAKS = "Math.floor(minNormalizedWeight"
SOURCE = find("node").folder / "package.json"
PINNED: Mapping[str, str] = json.loads(SOURCE.read_text("utf-8"))["dependencies"]
VERSION = PINNED["@grpc/grpc-js-xds"]

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Both packages as released, as folders and as tarballs beside these, in odd paths."""
    folder = tmp_path / "grpc-node, mine @ü"
    (folder / "packages").mkdir(parents=True)
    names = [f"{name}@{version}" for name, version in PINNED.items()]
    command = ["npm", "pack", "--ignore-scripts", "--silent", *names]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"the package registry was not reached: {done.stderr}")
    for file in folder.glob("*.tgz"):
        with tarfile.open(file) as archive:
            archive.extractall(folder / "packages", filter="data")
        known = json.loads((folder / "packages" / "package" / "package.json").read_text("utf-8"))
        short = known["name"].rpartition("/")[2]
        (folder / "packages" / "package").rename(folder / "packages" / short)
        file.rename(folder / "packages" / f"{short}.tgz")
    return folder


def packed(path: Path, content: Mapping[str, bytes | str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, given in content.items():
            data = given.encode() if isinstance(given, str) else given
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


@pytest.mark.slow
@needs_npm
async def test_a_changed_token_changes_the_verdict(
    xdspec: Any, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    tarball = checkout / "packages" / "grpc-js-xds.tgz"
    words = ("run", "node", "--source", str(tarball), *ONE)
    prepare(find("node").built_from(tarball))  # it may take longer than a command
    good = await xdspec.run(*words)
    assert good.code == 0, good.said
    assert "using the cached build of node" in good.said

    with tarfile.open(tarball) as archive:
        files = {member.name: archive.extractfile(member) for member in archive if member.isfile()}
        content = {name: file.read() for name, file in files.items() if file is not None}
    ring = content["package/build/src/load-balancer-ring-hash.js"].decode()
    assert ring.count(CODE) == 1
    content["package/build/src/load-balancer-ring-hash.js"] = ring.replace(CODE, BREAKS).encode()
    packed(tarball, content)
    prepare(find("node").built_from(tarball))
    bad = await xdspec.run(*words)
    assert bad.code == 1, bad.said
    assert bad.report["runs"][0]["clauses"][CLAUSE]["verdict"] == "fail"


@pytest.mark.slow
@needs_npm
async def test_a_checkout_is_packed_and_nothing_of_it_runs(
    xdspec: Any, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    for own in ("grpc-js", "grpc-js-xds"):
        file = checkout / "packages" / own / "package.json"
        known = json.loads(file.read_text("utf-8"))
        scripts = ("prepare", "prepack", "postpack", "preinstall", "install", "postinstall")
        known["scripts"] = dict.fromkeys(scripts, "touch ran && exit 1")
        file.write_text(json.dumps(known))
    ring = checkout / "packages" / "grpc-js-xds" / "build" / "src" / "load-balancer-ring-hash.js"
    ring.write_text(ring.read_text("utf-8").replace(CODE, BREAKS))
    before = fingerprint.digest([checkout])
    prepare(find("node").built_from(checkout))
    bad = await xdspec.run("run", "node", "--source", str(checkout), *ONE)
    assert fingerprint.digest([checkout]) == before, "nothing is written there"
    assert bad.code == 1, bad.said
    assert bad.report["runs"][0]["clauses"][CLAUSE]["verdict"] == "fail"


def manifest(name: str, version: str) -> dict[str, str]:
    return {"package/package.json": json.dumps({"name": name, "version": version})}


def released(short: str, version: str) -> Callable[[Path], Path]:
    return lambda folder: packed(folder / "a.tgz", manifest(f"@grpc/{short}", version))


def of_both(folder: Path) -> Path:
    packed(folder / "a.tgz", manifest("@grpc/grpc-js", "1.99.0"))
    packed(folder / "b.tar.gz", manifest("@grpc/grpc-js-xds", "1.99.1"))
    return folder


def made(folder: Path, *, age: int = 0) -> Path:
    """A checkout whose sources changed `age` seconds after they were compiled."""
    for short, version in (("grpc-js", "1.99.0"), ("grpc-js-xds", "1.99.1")):
        own = folder / "packages" / short
        for part in ("src", "build/src"):
            (own / part).mkdir(parents=True)
        (own / "package.json").write_text(*manifest(f"@grpc/{short}", version).values())
        for file, time in (("src/index.ts", 1000 + age), ("build/src/index.js", 1000)):
            (own / file).touch()
            os.utime(own / file, (time, time))
    (folder / "packages/grpc-js-xds/deps/envoy-api/envoy").mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("make", "version"),
    [
        (released("grpc-js-xds", "1.99.0"), "1.99.0"),
        (released("grpc-js", VERSION), VERSION),  # with the release of the other
        (of_both, "1.99.1"),
        (made, "1.99.1"),
    ],
)
def test_the_version_is_that_of_grpc_js_xds(
    make: Callable[[Path], Path], version: str, tmp_path: Path
) -> None:
    assert version_of(find("node").built_from(make(tmp_path))) == version


def twice(folder: Path) -> Path:
    packed(folder / "b.tgz", manifest("@grpc/grpc-js", "1.99.0"))
    released("grpc-js", "1.99.0")(folder)
    return folder


def cut(folder: Path) -> Path:
    file = released("grpc-js", "1.99.0")(folder)
    file.write_bytes(file.read_bytes()[:60])
    return file


def unbuilt(folder: Path) -> Path:
    (made(folder) / "packages/grpc-js/build/src/index.js").unlink()
    return folder


def without_protos(folder: Path) -> Path:
    (made(folder) / "packages/grpc-js-xds/deps/envoy-api/envoy").rmdir()
    return folder


def one_package(folder: Path) -> Path:
    return made(folder) / "packages" / "grpc-js-xds"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: packed(folder / "a.tgz", {"a": ""}), "a.tgz has no package.json"),
        (
            lambda folder: packed(folder / "a.tgz", {"package/package.json": "[" * 10_000}),
            "the package.json of a.tgz has no name and version",
        ),
        (released("proto-loader", "1.0.0"), "a.tgz is the package @grpc/proto-loader, not"),
        (released("grpc-js", "1.99.0"), "name a folder with the tarballs of both"),
        (released("grpc-js-xds", "1.9.0"), "and the adapter of node is for >=1.10"),
        (released("grpc-js-xds", "mine"), "calls its version mine, which is none such as"),
        (cut, "cannot be read as a file that npm packed"),
        (twice, "it has two packages @grpc/grpc-js: a.tgz and b.tgz"),
        (unbuilt, "packages/grpc-js has not been built: run `npm install"),
        (lambda folder: made(folder, age=1), "grpc-js/src/index.ts has changed since it was"),
        (without_protos, "run `git submodule update --init --recursive`"),
        (one_package, "did you mean the checkout, "),
    ],
)
def test_packages_that_cannot_be_judged(
    make: Callable[[Path], Path], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UnfitSource) as refused:
        version_of(find("node").built_from(make(tmp_path)))
    assert says in str(refused.value)
