"""A change that is not released is judged: no run says `conforms` of what it has not looked at."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli.commands import main
from conformance.cli.option_values import absolute

COMPILED = str(Path(__file__).parents[2] / "adapters" / "compiled")
CLAUSE = "A42-RING-05"
LARGE = 500 << 20
"""Bytes. The file has holes, so it takes no space."""
ONE = ("--scenario", "ring.size[[]minimum-not-divisible]", "--jobs", "1")


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "a library"
    folder.mkdir()
    (folder / "ring").write_text("up")
    (folder / "version").write_text("1.7.0")
    monkeypatch.setenv("COMPILED_LIBRARY", str(folder))
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    return folder


def git(folder: Path, *words: str) -> str:
    own = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    ended = subprocess.run([*own, *words], check=True, capture_output=True, text=True)
    return ended.stdout.strip()


def commit(folder: Path, subject: str = "") -> str:
    made = ["add", "--all"], ["commit", "-q", "-m", subject or "One"]
    for words in made if subject else (["init", "-q"], *made, ["tag", "v1.7.0"]):
        git(folder, *words)
    return git(folder, "rev-parse", "HEAD")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.slow
async def test_a_change_outside_of_the_adapters_folder_is_judged(
    xdspec: Any, library: Path
) -> None:
    good = await xdspec.run("run", COMPILED, *ONE)
    (library / "ring").write_text("down")
    bad = await xdspec.run("run", COMPILED, *ONE)
    assert (good.code, bad.code) == (0, 1), bad.said
    assert bad.report["runs"][0]["clauses"][CLAUSE]["verdict"] == "fail"
    last = bad.out.splitlines()[-1]
    assert last.startswith(f"compiled 1.7.0 (adapter {COMPILED}, ")
    both = [outcome.report["runs"][0]["identity"] for outcome in (good, bad)]
    assert len({identity["build"] for identity in both}) == 2
    assert [identity["is_adapter"] for identity in both] == [True, True]


async def test_sources_are_judged_as_they_are(xdspec: Any, library: Path) -> None:
    named = commit(library)
    words = ("run", COMPILED, "--source", str(library), *ONE)
    good, again = await xdspec.run(*words), await xdspec.run(*words)
    assert (good.code, again.code) == (0, 0), again.said
    assert "using the cached build of compiled 1.7.0 in " in again.said
    whose = f"compiled 1.7.0 ({library}, v1.7.0, commit {named[:12]}, clean, build "
    assert all(outcome.out.splitlines()[-1].startswith(whose) for outcome in (good, again))
    (library / "ring").write_text("down")
    bad = await xdspec.run(*words)
    assert bad.code == 1, bad.said
    assert "reusing" not in bad.said
    assert f"({library}, v1.7.0, commit {named[:12]}, with changes, build " in bad.said
    assert (
        f"run {shlex.quote(str(COMPILED))} --source '{library}' --seed " in bad.said
    )  # the command that repeats it
    identity = bad.report["runs"][0]["identity"]
    assert (identity["commit"], identity["describe"], identity["dirty"]) == (named, "v1.7.0", True)
    assert (bad.evidence / "compiled@source").is_dir()
    assert names(library) == {".git", "ring", "version"}, "nothing is written there"


def protect(folder: Path) -> None:
    for path in (*folder.iterdir(), folder):
        path.chmod(path.stat().st_mode & ~0o222)


AS_ORDINARY_USER = (
    ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner")
    if os.geteuid() == 0
    else ()
)
"""What goes before a command that may not write where the modes of files forbid it."""


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root needs setpriv"
)
async def test_a_checkout_that_nobody_may_write_to(xdspec: Any, library: Path) -> None:
    """By a link, and with a large file in it."""
    with (library / "large").open("wb") as opened:
        opened.truncate(LARGE)
    link = library.parent / "a link, @ü"
    link.symlink_to(library)
    protect(library)
    words = (COMPILED, "--source", str(link), *ONE)
    running = await xdspec.start("run", *words, by=AS_ORDINARY_USER)
    ended = await running.ended()
    assert ended.code == 0, ended.said
    assert ended.out.splitlines()[-1].startswith(f"compiled 1.7.0 ({link}, sha256 ")
    assert names(library) == {"large", "ring", "version"}


def test_a_path_is_shown_as_people_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But behind a link to elsewhere, `..` is another folder."""
    for name in ("here", "library", "elsewhere/inner", "elsewhere/library"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "inner")
    monkeypatch.chdir(tmp_path / "here")
    assert absolute(Path("../library")) == tmp_path / "library"
    behind = absolute(Path("../link/../library"))
    assert behind.samefile(tmp_path / "elsewhere" / "library")


