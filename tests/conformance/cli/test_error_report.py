"""What nobody foresaw is said in one sentence, with exit code 3 and the place of the details."""

from __future__ import annotations

import errno
import io
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli import commands, error_report
from conformance.cli.error_report import sentence
from conformance.reporting.stdout import OutputLost, Screen
from conformance.runner.terminal_escape import plain, short

HUGE = "a" * 100_000
LONG = "a" * 300


def xdspec(*words: str, folder: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: its streams are what this is about."""
    command = [sys.executable, "-m", "conformance", *words]
    given = {"stdout": subprocess.PIPE, "env": dict(os.environ), **more}
    return subprocess.run(
        command, check=False, stderr=subprocess.PIPE, encoding="utf-8", cwd=folder, **given
    )


def test_it_is_one_sentence_and_all_of_it_is_in_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def broken() -> None:
        raise LookupError("no\nsuch \x1b[31mthing")

    monkeypatch.setattr(commands, "catalogue", broken)
    ended = CliRunner().invoke(commands.main, ["list", "clauses"])
    assert ended.exit_code == 3
    (kept,) = tmp_path.glob(f"{error_report.PREFIX}*")
    assert ended.output == (
        "xdspec: internal error of the suite, please report it: LookupError: no such "
        f"\\x1b[31mthing (details: {kept})\n"
    )
    assert "Traceback" in kept.read_text("utf-8")
    assert "in broken" in kept.read_text("utf-8")


def test_the_details_have_no_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    assert error_report.details(OSError()) == "its details could not be written"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EACCES, "Permission denied", "/some/place"), "/some/place: Permission de"),
        (OSError(errno.EACCES, "Permission denied", b"/some/\xff"), r"/some/\xff: Permission"),
        (OSError(errno.EMFILE, "Too many open files"), "the system refused an operation: Too many"),
        (RuntimeError("can't start new thread"), "the system refuses more threads"),
        (MemoryError(), "out of memory"),
        (OutputLost("nobody reads"), "nobody reads"),
        (ValueError(HUGE), "please report it: ValueError: aaa"),
    ],
)
def test_the_sentence(error: Exception, words: str) -> None:
    said = sentence(error)
    assert words in said
    assert len(said) < 500


def test_no_threads_are_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("conformance.runner.preflight.THREADS", 0)  # there were enough beforehand
    monkeypatch.setattr(threading.Thread, "start", refused)
    ended = CliRunner().invoke(commands.main, ["run", "reference", "--out", str(tmp_path / "out")])
    assert ended.exit_code == 3
    assert "xdspec: the system refuses more threads (details: " in ended.output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("words", [["list", "clauses"], ["explain", "A61"], ["run", "cobol"]])
def test_standard_output_is_full(words: list[str], tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = xdspec(*words, folder=tmp_path, stdout=full)
    if words[0] == "run":  # which has nothing to say there
        assert ended.returncode == 4
        return
    assert ended.returncode == 3
    assert ended.stderr == ("xdspec: standard output cannot be written: No space left on device\n")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("list", "clauses"), 141, ""),
        (("--help",), 141, ""),
        (("run", "--help"), 141, ""),
        (
            ("run", "reference", "--scenario", "ring.search"),
            3,
            "xdspec: standard output was closed\n",
        ),
    ],
)
def test_nobody_reads_standard_output(
    tmp_path: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    """A reader that has enough, such as head, is no error, unless it breaks off a run."""
    reader, writer = os.pipe()
    os.close(reader)
    ended = xdspec(*words, folder=tmp_path, stdout=writer)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (code, message)


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    env = {**os.environ, "XDSPEC_CACHE": str(tmp_path / "file/cache")}
    ended = xdspec("run", "python@1.85.1", folder=tmp_path, env=env)
    assert ended.returncode == 3
    assert re.fullmatch(
        r"xdspec: \S+/file/cache/\S+ cannot be made: Not a directory: XDSPEC_CACHE names another "
        r"folder for what is made once and kept\n",
        ended.stderr,
    )


def test_the_current_folder_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    program = (
        "import os, runpy; os.rmdir(os.getcwd()); "
        "runpy.run_module('conformance', run_name='__main__')"
    )
    for words in (["list", "clauses"], ["run", "reference"], ["doctor", "some/client"]):
        gone.mkdir(exist_ok=True)
        ended = subprocess.run(
            [sys.executable, "-c", program, *words],
            check=False,
            capture_output=True,
            encoding="utf-8",
            cwd=gone,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        assert ended.returncode == (0 if words[0] == "list" else ended.returncode)
        assert ended.returncode in {0, 3, 4}, ended.stderr
        assert "Traceback" not in ended.stderr
        assert ended.stderr.count("\n") <= 4


@pytest.mark.parametrize(
    "words",
    [
        ["run", HUGE],
        ["run", LONG],
        ["run", f"python@{'9' * 20}"],
        ["run", f"go@{'9' * 20}"],
        ["run", f"go@1.{'9' * 300}"],
        ["run", f"python@{'9' * 100_000}"],
        ["run", f"python+{HUGE}"],
        ["run", "reference", "--scenario", HUGE],
        ["run", "reference", "--clause", HUGE],
        ["run", "reference", "--only", HUGE],
        ["run", "reference", "--env", HUGE],
        ["run", "reference", "--json", LONG],
        ["run", "reference", "--junit", LONG],
        ["run", "reference", "--out", LONG],
        ["run", "reference", f"--{HUGE}"],
        ["run", "reference", "--env", "NAME=\udcff"],
        ["run", "reference", "--out", "\udcff"],
        ["run", "\udcff"],
        ["doctor", HUGE],
        ["explain", HUGE],
        ["judge", LONG],
        ["summary", LONG],
        ["diff", LONG, LONG],
        ["new-client", "python", LONG],
        ["new-client", HUGE, "some"],
        [HUGE],
    ],
    ids=lambda words: " ".join(word[:12] for word in words),
)
def test_names_without_end(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(commands.main, words)
    assert ended.exit_code == 4, ended.output
    assert len(ended.output) < 2000
    assert not [*tmp_path.iterdir()]


def test_a_manifest_with_a_version_without_end(tmp_path: Path) -> None:
    (tmp_path / "client.toml").write_text(
        f'name = "some"\nversion = "{"9" * 20}"\nissues = "https://example.com"\n'
        'capabilities = []\n[start]\ncommand = ["true"]\n',
        "utf-8",
    )
    ended = CliRunner().invoke(commands.main, ["run", str(tmp_path)])
    assert ended.exit_code == 4
    assert "is not a version such as 1.70.0" in ended.output


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[2J\a\b\r", r"\x1b[2J\x07\x08\r"),
        ("\x9b31m \x7f \x00", r"\x9b31m \x7f \x00"),
        ("right \u202e to left", r"right \u202e to left"),
        ("\udcff", r"\xff"),
        ("\ud800", r"\ud800"),
        ("größer → …", "größer → …"),
    ],
)
def test_nothing_but_text(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_words_without_end_are_shortened() -> None:
    assert short(f"there is no {HUGE}: see {LONG[:150]}") == (
        f"there is no {'a' * 100}…{'a' * 99}:: see {LONG[:150]}".replace("::", ":")
    )


def test_a_screen_shows_nothing_but_text() -> None:
    said = io.StringIO()
    screen = Screen(file=said, force_terminal=True, width=200)
    screen.print("a client said \x1b]0;title\x07 \x1b[2J", markup=False, highlight=False)
    assert said.getvalue() == "a client said \\x1b]0;title\\x07 \\x1b[2J\n"


ALONE = ["unshare", "--user", "--map-root-user", "--net"]


def can_be_alone() -> bool:
    try:
        done = subprocess.run([*ALONE, "true"], check=False, stderr=subprocess.DEVNULL)
    except OSError:
        return False
    return done.returncode == 0


@pytest.mark.skipif(not can_be_alone(), reason="no network namespace of its own can be had here")
@pytest.mark.parametrize(
    "words", [["run", "reference"], ["doctor", "reference"], ["mutants", "--clause", "A42-RING-13"]]
)
def test_without_loopback_no_client_is_blamed(words: list[str], tmp_path: Path) -> None:
    command = [*ALONE, sys.executable, "-m", "conformance", *words]
    ended = subprocess.run(
        command, check=False, capture_output=True, encoding="utf-8", cwd=tmp_path
    )
    assert ended.returncode == 3
    assert ended.stderr.startswith(
        "xdspec: this machine does not let the suite connect to itself at 127.0.0.1 ("
    )
    assert "have its interface `lo` up" in ended.stderr


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_pipes_are_utf_8_whatever_the_locale(locale: str, tmp_path: Path) -> None:
    env = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    folder = tmp_path / "größer"
    folder.mkdir()
    ended = xdspec("doctor", str(folder), folder=tmp_path, env=env)
    assert ended.returncode == 4
    assert f"the folder {folder} has no client.toml" in ended.stderr


TRACEBACK = """Traceback (most recent call last):
  File "x.py", line 1, in y
ValueError: no such \x1b[31mthing"""
REPORT = """ring.py:3: in test_search
    world.judge()
E   LookupError: nothing
E   is there
x.py:1: LookupError"""


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("worker 'gw0' crashed while running 'x'", "worker 'gw0' crashed while running 'x'"),
        (TRACEBACK, "ValueError: no such \x1b[31mthing (details: "),
        (REPORT, "ring.py:3: in test_search: LookupError: nothing (details: "),
    ],
)
def test_what_ended_a_run_in_a_line(text: str, begins: str, tmp_path: Path) -> None:
    file = tmp_path / "out" / error_report.TROUBLE
    line = error_report.in_a_line(text, file)
    assert line.startswith(begins)
    assert "\n" not in line
    if text.count("\n"):
        assert text in file.read_text("utf-8")
        error_report.forget(file)
    assert not file.exists()
    (tmp_path / "file").touch()
    told = error_report.in_a_line(TRACEBACK, tmp_path / "file" / error_report.TROUBLE)
    assert told.endswith("(its details could not be written)")
