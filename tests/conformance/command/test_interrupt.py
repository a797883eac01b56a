"""Ctrl-C, SIGTERM and SIGKILL in the middle of a run, and worlds that are held."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

ADAPTERS = Path(__file__).parents[2] / "adapters"
PINNED = "python@1.85.1"

PROMISED = 2.0
"""Seconds in which an interrupted run must be over."""

DEADLINE = 60.0

Started = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.mark.parametrize(
    ("number", "group"),
    [
        pytest.param(signal.SIGINT, True, id="ctrl-c"),
        pytest.param(signal.SIGINT, False, id="sigint"),
    ],
)
async def test_interrupt(started: Started, number: signal.Signals, *, group: bool) -> None:
    async with started("run", PINNED, "--jobs", "2") as running:
        await running.line("pass")
        assert len(running.processes()) >= 4  # the command, two workers, a client at least
        running.watch()
        ports = running.ports()
        assert ports
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
        assert not ports & running.ports_of_all()


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
        assert [line.split("  ")[0] for line in summary] == ["exiter 0", "python 1.85.1"]
        await running.gone(deadline=PROMISED)


async def test_kill(started: Started) -> None:
    """Nobody is left who could clean up: the kernel ends workers and clients."""
    async with started("run", PINNED, "--jobs", "2") as running:
        await running.line("pass")
        running.watch()
        ports = running.ports()
        running.send(signal.SIGKILL)
        await running.gone(deadline=PROMISED)
        assert not ports & running.ports_of_all()
        assert (await running.ended()).code == -signal.SIGKILL


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
from conformance.running.interruption import end_at_once_when_told

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
    ("client", "how", "code"),
    [(PINNED, "enter", 0), (str(ADAPTERS / "crasher"), "sigterm", 1)],
)
async def test_hold(started: Started, client: str, how: str, code: int) -> None:
    words = ["run", client, "--scenario", "ring.size[by-weight]", "--hold", "--env", "TOLD=so"]
    async with started(*words) as running:
        await running.line("Press Enter", error=True)
        rows = (re.fullmatch(r"  (\S.*?)  +(\S.*)\n", line) for line in running.heard)
        told = {row[1]: row[2] for row in rows if row}
        assert told["target"] == "xds:///xdspec.test"
        address = json.loads(told["bootstrap"])["xds_servers"][0]["server_uri"]
        ports = {int(one.rpartition(":")[2]) for one in [address, *told["endpoints"].split(", ")]}
        assert len(ports) == 4
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
        assert set(ended.scenarios) == {"ring.size[by-weight]"}
        await running.gone(deadline=PROMISED)
