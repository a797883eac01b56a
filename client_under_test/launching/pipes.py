"""The operating system's side of a client's process, as asyncio tells of it."""

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


class Pipes(asyncio.SubprocessProtocol):
    """Stdin and stdout of a process, its end, and what is needed to bring that about.

    Args:
        heard: takes what comes from stdout.
        ended: takes the exit code, or a signal as a negative number, when all was heard.
    """

    def __init__(self, heard: Callable[[bytes], None], ended: Callable[[int], None]) -> None:
        self._heard = heard
        self._ended = ended
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdout_open = True
        self._exited = False
        self.over: Final = asyncio.Event()  # it has exited, and all it wrote has been read

    @property
    def pid(self) -> int:
        """The process's id, which is its group's too."""
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
        """End the whole group: a client may have started processes of its own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Give the pipes back."""
        assert self._transport is not None, "launched"
        self._transport.close()

    def _stdin(self) -> asyncio.WriteTransport:
        assert self._transport is not None, "launched"
        return cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    # asyncio's calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It has been started."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        stdout = self._transport.get_pipe_transport(1)
        if sys.platform == "linux" and stdout is not None:
            with contextlib.suppress(OSError):  # the user's share of large pipes is used up
                fcntl.fcntl(stdout.get_extra_info("pipe"), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It wrote to stdout."""
        del fd  # stdout is the only one
        self._heard(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """A pipe is closed: on stdout nothing more comes."""
        del exc
        if fd == 1:
            self._stdout_open = False
            self._end_if_over()

    def process_exited(self) -> None:
        """It has ended, or was ended."""
        self._exited = True
        self.kill()  # what is left of the group would hold stdout open
        self._end_if_over()

    def _end_if_over(self) -> None:
        if self._exited and not self._stdout_open:
            self._ended(self.returncode)
            self.over.set()
