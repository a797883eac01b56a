"""A client's end is told, and nothing that it has started is left, wherever it has hidden."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from client_under_test.contract.exceptions import (
    ClientExited,
    ConversationFailed,
    RequestRefused,
    StdoutClosed,
)
from client_under_test.environments import Prepared, prepare
from client_under_test.launching.process import ClientProcess
from client_under_test.launching.zygotes import ForkServers
from client_under_test.manifests.clients import find
from tests.processes import is_gone

ADAPTERS = Path(__file__).parents[2] / "adapters"
DEADLINE = 10.0
LONG = 60.0
"""Deadline of what is to be over far sooner."""

AT_ONCE = 10.0
"""In which what is told at once has been told, on a machine that has much else to do."""

PARENT = """
import json, os, subprocess, sys, time
zero = time.monotonic_ns()

STRAY = [sys.executable, "-I", "-c", "import signal; signal.pause()"]

def hello(request):
    about = dict(contract=1, name="parent", version="0", capabilities=[])
    return dict(about, type="hello", id=request["id"], at=(time.monotonic_ns() - zero) // 1000)

def say(message):
    print(json.dumps(message), flush=True)

def refuse(number, message):
    say(dict(type="error", id=number, message=message))

def breed(how):
    "Start a process of a session of its own, or one whose parent is gone, that has no pipe."
    if how == "session":
        stray = subprocess.Popen(STRAY, start_new_session=True).pid
    else:
        told, tell = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(tell, str(os.getpid()).encode())
                os.closerange(0, 64)
                os.execve(STRAY[0], STRAY, {})
            os._exit(0)
        stray = int(os.read(told, 32))
    with open(sys.argv[-1], "w") as file:
        file.write(str(stray))
"""

SPEAKS = """
for line in sys.stdin:
    say(hello(json.loads(line)))
"""


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Where the number of a stray is written."""
    return tmp_path / "told"


def adapter(folder: Path, code: str, *arguments: str) -> Prepared:
    """An adapter of a few lines of Python that can be forked, too."""
    script = folder / "adapter.py"
    script.write_text(f"{PARENT}\nif __name__ == '__main__':\n" + indented(code))
    known = prepare(find(str(ADAPTERS / "mute")))
    start = msgspec.structs.replace(known.client.manifest.start, reads_late=())
    manifest = msgspec.structs.replace(known.client.manifest, start=start, capabilities=())
    return msgspec.structs.replace(
        known,
        client=msgspec.structs.replace(known.client, manifest=manifest),
        command=(sys.executable, "-I", str(script), *arguments),
    )


def indented(code: str) -> str:
    return "\n".join(f"    {line}" for line in code.splitlines())


class Executing(ForkServers):
    """For adapters that do not say what they read late: their commands are executed."""


@pytest.fixture(params=["started", "forked", "executed"])
async def fork_servers(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[ForkServers | None]:
    """None for a client that is started from nothing."""
    if request.param == "started":
        yield None
        return
    kind = Executing if request.param == "executed" else ForkServers
    made = kind(tmp_path / "imports", deadline=DEADLINE)
    yield made
    await made.close()


async def launched(
    prepared: Prepared, folder: Path, fork_servers: ForkServers | None = None
) -> ClientProcess:
    stderr = folder / "stderr"
    if isinstance(fork_servers, Executing):
        start = msgspec.structs.replace(prepared.client.manifest.start, reads_late=None)
        manifest = msgspec.structs.replace(prepared.client.manifest, start=start)
        client = msgspec.structs.replace(prepared.client, manifest=manifest)
        prepared = msgspec.structs.replace(prepared, client=client)
    return await ClientProcess.launch(prepared, stderr_path=stderr, fork_servers=fork_servers)


def number_in(file: Path) -> int:
    return int(file.read_text())


def lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the latter if it ends as the file is read
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def _spared(told: Path) -> Iterator[None]:
    """Whatever a failed test has left of strays is ended."""
    yield
    if told.exists() and lives(pid := number_in(told)):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.usefixtures("_spared")
@pytest.mark.parametrize("how", ["session", "daemon"])
async def test_a_stray_ends_with_a_client_that_exits(
    tmp_path: Path, told: Path, fork_servers: ForkServers | None, how: str
) -> None:
    """It holds stdout open, or nobody knows any more whose it was."""
    code = f"sys.stdin.readline()\nbreed({how!r})\nsys.exit(3)"
    process = await launched(adapter(tmp_path, code, str(told)), tmp_path, fork_servers)
    with pytest.raises(ClientExited, match="exited with code 3"):
        await process.greet(deadline=LONG)
    stray = number_in(told)
    ended = await asyncio.wait_for(process.close(deadline=0), LONG)
    assert (ended.code, ended.killed) == (3, False)
    assert is_gone(stray)


@pytest.mark.usefixtures("_spared")
@pytest.mark.parametrize("how", ["session", "daemon"])
async def test_a_stray_ends_with_a_client_that_is_closed(
    tmp_path: Path, told: Path, fork_servers: ForkServers | None, how: str
) -> None:
    code = f"breed({how!r})\n{SPEAKS}"
    process = await launched(adapter(tmp_path, code, str(told)), tmp_path, fork_servers)
    await process.greet(deadline=DEADLINE)
    stray = number_in(told)
    began = time.monotonic()
    ended = await asyncio.wait_for(process.close(deadline=DEADLINE), LONG)
    assert time.monotonic() - began < AT_ONCE
    assert (ended.code, ended.killed) == (0, False)
    assert is_gone(stray)


@pytest.mark.usefixtures("_spared")
async def test_a_stray_ends_with_a_client_that_is_killed(tmp_path: Path, told: Path) -> None:
    process = await launched(adapter(tmp_path, f"breed('daemon')\n{SPEAKS}", str(told)), tmp_path)
    await process.greet(deadline=DEADLINE)
    os.kill(process.pid, signal.SIGKILL)
    assert is_gone(number_in(told))
    ended = await process.close(deadline=DEADLINE)
    assert (ended.signal, ended.killed) == (signal.SIGKILL, False)


SUITE = """
import asyncio, os, signal, sys
from pathlib import Path
import msgspec
from client_under_test.environments import prepare
from client_under_test.launching.process import ClientProcess
from client_under_test.manifests.clients import find

async def main():
    prepared = prepare(find(sys.argv[1]))
    prepared = msgspec.structs.replace(prepared, command=tuple(sys.argv[3:]))
    process = await ClientProcess.launch(prepared, stderr_path=Path(sys.argv[2]))
    await process.greet(deadline=60, as_stated=False)
    print(process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@pytest.mark.usefixtures("_spared")
async def test_a_stray_ends_with_a_suite_that_is_killed(tmp_path: Path, told: Path) -> None:
    prepared = adapter(tmp_path, f"breed('daemon')\n{SPEAKS}", str(told))
    suite = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SUITE, str(ADAPTERS / "mute"), str(tmp_path / "stderr")),
        *prepared.command,
        stdout=asyncio.subprocess.PIPE,
    )
    assert suite.stdout is not None
    client = int(await suite.stdout.readline())
    assert await suite.wait() == -signal.SIGKILL
    assert is_gone(client)
    assert is_gone(number_in(told))


@pytest.mark.usefixtures("_spared")
async def test_only_descendants_of_the_client_end_with_it(
    tmp_path: Path, told: Path, fork_servers: ForkServers | None
) -> None:
    """Not another client, nor what that has started, nor a child of the suite."""
    (tmp_path / "other").mkdir()
    neighbour = adapter(tmp_path / "other", f"breed('daemon')\n{SPEAKS}", str(told))
    other = await launched(neighbour, tmp_path / "other", fork_servers)
    await other.greet(deadline=DEADLINE)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-c", "input()"),
        stdin=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    process = await launched(
        adapter(tmp_path, f"breed('daemon')\n{SPEAKS}", str(tmp_path / "own")), tmp_path
    )
    await process.greet(deadline=DEADLINE)
    await process.close(deadline=0)
    assert is_gone(number_in(tmp_path / "own"))
    assert lives(number_in(told))
    assert lives(child.pid)
    await other.look_at_the_clock(deadline=DEADLINE)
    assert other.failure is None
    await child.communicate(b"\n")
    assert child.returncode == 0
    await other.close(deadline=DEADLINE)
    assert is_gone(number_in(told))


async def test_a_client_that_stops_its_guard_is_ended_all_the_same(tmp_path: Path) -> None:
    code = f"import signal\nos.kill(os.getppid(), signal.SIGSTOP)\n{SPEAKS}"
    process = await launched(adapter(tmp_path, code), tmp_path)
    await process.greet(deadline=DEADLINE)
    await asyncio.wait_for(process.close(deadline=0), LONG)
    assert is_gone(process.pid)


async def test_who_closes_its_stdout_is_judged_at_once(
    tmp_path: Path, fork_servers: ForkServers | None
) -> None:
    code = "sys.stdin.readline()\nos.close(1)\nimport signal\nsignal.pause()"
    process = await launched(adapter(tmp_path, code), tmp_path, fork_servers)
    began = time.monotonic()
    with pytest.raises(StdoutClosed, match="closed its standard output and keeps running"):
        await process.greet(deadline=LONG)
    assert time.monotonic() - began < AT_ONCE
    await process.close(deadline=0)
    assert is_gone(process.pid)


@pytest.mark.parametrize("end", ["sys.exit(3)", "import time; time.sleep(0.5); sys.exit(3)"])
async def test_who_closes_its_stdout_and_exits_has_exited(tmp_path: Path, end: str) -> None:
    process = await launched(adapter(tmp_path, f"os.close(1)\n{end}"), tmp_path)
    with pytest.raises(ClientExited):
        await process.greet(deadline=LONG)
    await process.close(deadline=0)


@pytest.mark.parametrize("number", ["request['id']", "None"])
async def test_an_error_in_answer_to_hello_is_told_at_once(tmp_path: Path, number: str) -> None:
    """With its words, also where the adapter could not read who asked."""
    code = f"for line in sys.stdin:\n request = json.loads(line)\n refuse({number}, 'no library')"
    process = await launched(adapter(tmp_path, code), tmp_path)
    began = time.monotonic()
    with pytest.raises(RequestRefused, match="the adapter refused `hello`: no library") as told:
        await process.greet(deadline=LONG)
    assert time.monotonic() - began < AT_ONCE
    assert not told.value.hello_said
    await process.close(deadline=0)


async def test_an_error_in_answer_to_a_later_hello_is_told(tmp_path: Path) -> None:
    code = """
for count, line in enumerate(sys.stdin):
    request = json.loads(line)
    say(hello(request)) if count < 4 else refuse(request["id"], "once is enough")
"""
    process = await launched(adapter(tmp_path, code), tmp_path)
    await process.greet(deadline=DEADLINE)
    with pytest.raises(RequestRefused, match="once is enough"):
        await process.look_at_the_clock(deadline=LONG)
    await process.close(deadline=0)


async def test_what_was_said_before_the_end_is_heard(tmp_path: Path) -> None:
    """All of it, though the process has ended by then."""
    code = "request = json.loads(sys.stdin.readline())\nsay(hello(request))\nsys.exit(3)"
    process = await launched(adapter(tmp_path, code), tmp_path)
    with pytest.raises(ConversationFailed) as told:
        await process.greet(deadline=LONG)
    assert isinstance(told.value, ClientExited)
    assert told.value.hello_said
    await process.close(deadline=0)
