"""The command as users start it: in a process of its own, watched from outside."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from client_under_test.environments import prepare
from client_under_test.launching.pidfd import pidfd_open
from client_under_test.manifests.clients import find
from conformance import timing
from conformance.judging.evidence import JudgedClient
from conformance.spec.catalogue import load
from conformance.world import World, launch
from test_servers import Fleet

ADAPTERS = Path(__file__).parent.parent / "adapters"
PINNED = "python@1.85.1"

DEADLINE = 120.0
"""For one command on a machine that is busy with others: a hang, not a slow run, meets it."""

TEMPORARY = "tmp"
"""The folder in a command's own that it takes for temporary files."""

MARK = "TESTS_OF_XDSPEC_RUN"
"""In the environment of a command and of all that it starts. Not called XDSPEC_…: such a variable
would be a setting of the suite."""

AT_ONCE = 2
"""Commands beside one another: as many as the smallest machine has cores."""


class Ended(NamedTuple):
    """A command that is over."""

    code: int
    out: str
    err: str
    report: Any
    """What ``--json`` wrote, or None."""
    folder: Path

    def of(self, client: str) -> Ended:
        """Return the same with a report of this client alone."""
        runs = [run for run in self.report["runs"] if run["client"]["name"] == client]
        not_run = [left for left in self.report["not_run"] if left["client"] == client]
        return self._replace(report={**self.report, "runs": runs, "not_run": not_run})

    @property
    def evidence(self) -> Path:
        return self.folder / "out"

    @property
    def said(self) -> str:
        return self.out + self.err

    @property
    def left(self) -> list[str]:
        """What it has left of temporary files."""
        return sorted(path.name for path in (self.folder / TEMPORARY).iterdir())

    @property
    def scenarios(self) -> dict[str, Any]:
        return {scenario["id"]: scenario for scenario in self.report["runs"][0]["scenarios"]}

    @property
    def clauses(self) -> dict[str, Any]:
        found: dict[str, Any] = self.report["runs"][0]["clauses"]
        return found


