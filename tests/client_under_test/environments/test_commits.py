from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from client_under_test.contract.exceptions import UnfitSource
from client_under_test.environments import commits


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *words]
    ran = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "a checkout, ä"
    (folder / "below").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    for text in ("one", "two", "three"):
        (folder / "below" / "file").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", f"It is {text}")
        git(folder, "tag", text)
    return folder


def state(folder: Path) -> list[tuple[str, int]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted((str(path), path.stat().st_mtime_ns) for path in files)


def test_a_commit_is_checked_out_elsewhere(checkout: Path) -> None:
    (checkout / "below" / "file").write_text("not committed")
    before = state(checkout)
    commit = commits.named(checkout, "one")
    assert commit.subject == "It is one"
    there = commits.checked_out(checkout, commit.id)
    assert [path.name for path in there.iterdir()] == ["below"]
    assert (there / "below" / "file").read_text() == "one"
    below = commits.checked_out(checkout / "below", commits.named(checkout, "HEAD~1").id)
    assert (below / "file").read_text() == "two"
    assert state(checkout) == before, "neither files, nor the index, nor a list of worktrees"


def test_commits_are_listed_by_first_parents(checkout: Path) -> None:
    git(checkout, "checkout", "--quiet", "-b", "side", "one")
    (checkout / "more").touch()
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "On the side")
    git(checkout, "checkout", "--quiet", "main")
    git(checkout, "merge", "--quiet", "--no-edit", "side")
    listed = commits.between(checkout, "one", "HEAD")
    assert [commit.subject for commit in listed[:3]] == ["It is one", "It is two", "It is three"]
    assert listed[3].subject.startswith("Merge branch")
    assert len(listed) == 4


@pytest.mark.parametrize("name", ["none", "--all", "-x", "", "two..three", "one^{tree}"])
def test_names_of_no_commit(checkout: Path, name: str) -> None:
    with pytest.raises(UnfitSource, match="has no commit"):
        commits.named(checkout, name)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("origin/main", "main"),
        ("master", "upstream/master"),
        ("v1.85.0", "v1.85.1"),
        ("0.9.0-x", ""),
    ],
)
def test_a_name_that_a_user_may_mean(name: str, near: str, checkout: Path) -> None:
    git(checkout, "tag", "v1.85.1")
    git(checkout, "update-ref", "refs/remotes/upstream/master", "HEAD")
    with pytest.raises(UnfitSource) as refused:
        commits.named(checkout, name)
    hint = f"did you mean {near}? Else name" if near else "name"
    assert f"has no commit {name}: {hint} a branch, tag or hash" in str(refused.value)


def test_what_is_no_range(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(UnfitSource, match=r"three is no ancestor of one in .*: name the older one"):
        commits.between(checkout, "three", "one")
    with pytest.raises(UnfitSource, match="is no git checkout, so it has no commit one"):
        commits.between(tmp_path, "one", "two")


def test_in_a_hook_of_another_repository(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git sets these variables for its hooks, from which this may be run."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", os.devnull)
    assert commits.named(checkout, "two").subject == "It is two"
