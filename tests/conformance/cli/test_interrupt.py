"""Ctrl-C, SIGTERM and SIGKILL in the middle of a run, and worlds that are held."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import random
import re
import select
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from client_under_test.launching.pidfd import pidfd_open
from conformance.runner.collection import scenarios
from conformance.runner.files import PREFIX
from conformance.runner.interruption import AGAIN

ADAPTERS = Path(__file__).parents[2] / "adapters"
PINNED = "python@1.85.1"

LONG_RUN = ("run", PINNED, "--scenario", "cluster.*", "--jobs", "2")
"""Of short scenarios, so that one is soon over, and of so many that it goes on long after that."""

ALL = 50
"""Moments at which a run is interrupted, if XDSPEC_TEST_INTERRUPTS=all asks for them, which takes a
minute or two; else a tenth of them."""

SEEDS = range(ALL if os.environ.get("XDSPEC_TEST_INTERRUPTS") == "all" else ALL // 10)

PROMISED = 2.0
"""Seconds in which an interrupted run must be over."""

DEADLINE = 60.0

Started = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture(autouse=True, scope="module")
def hears_of_a_closed_terminal() -> Iterator[None]:
    """Whoever has these tests outlive their terminal (nohup) does not have the commands do so."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("number", "group"),
    [
        pytest.param(signal.SIGINT, True, id="ctrl-c"),
        pytest.param(signal.SIGINT, False, id="sigint", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, False, id="sigterm"),
        pytest.param(signal.SIGHUP, True, id="terminal-closed", marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, False, id="sighup", marks=pytest.mark.slow),
    ],
)
async def test_interrupt(started: Started, number: signal.Signals, *, group: bool) -> None:
    async with started(*LONG_RUN) as running:
        await running.line("pass")
        assert len(running.processes()) >= 4  # the command, two workers, a client at least
        running.watch()
        sockets = running.sockets()
        assert sockets
        asked_at = time.monotonic()
        running.send(number, group=group)
        ended = await running.ended()
        await running.gone(deadline=PROMISED)
        assert time.monotonic() - asked_at < PROMISED
        assert ended.code == 2
        assert "interrupted" in ended.out
        assert "Traceback" not in ended.said
        (run,) = ended.report["runs"]
        assert run["complete"] is False
        assert len(run["scenarios"]) >= 1
        assert not sockets & running.sockets_of_all()
        assert ended.left == []


@pytest.mark.slow
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
async def test_what_is_said_twice_at_once_is_said_once(
    started: Started, second: signal.Signals
) -> None:
    async with started(*LONG_RUN) as running:
        await running.line("pass")
        running.send(signal.SIGINT, group=True)
        await asyncio.wait([asyncio.create_task(running.process.wait())], timeout=0.02)
        running.send(second, group=True)
        ended = await running.ended()
        assert ended.code == 2
        assert ended.out.count("interrupted") == 1
        assert len(ended.report["runs"]) == 1
        assert ended.left == []
        await running.gone(deadline=PROMISED)


def fill(pipe: str) -> None:
    handle = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)  # of our own: theirs goes on to block
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(handle, b"x" * 4096)
    os.close(handle)


@pytest.mark.slow
async def test_who_does_not_want_to_wait_for_the_report_need_not(started: Started) -> None:
    """Nobody reads it: it waits for room in the pipe."""
    async with started(*LONG_RUN) as running:
        await running.line("pass")
        running.process._transport.get_pipe_transport(1).pause_reading()
        fill(f"/proc/{running.process.pid}/fd/1")
        watched = pidfd_open(running.process.pid)
        running.send(signal.SIGINT)
        assert not select.select([watched], [], [], 1.5 * AGAIN)[0]
        running.send(signal.SIGINT)
        assert select.select([watched], [], [], PROMISED)[0]
        os.close(watched)
        running.process._transport.get_pipe_transport(1).resume_reading()
        ended = await running.ended()
        assert ended.code == 2
        assert ended.report["runs"]
        assert ended.left == []


TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.slow
async def test_a_closed_terminal_keeps_the_report(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    words = [*LONG_RUN, "--json", "r.json", "--out", "out"]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", TERMINAL),
        *(sys.executable, "-m", "conformance", *words),
        cwd=tmp_path,
        env={**os.environ, "TERM": "xterm", "TMPDIR": str(tmp_path)},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    os.set_blocking(ours, True)
    said = b""
    while re.search(rb"\D[1-9]\d*/\d+\D", said) is None:
        said += await asyncio.to_thread(os.read, ours, 4096)
    os.close(ours)
    async with asyncio.timeout(DEADLINE):
        assert await process.wait() == 2
    (run,) = json.loads((tmp_path / "r.json").read_text())["runs"]
    assert run["complete"] is False
    assert run["scenarios"]
    assert set(os.listdir(tmp_path)) <= {"out", "r.json"}  # noqa: PTH208


@pytest.mark.slow
async def test_who_was_told_to_outlive_the_terminal_does(started: Started) -> None:
    deaf = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    words = ["--scenario", "ring.size?lightest*", "--jobs", "1"]
    async with started("run", PINNED, *words, by=deaf) as running:
        await running.line("pass")
        running.send(signal.SIGHUP, group=True)
        ended = await running.ended()
        assert ended.code == 0
        assert ended.report["runs"][0]["complete"] is True


@pytest.mark.slow
async def test_interrupt_in_the_second_client_leaves_the_first(started: Started) -> None:
    three = ["--scenario", "ring.size?lightest*", "--jobs", "1"]
    async with started("run", str(ADAPTERS / "exiter"), PINNED, *three) as running:
        await running.line("pass  ring.size")
        running.send(signal.SIGINT, group=True)
        ended = await running.ended()
        assert ended.code == 2
        first, second = ended.report["runs"]
        assert (first["client"]["name"], first["complete"]) == ("exiter", True)
        assert (second["client"]["name"], second["complete"]) == ("python", False)
        assert len(first["scenarios"]) > len(second["scenarios"]) >= 1
        summary = ended.out.split("\n\n")[-1].splitlines()
        told = [line.split("  ")[0].partition(" (adapter ")[0] for line in summary]
        assert told == ["exiter 0", "python 1.85.1"]
        await running.gone(deadline=PROMISED)


async def test_kill(started: Started) -> None:
    """Nobody is left who could clean up: the kernel ends workers and clients."""
    async with started(*LONG_RUN) as running:
        await running.line("pass")
        running.watch()
        sockets = running.sockets()
        running.send(signal.SIGKILL)
        await running.gone(deadline=PROMISED)
        assert not sockets & running.sockets_of_all()
        ended = await running.ended()
        assert ended.code == -signal.SIGKILL
        ((left),) = ended.left
        temporary = running.folder / "tmp"
        (temporary / f"{PREFIX}notoftheirs").mkdir()
        (temporary / f"{PREFIX}file").touch()
        with held(temporary / f"{PREFIX}abcdefgh"):
            assert left.startswith(PREFIX)
            other = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "conformance", "doctor", str(ADAPTERS / "stillborn")),
                env={**os.environ, "TMPDIR": str(temporary)},
                stdout=asyncio.subprocess.DEVNULL,
            )
            assert await other.wait() == 6
        assert ended.left == [f"{PREFIX}{end}" for end in ("abcdefgh", "file", "notoftheirs")]


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """The folder of a command that lives."""
    folder.mkdir()
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(lock)


MANIFEST = """
name = "parent"
version = "0"
issues = "https://example.com/issues"
capabilities = []

[start]
command = ["{python}", "-I", "{folder}/parent.py", "{folder}/child.py", "PORT"]
"""

PARENT = """
import signal, subprocess, sys

subprocess.Popen([sys.executable, "-I", *sys.argv[1:]], stdin=subprocess.DEVNULL)
signal.pause()
"""

CHILD = """
import signal, socket, sys

connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
signal.pause()
"""


@asynccontextmanager
async def telephone() -> AsyncIterator[tuple[int, asyncio.Future[asyncio.StreamReader]]]:
    """A port; whoever connects to it can be heard to hang up."""
    called: asyncio.Future[asyncio.StreamReader] = asyncio.get_running_loop().create_future()
    writers = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        called.set_result(reader)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], called
    finally:
        for writer in writers:
            writer.close()
        server.close()


async def hung_up(reader: asyncio.StreamReader, deadline: float) -> bool:
    async with asyncio.timeout(deadline):
        try:
            return await reader.read() == b""
        except ConnectionResetError:
            return True


@pytest.mark.slow
async def test_interrupt_ends_what_a_client_has_started(started: Started, tmp_path: Path) -> None:
    async with telephone() as (port, called):
        (tmp_path / "parent.py").write_text(PARENT)
        (tmp_path / "child.py").write_text(CHILD)
        (tmp_path / "client.toml").write_text(MANIFEST.replace("PORT", str(port)))
        words = ["run", str(tmp_path), "--scenario", "ring.search", "--jobs", "1"]
        async with started(*words) as running:
            async with asyncio.timeout(DEADLINE):
                child = await called
            running.send(signal.SIGINT, group=True)
            assert await hung_up(child, PROMISED)
            assert (await running.ended()).code == 2
            await running.gone(deadline=PROMISED)


