"""Makes what a client needs to run, once, in a cache: never in the suite's own environment."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from packaging.version import Version

from client_under_test.contract.exceptions import MissingInput, NoSuchVersion
from client_under_test.environments import builds, commits, installer, python_sources, refs, sources
from client_under_test.environments.build_cache import BuildCache, made_once
from client_under_test.environments.identity import Identity, identity_of
from client_under_test.environments.places import cache
from client_under_test.manifests.clients import Client
from client_under_test.manifests.manifest import PythonEnvironment, Source
from client_under_test.manifests.version_ranges import is_version, is_within, parsed
from regular_files import read_bytes


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A client that can be started.

    `version` is exact. `environment` is what the manifest and the variant ask for. `editions` are
    those that the client says it follows. `notes` are sentences for the user. `told` is what the
    user said where the manifest asks. `wrap` is a tool that starts the command behind it.
    `identity` tells the client from others of the same version.
    """

    client: Client
    command: tuple[str, ...]
    environment: Mapping[str, str]
    version: str
    editions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    told: str = ""
    wrap: tuple[str, ...] = ()
    identity: Identity = Identity()

    @property
    def name(self) -> str:
        """The client's name with its exact version and variant."""
        return str(self._exact)

    @property
    def argument(self) -> str:
        """What finds the same again."""
        return self._exact.argument

    @property
    def release(self) -> str:
        """Name the release that is judged, by its project; empty for any other build.

        Only of a client that can be built from sources, too.
        """
        client = self.client
        is_release = client.source is None and not client.ref and client.is_shipped
        if not is_release or client.manifest.source is None:
            return ""
        project = re.search(r"([^/]+)/issues$", client.manifest.issues)
        return f"{project[1] if project else client.name} {self.version}"

    @property
    def _exact(self) -> Client:
        if self.client.manifest.python is None or self.client.source is not None:
            return self.client
        return msgspec.structs.replace(self.client, version=self.version)


def prepare(client: Client, environment: Mapping[str, str] | None = None) -> Prepared:
    """Make the client's environment or build, or find it made; blocks.

    Args:
        client: which.
        environment: variables that the user sets for the client, besides those of this process.

    Raises:
        NotTold, MissingToolchain, NoSuchVersion, NoWheel, UnfitSource, BuildFailed, CacheUnusable:
            as they say.
    """
    answers = _answers(client, {**os.environ, **(environment or {})})
    client, of_ref = refs.resolved(client)
    manifest, there = client.manifest, commits.located(client)
    made = _made(there)
    places = {"folder": str(client.folder), "python": sys.executable, **made.places}
    variant = manifest.variants[client.variant].environment if client.variant else {}
    command = manifest.start.command
    return Prepared(
        client=client,
        command=tuple(part.format(**places, version=made.version) for part in command),
        environment={**manifest.start.environment, **variant, **answers, **made.environment},
        version=made.version,
        editions=manifest.editions_of(made.version, client.variant),
        notes=made.notes,
        told=", ".join(answers.values()),
        identity=msgspec.structs.replace(
            of_ref if client.ref else _identity(client),
            tree=made.tree,
            build=made.digest,
            locked=made.locked,
        ),
    )


class _Made(msgspec.Struct, frozen=True, kw_only=True):
    """What a client needs, in its place."""

    version: str
    places: dict[str, str] = {}
    """The values of the placeholders in its command."""
    environment: dict[str, str] = {}
    """Environment variables for the adapter."""
    notes: tuple[str, ...] = ()
    tree: str = ""
    digest: str = ""
    locked: bool | None = None
    """As `Identity` has it."""


def _made(client: Client) -> _Made:
    stated = client.manifest.source
    if client.source is not None and stated is not None and stated.is_program:
        return _of_program(client, stated)
    return _of_python(client) if client.manifest.python is not None else _of_build(client)


def _of_program(client: Client, stated: Source) -> _Made:
    """Prepare a client whose adapter starts a program of the user."""
    assert client.source is not None, "asked for clients that have one"
    version = sources.version_of(client)
    client.manifest.editions_of(version, client.variant)  # before anything is built
    places = {"source": str(client.source)}
    if stated.build is not None:
        built = builds.built(client, version)
        places["output"] = str(built.folder)
        made = _Made(version=version, notes=_notes(built), tree=built.tree, digest=built.digest)
    else:
        made = _Made(version=version, tree=sources.tree_of(client.source))
    named = {name: text.format(**places) for name, text in stated.start_environment.items()}
    if client.manifest.python is not None:
        places |= _of_python(msgspec.structs.replace(client, source=None)).places
    return msgspec.structs.replace(made, places=places, environment=named)


def _notes(built: builds.Built) -> tuple[str, ...]:
    return (built.note,) if built.note else ()


