"""Workers are forked from a process that has collected the scenarios, or started as xdist does."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys

import pytest

from conformance.running.workers import HANDOVER, forked

DEADLINE = 20.0

TELLS = """
import os, sys
plugin = "conformance.running.plugin.hooks"
told = os.getppid(), plugin in sys.modules, os.environ.get("XDSPEC_SAID")
print(*told, sys.stdin.readline().strip(), flush=True)
"""


async def started(command: str) -> asyncio.subprocess.Process:
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


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes cannot be adopted")
async def test_a_worker_has_collected_already_and_is_a_child_of_the_command() -> None:
    with forked() as command:
        assert command is not None
        workers = [await started(command) for _ in range(3)]
        for worker in workers:
            assert await told(worker) == f"{os.getpid()} True so the rest"


async def test_where_nobody_forks_it_is_started_as_xdist_does() -> None:
    worker = await started(shlex.join((sys.executable, "-I", "-S", str(HANDOVER), "nobody")))
    assert await told(worker) == f"{os.getpid()} False so the rest"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes cannot be adopted")
async def test_the_end_is_the_end() -> None:
    with forked() as command:
        assert command is not None
    assert (await told(await started(command))).endswith("False so the rest")
