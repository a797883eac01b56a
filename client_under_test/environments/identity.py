"""What was judged, beyond a name and a version: the commit, and digests of sources and build."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from client_under_test.environments.commits import git

SHORT: Final = 12
"""Digits of a digest or commit that people read."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The build that was judged. A field is empty if it is unknown or does not apply."""

    source: str = ""
    """The path that the client was built from, or the folder of an adapter of the user's own."""
    is_adapter: bool = False
    """Set if `source` is the adapter's folder."""
    describe: str = ""
    """The output of `git describe --tags --always` in the checkout that contains `source`."""
    commit: str = ""
    dirty: bool | None = None
    """Set if the checkout differs from the commit; None: unknown."""
    tree: str = ""
    """SHA-256 of the content of `source`: the same on each machine."""
    build: str = ""
    """SHA-256 of the build's output."""
    locked: bool | None = None
    """Set if a lock file pins every package by hash; None: the build needed no package."""

    def __str__(self) -> str:
        """Return the text that distinguishes the build from others; empty for a release."""
        if not self.source:
            return ""
        said = [f"{'adapter ' if self.is_adapter else ''}{self.source}"]
        if self.commit:
            state = "with changes" if self.dirty else "clean"
            named = "" if self.commit.startswith(self.describe) else f"{self.describe}, "
            said.append(f"{named}commit {self.commit[:SHORT]}, {state}")
        elif self.tree:
            said.append(f"sha256 {self.tree[:SHORT]}")
        if self.build:
            said.append(f"build {self.build[:SHORT]}")
        return ", ".join(said)

    @property
    def label(self) -> str:
        """Name it in a column beside others of its version; empty for a release or an adapter."""
        if not self.source or self.is_adapter:
            return ""
        tree = f"sha256 {self.tree[:SHORT]}"
        if not self.commit:
            return tree
        return self.commit[:SHORT] + (f" with changes, {tree}" if self.dirty else "")


def identity_of(path: Path, *, commit: str = "", is_adapter: bool = False) -> Identity:
    """Return git's description of the checkout that contains a file or folder.

    Args:
        path: of the file or folder.
        commit: what is judged, if that is a commit of the checkout and not its files.
        is_adapter: whether the path is an adapter's folder.
    """
    plain = Identity(source=str(path), is_adapter=is_adapter)
    folder = path if path.is_dir() else path.parent
    found = git(folder, "rev-parse", "--verify", commit or "HEAD")
    # The repository around a folder may have no files of it: a build's output lies in none.
    if not found or not path.is_dir() or not (commit or git(folder, "ls-files", "--", ".")):
        return plain
    described = git(folder, "describe", "--tags", "--always", found)
    changes = not commit and git(folder, "status", "--porcelain", "--ignore-submodules=none")
    return msgspec.structs.replace(
        plain, commit=found, describe=described or "", dirty=bool(changes)
    )
