"""A client's process: started so that it dies with the suite, talked to, and surely ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import msgspec

from client_under_test.contract import messages as contract
from client_under_test.contract.adapter_clock import Clock, Impossible
from client_under_test.contract.conversation import Flood, OtherContract
from client_under_test.contract.exceptions import (
    ClientCrashed,
    ClientExited,
    ClientFlooded,
    ClientUnresponsive,
    ClockWrong,
    ConversationFailed,
    ConversationOver,
    HelloContradicted,
    ProtocolError,
    StdoutClosed,
    UnknownKnob,
    WrongContract,
)
from client_under_test.contract.invalid_line import InvalidLine
from client_under_test.contract.messages import Hello, OpenChannel, OptionValue, RegisterPolicy
from client_under_test.environments import Prepared
from client_under_test.launching.channels import Channel
from client_under_test.launching.environment import found, inherited
from client_under_test.launching.hello_check import contradiction
from client_under_test.launching.pipes import Pipes
from client_under_test.launching.policies import RegisteredPolicy
from client_under_test.launching.protocol import StdioProtocol
from client_under_test.supervision import guarded

if TYPE_CHECKING:
    from client_under_test.launching.zygotes import ForkServers

# The first hello finds the process starting up; the next ones measure nothing but the pipes.
_HELLOS: Final = 4

_TAIL_BYTES: Final = 1 << 16  # the stacks of all goroutines come after the cause of a panic

# A client that logs without end must not fill the disk: its writes fail from here on.
_LARGEST_FILE: Final = 1 << 30
_ONE_CLOCK: Final = (
    "take every time from one monotonic clock, in microseconds since the first hello"
)
_IS_FLUSHED: Final = "does the adapter flush stdout after each line?"


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How a process ended: by `code` or by `signal`; `killed` if the suite had to."""

    code: int | None
    signal: int | None
    killed: bool
    stderr_tail: str


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Progress while waiting for a hello: `say` receives a sentence each `every` seconds."""

    every: float
    say: Callable[[str], None]


class ClientProcess:
    """A running adapter. Made by `start`, or by `launch` ahead of time and `greet` later.

    The process has a session and group of its own, and a guard that ends what it has started. It
    dies with the thread that launched it. One event loop uses it. Its working directory is
    `folder`, which no other process shares, next to its stderr: a core file or a tool's log is
    there. The caller of `launch` removes the folder.
    """

    def __init__(
        self, prepared: Prepared, stderr_path: Path, options: Mapping[str, OptionValue]
    ) -> None:
        self.prepared: Final = prepared
        self.stderr_path: Final = stderr_path
        self.folder: Final = self.folder_of(stderr_path)
        self._options = dict(options)
        self._pipes = Pipes(self._heard, self._silent, self._ended)
        self._dialogue = StdioProtocol(self._pipes.write, self.stderr_tail)
        self._killed = False
        self._channels: list[Channel] = []
        self._stderr_start = 0

    @staticmethod
    def folder_of(stderr_path: Path) -> Path:
        """Return the working directory of the process with this stderr."""
        return stderr_path.with_suffix(".files").absolute()

    @classmethod
    async def start(
        cls,
        prepared: Prepared,
        *,
        stderr_path: Path,
        deadline: float,
        environment: Mapping[str, str | None] | None = None,
        knobs: Mapping[str, OptionValue] | None = None,
        within: Sequence[str] = (),
        patience: Patience | None = None,
        as_stated: bool = True,
    ) -> Self:
        """Launch the adapter and hear its hello.

        Args:
            prepared: what to start.
            stderr_path: the file that keeps the process's stderr.
            deadline: seconds until the hello.
            environment: what this process is given besides the manifest's own, e.g. its bootstrap;
                None for what it is not to have at all.
            knobs: generic knobs: by the environment or on every channel, as the manifest says.
            within: a command that becomes the one behind it: see `private_names`.
            patience: who hears meanwhile that the hello has not come.
            as_stated: whether the hello must tell what the manifest does.

        Raises:
            UnknownKnob: the client does not offer a knob.
            ConversationFailed: there was no hello, or another one; nothing is left running.
        """
        process = await cls.launch(
            prepared,
            stderr_path=stderr_path,
            environment=environment,
            knobs=knobs,
            within=within,
        )
        try:
            await process.greet(deadline=deadline, patience=patience, as_stated=as_stated)
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
        fork_servers: ForkServers | None = None,
    ) -> Self:
        """Start the process and let it warm up; `greet` comes next.

        Args:
            prepared: as of `start`.
            stderr_path: as of `start`.
            environment: as of `start`.
            knobs: as of `start`.
            within: a command that becomes the one behind it: see `private_names`.
            fork_servers: where it is forked, if it can be.
        """
        passed = prepared.client.manifest.pass_knobs(knobs or {})
        own = {**inherited(), **prepared.environment, **passed.environment}
        asked = {**own, **(environment or {})}
        given = {name: value for name, value in asked.items() if value is not None}
        command = (*prepared.wrap, *found(prepared.command))
        process = cls(prepared, stderr_path, passed.options)
        process.folder.mkdir(parents=True, exist_ok=True)
        # What the user says where the manifest asks, a command perhaps, holds where it was said.
        folder = Path.cwd() if prepared.client.manifest.start.asks else process.folder
        pipes = process._pipes
        try:
            with stderr_path.open("ab") as stderr:
                if (
                    fork_servers is not None
                    and not (within or prepared.wrap)
                    and await fork_servers.fork(
                        prepared, pipes, given, folder, stderr, pipes.tell, _LARGEST_FILE
                    )
                ):
                    return process
                await asyncio.get_running_loop().subprocess_exec(
                    lambda: pipes,
                    *guarded(*within, *command, told=pipes.tell, largest=_LARGEST_FILE),
                    stderr=stderr,
                    env={**given, "PWD": str(folder)},
                    cwd=folder,
                    pass_fds=(pipes.tell,),
                    start_new_session=True,
                )
        finally:
            pipes.begun()
        return process

    async def greet(
        self, *, deadline: float, patience: Patience | None = None, as_stated: bool = True
    ) -> None:
        """Hear the hello, and measure how the adapter's clock stands to the suite's.

        Args:
            deadline: seconds until the hello.
            patience: who hears meanwhile that it has not come.
            as_stated: whether the hello must tell what the manifest does.

        Raises:
            HelloContradicted: it does not.
            ConversationFailed: there was no hello within `deadline` seconds.
        """
        try:
            async with asyncio.timeout(deadline):
                with self._told(patience):
                    await self._dialogue.say_hello()
                for _ in range(_HELLOS - 1):
                    await self._dialogue.say_hello()
        except TimeoutError:
            raise ClientUnresponsive(
                f"the client did not say hello within {deadline:g} s",
                hello_said=self._dialogue.hello is not None,
                stderr_tail=self.stderr_tail(),
            ) from None
        if as_stated and (why := contradiction(self.hello, self.prepared)):
            raise HelloContradicted(
                why,
                hello_said=True,
                stderr_tail=self.stderr_tail(),
            )

    async def look_at_the_clock(self, *, deadline: float) -> None:
        """Ask what the time is: a clock that jumped since the hello is found out.

        One who does not answer within `deadline` seconds is busy, and nothing is said of its clock.

        Raises:
            ConversationFailed: it jumped, or the client died.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline):
                await self._dialogue.say_hello()

    @contextlib.contextmanager
    def _told(self, patience: Patience | None) -> Iterator[None]:
        """Report repeatedly, until the end of the block, that the suite still waits."""
        if patience is None:
            yield
            return
        loop = asyncio.get_running_loop()
        waiting = f"still waiting for the hello of {self.prepared.name}"

        def tell(turn: int) -> None:
            patience.say(f"{waiting}, {turn * patience.every:g} s: {_IS_FLUSHED}")
            timers.append(loop.call_later(patience.every, tell, turn + 1))

        timers = [loop.call_later(patience.every, tell, 1)]
        try:
            yield
        finally:
            timers[-1].cancel()

    @property
    def hello(self) -> Hello:
        """Client name, version, capabilities, contract version."""
        assert self._dialogue.hello is not None, "greet comes first"
        return self._dialogue.hello

    @property
    def dialogue(self) -> StdioProtocol:
        """The conversation itself, for who checks adapters."""
        return self._dialogue

    @property
    def clock(self) -> Clock:
        """How the adapter's clock stands to the suite's, and how exactly that is known."""
        return self._dialogue.clock

    @property
    def pid(self) -> int:
        """The process's id, which is its group's too."""
        return self._pipes.pid

    @property
    def failure(self) -> ConversationFailed | None:
        """What ended the conversation, or None while it goes on."""
        return self._dialogue.failure

    @property
    def stderr_start(self) -> int:
        """Where the stderr of the present use of the process begins in its file, in bytes."""
        return self._stderr_start

    def begin_use(self) -> None:
        """Begin another use of the process: earlier stderr is no part of it."""
        with contextlib.suppress(FileNotFoundError):
            self._stderr_start = self.stderr_path.stat().st_size

    async def release(self, *, deadline: float) -> None:
        """Close every channel, and wait until all that was requested has come to its end.

        Args:
            deadline: seconds for each channel, and for the rest.

        Raises:
            ClientHung: something did not end in time.
            RequestRefused, ConversationFailed: as they say.
        """
        channels, self._channels = self._channels, []
        for channel in channels:
            if not channel.is_closed:
                await channel.close(deadline=deadline)
        await self._dialogue.settled(deadline=deadline)

    async def register_policy(self, name: str, *, deadline: float) -> RegisteredPolicy:
        """Have a policy of this name in the client's registry; before any channel is opened.

        Raises:
            ValueError: there is a channel, or the client cannot do it (`custom_policy`).
            ClientHung: the adapter did not answer within `deadline` seconds.
            RequestRefused, ConversationFailed: as they say.
        """
        number = self._dialogue.next_id()
        policy = RegisteredPolicy(self._dialogue, number, name)
        request = RegisterPolicy(id=number, name=name)
        await self._dialogue.ask_and_wait(request, deadline=deadline)
        return policy

    async def open_channel(
        self,
        target: str,
        *,
        deadline: float,
        knobs: Mapping[str, OptionValue] | None = None,
        service_config: str | None = None,
        bootstrap: str | None = None,
    ) -> Channel:
        """Open a channel, without connecting it, with retries off.

        Args:
            target: as gRPC names it.
            deadline: seconds for the adapter's answer.
            knobs: as of `start`, for this channel.
            service_config: its default service config as JSON text; needs `custom_policy`.
            bootstrap: its own bootstrap as JSON text; needs `bootstrap_per_channel`.

        Raises:
            ValueError: one of these is given, and the client cannot have it.
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
        number = self._dialogue.next_id()
        options = {**self._options, **passed.options}
        request = OpenChannel(
            id=number,
            target=target,
            options=options,
            service_config=service_config,
            bootstrap=bootstrap,
        )
        await self._dialogue.ask_and_wait(request, deadline=deadline)
        self._channels.append(Channel(self._dialogue, number))
        return self._channels[-1]

    async def close(self, *, deadline: float) -> Exit:
        """End the process: close its stdin, wait `deadline` seconds, then kill it.

        Nothing of it, nor of what it has started, is left when this returns. All of that is being
        ended when this is cancelled.
        """
        self._dialogue.fail(
            ConversationOver(
                "the suite has closed the client", hello_said=self._dialogue.hello is not None
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
        await self._pipes.killed()
        self._pipes.close()
        code = self._pipes.returncode
        return Exit(
            code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            killed=self._killed,
            stderr_tail=self.stderr_tail(),
        )

    def stderr_tail(self) -> str:
        """Return the last lines that the process wrote to stderr."""
        with contextlib.suppress(FileNotFoundError), self.stderr_path.open("rb") as stderr:
            size = stderr.seek(0, os.SEEK_END)
            stderr.seek(max(self._stderr_start, size - _TAIL_BYTES))
            return stderr.read().decode("utf-8", "backslashreplace")
        return ""

    # What the pipes report.

    def _heard(self, data: bytes) -> None:
        """Take in what came from stdout; who breaks the contract is ended at once."""
        if self._dialogue.failure is not None:
            return
        try:
            self._dialogue.hear(data)
        except InvalidLine as invalid:
            self._fail(partial(ProtocolError, fault=invalid.fault), invalid.line, invalid.why)
        except Flood:
            self._fail(ClientFlooded, "the client wrote without end")
        except OtherContract as other:
            self._fail(WrongContract, other.version, contract.VERSIONS)
        except Impossible as why:
            self._fail(ClockWrong, f"{why}: {_ONE_CLOCK}")

    def _silent(self) -> None:
        """Take in that nothing more will be heard of a process that goes on."""
        self._fail(StdoutClosed)

    def _ended(self, code: int) -> None:
        """Take in that the process has ended and that all it said was heard; first word counts."""
        if code < 0:
            self._fail(ClientCrashed, -code)
        else:
            self._fail(ClientExited, code)

    def _fail(self, how: Callable[..., ConversationFailed], *what: object) -> None:
        said = self._dialogue.hello is not None
        self._dialogue.fail(how(*what, hello_said=said, stderr_tail=self.stderr_tail()))
        self._pipes.kill()
