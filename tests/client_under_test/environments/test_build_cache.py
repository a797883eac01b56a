"""What of the cache is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from client_under_test.environments import build_cache
from client_under_test.environments.build_cache import BuildCache, made_once

CACHE = BuildCache(r"a-\d+", most=3)

USES = """
import sys
from pathlib import Path
from client_under_test.environments.build_cache import BuildCache, made_once
made_once(Path(sys.argv[1]), Path.mkdir, BuildCache("a-.*", 100))
print("used", flush=True)
sys.stdin.read()
"""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def as_if_over() -> None:
    """As if the process had ended that used places so far."""
    for handle in build_cache._used.values():
        os.close(handle)
    build_cache._used.clear()


def made(folder: Path, number: int) -> None:
    made_once(folder / f"a-{number}", Path.mkdir, CACHE)
    os.utime(folder / f"a-{number}", (number, number))
    as_if_over()


@contextmanager
def used_elsewhere(place: Path) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", USES, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "used\n"
        yield


def test_those_used_last_are_kept(tmp_path: Path) -> None:
    (tmp_path / "b-1").mkdir()
    for number in range(1, 5):
        made(tmp_path, number)
    assert {name for name in names(tmp_path) if name[0] != "."} == {"b-1", "a-2", "a-3", "a-4"}
    assert not {name for name in names(tmp_path) if name.startswith(".a-1.")}
    made_once(tmp_path / "a-2", Path.mkdir, CACHE)  # used again, so now the oldest is 3
    as_if_over()
    made(tmp_path, 5)
    assert {name for name in names(tmp_path) if name[0] == "a"} == {"a-2", "a-4", "a-5"}


def test_what_a_running_run_uses_stays(tmp_path: Path) -> None:
    made(tmp_path, 1)
    with used_elsewhere(tmp_path / "a-1"):
        os.utime(tmp_path / "a-1", (1, 1))
        for number in range(2, 7):
            made(tmp_path, number)
        assert (tmp_path / "a-1").is_dir()
        assert not (tmp_path / "a-2").exists()
    os.utime(tmp_path / "a-1", (1, 1))
    made(tmp_path, 7)
    assert not (tmp_path / "a-1").exists()


def test_what_this_process_uses_stays(tmp_path: Path) -> None:
    for _ in range(2):
        for number in range(1, 7):
            made_once(tmp_path / f"a-{number}", Path.mkdir, CACHE)
    assert {f"a-{number}" for number in range(1, 7)} <= names(tmp_path)
    as_if_over()


def test_what_a_killed_maker_has_left_goes(tmp_path: Path) -> None:
    (tmp_path / ".a-9.draft").mkdir()
    (tmp_path / ".a-9.lock").touch()
    made(tmp_path, 1)
    assert not {name for name in names(tmp_path) if "a-9" in name}


def test_one_that_is_not_sound_is_made_again(tmp_path: Path) -> None:
    made(tmp_path, 1)
    (tmp_path / "a-1" / "old").touch()
    made_once(tmp_path / "a-1", Path.mkdir, CACHE, is_sound=lambda: False)
    assert names(tmp_path / "a-1") == set()


def test_a_cache_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    made(tmp_path, 1)
    (tmp_path / ".a-1.use").unlink()
    (tmp_path / ".a-1.use").mkdir()  # not even root can open that for writing
    assert made_once(tmp_path / "a-1", Path.mkdir, CACHE) == tmp_path / "a-1"