STARTING = """
import signal, subprocess, sys
from conformance.runner.interruption import end_at_once_when_told

end_at_once_when_told()
child = [sys.executable, "-I", "-c", sys.argv[1], sys.argv[2]]
subprocess.Popen(child, start_new_session=True)
signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_before_there_is_a_run(number: signal.Signals) -> None:
    """While clients are built, say: the builder ends with the command."""
    async with telephone() as (port, called):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", STARTING, CHILD, str(port)),
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(DEADLINE):
            child = await called
        process.send_signal(number)
        assert await hung_up(child, PROMISED)
        _, said = await process.communicate()
        assert (process.returncode, said) == (2, b"")


@pytest.mark.parametrize(
    ("client", "scenario", "endpoints", "how", "code"),
    [
        (PINNED, "validation.xdstp_name_of_an_aggregate", 6, "enter", 0),
        pytest.param(
            *(str(ADAPTERS / "crasher"), "ring.size[by-weight]", 3, "sigterm", 1),
            marks=pytest.mark.slow,
        ),
    ],
)
async def test_hold(
    started: Started, client: str, scenario: str, endpoints: int, how: str, code: int
) -> None:
    words = ["run", client, "--scenario", scenario, "--hold", "--env", "TOLD=so"]
    async with started(*words) as running:
        await running.line("Press Enter", error=True)
        rows = (re.fullmatch(r"  (\S.*?)  +(\S.*)\n", line) for line in running.heard)
        told = {row[1]: row[2] for row in rows if row}
        assert told["target"] == "xds:///xdspec.test"
        address = json.loads(told["bootstrap"])["xds_servers"][0]["server_uri"]
        members = [text.split()[0] for head, text in told.items() if head.isdecimal()]
        control, *_ = told["control"].split(",")
        ports = {int(member.rpartition(":")[2]) for member in [address, control, *members]}
        assert len(ports) == 2 + endpoints
        assert ports <= running.ports()
        pids = running.processes()
        assert int(told["suite pid"]) in pids
        if code == 0:
            given = running.environment_of(int(told["client pid"]))
            assert "TOLD=so" in given
            assert f"GRPC_XDS_BOOTSTRAP_CONFIG={told['bootstrap']}" in given
        if how == "enter":
            running.process.stdin.write(b"\n")
        else:
            running.send(signal.SIGTERM)
        ended = await running.ended()
        assert ended.code == code
        assert set(ended.scenarios) == {scenario}
        await running.gone(deadline=PROMISED)


# As ci/bootstrap.py does it: a signal that comes before the command can heed it waits for that.
HOLDS_SIGNALS_BACK = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
print("begins", flush=True)
os.execv(sys.argv[1], sys.argv[1:])
"""
BY = (sys.executable, "-I", "-S", "-c", HOLDS_SIGNALS_BACK)
OF_SHORT_RUN = sum(name.startswith("ring.size") for name in scenarios())
SHORT_RUN = ("run", "reference", "--scenario", "ring.size*", "--jobs", "2")


@pytest.fixture(scope="module")
async def lasts(xdspec: Any) -> float:
    """Seconds that a run takes which nobody interrupts."""
    began = time.monotonic()
    assert (await xdspec.run(*SHORT_RUN)).code == 0
    return time.monotonic() - began


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
async def test_at_any_moment(started: Started, lasts: float, seed: int) -> None:
    """What was done is told, once, and nothing is left; what was over has its result."""
    chance = random.Random(f"interrupt {seed}")
    async with started(*SHORT_RUN, by=BY) as running:
        await running.line("begins")
        over = asyncio.create_task(running.ended())
        await asyncio.wait([over], timeout=chance.uniform(0, 1.1) * lasts)
        for _ in range(chance.choice([1, 1, 2])):
            with contextlib.suppress(ProcessLookupError):
                running.send(signal.SIGINT, group=True)
        ended = await over
        await running.gone(deadline=DEADLINE)
    assert ended.code in {0, 2}, ended.said
    assert "Traceback" not in ended.said
    assert ended.err == ""
    assert ended.left == []
    told = len(re.findall(r"^ +\d+/\d+ ", ended.out, re.MULTILINE))
    runs = ended.report["runs"] if ended.report else []
    if ended.code == 0 or told:
        (run,) = runs
        assert len(run["scenarios"]) >= told
        assert run["complete"] or ended.code == 2
        assert not run["complete"] or len(run["scenarios"]) == OF_SHORT_RUN
    if ended.code == 2:
        assert ended.out.count("interrupted") <= 1
