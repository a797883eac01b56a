"""How long a client waited for a processor, as the kernel tells it."""

from __future__ import annotations

import os
from pathlib import Path

from conformance.world.starvation import starved


def process(proc: Path, pid: int, group: int, *waited: float) -> None:
    """A process with a thread for each of these waits, in seconds."""
    for thread, seconds in enumerate(waited):
        task = proc / str(pid) / "task" / str(pid + thread)
        task.mkdir(parents=True)
        (task / "schedstat").write_text(f"7000000000 {round(seconds * 1e9)} 12\n")
    (proc / str(pid) / "stat").write_text(f"{pid} (a (b) c) S 1 {group} {group} 0 -1\n")


def test_the_thread_that_waited_longest_counts(tmp_path: Path) -> None:
    process(tmp_path, 10, 10, 0.5, 2.25)
    process(tmp_path, 12, 10, 1.0)
    process(tmp_path, 14, 14, 9.0)
    (tmp_path / "16").mkdir()  # one that has ended meanwhile
    (tmp_path / "self").mkdir()
    assert starved(10, proc=tmp_path) == 2.25
    assert starved(11, proc=tmp_path) == 0


def test_a_kernel_that_does_not_tell(tmp_path: Path) -> None:
    assert starved(10, proc=tmp_path / "none") == 0


def test_this_process() -> None:
    assert starved(os.getpgrp()) >= 0
