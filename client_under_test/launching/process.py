"""A client's process: started tied to the suite's life, talked to, and surely ended."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, cast

import msgspec

from client_under_test import contract
from client_under_test.channels import Channel
from client_under_test.clock import Clock
from client_under_test.contract import Hello, OpenChannel, OptionValue
from client_under_test.conversation import Babble, Flood, OtherContract
from client_under_test.environments import Prepared
from client_under_test.exceptions import (
    ClientBabbled,
    ClientCrashed,
    ClientExited,
    ClientFlooded,
    ClientMute,
    ConversationFailed,
    ConversationOver,
    NotStarted,
    UnknownKnob,
    WrongContract,
)
from client_under_test.talk import Talk

if TYPE_CHECKING:
    from client_under_test.nursery import Nurseries

# The first hello finds the process starting up; the next ones measure nothing but the pipes.
_HELLOS: Final = 4

# Room for some thousand outcomes: an adapter must not wait, and its calls come late, because the
# suite is busy with something else. More needs a privilege.
_PIPE_BYTES: Final = 1 << 20

_TAIL_BYTES: Final = 4096
_TRAMPOLINE: Final = Path(__file__).with_name("trampoline.py")

# A client is judged as shipped: what the suite's own environment says to gRPC, Python, pytest and
# proxies does not reach it. What is meant for it is given explicitly.
_KEPT_OUT: Final = ("GRPC_", "PYTHON", "PYTEST_", "VIRTUAL_ENV")


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How a process ended: by `code` or by `signal`; `killed` if the suite had to."""

    code: int | None
    signal: int | None
    killed: bool
    stderr_tail: str


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Who waits for a hello is told so: `say` hears a sentence `every` so many seconds."""

    every: float
    say: Callable[[str], None]


class ClientProcess:
    """A running adapter. Made by `start`, or by `launch` ahead of time and `greet` later.

    The process has a session and group of its own and dies with the thread that launched it. One
    event loop uses it.
    """

    def __init__(
        self, prepared: Prepared, stderr_path: Path, options: Mapping[str, OptionValue]
    ) -> None:
        self.prepared: Final = prepared
        self.stderr_path: Final = stderr_path
        self._options = dict(options)
        self._pipes = _Pipes(self)
        self._talk = Talk(self._pipes.write, self.stderr_tail)
        self._killed = False

    @classmethod
    async def start(
        cls,
        prepared: Prepared,
        *,
        stderr_path: Path,
        deadline: float,
        environment: Mapping[str, str | None] | None = None,
        knobs: Mapping[str, OptionValue] | None = None,
        patience: Patience | None = None,
    ) -> Self:
        """Launch the adapter and hear its hello.

        Args:
            prepared: what to start.
            stderr_path: the file that keeps the process's stderr.
            deadline: seconds until the hello.
            environment: what this process is given besides the manifest's own, e.g. its bootstrap;
                None for what it is not to have at all.
            knobs: generic knobs: by the environment or on every channel, as the manifest says.
            patience: who hears meanwhile that the hello has not come.

        Raises:
            UnknownKnob: the client does not offer a knob.
            ConversationFailed: there was no hello; nothing is left running.
        """
        process = await cls.launch(
            prepared, stderr_path=stderr_path, environment=environment, knobs=knobs
        )
        try:
            await process.greet(deadline=deadline, patience=patience)
        except BaseException:
            await process.close(deadline=0)
            raise
        return process

    @classmethod
    async def launch(
        cls,
        prepared: Prepared,
        *,
        stderr_path: Path,
        environment: Mapping[str, str | None] | None = None,
        knobs: Mapping[str, OptionValue] | None = None,
        within: Sequence[str] = (),
        nurseries: Nurseries | None = None,
    ) -> Self:
        """Start the process and let it warm up; `greet` comes next.

        Args:
            prepared: as of `start`.
            stderr_path: as of `start`.
            environment: as of `start`.
            knobs: as of `start`.
            within: a command that becomes the one written behind it, such as `hosts.with_hosts`.
            nurseries: where it is forked, if it can be.
        """
        passed = prepared.client.manifest.pass_knobs(knobs or {})
        own = {**_inherited(), **prepared.environment, **passed.environment}
        asked = {**own, **(environment or {})}
        given = {name: value for name, value in asked.items() if value is not None}
        if shutil.which(prepared.command[0]) is None:
            raise NotStarted(f"there is no program {prepared.command[0]}", hello_said=False)
        process = cls(prepared, stderr_path, passed.options)
        with stderr_path.open("ab") as stderr:
            if (
                nurseries is not None
                and not within
                and await nurseries.fork(prepared, process._pipes, given, stderr)
            ):
                return process
            await asyncio.get_running_loop().subprocess_exec(
                lambda: process._pipes,
                *tied(*within, *prepared.command),
                stderr=stderr,
                env=given,
                start_new_session=True,
            )
        return process

    async def greet(self, *, deadline: float, patience: Patience | None = None) -> None:
        """Hear the hello, and measure how the adapter's clock stands to the suite's.

        Args:
            deadline: seconds until the hello.
            patience: who hears meanwhile that it has not come.

        Raises:
            ConversationFailed: there was no hello within `deadline` seconds.
        """
        try:
            async with asyncio.timeout(deadline):
                with self._told(patience):
                    await self._talk.say_hello()
                for _ in range(_HELLOS - 1):
                    await self._talk.say_hello()
        except TimeoutError:
            raise ClientMute(
                f"the client did not say hello within {deadline:g} s",
                hello_said=self._talk.hello is not None,
                stderr_tail=self.stderr_tail(),
            ) from None

    @contextlib.contextmanager
    def _told(self, patience: Patience | None) -> Iterator[None]:
        """Let somebody hear, until the end of the block, that it goes on."""
        if patience is None:
            yield
            return
        loop = asyncio.get_running_loop()
        waiting = f"still waiting for the hello of {self.prepared.name}"

        def tell(turn: int) -> None:
            patience.say(f"{waiting}, {turn * patience.every:g} s")
            timers.append(loop.call_later(patience.every, tell, turn + 1))

        timers = [loop.call_later(patience.every, tell, 1)]
        try:
            yield
        finally:
            timers[-1].cancel()

    @property
    def hello(self) -> Hello:
        """Client name, version, capabilities, contract version."""
        assert self._talk.hello is not None, "greet comes first"
        return self._talk.hello

    @property
    def talk(self) -> Talk:
        """The conversation itself, for who checks adapters."""
        return self._talk

    @property
    def clock(self) -> Clock:
        """How the adapter's clock stands to the suite's, and how exactly that is known."""
        return self._talk.clock

    @property
    def pid(self) -> int:
        """The process's id, which is its group's too."""
        return self._pipes.pid

    @property
    def failure(self) -> ConversationFailed | None:
        """What ended the conversation, or None while it goes on."""
        return self._talk.failure

    async def open_channel(
        self,
        target: str,
        *,
        deadline: float,
        knobs: Mapping[str, OptionValue] | None = None,
    ) -> Channel:
        """A new channel, not connected yet, with retries off.

        Raises:
            UnknownKnob: the client does not offer a knob, or only to a whole process.
            ClientHung: the adapter did not answer within `deadline` seconds.
            RequestRefused, ConversationFailed: as they say.
        """
        passed = self.prepared.client.manifest.pass_knobs(knobs or {})
        if passed.environment:
            raise UnknownKnob(
                f"client {self.prepared.client.name} reads {', '.join(passed.environment)} from "
                "its environment: give the knob when the process is started"
            )
        number = self._talk.next_id()
        options = {**self._options, **passed.options}
        request = OpenChannel(id=number, target=target, options=options)
        await self._talk.ask_and_wait(request, deadline=deadline)
        return Channel(self._talk, number)

    async def close(self, *, deadline: float) -> Exit:
        """End the process: close its stdin, wait `deadline` seconds, then kill its group.

        Nothing of the group is left when this returns, or when it is cancelled.
        """
        self._talk.fail(
            ConversationOver(
                "the suite has closed the client", hello_said=self._talk.hello is not None
            )
        )
        self._pipes.end_of_stdin()
        try:
            async with asyncio.timeout(deadline):
                await self._pipes.over.wait()
        except TimeoutError:
            self._killed = True
        finally:
            self._pipes.kill()
        await self._pipes.over.wait()
        self._pipes.close()
        code = self._pipes.returncode
        return Exit(
            code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            killed=self._killed,
            stderr_tail=self.stderr_tail(),
        )

    def stderr_tail(self) -> str:
        """The last lines that the process wrote to stderr."""
        with contextlib.suppress(FileNotFoundError), self.stderr_path.open("rb") as stderr:
            size = stderr.seek(0, os.SEEK_END)
            stderr.seek(max(0, size - _TAIL_BYTES))
            return stderr.read().decode("utf-8", "backslashreplace")
        return ""

    # What the pipes report.

    def heard(self, data: bytes) -> None:
        """Take in what came from stdout; who breaks the contract is ended at once."""
        if self._talk.failure is not None:
            return
        try:
            self._talk.hear(data)
        except Babble as babble:
            self._fail(ClientBabbled, babble.line, babble.why)
        except Flood:
            self._fail(ClientFlooded, "the client wrote without end")
        except OtherContract as other:
            self._fail(WrongContract, other.version, contract.VERSION)

    def ended(self, code: int) -> None:
        """Take in that the process has ended and that all it said was heard; first word counts."""
        if code < 0:
            self._fail(ClientCrashed, -code)
        else:
            self._fail(ClientExited, code)

    def _fail(self, how: Callable[..., ConversationFailed], *what: object) -> None:
        said = self._talk.hello is not None
        self._talk.fail(how(*what, hello_said=said, stderr_tail=self.stderr_tail()))
        self._pipes.kill()


class _Pipes(asyncio.SubprocessProtocol):
    """The operating system's side of a process."""

    def __init__(self, process: ClientProcess) -> None:
        self._process = process
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdout_open = True
        self._exited = False
        self.over: Final = asyncio.Event()  # it has exited, and all it wrote has been read

    @property
    def pid(self) -> int:
        assert self._transport is not None, "launched"
        return self._transport.get_pid()

    @property
    def returncode(self) -> int:
        assert self._transport is not None, "launched"
        code = self._transport.get_returncode()
        assert code is not None, "waited for"
        return code

    def write(self, line: bytes) -> None:
        self._stdin().write(line)

    def end_of_stdin(self) -> None:
        self._stdin().close()

    def kill(self) -> None:
        """End the whole group: a client may have started processes of its own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        assert self._transport is not None, "launched"
        self._transport.close()

    def _stdin(self) -> asyncio.WriteTransport:
        assert self._transport is not None, "launched"
        return cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    # asyncio's calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        stdout = self._transport.get_pipe_transport(1)
        if sys.platform == "linux" and stdout is not None:
            with contextlib.suppress(OSError):  # the user's share of large pipes is used up
                fcntl.fcntl(stdout.get_extra_info("pipe"), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        del fd  # stdout is the only one
        self._process.heard(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc
        if fd == 1:
            self._stdout_open = False
            self._end_if_over()

    def process_exited(self) -> None:
        self._exited = True
        self.kill()  # what is left of the group would hold stdout open
        self._end_if_over()

    def _end_if_over(self) -> None:
        if self._exited and not self._stdout_open:
            self._process.ended(self.returncode)
            self.over.set()


def tied(*command: str) -> tuple[str, ...]:
    """A command that becomes this one, tied to the life of this process."""
    return (sys.executable, "-I", "-S", str(_TRAMPOLINE), str(os.getpid()), *command)


def _inherited() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_KEPT_OUT) and not name.lower().endswith("_proxy")
    }
