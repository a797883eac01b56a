"""Builds of clients: kept by their content, and reused while all that they read is unchanged."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.contract.exceptions import BadManifest, BuildFailed, MissingToolchain
from client_under_test.environments import build_log, fingerprint, toolchain
from client_under_test.environments.build_cache import BuildCache, alone, made_once, use, writable
from client_under_test.environments.outside_paths import outside_paths
from client_under_test.environments.places import cache, work_folder
from client_under_test.manifests.clients import Client
from client_under_test.manifests.manifest import Build, Tool
from client_under_test.manifests.manifest_file import FILE
from client_under_test.manifests.version_ranges import is_version
from client_under_test.supervision import guarded
from regular_files import read_bytes

MOST_BUILDS: Final = 16
"""Builds to keep per client: a dozen releases, and some states of an adapter in development."""

INPUTS: Final = "inputs.txt"
"""The file in which a build lists the files that it read outside of the client's folder."""

_RECORD: Final = ".build.json"
_DIGITS: Final = 16

# For a client that can only be built from the user's sources.
_NO_BUILD: Final = Build(command=())

# Files in a client's folder that no build reads.
_NO_SOURCES: Final = {"README.md", "client.toml", "expected.toml"}
_NO_SOURCE_FOLDERS: Final = ("/__pycache__/", "/xdspec-out/")
"""The second has the evidence of runs that were started in the client's folder."""


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """A folder with what a build made."""

    folder: Path
    digest: str
    """SHA-256 of its content."""
    tree: str = ""
    """SHA-256 of the user's sources that it was built from."""
    note: str = ""
    """A sentence for the user about this build, or empty."""


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """The record that is written next to a build."""

    digest: str
    made: float
    """Seconds since the epoch."""
    listed: tuple[str, ...] = ()
    """The files that the build has read outside of the client's folder, as it has listed them."""
    state: str = ""
    """A digest of these."""


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A build to make, or to find in the cache."""

    client: Client
    version: str
    build: Build

    @property
    def command(self) -> tuple[str, ...]:
        source = self.client.manifest.source
        if self.client.source is None:
            return self.build.command
        assert source is not None, "else there would be no path"
        assert source.build is not None, "a rule of the manifest"
        return source.build

    @property
    def sources(self) -> tuple[Path, ...]:
        """What it reads besides the client's folder, as far as that is declared."""
        own = [Path(self.client.folder, source) for source in self.build.sources or ()]
        return (*own, self.client.source) if self.client.source else tuple(own)

    @property
    def tools(self) -> Iterator[Tool]:
        """The programs that it needs; a library may be what the user's source is."""
        return (tool for tool in self.build.tools if self.client.source is None or not tool.of)

    @property
    def says_what_it_reads(self) -> bool:
        """Return whether the manifest states everything that the build reads.

        A copy of a shipped client without `sources` does not count: its author may make it read any
        file. A manifest with a build from the user's sources does count.
        """
        is_said = self.build.sources is not None or self.client.source is not None
        if not (is_said or self.client.is_shipped):
            return False
        known = [path.resolve() for path in self.sources]
        return all(
            any(path.is_relative_to(listed_folder) for listed_folder in known)
            for path in outside_paths(self.client.folder)
        )

    def state(self) -> tuple[str, str]:
        """Return a digest of all declared inputs, and a digest of the user's sources."""
        digest = hashlib.sha256(repr(self.command).encode())
        for name in self.build.environment:
            digest.update(f"\0{name}={os.environ.get(name)}".encode("utf-8", "surrogateescape"))
        for tool in self.build.tools:
            digest.update(f"\0{toolchain.state_of(tool.program)}".encode())
        for paths in ((self.client.folder,), self.sources[: len(self.build.sources or ())]):
            digest.update(fingerprint.digest(paths, _is_no_source).encode())
        tree = fingerprint.digest([self.client.source]) if self.client.source else ""
        digest.update(tree.encode())
        return digest.hexdigest()[:_DIGITS], tree


