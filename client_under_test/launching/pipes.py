"""The pipes and the end of a client's process, as asyncio reports them."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import Callable
from typing import Final, cast

# Room for some thousand outcomes: an adapter must not wait, and its calls come late, because the
# suite is busy with something else. More needs a privilege.
_PIPE_BYTES: Final = 1 << 20

_NUMBER_BYTES: Final = 32

EXITING: Final = 2.0
"""Seconds from the end of stdout to that of the process, where one brings the other: far above what
the system takes to take a process down on a loaded machine."""

DRAINING: Final = 2.0
"""Seconds from the end of the process to that of its stdout: what it wrote is there and only has to
be read. More is another's, who holds it open and is out of reach."""

ENDING: Final = 5.0
"""Seconds in which a guard has ended all that is below it, also on a loaded machine."""


class Pipes(asyncio.SubprocessProtocol):
    """Stdin and stdout of a guarded process, its end, and the means to end it.

    Args:
        heard: receives the bytes of stdout.
        silent: called when a process that keeps running has closed stdout.
        ended: receives the exit code, or a signal as a negative number, after the end of stdout.
    """

    def __init__(
        self,
        heard: Callable[[bytes], None],
        silent: Callable[[], None],
        ended: Callable[[int], None],
    ) -> None:
        self._heard = heard
        self._silent = silent
        self._ended = ended
        self._transport: asyncio.SubprocessTransport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._told, self.tell = os.pipe()
        """By the second the guard's child says its number."""
        self._pid = 0
        self._stdout_open = True
        self._exited = False
        self.over: Final = asyncio.Event()  # it has exited, and all it wrote has been read

    @property
    def pid(self) -> int:
        """The process's id, which is its group's too; its guard's if it never began."""
        if not self._pid:
            self._pid = int(os.read(self._told, _NUMBER_BYTES) or self._guard)
            os.close(self._told)
        return self._pid

    def begun(self) -> None:
        """Close this process's copy of the pipe for the process id, after the attempt to start."""
        os.close(self.tell)

    @property
    def _guard(self) -> int:
        assert self._transport is not None, "launched"
        return self._transport.get_pid()

    @property
    def returncode(self) -> int:
        """Its exit code, or a signal as a negative number, once it is `over`."""
        assert self._transport is not None, "launched"
        code = self._transport.get_returncode()
        assert code is not None, "waited for"
        return code

    def write(self, line: bytes) -> None:
        """Send a line to its stdin."""
        self._stdin().write(line)

    def end_of_stdin(self) -> None:
        """Ask it to end, by the contract."""
        self._stdin().close()

    def kill(self) -> None:
        """Have the guard end it, with all that it has started."""
        self._signal(signal.SIGTERM)

    async def killed(self) -> None:
        """Have it ended, and wait for that; it takes no longer than ENDING and DRAINING."""
        self.kill()
        try:
            async with asyncio.timeout(ENDING):
                await self.over.wait()
        except TimeoutError:
            self._signal(signal.SIGKILL)  # the guard was stopped, say: its child dies with it
            await self.over.wait()

    def _signal(self, number: int) -> None:
        assert self._transport is not None, "launched"
        if self._transport.get_returncode() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._guard, number)

    def close(self) -> None:
        """Give the pipes back."""
        assert self._transport is not None, "launched"
        self._transport.close()
        if not self._pid:
            _ = self.pid

    def _stdin(self) -> asyncio.WriteTransport:
        assert self._transport is not None, "launched"
        return cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    # asyncio's calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that the process has started."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        stdout = self._transport.get_pipe_transport(1)
        if sys.platform == "linux" and stdout is not None:
            with contextlib.suppress(OSError):  # the user's share of large pipes is used up
                fcntl.fcntl(stdout.get_extra_info("pipe"), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take data that the process wrote to stdout."""
        del fd  # stdout is the only one
        self._heard(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that a pipe is closed: no more data follows on stdout."""
        del exc
        if fd == 1:
            self._stdout_open = False
            if self._exited:
                self._finish()
            else:
                self._later(EXITING, self._silent)

    def process_exited(self) -> None:
        """Note that the process has ended."""
        self._exited = True
        if self._stdout_open:
            assert self._transport is not None, "launched"
            stdout = self._transport.get_pipe_transport(1)
            assert stdout is not None, "it is a pipe"
            self._later(DRAINING, stdout.close)
        else:
            self._finish()

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, what)

    def _finish(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._ended(self.returncode)
        self.over.set()
