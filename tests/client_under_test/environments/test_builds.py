"""A build is reused only while everything that it read is unchanged."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import pytest

from client_under_test.contract.exceptions import BuildFailed, UnfitSource
from client_under_test.environments import Prepared, prepare
from client_under_test.environments.outside_paths import outside_paths
from client_under_test.manifests.clients import Client, find

MANIFEST = """
name = "built"
version = "2.1"
issues = "https://example.com/issues"
capabilities = []
[build]
command = {command}
{sources}
[start]
command = ["{{output}}/program"]
"""

# Makes a program of a library that is beside the client's folder, and counts how often.
MAKE = """
import pathlib, sys
output, library, count = map(pathlib.Path, sys.argv[1:])
with count.open("a") as opened:
    opened.write("made\\n")
(output / "program").write_text(library.read_text())
{more}
"""

LIST = '(output / "inputs.txt").write_text(f"{library}\\n")'


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "ring.go").write_text("hash >= h")
    return folder / "ring.go"


def client_of(tmp_path: Path, sources: str = "", more: str = "") -> Client:
    folder = tmp_path / "client"
    folder.mkdir(exist_ok=True)
    (folder / "make.py").write_text(MAKE.format(more=more))
    there = [str(tmp_path / name) for name in ("library/ring.go", "count")]
    command = [sys.executable, "-I", "{folder}/make.py", "{output}", *there]
    (folder / "client.toml").write_text(MANIFEST.format(command=command, sources=sources))
    return find(str(folder))


def program(prepared: Prepared) -> str:
    return Path(prepared.command[0]).read_text()


def times_made(tmp_path: Path) -> int:
    return len((tmp_path / "count").read_text().splitlines())


@pytest.mark.parametrize(
    ("sources", "more"),
    [("", ""), ("sources = ['../library']", ""), ("", LIST), ("sources = []", LIST)],
    ids=["says-nothing", "declares", "lists", "declares-none-and-lists"],
)
def test_a_token_outside_of_the_adapters_folder_changes_what_is_judged(
    tmp_path: Path, library: Path, sources: str, more: str
) -> None:
    client = client_of(tmp_path, sources, more)
    before = prepare(client)
    library.write_text("hash > h")
    after = prepare(client)
    assert (program(before), program(after)) == ("hash >= h", "hash > h")
    assert before.identity.build != after.identity.build


@pytest.mark.usefixtures("library")
def test_a_build_that_does_not_say_what_it_reads_runs_each_time(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    first, second = prepare(client), prepare(client)
    assert times_made(tmp_path) == 2
    assert second.command == first.command, "by its content it is the same"
    (note,) = second.notes
    assert "does not list the files that the build reads; list them in `sources`" in note


@pytest.mark.parametrize(
    ("sources", "more"), [("sources = ['../library']", ""), ("", LIST)], ids=["declares", "lists"]
)
def test_a_reused_build_is_told_of(tmp_path: Path, library: Path, sources: str, more: str) -> None:
    client = client_of(tmp_path, sources, more)
    first, second = prepare(client), prepare(client)
    assert times_made(tmp_path) == 1
    assert (first.notes, first.identity.build) == ((), second.identity.build)
    (note,) = second.notes
    assert note.startswith("using the cached build of built 2.1 in ")
    assert f"old, inputs unchanged, sha256 {second.identity.build[:16]})" in note
    library.write_text("hash > h")
    assert prepare(client).notes == ()
    library.write_text("hash >= h")
    assert program(prepare(client)) == "hash >= h"
    assert times_made(tmp_path) == 2, "the first one is kept"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("go.mod", "module a\nreplace google.golang.org/grpc => ../library // mine\n"),
        ("go.mod", "module a\nreplace (\n\tb v1.2.3 => ../library\n)\n"),
        ("go.work", "go 1.26\nuse ../library\n"),
        ("go.work", "go 1.26\nuse (\n\t.\n\t../library\n)\n"),
        ("Cargo.toml", '[dependencies]\nb = { path = "../library" }\n'),
        ("package.json", '{"dependencies": {"b": "file:../library"}}'),
        ("requirements.txt", "-e ../library\n"),
    ],
)
def test_a_declaration_that_leaves_out_what_a_package_file_names(
    tmp_path: Path, library: Path, name: str, text: str
) -> None:
    """Then the build runs each time: the declaration is not true."""
    client = client_of(tmp_path, "sources = []")
    (client.folder / name).write_text(text)
    prepare(client)
    assert [*outside_paths(client.folder)] == [library.parent]
    library.write_text("hash > h")
    assert program(prepare(client)) == "hash > h"
    client = client_of(tmp_path, "sources = ['../library']")
    made = times_made(tmp_path)
    assert program(prepare(client)) == program(prepare(client)) == "hash > h"
    assert times_made(tmp_path) == made + 1


def test_package_files_that_name_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "go.mod").write_text("module a\nreplace b => ./inner\nreplace c => d v1.0.0\n")
    (tmp_path / "Cargo.toml").write_text('[[bin]]\npath = "adapter.rs"\n')
    (tmp_path / "package.json").write_text('{"dependencies": {"b": "file:inner"}}')
    assert [*outside_paths(tmp_path)] == []


@pytest.mark.usefixtures("library")
def test_a_shipped_client_is_reused_and_a_copy_of_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(tmp_path)
    monkeypatch.setattr("client_under_test.manifests.clients.BUILT_IN", tmp_path)
    assert [prepare(client).identity.source for _ in range(2)] == ["", ""]
    assert times_made(tmp_path) == 1


@pytest.mark.usefixtures("library")
def test_another_compiler_asks_for_another_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "bin" / "compiler"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\necho 1.0\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(compiler.parent), prepend=":")
    tool = "sources = ['../library']\nenvironment = ['FLAGS']\n"
    client = client_of(tmp_path, tool + "tools = [{ program = 'compiler', get = 'get it' }]")
    for _ in range(2):
        prepare(client)
    assert times_made(tmp_path) == 1
    compiler.write_text("#!/bin/sh\necho 1.0.1\n")
    prepare(client)
    assert times_made(tmp_path) == 2
    monkeypatch.setenv("FLAGS", "-race")
    prepare(client)
    assert times_made(tmp_path) == 3


def test_sources_that_change_while_they_are_built(tmp_path: Path, library: Path) -> None:
    more = f"pathlib.Path({str(library)!r}).write_text('hash > h')"
    client = client_of(tmp_path, "sources = ['../library']", more)
    with pytest.raises(BuildFailed, match=r"changed while client built was built from it: run"):
        prepare(client)
    assert program(prepare(client)) == "hash > h"


@pytest.mark.parametrize("place", ["library", "client"])
def test_which_of_both_has_changed_is_said(tmp_path: Path, library: Path, place: str) -> None:
    client = client_with_sources(tmp_path, library)
    script = client.folder / "make.py"
    changed = tmp_path / place / "new.py"
    script.write_text(f"{script.read_text()}\npathlib.Path({str(changed)!r}).write_text('new')\n")
    with pytest.raises(BuildFailed, match=rf"^{tmp_path / place} changed while client built was"):
        prepare(client)


def test_a_relative_path_that_leads_elsewhere_from_a_build(tmp_path: Path) -> None:
    client = client_of(tmp_path, more="sys.exit('reading ../grpc-go/go.mod: no such file')")
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "ring.go").touch()
    words = rf"from which \.\./ leads elsewhere: in client.toml \{{folder\}} is .*{client.folder}"
    with pytest.raises(BuildFailed, match=words):
        prepare(client)


@pytest.mark.usefixtures("library")
def test_a_folder_that_stays_between_builds(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    manifest = client.folder / "client.toml"
    manifest.write_text(manifest.read_text().replace("{output}'", "{output}', '{cache}/state'"))
    (client.folder / "make.py").write_text(
        "import pathlib, sys\n"
        "output, state, *_ = map(pathlib.Path, sys.argv[1:])\n"
        "before = state.read_text() if state.exists() else ''\n"
        "state.write_text(before + 'x')\n"
        "(output / 'program').write_text(before)\n"
    )
    client = find(str(client.folder))
    assert [program(prepare(client)) for _ in range(3)] == ["", "x", "xx"]


# What a user has instead of a release.

SOURCE = """
[source]
of = "a folder of mine"
inspect = ["{python}", "-I", "{folder}/inspect_source.py", "{source}"]
build = ["{python}", "-I", "{folder}/make.py", "{output}", "{source}/ring.go", "{folder}/../count"]
"""

INSPECT = """
import json, pathlib, sys
version = pathlib.Path(sys.argv[1], "version")
print(json.dumps({"version": version.read_text()})) if version.is_file() else sys.exit("no version")
"""


def client_with_sources(tmp_path: Path, library: Path, version: str = "2.2.0-dev") -> Client:
    client = client_of(tmp_path, "sources = []\nversions = '>=2'")
    (client.folder / "inspect_source.py").write_text(INSPECT)
    manifest = client.folder / "client.toml"
    manifest.write_text(manifest.read_text() + SOURCE)
    (library.parent / "version").write_text(version)
    return find(str(client.folder)).built_from(library.parent)


def test_a_client_is_built_from_sources(tmp_path: Path, library: Path) -> None:
    client = client_with_sources(tmp_path, library)
    first, again = prepare(client), prepare(client)
    assert (first.version, first.name, program(first)) == ("2.2.0-dev", "built@source", "hash >= h")
    assert first.argument == str(client.folder)
    assert times_made(tmp_path) == 1
    assert again.notes[0].startswith("using the cached build")
    library.write_text("hash > h")
    changed = prepare(client)
    assert program(changed) == "hash > h"
    assert changed.identity.source == str(library.parent)
    assert len({build.identity.tree for build in (first, again, changed)}) == 2
    assert len({build.identity.build for build in (first, again, changed)}) == 2


@pytest.mark.parametrize("name", ["ä path, with signs=@2", "plain"])
def test_sources_behind_any_path(tmp_path: Path, library: Path, name: str) -> None:
    client = client_with_sources(tmp_path, library)
    place = library.parent.rename(tmp_path / name)
    link = tmp_path / "link"
    link.symlink_to(place)
    (place / "loop").symlink_to(place)
    (place / "gone").symlink_to(place / "nowhere")
    made = [prepare(find(str(client.folder)).built_from(path)) for path in (place, link)]
    assert {program(build) for build in made} == {"hash >= h"}
    assert times_made(tmp_path) == 1, "by content they are the same"


def test_sources_that_are_something_else(tmp_path: Path, library: Path) -> None:
    client = client_with_sources(tmp_path, library)

    def words(path: Path) -> str:
        with pytest.raises(UnfitSource) as trouble:
            prepare(find(str(client.folder)).built_from(path))
        return str(trouble.value)

    assert words(tmp_path / "none").startswith(f"there is no {tmp_path / 'none'}")
    assert words(tmp_path) == f"{tmp_path} is not a folder of mine: no version"
    (library.parent / "version").write_text("1.9")
    assert words(library.parent).endswith("is version 1.9, and the adapter of built is for >=2")
    (library.parent / "version").write_text("x")
    assert words(library.parent).endswith("calls its version x, which is none such as 1.70.0")


def test_a_release_and_sources_are_not_one_client(tmp_path: Path, library: Path) -> None:
    client_with_sources(tmp_path, library)
    with pytest.raises(UnfitSource, match="is a release: name built without a version"):
        find(f"{tmp_path / 'client'}@2.1").built_from(library.parent)
    with pytest.raises(UnfitSource, match=r"client.toml has no \[source\]"):
        find("reference").built_from(library.parent)


def test_sources_that_are_not_ones_to_read(tmp_path: Path, library: Path) -> None:
    client = client_with_sources(tmp_path, library)
    os.mkfifo(library.parent / "made.go")
    assert program(prepare(client)) == "hash >= h"


@pytest.mark.usefixtures("library")
def test_a_report_can_say_whether_hashes_pin_what_was_built(tmp_path: Path) -> None:
    client = client_of(tmp_path, "versions = '>=1'\nlock = 'go.sum'\nsources = ['../library']")
    assert prepare(client).identity.locked is True
    other = msgspec.structs.replace(client, version="2.0")
    assert prepare(other).identity.locked is False
    unlocked = client_of(tmp_path, "sources = ['../library']")
    assert prepare(unlocked).identity.locked is False