def built(client: Client, version: str) -> Built:
    """Return what the client's build makes of its sources as they are now; blocks.

    Raises:
        MissingToolchain, BuildFailed, CacheUnusable: as they say.
    """
    build = client.manifest.build or _NO_BUILD
    assert build.command or client.source is not None, "asked for clients that have one"
    toolchain.require(client.name, build.tools, ask=False)
    wanted = _Wanted(client=client, version=version, build=build)
    state, tree = _readable(wanted)
    base = folder() / f"{client.name}-{version}-{state}"
    is_declared = wanted.says_what_it_reads
    with suppress(OSError):  # a read-only cache evicts nothing
        base.parent.mkdir(parents=True, exist_ok=True)
        use(base)
    if (found := _reusable(base, is_declared=is_declared)) is not None:
        return _reused(found, client, version, tree)
    with writable(base), alone(base):
        if (found := _reusable(base, is_declared=is_declared)) is not None:
            return _reused(found, client, version, tree)  # another command has made it meanwhile
        return _made(wanted, base, state, tree)


def folder() -> Path:
    """Return where builds are kept."""
    return cache() / "builds"


def kept(client: Client) -> Iterator[str]:
    """Return the versions of the client in the cache."""
    named = re.compile(
        rf"{re.escape(client.name)}-(\d.*)-[0-9a-f]{{{_DIGITS}}}-[0-9a-f]{{{_DIGITS}}}"
    )
    for place in folder().glob(f"{client.name}-*"):
        found = named.fullmatch(place.name)
        if found and place.is_dir() and is_version(found[1]):
            yield found[1]


def _readable(wanted: _Wanted) -> tuple[str, str]:
    try:
        return wanted.state()
    except OSError as trouble:
        raise BuildFailed(
            f"client {wanted.client.name} cannot be built: {trouble.filename} cannot be read: "
            f"{trouble.strerror}"
        ) from trouble


def _record_of(place: Path) -> _Record | None:
    try:
        return msgspec.json.decode(read_bytes(place / _RECORD), type=_Record)
    except (OSError, msgspec.MsgspecError):
        return None


def _reusable(base: Path, *, is_declared: bool) -> Path | None:
    """Return the newest build of these sources, if all other files that it read are unchanged."""
    places = [path for path in base.parent.glob(f"{base.name}-*") if path.is_dir()]
    for place in sorted(places, key=lambda place: place.stat().st_mtime, reverse=True):
        record = _record_of(place)
        if record is None or not (is_declared or record.listed):
            continue
        with suppress(OSError):
            if fingerprint.digest(map(Path, record.listed)) == record.state:
                return place
    return None


def _reused(place: Path, client: Client, version: str, tree: str) -> Built:
    record = _record_of(place)
    assert record is not None, "the record was just read, and no other process removes it"
    made_once(place, lambda _: None, _build_cache(client))
    age = in_words(time.time() - record.made)
    note = f"using the cached build of {client.name} {version} in {_from_home(place)}"
    since = (
        f"made {age} ago from the same files" if client.source else f"{age} old, inputs unchanged"
    )
    return Built(
        folder=place,
        digest=record.digest,
        tree=tree,
        note=f"{note} ({since}, sha256 {record.digest[:_DIGITS]})",
    )


