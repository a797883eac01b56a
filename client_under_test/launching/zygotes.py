"""Start an adapter's processes from a fork server.

The fork server only forks on request, like those of Python's `multiprocessing`. The suite uses it
only on Linux. There a forked process can be the suite's child, so that it dies with the suite, and
the suite notices its end.

Imports take most of the time of a Python adapter's start. If its manifest lists the variables that
it reads late (`start.reads-late`), the fork server has done its imports. The process of any other
adapter executes the adapter's command, so that only its guard is forked.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, Self

from client_under_test.environments import Prepared
from client_under_test.launching.environment import found
from client_under_test.launching.parent_death import killed_with_parent
from client_under_test.launching.pidfd import pidfd_open

FORKER: Final = Path(__file__).with_name("zygote.py")
EXECUTOR: Final = Path(__file__).with_name("exec_program.py")
_PR_SET_CHILD_SUBREAPER: Final = 36
_ANSWER_BYTES: Final = 64


class ForkServers:
    """A fork server for each client, started when its first process is wanted.

    Args:
        stderr_path: the file that keeps what the imports write.
        deadline: seconds for the imports.
    """

    def __init__(self, stderr_path: Path, *, deadline: float) -> None:
        self._stderr_path = stderr_path
        self._deadline = deadline
        self._made: dict[tuple[str, ...], _ForkServer | None] = {}

    async def fork(
        self,
        prepared: Prepared,
        protocol: asyncio.SubprocessProtocol,
        environment: Mapping[str, str],
        folder: Path,
        stderr: IO[bytes],
        tell: int,
        largest: int,
    ) -> bool:
        """Start a process of this client, if one with this environment can be forked.

        Args:
            prepared: the client.
            protocol: receives the events of the process's guard, as from `loop.subprocess_exec`.
            environment: what it is started with, all of it.
            folder: where it is started.
            stderr: the file that keeps its stderr.
            tell: a pipe, to which the number of the process itself is written.
            largest: the size limit in bytes of each file that a command which is executed writes.
        """
        if prepared.command not in self._made:
            self._made[prepared.command] = await self._started(prepared, environment, largest)
        server = self._made[prepared.command]
        if server is None or not server.has(environment):
            return False
        try:
            async with asyncio.timeout(self._deadline):
                await server.fork(protocol, environment, folder, stderr, tell)
        except (OSError, TimeoutError):  # the imports failed, say: its own command tells why
            self._made[prepared.command] = None
            await server.close()
            return False
        return True

    async def _started(
        self, prepared: Prepared, environment: Mapping[str, str], largest: int
    ) -> _ForkServer | None:
        if not can_adopt():
            return None
        late = prepared.client.manifest.start.reads_late
        if late is None:
            program = (str(EXECUTOR), str(largest), *found(prepared.command))
            own = dict(os.environ)
            return await _ForkServer.start(sys.executable, program, None, own, self._stderr_path)
        python, _, *module = prepared.command
        return await _ForkServer.start(python, module, late, environment, self._stderr_path)

    async def close(self) -> None:
        """End them; processes that were forked live on."""
        for server in self._made.values():
            if server is not None:
                await server.close()


class _ForkServer:
    """The process that adapters of one client are forked from."""

    def __init__(
        self,
        late: Collection[str] | None,
        environment: Mapping[str, str],
        forker: asyncio.subprocess.Process,
        connection: socket.socket,
    ) -> None:
        self._late = None if late is None else frozenset(late)
        self._early = self._without_late(environment)
        self._forker = forker
        self._connection = connection
        self._turn = asyncio.Lock()

    @classmethod
    async def start(
        cls,
        python: str,
        program: Sequence[str],
        late: Collection[str] | None,
        environment: Mapping[str, str],
        stderr_path: Path,
    ) -> Self:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs, stderr_path.open("ab") as stderr:
            handle = str(theirs.fileno())
            forker = await asyncio.create_subprocess_exec(
                *killed_with_parent(python, "-I", str(FORKER), handle, str(os.getpid()), *program),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=stderr,
                env=dict(environment),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        return cls(late, environment, forker, ours)

    def has(self, environment: Mapping[str, str]) -> bool:
        """Return whether the imports ran in this environment, except for variables read late.

        A command that is executed does its imports later, so it can have any environment.
        """
        return self._late is None or self._without_late(environment) == self._early

    def _without_late(self, environment: Mapping[str, str]) -> dict[str, str]:
        late = self._late or ()
        return {name: value for name, value in environment.items() if name not in late}

    async def fork(
        self,
        protocol: asyncio.SubprocessProtocol,
        environment: Mapping[str, str],
        folder: Path,
        stderr: IO[bytes],
        tell: int,
    ) -> None:
        """Start a process.

        Raises:
            OSError: the fork server has ended.
        """
        stdin, to_stdin = os.pipe()
        from_stdout, stdout = os.pipe()
        message = json.dumps([{**environment, "PWD": str(folder)}, str(folder)]).encode()
        try:
            async with self._turn:
                given = [stdin, stdout, stderr.fileno(), tell]
                socket.send_fds(self._connection, [message], given)
                loop = asyncio.get_running_loop()
                answer = await loop.sock_recv(self._connection, _ANSWER_BYTES)
            forked = _Forked(_number(answer), protocol)
        except BaseException:
            self._connection.close()  # an answer that comes late would be taken for the next one
            os.close(to_stdin)
            os.close(from_stdout)
            raise
        finally:
            os.close(stdin)
            os.close(stdout)
        await forked.connect(to_stdin, from_stdout)

    async def close(self) -> None:
        self._connection.close()
        if self._forker.returncode is None:
            with suppress(ProcessLookupError):
                # Process.kill would take the exit code from asyncio's thread, which then warns.
                os.kill(self._forker.pid, signal.SIGKILL)
        await self._forker.wait()


def _number(answer: bytes) -> int:
    """Return the process id in a response.

    Raises:
        ConnectionResetError: nothing was.
    """
    if not answer:
        raise ConnectionResetError
    return int(answer)


def can_adopt() -> bool:
    """Return whether this process can adopt the children of another and learn of their end."""
    if sys.platform != "linux":
        return False
    try:
        os.close(pidfd_open(os.getpid()))
    except OSError:
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


class _Forked(asyncio.SubprocessTransport):
    """A child that this process has not started itself, seen through asyncio's interface."""

    def __init__(self, pid: int, protocol: asyncio.SubprocessProtocol) -> None:
        super().__init__()
        self._pid = pid
        self._protocol = protocol
        self._pipes: dict[int, asyncio.BaseTransport] = {}
        self._returncode: int | None = None
        self._handle = pidfd_open(pid)

    async def connect(self, to_stdin: int, from_stdout: int) -> None:
        """Take over the suite's ends of two pipes."""
        loop = asyncio.get_running_loop()
        for number, handle in ((0, to_stdin), (1, from_stdout)):
            pipe = os.fdopen(handle, "rb" if number else "wb", buffering=0)
            connect: Any = loop.connect_read_pipe if number else loop.connect_write_pipe
            end = _End(number, self._protocol)
            self._pipes[number], _ = await connect(lambda end=end: end, pipe)
        self._protocol.connection_made(self)
        loop.add_reader(self._handle, self._exited)

    def _exited(self) -> None:
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        _, status = os.waitpid(self._pid, 0)
        self._returncode = os.waitstatus_to_exitcode(status)
        self._protocol.process_exited()

    def get_pid(self) -> int:
        """Its process id."""
        return self._pid

    def get_returncode(self) -> int | None:
        """Its exit code, or the signal that ended it as a negative number; None while it runs."""
        return self._returncode

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport | None:
        """Return the other end of the process's stdin or stdout."""
        return self._pipes.get(fd)

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        if self._returncode is None:
            os.kill(self._pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Close the pipes."""
        for pipe in self._pipes.values():
            pipe.close()


class _End(asyncio.Protocol):
    """One end of a pipe, reported to the protocol as a pipe of the process."""

    def __init__(self, number: int, told: asyncio.SubprocessProtocol) -> None:
        self._number = number
        self._told = told

    def data_received(self, data: bytes) -> None:
        """Pass it on."""
        self._told.pipe_data_received(self._number, data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass it on."""
        self._told.pipe_connection_lost(self._number, exc)
