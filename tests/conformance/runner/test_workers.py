"""Workers are forked from a process that has collected the scenarios, or started as xdist does."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from conformance.runner.workers import HANDOVER, forked

DEADLINE = 20.0

TELLS = """
import os, sys
plugin = "conformance.runner.plugin.hooks"
told = os.getppid(), plugin in sys.modules, os.environ.get("XDSPEC_SAID")
print(*told, sys.stdin.readline().strip(), flush=True)
"""


async def begun(command: str) -> asyncio.subprocess.Process:
    """What xdist starts, with the program that it sends first."""
    process = await asyncio.create_subprocess_exec(
        *shlex.split(command),
        *("-u", "-c", "import sys;exec(eval(sys.stdin.readline()))"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "XDSPEC_SAID": "so"},
    )
    assert process.stdin is not None
    process.stdin.write(f"{TELLS!r}\nthe rest\n".encode())
    return process


async def told(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(DEADLINE):
        line = await process.stdout.readline()
        assert await process.stdout.read() == b""  # its end is seen
        await process.wait()
    return line.decode().strip()


async def three_at_once(command: str) -> list[str]:
    workers = [await begun(command) for _ in range(3)]
    return [await told(worker) for worker in workers]


def alone() -> None:
    """Fork workers from this process, which has one thread, and print what they say."""
    os.write(1, f"{os.getpid()}\n".encode())
    sys.stdout.write("once")  # no worker may write it, too
    with forked() as command:
        said = asyncio.run(three_at_once(command))
        asyncio.run(none_left(os.getpid()))
    said.append(asyncio.run(three_at_once(command))[0])
    sys.stdout.write("\n".join(["", *said, ""]))


async def test_where_nobody_forks_it_is_started_as_xdist_does() -> None:
    worker = await begun(shlex.join((sys.executable, "-I", "-S", str(HANDOVER), "nobody")))
    assert await told(worker) == f"{os.getpid()} False so the rest"


def zombies(of: int) -> set[str]:
    """The children of a process that have ended, and for which nobody has waited."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
            found |= {place.name} if (state, parent) == ("Z", str(of)) else set()
    return found


async def none_left(of: int, before: frozenset[str] = frozenset()) -> None:
    """Wait until there is none, but for those that were there before."""
    async with asyncio.timeout(DEADLINE):
        while zombies(of) - before:  # noqa: ASYNC110 - nothing tells that a process was waited for
            await asyncio.sleep(0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes cannot be adopted")
def test_a_worker_has_collected_already_and_is_a_child_of_the_command() -> None:
    """It is waited for, though xdist knows only who handed over to it; the end is the end."""
    program = [sys.executable, __file__]
    ended = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=True, timeout=DEADLINE)
    pid, once, *said, late = ended.stdout.splitlines()
    assert (once, said) == ("once", [f"{pid} True so the rest"] * 3)
    assert late == f"{pid} False so the rest"


async def test_a_process_with_threads_is_not_forked() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait, daemon=True)
    thread.start()
    with forked() as command:
        assert (await told(await begun(command))).endswith("False so the rest")
    done.set()
    thread.join()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes cannot be adopted")
async def test_nothing_that_has_ended_stays_below_a_run(started: Any) -> None:
    words = ("--scenario", "ring.size*", "--scenario", "ring.search", "--jobs", "2")
    async with started("run", "reference", *words) as running:
        await running.line("ring.")  # each worker is there
        await none_left(running.process.pid)
        assert running.process.returncode is None
        await running.ended()


if __name__ == "__main__":
    alone()
