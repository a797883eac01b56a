"""Wheels, sdists and checkouts of a Python client; nothing here asks an index."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import regular_files
from client_under_test.contract.exceptions import BuildFailed, UnfitSource
from client_under_test.environments import Prepared, prepare, python_sources
from client_under_test.manifests.clients import find

MANIFEST = """
name = "some"
issues = "https://example.com/issues"
capabilities = []
[python]
distribution = "some-pc"
[source]
of = "a wheel, an sdist or a checkout of some-pc"
environment = { SOME_FLAG = "on" }
[start]
command = ["{python}", "-I", "-c", "import some_pc; print(some_pc.__file__, some_pc.WHO)"]
[[editions]]
follows = ["A42"]
[[editions]]
versions = ">=2"
follows = ["A76"]
"""

# A build backend that needs nothing, in the project itself. It writes beside the sources.
BACKEND = """
import os, pathlib, zipfile
if pathlib.Path("broken").exists():
    raise SystemExit("no such compiler")
def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "some_pc-2.1.dev0-py3-none-any.whl"
    assert os.environ["SOME_FLAG"] == "on"
    pathlib.Path("left-by-a-build").touch()
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        wheel.writestr("some_pc.py", pathlib.Path("some_pc.py").read_text())
        info = "some_pc-2.1.dev0.dist-info"
        named = "Metadata-Version: 2.1\\nName: some-pc\\nVersion: 2.1.dev0\\n"
        kind = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        wheel.writestr(f"{info}/METADATA", named)
        wheel.writestr(f"{info}/WHEEL", kind)
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""

PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "some-pc"
version = "2.1.dev0"
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    (tmp_path / "client").mkdir()
    (tmp_path / "client" / "client.toml").write_text(MANIFEST)


def made_from(tmp_path: Path, source: Path) -> Prepared:
    return prepare(find(str(tmp_path / "client")).built_from(source))


def said(prepared: Prepared) -> str:
    ran = subprocess.run(prepared.command, check=True, capture_output=True, text=True)
    return ran.stdout.split()[-1]


def checkout(tmp_path: Path, who: str = "one") -> Path:
    folder = tmp_path / "a checkout, ä"
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "backend.py").write_text(BACKEND)
    (folder / "some_pc.py").write_text(f"WHO = {who!r}\n")
    return folder


def wheel(
    tmp_path: Path, who: str = "one", tag: str = "py3-none-any", name: str = "some_pc"
) -> Path:
    path = tmp_path / f"{name}-1.9-{tag}.whl"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("some_pc.py", f"WHO = {who!r}\n")
        info = f"{name}-1.9.dist-info"
        opened.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.9\n")
        opened.writestr(
            f"{info}/WHEEL",
            f"Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: {tag}\n",
        )
        opened.writestr(f"{info}/RECORD", "")
    return path


