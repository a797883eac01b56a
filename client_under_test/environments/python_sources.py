"""Wheels, sdists and checkouts of a Python client, installed into an environment of their own."""

from __future__ import annotations

import os
import shutil
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from email.parser import HeaderParser
from pathlib import Path
from typing import Final

import msgspec
from packaging.tags import sys_tags
from packaging.utils import (
    InvalidWheelFilename,
    canonicalize_name,
    parse_wheel_filename,
)

from client_under_test.contract.exceptions import BuildFailed, UnfitSource
from client_under_test.environments import fingerprint, installer, sources
from client_under_test.environments.build_cache import BuildCache, alone, made_once
from client_under_test.environments.places import cache
from client_under_test.manifests.clients import Client
from client_under_test.manifests.manifest import PythonEnvironment
from regular_files import copy, read_bytes, read_text

_DIGITS: Final = 16
_MOST: Final = 8
"""Environments from sources that are kept: the states of a working tree of late."""

_ARCHIVES: Final = (".tar.gz", ".tgz", ".zip")
_BUILD_FILES: Final = ("pyproject.toml", "setup.py", "setup.cfg")


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """An environment that has the client from the user's sources."""

    folder: Path
    version: str
    tree: str
    """SHA-256 of these sources."""


def installed(client: Client) -> Installed:
    """Return the environment with the client of these sources as they are now; blocks.

    Raises:
        UnfitSource, BuildFailed, CacheUnusable: as they say.
    """
    wanted, stated = client.manifest.python, client.manifest.source
    assert wanted is not None, "asked for clients that have one"
    assert stated is not None, "a client without it has no source"
    path = sources.there(client)
    _require(path, wanted.distribution, stated.of)
    tree = sources.tree_of(path)
    kept = cache() / "python" / installer.PLATFORM / "sources"
    place = kept / f"{wanted.distribution}-{_key(tree, wanted, stated.environment)}"

    def fill(draft: Path) -> None:
        work = cache() / "work" / f"{wanted.distribution}-{_name_of(path)}"
        work.parent.mkdir(parents=True, exist_ok=True)
        with alone(work):
            copied = _copy(path, work)
            if sources.tree_of(path) != tree:
                raise BuildFailed(f"{path} changed while it was read: run the command again")
            installer.install_from(
                copied,
                wanted.distribution,
                draft,
                wanted.beside,
                environment=stated.environment,
                named=str(path),
                log=work.with_name(f"{work.name}.log"),
            )
        if not _version_in(draft, wanted.distribution):
            raise UnfitSource(f"{path} is not {stated.of}: it installs no {wanted.distribution}")

    names = rf"{wanted.distribution}-[0-9a-f]{{{_DIGITS}}}"
    sound = (place / "bin" / "python").exists
    made_once(place, fill, BuildCache(names, _MOST), is_sound=sound)
    version = _version_in(place, wanted.distribution)
    return Installed(folder=place, version=version, tree=tree)


def _key(tree: str, wanted: PythonEnvironment, environment: dict[str, str]) -> str:
    more = repr((wanted.beside, sorted(environment.items()))).encode()
    return fingerprint.of_bytes(tree.encode() + more)[:_DIGITS]


def _name_of(path: Path) -> str:
    """Return a name for the copy of a path's content."""
    return fingerprint.of_bytes(os.fsencode(path))[:_DIGITS]


def _version_in(environment: Path, distribution: str) -> str:
    """Return the version of the distribution in an environment; empty if it is not installed."""
    for folder in environment.glob("lib/python*/site-packages/*.dist-info"):
        name, _, version = folder.name.removesuffix(".dist-info").rpartition("-")
        if canonicalize_name(name) == canonicalize_name(distribution):
            return version
    return ""


def _require(path: Path, distribution: str, wanted: str) -> None:
    """See that the path is a wheel for this Python and platform, an sdist, or a checkout.

    Raises:
        UnfitSource: it is none of these.
    """
    if path.is_dir():
        if not any((path / name).is_file() for name in _BUILD_FILES):
            raise UnfitSource(
                f"{path} is not {wanted}: the folder has none of {', '.join(_BUILD_FILES)}"
            )
        name = _project_name(path)
    elif path.suffix == ".whl":
        _require_tags(path)
        name = _name_in(_of_wheel(path))
    elif path.name.endswith(_ARCHIVES):
        name = _name_in(_of_sdist(path))
    else:
        raise UnfitSource(f"{path} is not {wanted}: a file ends in .whl, .tar.gz or .zip")
    if name and canonicalize_name(name) != canonicalize_name(distribution):
        raise UnfitSource(f"{path} is {name}, and not {wanted}")


