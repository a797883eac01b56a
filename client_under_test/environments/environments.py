"""Makes what a client needs to run, once, in a cache: never in the suite's own environment."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from packaging.version import Version

from client_under_test.contract.exceptions import (
    BuildFailed,
    MissingToolchain,
    NoSuchVersion,
    NotTold,
)
from client_under_test.environments import installer, toolchain
from client_under_test.environments.shelf import Shelf, made_once
from client_under_test.guarding import guarded
from client_under_test.manifests.clients import Client
from client_under_test.manifests.manifest import PythonEnvironment
from client_under_test.manifests.version_ranges import is_version, is_within
from regular_files import read_bytes


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A client that can be started.

    `version` is exact. `environment` is what the manifest and the variant ask for. `editions` are
    those that the client says it follows. `notes` are sentences for the user. `told` is what the
    user said where the manifest asks. `wrap` is a tool that starts the command behind it.
    """

    client: Client
    command: tuple[str, ...]
    environment: Mapping[str, str]
    version: str
    editions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    told: str = ""
    wrap: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The client's name with its exact version and variant: it stands for the same again."""
        return str(self._exact)

    @property
    def argument(self) -> str:
        """What finds the same again."""
        return self._exact.argument

    @property
    def _exact(self) -> Client:
        if self.client.manifest.python is None:
            return self.client
        return msgspec.structs.replace(self.client, version=self.version)


def cache() -> Path:
    """Where built things are kept: $XDSPEC_CACHE, or `xdspec` in the user's cache folder."""
    named = os.environ.get("XDSPEC_CACHE")
    if named:
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "xdspec"


def prepare(client: Client, environment: Mapping[str, str] | None = None) -> Prepared:
    """Make the client's environment or build, or find it made; blocks.

    Args:
        client: which.
        environment: variables that the user sets for the client, besides those of this process.

    Raises:
        NotTold, MissingToolchain, NoSuchVersion, NoWheel, BuildFailed, CacheUnusable: as they say.
    """
    manifest = client.manifest
    answers = _answers(client, {**os.environ, **(environment or {})})
    places = {"folder": str(client.folder), "python": sys.executable}
    notes: tuple[str, ...] = ()
    if manifest.python is not None:
        named = client.version or manifest.python.version
        if named is None:
            version, notes = _newest(manifest.python)
        else:
            version = _checked(named)
        editions = manifest.editions_of(version, client.variant)
        made = _python_environment(manifest.python, version)
        places["python"] = str(made / "bin" / "python")
    else:
        assert manifest.version is not None, "a rule of the manifest"
        named = client.version or manifest.version
        same = Version(_checked(named)) == Version(manifest.version)
        # As it was spelt: others than Python write 0.1.0-alpha.3.
        version = manifest.version if same else named
        others = manifest.build.versions if manifest.build is not None else None
        if version != manifest.version and not (others and is_within(version, others)):
            there = f"versions {others}" if others else f"version {manifest.version} only"
            raise NoSuchVersion(f"client {client.name} is there in {there}")
        editions = manifest.editions_of(version, client.variant)
        if manifest.build is not None:
            places["output"] = str(_built(client, version))
    variant = manifest.variants[client.variant].environment if client.variant else {}
    return Prepared(
        client=client,
        command=tuple(part.format(**places, version=version) for part in manifest.start.command),
        environment={**manifest.start.environment, **variant, **answers},
        version=version,
        editions=editions,
        notes=notes,
        told=", ".join(answers.values()),
    )


def _answers(client: Client, environment: Mapping[str, str]) -> dict[str, str]:
    """What the user says to each question of the manifest."""
    asks = client.manifest.start.asks
    answers = {name: environment.get(name, "").strip() for name in asks}
    for name, answer in answers.items():
        if not answer:
            raise NotTold(
                f"client {client} wants to be told {asks[name]}: say it with --env {name}=..., or "
                "set that variable"
            )
    return answers


def kept(client: Client) -> tuple[str, ...]:
    """The versions of the client that are in the cache, newest first."""
    if client.manifest.python is not None:
        pattern = _python_place(client.manifest.python, "*")
    elif client.manifest.build is not None:
        pattern = _build_place(client, "*")
    else:
        return ()
    begin, end = pattern.name.split("*")
    found = (place.name for place in pattern.parent.glob(pattern.name) if place.is_dir())
    named = (name.removeprefix(begin).removesuffix(end) for name in found)
    versions = (name for name in named if is_version(name))
    return tuple(sorted(versions, key=Version, reverse=True))


def _checked(version: str) -> str:
    if not is_version(version):
        raise NoSuchVersion(f"{version} is not a version such as 1.70.0")
    return str(Version(version))


# Python environments.


def _shelf() -> Path:
    """The folder of the cache that holds environments of this Python and platform."""
    return cache() / "python" / installer.PLATFORM


def _python_place(wanted: PythonEnvironment, version: str) -> Path:
    """Where the environment with this version is kept, a pattern for the version will do."""
    beside = hashlib.sha256(repr(wanted.beside).encode()).hexdigest()[:8] if wanted.beside else ""
    name = "+".join(filter(None, (wanted.distribution, beside)))
    return _shelf() / f"{name}-{version}"