@pytest.mark.slow
async def test_a_commit_of_a_checkout_is_judged(xdspec: Any, library: Path) -> None:
    named = commit(library)
    (library / "ring").write_text("down")
    commit(library, "two")
    (library / "ring").write_text("nonsense")
    words = ("run", COMPILED, "--source", str(library), *ONE)
    old, new = await xdspec.run(*words, "--commit", "v1.7.0"), await xdspec.run(*words)
    assert (old.code, new.code) == (0, 0), old.said
    assert f"compiled 1.7.0 ({library}, v1.7.0, commit {named[:12]}, clean, build " in old.said
    bad = await xdspec.run(*words, "--commit", "HEAD")
    assert bad.code == 1, bad.said
    assert (
        f"--source '{library}' --commit {bad.report['runs'][0]['identity']['commit']}" in bad.said
    )


@pytest.mark.slow
async def test_a_bisection_names_the_commit(xdspec: Any, library: Path) -> None:
    """Also if some of the commits between cannot be built."""
    commit(library)
    for number in range(2, 13):
        (library / "ring").write_text("down" if number >= 9 else "up")
        (library / "more").write_text(str(number))
        if number == 6:
            (library / "version").unlink()
        if number == 8:
            (library / "version").write_text("1.7.0")
        commit(library, f"Change {number}")
    words = ("history", COMPILED, "--source", str(library), "--commits", "v1.7.0..HEAD", *ONE)
    ended = await xdspec.run(*words, "--bisect", CLAUSE, "--report", "runs.json")
    assert ended.code == 0, ended.said
    assert "Change 9" in ended.out
    assert "Change 8" in ended.out
    report = json.loads((ended.folder / "runs.json").read_text())
    assert len(report["runs"]) <= 6
    assert len({run["identity"]["commit"] for run in report["runs"]}) == len(report["runs"])
    assert names(library) == {".git", "more", "ring", "version"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "--source", "."], "--source is for one client: name that client"),
        (["run", "go", "python", "--source", "."], "--source is for one client"),
        (["run", "go", "--source", "no/such"], "there is no no/such"),
        (["run", "go@1.70.0", "--source", "."], "go@1.70.0 is a release: name go without"),
        (["run", "reference", "--source", "."], "reference cannot be built from sources"),
        (["doctor", "reference", "--source", "."], "reference cannot be built from sources"),
        (["doctor", "python", "--source", "/"], "the folder has none of pyproject.toml, setup.py"),
        (["doctor", "--source", "."], "--source needs a client: name its folder"),
        (["run", "go", "--source", __file__], "it is a file"),
        (
            ["run", "go", "--source", "/"],
            "/ is not a checkout of grpc-go (Go module google.golang.org/grpc): it has no go.mod",
        ),
        (["run", "python", "--source", "/"], "the folder has none of pyproject.toml, setup.py"),
        (["run", "python", "--source", __file__], "a file ends in .whl, .tar.gz or .zip"),
        (["run", "node", "--source", "/"], "it has no file *.tgz, and no folder packages"),
        (["run", "node", "--source", __file__], "cannot be read as a file that npm packed"),
        (["run", "java", "--source", "/"], "it has no jar of grpc-xds, such as grpc-xds-1.85.1"),
        (["run", "java", "--source", __file__], "it is a file: name the folder that contains it"),
        (["run", "go", "--commit", "HEAD"], "--commit needs --source: name the checkout"),
        (["run", "go", "--source", "/", "--commit", "x"], "/ is no git checkout, so it has no"),
        (["run", "envoy", "--source", "/"], "is not an Envoy binary: it is a folder"),
        (["run", "interop", "--source", "/"], "as one program: it is a folder"),
        (["run", "rust", "--source", "/"], "it has no tonic-xds/Cargo.toml"),
        (["run", "cpp", "--source", __file__], "it is a file"),
        (
            ["history", "go", "--commits", "a..b"],
            "--source and --commits belong together",
        ),
        (["history", "go", "--source", "/", "--commits", "a"], "has the form GOOD..BAD, such as"),
        (["history", "go", "--source", "/", "--commits", "a...b"], "has the form GOOD..BAD"),
        (["history", "go", "--source", "/", "--commits", "a..b"], "is no git checkout"),
        (["history", "go", "1.70.0", "--source", "/", "--commits", "a..b"], "leave 1.70.0 out"),
        (["history", "go", "--bisect", CLAUSE], "Missing argument 'VERSION…', or --source with"),
        (["run", "rust@master"], "client rust has no master: name a version >=0.1.0-alpha.2"),
        (["run", COMPILED, "--source", "/"], "is not a folder with the files ring and version"),
    ],
)
def test_sources_that_are_none(words: list[str], says: str) -> None:
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code == 4, ended.output
    assert says in ended.output
    assert "Traceback" not in ended.output
