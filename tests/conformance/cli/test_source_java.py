"""A maintainer changes a class of grpc-xds, and the verdict changes with it."""

from __future__ import annotations

import runpy
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from client_under_test.contract.exceptions import UnfitSource
from client_under_test.environments import builds, fingerprint, prepare
from client_under_test.environments.sources import version_of
from client_under_test.manifests.clients import find

CLAUSE = "A42-RING-06"
ONE = ("--scenario", "ring.size[[]lightest-whole]", "--jobs", "1")
VERSION = find("java").manifest.version
CLASS = "io/grpc/xds/RingHashLoadBalancer.class"

# The name of a method of java.lang.Math, as the constants of a class have it.
CEIL, FLOOR = b"\x01\x00\x04ceil", b"\x01\x00\x05floor"

needs_maven = pytest.mark.skipif(
    shutil.which("mvn") is None or shutil.which("javac") is None, reason="needs javac and mvn"
)


def jar(path: Path, content: Mapping[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


@pytest.mark.slow
@needs_maven
async def test_a_changed_class_changes_the_verdict(
    xdspec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert VERSION is not None
    released = builds.built(find("java"), VERSION).folder / "lib" / f"grpc-xds-{VERSION}.jar"
    folder = tmp_path / "my jars @ü"
    folder.mkdir()
    shutil.copy(released, folder)
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    before = fingerprint.digest([folder])
    prepare(find("java").built_from(folder))  # it may take longer than a command
    assert fingerprint.digest([folder]) == before, "nothing is written there"
    words = ("run", "java", "--source", str(folder), *ONE)
    good = await xdspec.run(*words)
    assert good.code == 0, good.said
    assert "using the cached build of java" in good.said

    with zipfile.ZipFile(released) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    assert content[CLASS].count(CEIL) == 1
    content[CLASS] = content[CLASS].replace(CEIL, FLOOR)
    jar(folder / released.name, content)
    prepare(find("java").built_from(folder))
    bad = await xdspec.run(*words)
    assert bad.code == 1, bad.said
    assert bad.report["runs"][0]["clauses"][CLAUSE]["verdict"] == "fail"


def xds(path: Path, version: str = "1.99.0") -> Path:
    says = f"Manifest-Version: 1.0\r\nImplementation-Version: {version}\r\n".encode()
    return jar(path, {"META-INF/MANIFEST.MF": says, "io/grpc/xds/RingHashOptions.class": b""})


def repository(folder: Path, *versions: str) -> Path:
    for version in versions:
        place = folder / "io" / "grpc" / "grpc-xds" / version
        xds(place / f"grpc-xds-{version}.jar", version)
        xds(place / f"grpc-xds-{version}-sources.jar", version)
        (place / f"grpc-xds-{version}.pom").touch()
    return folder


def jars(*names: str, version: str = "1.99.0") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        for name in names:
            xds(folder / f"{name}.jar", version)
        return folder

    return make


def unreleased(*left_out: str) -> Callable[[Path], Path]:
    file = find("java").folder / "inspect_source.py"
    parts = runpy.run_path(str(file))["NEEDED"]
    names = [f"{part}-1.99.0-SNAPSHOT" for part in parts if part not in left_out]
    return jars(*names, version="1.99.0-SNAPSHOT")


@pytest.mark.parametrize(
    ("make", "version"),
    [
        (jars("grpc-xds-1.99.0", "grpc-xds-1.99.0-javadoc", "guava-33-jre"), "1.99.0"),
        (jars("grpc-xds"), "1.99.0"),
        (lambda folder: repository(folder, "1.99.0"), "1.99.0"),
        (unreleased(), "1.99.0-SNAPSHOT"),
    ],
)
def test_the_version_is_that_of_grpc_xds(
    make: Callable[[Path], Path], version: str, tmp_path: Path
) -> None:
    assert version_of(find("java").built_from(make(tmp_path))) == version


def checkout(folder: Path) -> Path:
    (folder / "xds").mkdir()
    (folder / "xds" / "build.gradle").touch()
    return folder


def cut(folder: Path) -> Path:
    file = xds(folder / "grpc-xds-1.99.0.jar")
    file.write_bytes(file.read_bytes()[:60])
    return folder


def without(*left: str) -> Callable[[Path], Path]:
    content = dict.fromkeys(left, b"Manifest-Version: 1.0\n")
    return lambda folder: jar(folder / "grpc-xds-1.99.0.jar", content).parent


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (jars("grpc-core-1.99.0"), "it has no jar of grpc-xds"),
        (jars("grpc-xds-1.99.0", "grpc-xds-1.98.0"), "it has grpc-xds twice: grpc-xds-1.98.0.jar"),
        (
            jars("grpc-xds-1.99.0", "grpc-core-1.98.0"),
            "grpc-core-1.98.0.jar does not belong to grpc-xds-1.99.0.jar, which is 1.99.0",
        ),
        (jars("grpc-xds-1.99.0", "a b"), "'a b.jar' is no name for a jar"),
        (jars("grpc-xds-1.9.0", version="1.9.0"), "and the adapter of java is for >=1.52"),
        (
            unreleased("grpc-core", "grpc-stub"),
            "it lacks grpc-core, grpc-stub: add the jars of 1.99.0-",
        ),
        (lambda folder: repository(folder, "1.98.0", "1.99.0"), "in the versions 1.98.0, 1.99.0"),
        (checkout, "publishToMavenLocal -PskipAndroid=true -PskipCodegen=true -Dmaven.repo.local"),
        (cut, "grpc-xds-1.99.0.jar cannot be read as a jar"),
        (without(), "is not grpc-xds: There is no item named 'META-INF/MANIFEST.MF'"),
        (
            without("META-INF/MANIFEST.MF", "io/grpc/xds/RingHashOptions.class"),
            "its manifest has no Implementation-Version",
        ),
        (
            lambda folder: xds(folder / "grpc-xds-1.99.0.jar"),
            "it is a file: name the folder that contains it",
        ),
    ],
)
def test_jars_that_cannot_be_judged(
    make: Callable[[Path], Path], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UnfitSource) as refused:
        version_of(find("java").built_from(make(tmp_path)))
    assert says in str(refused.value)
