"""Files that are written as a whole, or not at all, whenever a signal comes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.runner import files

AMID = """
import os, pathlib, signal, sys
from conformance.runner import interruption, files

class Slow(type(pathlib.Path())):
    def open(self, *given, **more):
        opened = super().open(*given, **more)
        if "b" in given[0]:
            os.kill(os.getpid(), signal.SIGINT)
        return opened

interruption.end_at_once_when_told()
path = Slow(sys.argv[1])
if sys.argv[2] == "write":
    files.write(path, b"all of it")
else:
    files.check_writable(path)
print("went on")
"""


def amid(path: Path, action: str) -> subprocess.CompletedProcess[str]:
    """Do it in a process that is told to end when the file is open."""
    words = (sys.executable, "-c", AMID, str(path), action)
    return subprocess.run(words, check=False, capture_output=True, encoding="utf-8")


@pytest.mark.parametrize("before", [None, b"what an earlier command has left"])
def test_who_is_told_to_end_while_he_writes_writes_it_all(
    tmp_path: Path, before: bytes | None
) -> None:
    path = tmp_path / "r.json"
    if before is not None:
        path.write_bytes(before)
    ended = amid(path, "write")
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", "")
    assert path.read_bytes() == b"all of it"


def test_a_file_that_is_looked_at_is_not_left_behind(tmp_path: Path) -> None:
    ended = amid(tmp_path / "r.json", "check")
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", "")
    assert [*tmp_path.iterdir()] == []


def test_one_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(b"as it is")
    files.check_writable(path)
    assert path.read_bytes() == b"as it is"


def test_what_a_pipe_has_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert not files.can_be_replaced(tmp_path / "pipe")
    assert files.can_be_replaced(Path(os.devnull))
    assert files.can_be_replaced(tmp_path / "none")
