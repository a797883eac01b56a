"""Branches and commits that a client's registry resolves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from client_under_test.contract.exceptions import BuildFailed, NoSuchVersion, UnfitSource
from client_under_test.environments import environments, installer, prepare, refs
from client_under_test.manifests.clients import BUILT_IN, Client, find

MANIFEST = """
name = "mine"
version = "1.2.0"
issues = "https://example.com/issues"
capabilities = []
[build]
command = ["cp", "{folder}/client.toml", "program"]
versions = ">=1"
sources = []
[source]
of = "a folder of mine"
inspect = ["sh", "{folder}/inspect.sh"]
build = ["cp", "{source}/file", "program"]
[refs]
of = "a branch of mine"
resolve = ["sh", "{folder}/resolve.sh", "{ref}"]
[start]
command = ["{output}/program"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "client"
    folder.mkdir()
    return folder


def client_toml(folder: Path, says: str) -> None:
    (folder / "resolve.sh").write_text(says)
    (folder / "inspect.sh").write_text("""echo '{"version": "1.3.0-dev"}'\n""")
    (folder / "client.toml").write_text(MANIFEST)


def test_a_name_stands_for_a_folder(folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "file").write_text("built from a branch")
    found = {"source": str(source), "name": "mine@v2", "commit": "0123456789abcdef", "ref": "v2"}
    client_toml(folder, f"test $1 = main && echo '{json.dumps(found)}'")
    made = prepare(find(f"{folder}@main"))
    assert (made.version, made.name) == ("1.3.0-dev", "mine@v2")
    assert made.argument == f"{folder}@v2", "which finds the same again, wherever main is then"
    assert Path(made.command[0]).read_text() == "built from a branch"
    identity = made.identity
    assert (identity.source, identity.commit, identity.dirty) == ("mine@v2", found["commit"], False)
    assert str(identity).startswith("mine@v2, commit 0123456789ab, clean, build ")
    with pytest.raises(UnfitSource, match="name mine without a version for a source"):
        find(f"{folder}@main").built_from(source)


def test_a_name_stands_for_a_version(folder: Path) -> None:
    client_toml(folder, """echo '{"version": "1.2.5-beta.1"}'""")
    made = prepare(find(f"{folder}@next"))
    assert (made.version, made.name) == ("1.2.5-beta.1", "mine@1.2.5-beta.1")


@pytest.mark.parametrize("name", ["main", "feature/x", "a1b2c3d", "1234567", "v1.2.0"])
def test_names_that_are_no_versions(folder: Path, name: str) -> None:
    client_toml(folder, 'echo "asked for $1" >&2; exit 1')
    client = find(f"{folder}@{name}")
    assert (client.ref, client.version, client.argument) == (name, None, f"{folder}@{name}")
    words = (
        f"{name} is not a branch of mine: asked for {name}\nclient mine: name a version >=1, or "
    )
    with pytest.raises(NoSuchVersion) as trouble:
        prepare(client)
    assert str(trouble.value) == words + (
        "name a branch of mine, or build a folder of mine by --source"
    )


@pytest.mark.parametrize("says", ["echo nothing", "echo '{}'", """echo '{"version": "x"}'"""])
def test_a_command_that_resolves_nothing(folder: Path, says: str) -> None:
    client_toml(folder, says)
    with pytest.raises(BuildFailed, match="client mine resolves main to no"):
        prepare(find(f"{folder}@main"))


def test_a_client_without_a_registry_says_what_can_be_named() -> None:
    with pytest.raises(NoSuchVersion, match=r"client rust has no master: name a version >=0"):
        prepare(find("rust@master"))
    with pytest.raises(NoSuchVersion, match="a wheel or an sdist of grpcio, or a checkout of grpc"):
        prepare(find("python@master"))


def test_the_newest_pre_release_of_a_python_client(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def newest(_: str, *, pre_releases: bool = False) -> str:
        asked.append(pre_releases)
        return "1.86.0rc1"

    monkeypatch.setattr(installer, "newest", newest)
    monkeypatch.setattr(environments, "_python_environment", lambda *_: Path("/made"))
    made = prepare(find("python@pre"))
    assert (made.version, made.name, asked) == ("1.86.0rc1", "python@1.86.0rc1", [True])


MAVEN = """#!/bin/sh
# As Maven copies jars: beside the pom.xml, into lib.
test -f pom.xml || exit 1
for word; do case $word in -Dgrpc.version=*) version=${word#*=} ;; esac; done
case $* in *--update-snapshots*) ;; *) exit 1 ;; esac
if [ "$version" != 1.99.0-SNAPSHOT ]; then
    echo "[INFO] looking"
    echo "[ERROR] Could not find artifact grpc-xds:$version -> [Help 1]"
    echo "[ERROR] Re-run Maven"
    exit 1
fi
mkdir lib
cp "$SNAPSHOTS"/*.jar lib
"""


@pytest.fixture
def snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The jars that a Maven in miniature knows."""
    folder = tmp_path / "snapshots"
    folder.mkdir()
    (folder / "grpc-xds-1.99.0-SNAPSHOT.jar").write_text("one")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mvn").write_text(MAVEN)
    (tmp_path / "bin" / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("SNAPSHOTS", str(folder))
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache, @ü"))
    return folder


def test_maven_resolves_a_snapshot_of_grpc_java(snapshots: Path) -> None:
    """It may have other content the next time."""

    def resolved() -> Client:
        client, identity = refs.resolved(find("java@1.99.0-SNAPSHOT+child-cache"))
        assert (client.ref, client.variant) == ("1.99.0-SNAPSHOT", "child-cache")
        assert identity.source == "grpc-java 1.99.0-SNAPSHOT"
        return client

    first, again = resolved(), resolved()
    assert first.source == again.source
    (snapshots / "grpc-xds-1.99.0-SNAPSHOT.jar").write_text("two")
    second = resolved()
    assert first.source != second.source
    for client, content in ((first, "one"), (second, "two")):
        assert client.source is not None
        assert [file.read_text() for file in client.source.iterdir()] == [content]


@pytest.mark.usefixtures("snapshots")
def test_a_snapshot_that_maven_does_not_find() -> None:
    with pytest.raises(NoSuchVersion) as trouble:
        refs.resolved(find("java@1.98.0-SNAPSHOT"))
    words = str(trouble.value)
    assert "settings.xml: Could not find artifact grpc-xds:1.98.0-SNAPSHOT\n" in words
    assert "or a Maven repository folder with one version of it by --source" in words


@pytest.mark.parametrize("name", ["python", "rust", "reference"])
def test_a_snapshot_of_a_client_that_is_not_in_maven(name: str) -> None:
    with pytest.raises(NoSuchVersion, match=f"client {name} has no 1.99.0-SNAPSHOT: name a "):
        prepare(find(f"{name}@1.99.0-SNAPSHOT"))


def module_proxy(folder: Path, branch: str, version: str) -> str:
    """A module proxy, in files, that knows grpc-go by a branch."""
    module = "google.golang.org/grpc"
    known = folder / module / "@v"
    known.mkdir(parents=True)
    info = {"Version": version, "Time": "2026-08-01T12:00:00Z"}
    for name in (branch, version):
        (known / f"{name}.info").write_text(json.dumps(info))
    (known / f"{version}.mod").write_text(f"module {module}\n")
    with zipfile.ZipFile(known / f"{version}.zip", "w") as opened:
        opened.writestr(f"{module}@{version}/go.mod", f"module {module}\n")
        opened.writestr(f"{module}@{version}/version.go", 'const Version = "1.86.0-dev"\n')
    return folder.as_uri()


def test_the_module_proxy_resolves_a_branch_of_grpc_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = "v1.86.0-dev.0.20260801120000-0123456789ab"
    monkeypatch.setenv("GOPROXY", module_proxy(tmp_path / "proxy", "master", version))
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modules"))
    monkeypatch.setenv("GOFLAGS", "-modcacherw")
    monkeypatch.setenv("GONOSUMDB", "*")

    def run(script: str, argument: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", str(BUILT_IN / "go" / script), argument]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    found = json.loads(run("resolve_ref.py", "master").stdout)
    assert found["name"] == f"google.golang.org/grpc@{version}"
    assert (found["ref"], found["commit"]) == (version, "0123456789ab")
    inspected = run("inspect_source.py", found["source"])
    assert json.loads(inspected.stdout) == {"version": "1.86.0-dev"}
    gone = run("resolve_ref.py", "gone")
    assert gone.returncode == 1
    assert "google.golang.org/grpc@gone: " in gone.stderr
