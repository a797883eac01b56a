"""What was judged, beyond a name and a version: the commit, and digests of sources and build."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import msgspec

SHORT: Final = 12
"""Digits of a digest or commit that people read."""

# A repository may name programs that git starts: none of them is. The index is not refreshed, and
# a checkout that another user owns, as in a container, is read all the same.
_GIT: Final = (
    *("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "safe.directory=*"),
)


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What was judged. Empty fields are those that are not known, or do not apply."""

    source: str = ""
    """The path that the client was built from, or the folder of an adapter of the user's own."""
    is_adapter: bool = False
    """Whether `source` is the adapter's folder."""
    describe: str = ""
    """Of the checkout that `source` is in, as `git describe --tags --always` has it."""
    commit: str = ""
    dirty: bool | None = None
    """Whether the checkout differs from the commit."""
    tree: str = ""
    """SHA-256 of the content of `source`: the same on each machine."""
    build: str = ""
    """SHA-256 of what was built."""

    def __str__(self) -> str:
        """What a person needs to tell it from others; empty for a release."""
        if not self.source:
            return ""
        said = [f"{'adapter ' if self.is_adapter else ''}{self.source}"]
        if self.commit:
            state = "with changes" if self.dirty else "clean"
            named = "" if self.commit.startswith(self.describe) else f"{self.describe}, "
            said.append(f"{named}commit {self.commit[:SHORT]}, {state}")
        elif not self.is_adapter:
            said.append("no git checkout")
        if self.build:
            said.append(f"build {self.build[:SHORT]}")
        return ", ".join(said)


def identity_of(path: Path, *, is_adapter: bool = False) -> Identity:
    """Return what git knows of the checkout that a file or folder is in."""
    plain = Identity(source=str(path), is_adapter=is_adapter)
    folder = path if path.is_dir() else path.parent
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    if not commit or not (path.is_dir() and _is_known(folder)):
        return plain
    changes = _git(folder, "status", "--porcelain", "--ignore-submodules=none")
    described = _git(folder, "describe", "--tags", "--always")
    return msgspec.structs.replace(
        plain, commit=commit, describe=described or "", dirty=bool(changes)
    )


def _is_known(folder: Path) -> bool:
    """Whether the repository around a folder has files of it: a build's output lies in none."""
    return bool(_git(folder, "ls-files", "--", "."))


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None if it fails, or is not here."""
    try:
        done = subprocess.run(
            [*_GIT, *arguments],
            check=True,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
