"""A grpcio server that only this process reaches: on a Unix socket in a folder of its own."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

# The longest path that the address of a Unix socket has room for, by unix(7).
_LONGEST_PATH: Final = 107

_PREFIX: Final = "xdspec-scratch-"


_within: Path | None = None


def keep_folders_in(folder: Path | None) -> None:
    """Make the folders of sockets in this one, whose owner removes it even if this process dies.

    With None, they are made where temporary files are.
    """
    global _within  # noqa: PLW0603 - of this process, as the folder of temporary files is
    _within = folder


def unused_name() -> tuple[str, str]:
    """Return a name for a connection to a hidden server, and grpcio's name for its peer.

    Each name is random, so that a forked process does not repeat its parent's names.
    """
    name = f"xdspec-{secrets.token_hex(12)}"
    return name, f"unix-abstract:{name}"


class HiddenServer:
    """Starts a grpcio server behind a Unix socket, and starts another if that one ends by itself.

    Other processes cannot connect to the socket, so a `RequestScanner` before it sees each request.

    Args:
        make: Makes a server with its handlers, which is not started yet.
        report: Hears a sentence when a server has ended by itself.
    """

    def __init__(self, make: Callable[[], Awaitable[Any]], report: Callable[[str], None]) -> None:
        self._make = make
        self._report = report
        self._folder: Path | None = None
        self._lock = -1
        self._server: Any = None
        self._restart = asyncio.Lock()

    @property
    def path(self) -> str:
        """The socket."""
        assert self._folder is not None, "start comes first"
        return str(self._folder / "s")

    async def start(self) -> None:
        """Serve until `stop`."""
        self._folder, self._lock = _private_folder()
        try:
            await self._serve()
        except BaseException:
            self._remove_folder()
            raise

    async def connect(
        self, make: Callable[[], asyncio.BaseProtocol], name: str
    ) -> asyncio.Transport:
        """Connect to the server; start another one first if it has ended by itself.

        Args:
            make: Makes the protocol of the connection.
            name: From `unused_name`.

        Raises:
            OSError: it cannot be reached.
        """
        serving = self._server
        try:
            return await self._connect(make, name)
        except (FileNotFoundError, ConnectionRefusedError):
            # A server whose loop has ended listens no more. Its `wait_for_termination` may not
            # return then, so this is where it is seen.
            async with self._restart:
                if self._server is serving and self._folder is not None:
                    self._report("the gRPC server ended by itself; another one serves now")
                    with contextlib.suppress(Exception):  # what has ended it is raised again
                        await serving.stop(None)
                    await self._serve()
        return await self._connect(make, name)

    async def probe(self) -> None:
        """Report and replace the server if it ended unexpectedly since the last connection.

        Connections that were open before stay open, but their requests are not served.
        """
        if self._folder is None:
            return
        try:
            transport = await self.connect(asyncio.Protocol, unused_name()[0])
        except OSError as error:
            self._report(f"the gRPC server cannot be reached: {error}")
        else:
            transport.abort()

    async def stop(self) -> None:
        """End the server and all of its calls at once."""
        async with self._restart:
            self._remove_folder()
            if self._server is not None:
                await self._server.stop(None)
                self._server = None

    async def _connect(
        self, make: Callable[[], asyncio.BaseProtocol], name: str
    ) -> asyncio.Transport:
        own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        loop = asyncio.get_running_loop()
        try:
            own.bind(f"\0{name}")
            await loop.sock_connect(own, self.path)
            transport, _ = await loop.create_unix_connection(make, sock=own)
        except BaseException:
            own.close()
            raise
        return transport

    async def _serve(self) -> None:
        server = await self._make()
        server.add_insecure_port(f"unix:{self.path}")
        await server.start()
        self._server = server

    def _remove_folder(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            os.close(self._lock)
            self._folder = None


def _private_folder() -> tuple[Path, int]:
    """Make a folder that no other user may enter, with a path short enough for an address.

    Its name, and the lock on it, are those by which `xdspec run` finds and removes the folders of
    processes that were killed.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_within))
        if len(os.fsencode(folder / "s")) > _LONGEST_PATH:  # TMPDIR is too deep
            folder.rmdir()
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp"))
        with contextlib.suppress(FileNotFoundError):  # removed before it was locked
            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if folder.exists():
                return folder, handle
            os.close(handle)
