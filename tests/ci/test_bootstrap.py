"""The environment of the suite itself: made once, and not under a command that uses it."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import select
import shutil
import signal
import sys
from pathlib import Path

import pytest

from client_under_test.launching.pidfd import pidfd_open

ROOT = Path(__file__).parents[2]
BOOTSTRAP = ROOT / "ci" / "bootstrap.py"
DEADLINE = 60.0

# The wheel has no such file.
pytestmark = pytest.mark.skipif(not BOOTSTRAP.exists(), reason="needs a checkout")

COMMAND = """#!/bin/sh
echo "$@"
read line
"""

# In the place of what makes an environment: it starts a process, and both would go on for ever.
SLOW = """
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-c", "import signal; signal.pause()"])
print(child.pid, flush=True)
signal.pause()
"""


def checkout(folder: Path, make: str = "") -> Path:
    """What of a checkout the bootstrap reads; `make` is done in the place of what it does."""
    for path in (BOOTSTRAP, ROOT / "client_under_test" / "guarding" / "guard.py"):
        there = folder / path.relative_to(ROOT)
        there.parent.mkdir(parents=True)
        shutil.copy(path, there)
    for name in ("requirements.lock", "pyproject.toml"):
        (folder / name).touch()
    if make:
        program = folder / "ci" / "bootstrap.py"
        text = program.read_text()
        begin = text.index('    print(f"xdspec: making')
        end = text.index("\n\n\n", begin)
        indented = "".join(f"    {line}\n" for line in make.splitlines())
        program.write_text(text[:begin] + indented + text[end:])
    return folder / "ci" / "bootstrap.py"


def settle(environment: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the environment be as this checkout wants it, but for what is in it."""
    monkeypatch.setenv("XDSPEC_VENV", str(environment))
    spec = importlib.util.spec_from_file_location("bootstrap", program)
    assert spec is not None
    assert spec.loader is not None
    before = signal.getsignal(signal.SIGINT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    signal.signal(signal.SIGINT, before)
    python = environment / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(COMMAND)
    python.chmod(0o755)
    module.STAMP.write_text(module.fingerprint())


async def started(program: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", str(program), "list", "clients"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def line_of(stream: asyncio.StreamReader | None) -> str:
    assert stream is not None
    async with asyncio.timeout(DEADLINE):
        return (await stream.readline()).decode().strip()


async def test_an_environment_is_not_made_again_under_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = tmp_path / "shared"
    one = checkout(tmp_path / "one")
    other = checkout(tmp_path / "other", "print('made', flush=True)\nsys.exit(7)")
    settle(environment, one, monkeypatch)
    running = await started(one)
    assert await line_of(running.stdout) == "-m conformance list clients"
    beside = await started(one)  # who wants it as it is does not wait
    assert await line_of(beside.stdout) == "-m conformance list clients"
    waiting = await started(other)
    assert "waiting until no other command uses" in await line_of(waiting.stderr)
    for process in (running, beside):
        assert waiting.returncode is None
        await process.communicate(b"\n")
    assert await line_of(waiting.stdout) == "made"
    assert await waiting.wait() == 7


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_a_set_up_that_is_ended_leaves_no_installer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setenv("XDSPEC_VENV", str(tmp_path / "environment"))
    process = await started(checkout(tmp_path / "checkout", SLOW))
    installer = pidfd_open(int(await line_of(process.stdout)))
    process.send_signal(number)
    assert select.select([installer], [], [], DEADLINE)[0]
    os.close(installer)
    _, said = await process.communicate()
    assert process.returncode == (2 if number == signal.SIGINT else -number)
    assert said == b""


async def test_where_nothing_can_be_written_what_is_there_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an image that somebody else has made."""
    environment = tmp_path / "shared"
    program = checkout(tmp_path / "one")
    settle(environment, program, monkeypatch)
    (tmp_path / "shared.lock").mkdir()
    process = await started(program)
    assert await line_of(process.stdout) == "-m conformance list clients"
    await process.communicate(b"\n")