class Running:
    """A command under way, in a session of its own."""

    def __init__(self, process: asyncio.subprocess.Process, mark: str, folder: Path) -> None:
        self.process = process
        self.mark = mark
        self.folder = folder
        self.heard: list[str] = []
        self._watched: dict[int, int] = {}

    async def line(self, words: str, *, error: bool = False) -> str:
        """The next line with these words on stdout, or on stderr."""
        stream = self.process.stderr if error else self.process.stdout
        assert stream is not None
        async with asyncio.timeout(DEADLINE):
            while line := (await stream.readline()).decode():
                self.heard.append(line)
                if words in line:
                    return line
        raise AssertionError(f"it ended without saying {words!r}, but: {''.join(self.heard)}")

    def send(self, number: signal.Signals, *, group: bool = False) -> None:
        if group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)

    async def ended(self) -> Ended:
        async with asyncio.timeout(DEADLINE):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        path = self.folder / "r.json"
        return Ended(
            code=self.process.returncode,
            out="".join(self.heard) + out.decode(),
            err=err.decode(),
            report=json.loads(path.read_text()) if path.exists() else None,
            folder=self.folder,
        )

    def processes(self) -> dict[int, str]:
        """Everything that the command has started, and itself: names by process id."""
        return dict(_marked(f"{MARK}={self.mark}"))

    def environment_of(self, pid: int) -> list[str]:
        return Path(f"/proc/{pid}/environ").read_text().split("\0")

    def ports(self) -> set[int]:
        """The TCP ports on which any of them listens."""
        return {port for port, _ in self.sockets()}

    def sockets(self) -> set[tuple[int, str]]:
        """The same, each with its inode: another process may be given the port a moment later."""
        inodes = set()
        for pid in self.processes():
            with contextlib.suppress(OSError):
                for link in Path(f"/proc/{pid}/fd").iterdir():
                    with contextlib.suppress(OSError):
                        inodes.add(link.readlink().name)
        return {(port, inode) for port, inode in listening() if f"socket:[{inode}]" in inodes}

    def sockets_of_all(self) -> set[tuple[int, str]]:
        """On which anybody listens."""
        return set(listening())

    def watch(self) -> None:
        """Take hold of every process that there is: one that is ending shows no environment."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                if pid not in self._watched:
                    self._watched[pid] = pidfd_open(pid)

    async def gone(self, *, deadline: float) -> None:
        """Wait until nothing of the command is left."""
        try:
            async with asyncio.timeout(deadline):
                self.watch()
                while self._watched:
                    await asyncio.gather(*map(_end_of, self._watched.values()))
                    self.forget()
                    self.watch()
        except TimeoutError:
            left = self.processes()
            raise AssertionError(f"after {deadline} s there still were: {left}") from None
        finally:
            self.forget()

    def forget(self) -> None:
        """Let go of what was watched.

        What the command has left without a parent is a child of this process, if this process has
        made itself the reaper of its descendants, as a suite does that forks clients.
        """
        for pid, handle in self._watched.items():
            os.close(handle)
            if pid != self.process.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
        self._watched.clear()


def _marked(mark: str) -> Iterator[tuple[int, str]]:
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (place / "environ").read_bytes().split(b"\0"):
                words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                yield int(place.name), words


async def _end_of(descriptor: int) -> None:
    """The end of the process that this descriptor stands for: its files are closed then."""
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(descriptor)


def listening() -> Iterator[tuple[int, str]]:
    """Ports on which somebody listens, and the inodes of the sockets."""
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = row.split()
            if fields[3] == "0A":
                yield int(fields[1].rpartition(":")[2], 16), fields[9]


class Command:
    """``xdspec``, with evidence and report in folders of their own."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def start(
        self, *words: str, scale: float = 1, by: Sequence[str] = (), brief: bool = False
    ) -> Running:
        """Start it, or what it becomes `by`: a command that goes before.

        A run lists all scenarios and clauses, unless it is to be `brief`.
        """
        mark = uuid.uuid4().hex
        folder = self._root / mark
        (folder / TEMPORARY).mkdir(parents=True)
        has_place = words[0] != "run" or "--out" in words
        more = [] if has_place else ["--out", str(folder / "out")]
        if words[0] == "run" and "--json" not in words:
            more += ["--json", str(folder / "r.json")]
        if words[0] == "run" and not brief:
            more += ["-v"]
        process = await asyncio.create_subprocess_exec(
            *(*by, sys.executable, "-m", "conformance", *words, *more),
            cwd=folder,
            env={
                **os.environ,
                "XDSPEC_TIME_SCALE": str(scale),
                "TMPDIR": str(folder / TEMPORARY),
                MARK: mark,
            },
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        return Running(process, mark, folder)

    async def run(self, *words: str, scale: float = 1, brief: bool = False) -> Ended:
        """Start it and wait for its end; nothing of it is left then."""
        mostly_waits = scale < 1
        async with contextlib.nullcontext() if mostly_waits else self._slots:
            running = await self.start(*words, scale=scale, brief=brief)
            try:
                return await running.ended()
            finally:
                kill(running)
                await running.gone(deadline=DEADLINE)


def kill(running: Running) -> None:
    """Whatever a failed test has left."""
    for pid in running.processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def xdspec(tmp_path_factory: pytest.TempPathFactory) -> Command:
    return Command(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def started(xdspec: Command) -> Callable[..., AbstractAsyncContextManager[Running]]:
    """A command under way; nothing of it outlives the test."""

    @asynccontextmanager
    async def start(*words: str, by: Sequence[str] = ()) -> AsyncIterator[Running]:
        running = await xdspec.start(*words, by=by)
        try:
            yield running
        finally:
            running.watch()
            kill(running)
            if running.process.returncode is None:
                await running.ended()
            await running.gone(deadline=DEADLINE)

    return start


@pytest.fixture(scope="session")
async def decided(xdspec: Command) -> dict[str, list[str]]:
    """The clauses that each scenario decides, as they are listed."""
    ended = await xdspec.run("list", "scenarios")
    assert ended.code == 0
    return {line.split()[0]: line.split()[1:] for line in ended.out.splitlines()}


@pytest.fixture(scope="session")
async def passing(xdspec: Command) -> Ended:
    """A run of scenarios that a real client passes, with all evidence."""
    scenarios = (
        "cluster.sizes[no-config]",
        "header.hash_of_the_value",
        "locality.one_ring_over_all_localities",
        "locality.weight_of_locality_and_endpoint",
        "ring.size[by-weight]",
        "ring.size[lightest-whole]",
        "ring.search",
    )
    words = [word for name in scenarios for word in ("--scenario", name.replace("[", "[[]"))]
    words += ["--seed", "7", "--jobs", "2", "--keep-evidence", "--junit", "r.xml"]
    return await xdspec.run("run", PINNED, *words)


FAKES = (  # by the exit code of each command, and its time scale
    (("liar", "denier", "crasher", "exiter", "breeder", "flooder", "refuser"), 1.0),
    (("jumper", "quitter", "late-crasher", "babbler", "undone", "stray"), 1.0),
    (("impostor", "boaster", "stillborn", "unwilling", "old-contract"), 1.0),
    # These are waited for: their deadlines are a part of what users have. With less of them, the
    # suite's own lateness on a busy machine would be excused as what it is, an error of timing.
    (("hanger",), 0.9),
    (("mute",), 0.05),
)


@pytest.fixture(scope="session")
async def fakes(xdspec: Command) -> AsyncIterator[dict[str, Callable[[], Awaitable[Ended]]]]:
    """Runs of one scenario against each of the fake adapters, all started at once."""
    chosen = ("--scenario", "ring.size[[]by-weight]", "--jobs", "1")
    tasks = {
        names: asyncio.create_task(
            xdspec.run("run", *[str(ADAPTERS / name) for name in names], *chosen, scale=scale)
        )
        for names, scale in FAKES
    }

    async def of(name: str) -> Ended:
        (task,) = [task for names, task in tasks.items() if name in names]
        return (await task).of(name)

    yield {name: partial(of, name) for names, _ in FAKES for name in names}
    for task in tasks.values():
        task.cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """The world of a scenario, with the reference client."""
    prepared = prepare(find("reference"))
    launched = await launch(prepared, environment={}, knobs={}, stderr=tmp_path / "stderr")
    judged = JudgedClient(name="reference", version=prepared.version, variant=None, follows=())
    made = World(
        launched, await Fleet.start(), catalogue=load(), client=judged, rng=random.Random(1)
    )
    try:
        await launched.process.greet(deadline=timing.HELLO)
        yield made
    finally:
        await made.close()