def sdist(tmp_path: Path, name: str = "some-pc") -> Path:
    folder = checkout(tmp_path)
    (folder / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.1.dev0\n")
    path = tmp_path / "some_pc-2.1.dev0.tar.gz"
    with tarfile.open(path, "w:gz") as opened:
        opened.add(folder, "some_pc-2.1.dev0")
    return path


def test_a_wheel_and_the_same_wheel_with_other_content(tmp_path: Path) -> None:
    path = wheel(tmp_path)
    first, again = made_from(tmp_path, path), made_from(tmp_path, path)
    assert (first.version, first.editions, said(first)) == ("1.9", ("A42",), "one")
    assert first.name == "some@source"
    assert again.command == first.command
    times = path.stat()
    wheel(tmp_path, "two")
    os.utime(path, (times.st_atime, times.st_mtime))  # by which installers go
    second = made_from(tmp_path, path)
    assert said(second) == "two"
    assert second.identity.tree != first.identity.tree
    assert second.identity.source == str(path)


def test_a_checkout_is_built_in_a_copy(tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    before = {path.name for path in folder.iterdir()}
    first = made_from(tmp_path, folder)
    assert (first.version, first.editions, said(first)) == ("2.1.dev0", ("A42", "A76"), "one")
    checkout(tmp_path, "two")
    assert said(made_from(tmp_path, folder)) == "two"
    (folder / "broken").touch()
    with pytest.raises(BuildFailed, match="no such compiler") as failed:
        made_from(tmp_path, folder)
    assert str(failed.value).startswith(f"{folder} could not be built: ")
    words, _, log = str(failed.value).rpartition("\nthe whole log: ")
    assert len(words.splitlines()) > 1, "its lines are kept"
    assert "no such compiler" in Path(log).read_text()
    (folder / "broken").unlink()
    checkout(tmp_path, "three")
    assert said(made_from(tmp_path, folder)) == "three", "what is gone is gone in the copy, too"
    assert {path.name for path in folder.iterdir()} == before
    (copied,) = (tmp_path / "cache" / "work").glob("*/left-by-a-build")
    assert copied.is_file(), "an incremental build finds what the last one left"


def test_a_checkout_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = checkout(tmp_path)

    def and_edit(source: Path, target: Path) -> None:
        regular_files.copy(source, target)
        checkout(tmp_path, "two")

    monkeypatch.setattr(f"{python_sources.__name__}.copy", and_edit)
    with pytest.raises(BuildFailed, match=rf"^{folder} changed while it was read: run the command"):
        made_from(tmp_path, folder)
    assert said(made_from(tmp_path, folder)) == "two"


def test_a_checkout_that_nobody_may_write_to(tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    for path in (*folder.iterdir(), folder):
        path.chmod(path.stat().st_mode & ~0o222)
    assert said(made_from(tmp_path, folder)) == "one"
    folder.chmod(0o755)
    (folder / "some_pc.py").chmod(0o644)
    checkout(tmp_path, "two")
    assert said(made_from(tmp_path, folder)) == "two"


def test_an_sdist(tmp_path: Path) -> None:
    made = made_from(tmp_path, sdist(tmp_path))
    assert (made.version, said(made)) == ("2.1.dev0", "one")


def test_what_is_something_else(tmp_path: Path) -> None:
    def words(path: Path) -> str:
        with pytest.raises(UnfitSource) as trouble:
            made_from(tmp_path, path)
        return str(trouble.value)

    other = "cp27-cp27m-win32"
    assert f"is a wheel for {other}, and this is Python" in words(wheel(tmp_path, tag=other))
    assert "is other, and not a wheel, an sdist" in words(wheel(tmp_path, name="other"))
    assert "is other, and not a wheel, an sdist" in words(sdist(tmp_path, name="other"))
    folder = checkout(tmp_path)
    (folder / "pyproject.toml").write_text(PROJECT.replace("some-pc", "other"))
    assert "is other, and not a wheel, an sdist" in words(folder)
    for name in ("some_pc-1-py3-none-any.whl", "some.whl", "some.tar.gz", "some.zip", "some"):
        file = tmp_path / name
        file.write_bytes(b"nothing")
        assert str(file) in words(file)
    assert "the folder has none of pyproject.toml" in words(tmp_path / "client")


def test_a_client_of_python_needs_no_table_for_its_sources(tmp_path: Path) -> None:
    manifest = tmp_path / "client" / "client.toml"
    manifest.write_text(re.sub(r"\[source\].*(?=\[start\])", "", MANIFEST, flags=re.DOTALL))
    with pytest.raises(UnfitSource, match="not a wheel, an sdist or a checkout of some-pc: the f"):
        made_from(tmp_path, tmp_path / "client")


def test_a_client_of_python_has_no_commands_for_its_sources(tmp_path: Path) -> None:
    manifest = tmp_path / "client" / "client.toml"
    manifest.write_text(MANIFEST.replace("[source]", f"[source]\ninspect = ['{sys.executable}']"))
    with pytest.raises(Exception, match="are installed: it has no commands"):
        find(str(tmp_path / "client"))
