"""Commits of a checkout that a user has: named, listed, and checked out elsewhere."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.contract.exceptions import UnfitSource
from client_under_test.environments.build_cache import BuildCache, made_once
from client_under_test.environments.places import cache
from client_under_test.manifests.clients import Client

MOST_TREES: Final = 8
"""Commits whose files are kept: those of a bisection, which looks at few of them again."""

# A repository may name programs that git starts: none of them is. Nothing is written to it, and one
# that another user owns, as in a container, is read all the same.
_GIT: Final = (
    *("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "safe.directory=*"),
)


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit of a checkout."""

    id: str
    """In full."""
    subject: str


def named(checkout: Path, name: str) -> Commit:
    """Return the commit that a branch, tag or hash names.

    Raises:
        UnfitSource: there is no checkout, or no such commit in it.
    """
    if git(checkout, "rev-parse", "--git-dir") is None:
        raise UnfitSource(f"{checkout} is no git checkout, so it has no commit {name}")
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    found = git(checkout, *words)
    if not found:
        near = _near(checkout, name)
        hint = f"did you mean {near}? Else name" if near else "name"
        raise UnfitSource(
            f"{checkout} has no commit {name}: {hint} a branch, tag or hash of it, or fetch it"
        )
    return _commit(git(checkout, "log", "-1", "--format=%H %s", found) or found)


def _near(checkout: Path, name: str) -> str:
    """Return the branch or tag that a user may mean: that of another remote, or a similar one."""
    listed = git(
        checkout, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes"
    )
    branches = (listed or "").splitlines()
    branch = name.rpartition("/")[2]
    for other in branches:
        if branch == other.rpartition("/")[2]:
            return other
    tags = (git(checkout, "tag", "--list") or "").splitlines()
    return next(iter(difflib.get_close_matches(name, [*branches, *tags], n=1)), "")


def between(checkout: Path, good: str, bad: str) -> tuple[Commit, ...]:
    """Return a commit and all that follow it up to another one, by first parents, oldest first.

    Raises:
        UnfitSource: one of them is not there, or the first is no ancestor of the second.
    """
    first, last = named(checkout, good), named(checkout, bad)
    if git(checkout, "merge-base", "--is-ancestor", first.id, last.id) is None:
        raise UnfitSource(f"{good} is no ancestor of {bad} in {checkout}: name the older one first")
    chosen = ("--first-parent", "--reverse", "--format=%H %s", f"{first.id}..{last.id}")
    listed = git(checkout, "log", *chosen) or ""
    return (first, *map(_commit, listed.splitlines()))


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """Where a commit and its base have parted."""

    lacks: int
    """How many commits of the base the other does not have."""
    since: str
    """The last commit that both have; empty if they have none."""


def fork(checkout: Path, base: str, head: str) -> Fork:
    """Return what a base has that another commit lacks, such as a main branch that went on."""
    count = git(checkout, "rev-list", "--count", "--end-of-options", f"{head}..{base}")
    since = git(checkout, "merge-base", "--end-of-options", base, head)
    return Fork(lacks=int(count or 0), since=since or "")


def _commit(line: str) -> Commit:
    commit, _, subject = line.partition(" ")
    return Commit(id=commit, subject=subject)


def located(client: Client) -> Client:
    """Return the client with its sources in place: of a commit that is a folder with its files.

    Raises:
        UnfitSource: git cannot check the commit out.
        CacheUnusable: it cannot be kept.
    """
    if client.source is None or not client.commit:
        return client
    return msgspec.structs.replace(client, source=checked_out(client.source, client.commit))


def checked_out(checkout: Path, commit: str) -> Path:
    """Return a folder with the files of a commit; nothing is written to the checkout.

    Args:
        checkout: the folder of a checkout, or one below it, whose files alone are wanted then.
        commit: its hash, in full.

    Raises:
        UnfitSource: git cannot check it out.
        CacheUnusable: it cannot be kept.
    """
    below = git(checkout, "rev-parse", "--show-prefix") or ""

    def fill(draft: Path) -> None:
        draft.mkdir()
        index = draft.with_name(f"{draft.name}.index")
        own = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(draft)}
        top = Path(git(checkout, "rev-parse", "--show-toplevel") or checkout)
        try:
            for words in (("read-tree", commit), ("checkout-index", "--all", "--force")):
                done = run_git(top, *words, more=own)
                if done.returncode != 0:
                    why = done.stderr.strip()
                    raise UnfitSource(f"git cannot check out {commit} of {checkout}: {why}")
        finally:
            index.unlink(missing_ok=True)

    place = cache() / "trees" / commit
    return made_once(place, fill, BuildCache(r"[0-9a-f]{40,64}", MOST_TREES)) / below


def git(folder: Path, *words: str) -> str | None:
    """Return what git prints in a folder; None if it fails, or is not here."""
    try:
        done = run_git(folder, *words)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def run_git(
    folder: Path, *words: str, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run git in a folder.

    Args:
        folder: in or of a checkout.
        words: the command.
        more: environment variables, besides those of this process.

    Raises:
        OSError: there is no git, or no folder.
    """
    if shutil.which("git") is None:
        raise FileNotFoundError(2, "git is not on this machine", "git")
    return subprocess.run(
        [*_GIT, *words],
        check=False,
        cwd=folder,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
        env={**_without_place(), "LC_ALL": "C", **(more or {})},
    )


def _without_place() -> dict[str, str]:
    """Return the environment without the variables by which a hook names git's repository."""
    place = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"}
    return {name: value for name, value in os.environ.items() if name not in place}