GOOD_FOR: Final = 600.0
"""Seconds for which it is remembered what the newest version is: PyPI's answers say the same."""


def _newest(wanted: PythonEnvironment) -> tuple[str, tuple[str, ...]]:
    """The newest version, and notes; offline, the newest of those in the cache."""
    asked = sorted(one for one in os.environ.items() if one[0].startswith(("PIP_", "UV_")))
    of_index = hashlib.sha256(repr(asked).encode()).hexdigest()[:8]
    told = _shelf() / f"{wanted.distribution}.newest-{of_index}"
    if told.is_file() and 0 <= time.time() - told.stat().st_mtime < GOOD_FOR:
        kept = read_bytes(told).decode("utf-8", "replace")
        if is_version(kept):
            return kept, ()
    try:
        version = installer.newest(wanted.distribution)
    except installer.IndexNotReached:
        pattern = _python_place(wanted, "*")
        begin = pattern.name.removesuffix("*")
        folders = [place for place in pattern.parent.glob(pattern.name) if place.is_dir()]
        versions = [place.name.removeprefix(begin) for place in folders]
        kept = max(filter(is_version, versions), key=Version, default="")
        if not kept:
            raise
        what = f"{wanted.distribution} {kept}"
        return kept, (f"the package index was not reached: {what} is the newest kept here",)
    with suppress(OSError):  # where nothing can be kept it is asked again
        told.parent.mkdir(parents=True, exist_ok=True)
        draft = told.with_name(f".{told.name}.{os.getpid()}")
        draft.write_text(version, "utf-8")
        draft.replace(told)  # nobody reads it half written
    return version, ()


def _python_environment(wanted: PythonEnvironment, version: str) -> Path:
    place = _python_place(wanted, version)
    begin = place.name.removesuffix(version)
    return made_once(
        place,
        lambda draft: installer.install(wanted.distribution, version, draft, wanted.beside),
        Shelf(rf"{re.escape(begin)}\d[^/]*", MOST_ENVIRONMENTS),
        # Its Python links to the one that it was made with, which may be gone.
        is_sound=(place / "bin" / "python").exists,
    )


# Builds.

MOST_BUILDS: Final = 16
"""Of a client are kept: a dozen releases, and some states of an adapter that is being written."""

MOST_ENVIRONMENTS: Final = 48
"""Of a distribution are kept: each minor release of four years at gRPC's pace."""

_DIGITS: Final = 16

# Lines of a builder that are quoted: what it says of the mistake comes before how it sums up.
_LAST_WORDS = 60


def _built(client: Client, version: str) -> Path:
    """The folder with what the client's build made of the sources as they are now."""
    build = client.manifest.build
    assert build is not None, "asked for clients that have one"
    toolchain.demand(client.name, build.tools, ask=False)

    def fill(folder: Path) -> None:
        toolchain.demand(client.name, build.tools, ask=True)
        folder.mkdir()
        places = {"folder": client.folder, "output": folder, "version": version}
        command = [part.format(**places) for part in build.command]
        if (why := _cannot_be_started(command[0], folder)) is not None:
            raise MissingToolchain(
                f"client {client.name} is built with {command[0]}, which cannot be started: {why}"
            )
        try:
            subprocess.run(
                guarded(*command),
                check=True,
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,  # compilers speak there, build tools often do not
                encoding="utf-8",
                errors="replace",
                stdin=subprocess.DEVNULL,
            )
        except subprocess.CalledProcessError as trouble:
            words = "\n".join(trouble.stdout.strip().splitlines()[-_LAST_WORDS:])
            raise BuildFailed(f"client {client.name} could not be built: {words}") from trouble

    names = rf"{re.escape(client.name)}-\d[^/]*-[0-9a-f]{{{_DIGITS}}}"
    return made_once(_build_place(client, version), fill, Shelf(names, MOST_BUILDS))


def _cannot_be_started(program: str, folder: Path) -> str | None:
    """Why this program, as it is called in the folder, is none; None if it is one."""
    if os.sep not in program:
        return None if shutil.which(program) else os.strerror(errno.ENOENT)
    path = folder / program
    if not path.is_file():
        return os.strerror(errno.ENOENT)
    return None if os.access(path, os.X_OK) else os.strerror(errno.EACCES)


def _build_place(client: Client, version: str) -> Path:
    return cache() / "builds" / f"{client.name}-{version}-{_sources(client)}"


# In a client's folder, but nothing that a build reads.
_NO_SOURCES = {"README.md", "client.toml", "expected.toml"}


def _sources(client: Client) -> str:
    """A digest of the folder's files and the build's command: another one asks for a new build."""
    build = client.manifest.build
    assert build is not None, "asked for clients that have one"
    digest = hashlib.sha256(repr(build.command).encode())
    for file in sorted(path for path in client.folder.rglob("*") if path.is_file()):
        if "__pycache__" not in file.parts and file.name not in _NO_SOURCES:
            digest.update(f"\0{file.relative_to(client.folder)}\0".encode() + read_bytes(file))
    return digest.hexdigest()[:_DIGITS]