def _require_tags(path: Path) -> None:
    try:
        *_, tags = parse_wheel_filename(path.name)
    except InvalidWheelFilename as wrong:
        raise UnfitSource(f"{path}: {wrong}") from None
    if tags.isdisjoint(sys_tags()):
        named = ", ".join(sorted(map(str, tags)))
        raise UnfitSource(
            f"{path} is a wheel for {named}, and this is Python {installer.PLATFORM}: build one "
            "for it, or run the suite with the wheel's Python"
        )


def _project_name(folder: Path) -> str:
    """Return the name of a checkout's project, if a file states it."""
    with suppress(OSError, ValueError, UnicodeDecodeError):
        table = tomllib.loads(read_text(folder / "pyproject.toml"))
        return str(table.get("project", {}).get("name", ""))
    return ""


def _name_in(metadata: str) -> str:
    return HeaderParser().parsestr(metadata).get("Name", "")


def _of_wheel(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as opened:
            for name in opened.namelist():
                if name.endswith(".dist-info/METADATA"):
                    return opened.read(name).decode("utf-8", "replace")
    except (OSError, zipfile.BadZipFile) as trouble:
        raise UnfitSource(f"{path} cannot be read as a wheel: {trouble}") from trouble
    raise UnfitSource(f"{path} is no wheel: it has no METADATA")


def _of_sdist(path: Path) -> str:
    try:
        for name, content in _members(path):
            if name.count("/") == 1 and name.endswith("/PKG-INFO"):
                return content.decode("utf-8", "replace")
    except (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError) as trouble:
        raise UnfitSource(f"{path} cannot be read as an sdist: {trouble}") from trouble
    raise UnfitSource(f"{path} is no sdist: it has no PKG-INFO")


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as opened:
            for name in opened.namelist():
                yield name, opened.read(name) if name.endswith("/PKG-INFO") else b""
        return
    with tarfile.open(path, "r:*") as archive:
        for member in archive:
            is_read = member.isfile() and member.name.endswith("/PKG-INFO")
            content = archive.extractfile(member) if is_read else None
            yield member.name, content.read() if content else b""


def _copy(path: Path, work: Path) -> Path:
    """Copy the sources, as a build writes beside them; a folder's copy keeps what a build left.

    Returns:
        the file or folder that is installed.
    """
    if path.is_file():
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        copied = work / path.name
        copy(path.resolve(), copied)
        return copied
    _synchronize(path, work)
    return work


def _synchronize(source: Path, target: Path) -> None:
    """Make a copy of a folder have its files as they are, and none that it had and has no more.

    Files that are the same keep their times, by which compilers know what is new.
    """
    index = target.with_name(f"{target.name}.files")
    before: set[str] = set()
    with suppress(OSError):
        before = set(os.fsdecode(read_bytes(index)).split("\0"))
    now: set[str] = set()
    for folder, folders, files in os.walk(source):
        folders[:] = [name for name in folders if name not in fingerprint.NOT_READ]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        Path(target, os.path.relpath(folder, source)).mkdir(parents=True, exist_ok=True)
        for name in (*files, *links):
            file = Path(folder, name)
            relative = os.path.relpath(file, source)
            now.add(relative)
            _copy_one(file, target / relative)
    for gone in before - now - {""}:
        (target / gone).unlink(missing_ok=True)
    index.write_bytes(os.fsencode("\0".join(sorted(now))))


def _copy_one(file: Path, copied: Path) -> None:
    if file.is_symlink():
        copied.unlink(missing_ok=True)
        copied.symlink_to(file.readlink())
    elif file.is_file():
        with suppress(OSError):
            old, new = copied.stat(), file.stat()
            if (old.st_size, old.st_mtime_ns) == (new.st_size, new.st_mtime_ns):
                return
        copied.unlink(missing_ok=True)  # it may be a link, or not writable
        copy(file, copied)
        shutil.copystat(file, copied)