def _from_home(path: Path) -> str:
    """Return a path with the user's home written as ``~``."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def in_words(seconds: float) -> str:
    """Return an age as people say it."""
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _build_cache(client: Client) -> BuildCache:
    names = rf"{re.escape(client.name)}-\d[^/]*-[0-9a-f]{{{_DIGITS}}}"
    return BuildCache(names, MOST_BUILDS)


def _made(wanted: _Wanted, base: Path, state: str, tree: str) -> Built:
    client, draft = wanted.client, Path(base.parent, f".{base.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        _build(wanted, draft)
        now = _readable(wanted)
        if now != (state, tree):
            changed = client.folder if now[1] == tree else client.source
            raise BuildFailed(
                f"{changed} changed while client {client.name} was built from it: run the command "
                "again"
            )
        listed = _listed(draft)
        record = _Record(
            digest=fingerprint.digest([draft], lambda name: name == f"/{INPUTS}"),
            made=time.time(),
            listed=listed,
            state=fingerprint.digest(map(Path, listed)),
        )
        place = base.with_name(f"{base.name}-{record.digest[:_DIGITS]}")
        _write(record, draft)
        made_once(place, partial(_move, draft), _build_cache(client))
        if draft.is_dir():  # the same has been built before
            _write(record, place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    note = (
        f"built {client.name} {wanted.version} again: its client.toml does not list the files "
        "that the build reads; list them in `sources` under [build] to reuse builds"
    )
    is_told = wanted.says_what_it_reads or listed
    return Built(folder=place, digest=record.digest, tree=tree, note="" if is_told else note)


def _move(draft: Path, place: Path) -> None:
    draft.rename(place)


def _write(record: _Record, place: Path) -> None:
    draft = place / f"{_RECORD}.{os.getpid()}"
    draft.write_bytes(msgspec.json.encode(record))
    draft.replace(place / _RECORD)


def _listed(draft: Path) -> tuple[str, ...]:
    """Return the files that a build lists as read."""
    try:
        lines = os.fsdecode(read_bytes(draft / INPUTS)).splitlines()
    except FileNotFoundError:
        return ()
    return tuple(sorted({os.path.normpath(line) for line in lines if Path(line).is_absolute()}))


def _build(wanted: _Wanted, draft: Path) -> None:
    """Run the build's command in a new folder."""
    for listed in wanted.build.sources or ():
        if not Path(wanted.client.folder, listed).exists():
            raise BadManifest(
                f"{wanted.client.folder / FILE}: build.sources: {listed} does not exist: name "
                "files or folders that the build reads, relative to this file"
            )
    client, work = wanted.client, work_folder(wanted.client.name, wanted.client.folder)
    toolchain.require(client.name, wanted.tools, ask=True)
    draft.mkdir()
    places = {
        "folder": client.folder,
        "output": draft,
        "version": wanted.version,
        "source": client.source,
        "cache": work,
        "python": sys.executable,
    }
    command = [part.format(**places) for part in wanted.command]
    if (why := _cannot_be_started(command[0], draft)) is not None:
        raise MissingToolchain(
            f"client {client.name} is built with {command[0]}, which cannot be started: {why}"
        )
    stated = client.manifest.source
    more = stated.environment if client.source and stated is not None else {}
    log = draft.with_name(f"{draft.name}.log")
    is_incremental = any("{cache}" in part for part in wanted.command)
    with alone(work) if is_incremental else nullcontext(), log.open("wb") as output:
        done = subprocess.run(
            guarded(*command),
            check=False,
            cwd=draft,
            stdout=output,
            stderr=subprocess.STDOUT,  # compilers speak there, build tools often do not
            stdin=subprocess.DEVNULL,
            env={**os.environ, **more},
        )
    if done.returncode == 0:
        log.unlink()
        return
    log = log.replace(log.with_name(f"{client.name}.log"))
    said = read_bytes(log).decode("utf-8", "replace")
    words = build_log.quoted(said, log, _hint(client, said))
    raise BuildFailed(f"client {client.name} could not be built: {words}")


def _hint(client: Client, said: str) -> str:
    """Where the build ran, if its words are of a path that leads elsewhere from there."""
    if "../" not in said:
        return ""
    return (
        "Builds run in a new folder of their own, from which ../ leads elsewhere: in client.toml "
        f"{{folder}} is the client's folder ({client.folder}), so name paths by that, or whole.\n"
    )


def _cannot_be_started(program: str, folder: Path) -> str | None:
    """Why this program, as it is called in the folder, is none; None if it is one."""
    if os.sep not in program:
        return None if shutil.which(program) else os.strerror(errno.ENOENT)
    path = folder / program
    if not path.is_file():
        return os.strerror(errno.ENOENT)
    return None if os.access(path, os.X_OK) else os.strerror(errno.EACCES)


def _is_no_source(name: str) -> bool:
    """Return whether a file of a client's folder is one that no build reads."""
    in_folder = any(folder in name for folder in _NO_SOURCE_FOLDERS)
    return in_folder or name.rpartition("/")[2] in _NO_SOURCES