def _of_python(client: Client) -> _Made:
    wanted = client.manifest.python
    assert wanted is not None, "asked for clients that have one"
    if client.source is not None:
        there = python_sources.installed(client)
        python = there.folder / "bin" / "python"
        places = {"python": str(python)}
        return _Made(version=there.version, places=places, tree=there.tree, locked=False)
    named = client.version or wanted.version
    notes: tuple[str, ...] = ()
    if named is None:
        version, notes = _newest(wanted)
    else:
        version = _checked(named)
    client.manifest.editions_of(version, client.variant)  # before anything is installed
    python = _python_environment(wanted, version) / "bin" / "python"
    return _Made(version=version, places={"python": str(python)}, notes=notes, locked=False)


def _of_build(client: Client) -> _Made:
    manifest = client.manifest
    version = sources.version_of(client) if client.source is not None else _released(client)
    manifest.editions_of(version, client.variant)  # before anything is built
    if manifest.build is None:
        return _Made(version=version)
    made = builds.built(client, version)
    return _Made(
        version=version,
        places={"output": str(made.folder)},
        notes=_notes(made),
        tree=made.tree,
        digest=made.digest,
        locked=_is_locked(client, version),
    )


def _is_locked(client: Client, version: str) -> bool:
    """Return whether the build pins every package by hash, as only the manifest's version can."""
    manifest = client.manifest
    lock = manifest.build.lock if manifest.build is not None else None
    return lock is not None and version == manifest.version and client.source is None


def _released(client: Client) -> str:
    """Return the release that the user named, or the manifest's version."""
    manifest = client.manifest
    assert manifest.version is not None, "a rule of the manifest"
    named = client.version or manifest.version
    same = Version(_checked(named)) == Version(manifest.version)
    # As it was spelt: others than Python write 0.1.0-alpha.3.
    version = manifest.version if same else named
    others = manifest.build.versions if manifest.build is not None else None
    if version != manifest.version and not (others and is_within(version, others)):
        there = f"versions {others}" if others else f"version {manifest.version}"
        raise NoSuchVersion(f"client {client.name} exists only in {there}")
    return version


def _identity(client: Client) -> Identity:
    """Return the identity of the build; a release of a shipped client has an empty identity."""
    if client.source is not None:
        return identity_of(client.source, commit=client.commit)
    return Identity() if client.is_shipped else identity_of(client.folder, is_adapter=True)


def _answers(client: Client, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the user's answers to the questions of the manifest."""
    stated, asks = client.manifest.source, client.manifest.start.asks
    named = stated.start_environment if client.source is not None and stated is not None else {}
    answers = {name: environment.get(name, "").strip() for name in asks if name not in named}
    for name, answer in answers.items():
        if not answer:
            raise MissingInput(
                f"client {client} needs {asks[name]}: pass --env {name}=..., or set that "
                "environment variable"
            )
    return answers


def kept(client: Client) -> tuple[str, ...]:
    """Return the versions of the client in the cache, newest first."""
    if client.manifest.python is not None:
        pattern = _python_place(client.manifest.python, "*")
        begin = pattern.name.removesuffix("*")
        folders = (place.name for place in pattern.parent.glob(pattern.name) if place.is_dir())
        named = {name.removeprefix(begin) for name in folders}
    elif client.manifest.build is not None:
        named = set(builds.kept(client))
    else:
        return ()
    return tuple(sorted(filter(is_version, named), key=parsed, reverse=True))


def _checked(version: str) -> str:
    if not is_version(version):
        raise NoSuchVersion(f"{version} is not a version such as 1.70.0")
    return str(Version(version))


# Python environments.


def _environments_folder() -> Path:
    """Return the cache folder for environments of this Python and platform."""
    return cache() / "python" / installer.PLATFORM


def _python_place(wanted: PythonEnvironment, version: str) -> Path:
    """Where the environment with this version is kept, a pattern for the version will do."""
    beside = hashlib.sha256(repr(wanted.beside).encode()).hexdigest()[:8] if wanted.beside else ""
    name = "+".join(filter(None, (wanted.distribution, beside)))
    return _environments_folder() / f"{name}-{version}"


MOST_ENVIRONMENTS: Final = 48
"""Environments to keep per distribution: four years of gRPC's minor releases."""

GOOD_FOR: Final = 600.0
"""Seconds to cache the newest version: the same as the cache lifetime of PyPI's responses."""


def _newest(wanted: PythonEnvironment) -> tuple[str, tuple[str, ...]]:
    """Return the newest version, and notes; offline, the newest version in the cache."""
    asked = sorted(
        variable for variable in os.environ.items() if variable[0].startswith(("PIP_", "UV_"))
    )
    of_index = hashlib.sha256(repr(asked).encode()).hexdigest()[:8]
    told = _environments_folder() / f"{wanted.distribution}.newest-{of_index}"
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
        draft.replace(told)  # so that no reader sees a partial file
    return version, ()


def _python_environment(wanted: PythonEnvironment, version: str) -> Path:
    place = _python_place(wanted, version)
    begin = place.name.removesuffix(version)
    return made_once(
        place,
        lambda draft: installer.install(wanted.distribution, version, draft, wanted.beside),
        BuildCache(rf"{re.escape(begin)}\d[^/]*", MOST_ENVIRONMENTS),
        # Its Python links to the one that it was made with, which may be gone.
        is_sound=(place / "bin" / "python").exists,
    )
