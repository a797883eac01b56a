from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from client_under_test.environments import fingerprint
from client_under_test.environments.identity import Identity, identity_of


def git(folder: Path, *words: str) -> str:
    own = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com"}
    own |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}
    command = ["git", "-c", "init.defaultBranch=main", *words]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True, env=os.environ | own
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "file").write_text("one")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "one")
    git(folder, "tag", "v1.2.0")
    return folder


def test_the_commit_of_a_checkout_and_whether_files_differ(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    clean = identity_of(checkout)
    assert (clean.commit, clean.describe, clean.dirty) == (commit, "v1.2.0", False)
    assert str(clean) == f"{checkout}, v1.2.0, commit {commit[:12]}, clean"
    (checkout / "more").touch()
    assert identity_of(checkout).dirty, "a file that git does not know may be built, too"
    (checkout / "more").unlink()
    (checkout / "file").write_text("two")
    assert str(identity_of(checkout)).endswith(", with changes")


def test_what_is_in_no_checkout(tmp_path: Path, checkout: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert identity_of(other) == Identity(source=str(other))
    plain = msgspec.structs.replace(identity_of(other), tree="0123456789abcdef")
    assert str(plain) == f"{other}, sha256 0123456789ab"
    (checkout / ".gitignore").write_text("built\n")
    (checkout / "built").mkdir()
    assert not identity_of(checkout / "built").commit, "git has no files there"


def test_an_adapters_folder_is_named_as_one(checkout: Path) -> None:
    assert str(identity_of(checkout, is_adapter=True)).startswith(f"adapter {checkout}, v1.2.0, ")


def test_git_neither_writes_to_a_checkout_nor_runs_its_programs(
    checkout: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    git(checkout, "config", "core.fsmonitor", str(program))
    (tmp_path / "ran").unlink(missing_ok=True)
    os.utime(checkout / "file", (1, 1))  # git would write into its index that this is no change
    index = (checkout / ".git" / "index").read_bytes()
    assert identity_of(checkout).dirty is False
    assert (checkout / ".git" / "index").read_bytes() == index
    assert not (tmp_path / "ran").exists()


def test_a_digest_is_that_of_names_contents_and_modes(tmp_path: Path, checkout: Path) -> None:
    seen = [fingerprint.digest([checkout])]
    for change in (
        lambda: (checkout / "file").write_text("two"),
        lambda: (checkout / "file").rename(checkout / "other"),
        lambda: (checkout / "other").chmod(0o755),
        (checkout / "empty").touch,
        (checkout / "empty").unlink,
    ):
        change()
        seen.append(fingerprint.digest([checkout]))
    assert len(set(seen)) == 5
    assert seen[3] == seen[5]
    git(checkout, "tag", "other")
    (checkout / "other").touch()
    moved = checkout.rename(tmp_path / "moved")
    assert fingerprint.digest([moved]) == seen[5], "neither git's files, nor times, nor the place"
