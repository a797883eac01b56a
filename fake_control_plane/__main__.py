"""Serves a folder of resources: `python -m fake_control_plane --resources DIR`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

from fake_control_plane.control import ControlServer
from fake_control_plane.exceptions import ControlPlaneTrouble
from fake_control_plane.files import load_folder
from fake_control_plane.kinds import Kind
from fake_control_plane.server import ControlPlane, Keep
from fake_control_plane.snapshot import pack_all
from fake_control_plane.watch import watching
from regular_files import read_text

BAD_INPUT: Final = 4
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_HIGHEST_PORT: Final = 65535

# Bytes: as much metadata as servers take.
_LONGEST_TOKEN: Final = 8192

# A server runs for days. 32 MiB are the events of some hours of a busy client, and in memory a few
# times as much; load reports come each second.
_KEPT: Final = Keep(transcript=1 << 25, load_rows=10_000)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line; bad usage is bad input."""
        self.exit(BAD_INPUT, f"{self.prog}: {message}\n")


class _Address:
    """A host and a port, from a text like "127.0.0.1:1234", "[::1]:1234" or "name:1234"."""

    def __init__(self, text: str) -> None:
        host, _, port = text.rpartition(":")
        self.host = host.removeprefix("[").removesuffix("]")
        is_number = port.isascii() and port.isdecimal() and int(port) <= _HIGHEST_PORT
        if not self.host or not is_number or (":" in self.host and self.host == host):
            raise argparse.ArgumentTypeError(
                f'{text!r} is no address: write "HOST:PORT", or "[HOST]:PORT" for IPv6'
            )
        self.port = int(port)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="python -m fake_control_plane",
        description="Serve xDS resources from a folder and push every change to it. Print a JSON "
        'line for each address when it is ready: first "xds", then "control".',
        epilog="The control service is defined in control.proto and supports server reflection "
        "and health checks.",
    )
    parser.add_argument(
        "--resources",
        metavar="DIR",
        type=Path,
        required=True,
        help="the folder: protojson or YAML files, each resource with its @type",
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        type=_Address,
        default="127.0.0.1:0",
        help="where xDS is served; port 0 chooses a free one (default: %(default)s)",
    )
    parser.add_argument(
        "--control",
        metavar="HOST:PORT",
        type=_Address,
        help="where the control service listens (default: the host of --listen, a free port); "
        "another address than loopback needs --token-file",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        type=Path,
        help="a regular file with the token that each call of the control service must bring",
    )
    parser.add_argument(
        "--until-eof",
        action="store_true",
        help="end when standard input ends, so that no server outlives the program that started it",
    )
    return parser.parse_args(arguments)


def _read_token(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        token = read_text(file, most=_LONGEST_TOKEN).strip()
    except OSError as trouble:
        why = f"cannot be read: {trouble.strerror}"
        raise _BadToken(f"The token file {str(file)!r} {why}.") from trouble
    if not token or not (token.isascii() and token.isprintable()):
        raise _BadToken(f"The token file {str(file)!r} holds no token: one line of ASCII text.")
    return token


class _BadToken(ControlPlaneTrouble):
    """The token file is of no use."""


class _StillEmpty(ControlPlaneTrouble):
    """The folder is another one than before, and nothing has been put into it yet."""


class _Stopped(BaseException):
    """A signal has come while a folder was read; no exception, so that no reader handles it."""


class _Signals:
    """Handles SIGINT and SIGTERM, also in a block in which the event loop has no turn.

    Args:
        end: Called in the event loop when one has come.
    """

    def __init__(self, end: Callable[[], object]) -> None:
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._have_come = False
        self._may_raise = False

    @contextlib.contextmanager
    def handled(self) -> Iterator[None]:
        """Handle them for the length of a `with` block."""
        before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def interrupting(self) -> Iterator[None]:
        """Let one end the block.

        Raises:
            _Stopped: one has come, perhaps before the block began.
        """
        self._may_raise = True
        try:
            if self._have_come:
                raise _Stopped
            yield
        finally:
            self._may_raise = False

    def _handle(self, _number: int, _frame: object) -> None:
        self._have_come = True
        if self._may_raise:
            raise _Stopped
        self._loop.call_soon_threadsafe(self._end)


class _Folder:
    """Serves a folder: all of it first, then the types that change."""

    def __init__(self, path: Path, plane: ControlPlane, signals: _Signals) -> None:
        self._path = path
        self._plane = plane
        self._signals = signals
        self._served: dict[Kind, Any] = {}
        self._held: int | None = None

    async def serve(self) -> None:
        """Bring the control plane to what the folder holds now.

        Raises:
            ControlPlaneTrouble: it cannot be read; what was served stays.
        """
        with self._signals.interrupting():
            await self._serve()

    async def _serve(self) -> None:
        content = load_folder(self._path)
        resources, versions = content.resources, content.versions
        if not resources and self._is_another():
            raise _StillEmpty(f"{self._path}: was made again, and holds no resource yet.")
        packed = pack_all(resources)
        served = {
            kind: (packed.get(kind), versions.get(kind) if kind in packed else None)
            for kind in Kind
        }
        changed = [kind for kind in Kind if served[kind] != self._served.get(kind, (None, None))]
        wanted = [r for r in resources if Kind.of_full_name(r.DESCRIPTOR.full_name) in changed]
        await self._plane.replace(*wanted, kinds=changed, version=versions)
        self._served = served
        self._hold()

    def close(self) -> None:
        """Let go of the folder."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _is_another(self) -> bool:
        """Return whether the path now leads to another folder: a new one, or by a changed link."""
        if self._held is None:
            return False
        try:
            return not os.path.samestat(os.fstat(self._held), self._path.stat())
        except OSError:
            return True

    def _hold(self) -> None:
        # As long as it is held, no folder that is made in its place has its number.
        self.close()
        with contextlib.suppress(OSError):  # it has gone meanwhile, which will be said
            self._held = os.open(self._path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


async def _serve(options: argparse.Namespace) -> None:
    wake = asyncio.Event()
    stop = threading.Event()

    def end() -> None:
        stop.set()
        wake.set()

    signals = _Signals(end)
    with signals.handled():
        if options.until_eof:
            _call_at_eof(end)
        await _serve_until(stop, wake, options, signals)


async def _serve_until(
    stop: threading.Event, wake: asyncio.Event, options: argparse.Namespace, signals: _Signals
) -> None:
    token = _read_token(options.token_file)
    with signals.interrupting():
        load_folder(options.resources)  # so that a bad folder is said before anything listens
    listen = options.listen
    control = options.control or argparse.Namespace(host=listen.host, port=0)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(watching(options.resources, wake, stop))
        plane = await stack.enter_async_context(
            ControlPlane.running(host=listen.host, port=listen.port, keep=_KEPT)
        )
        folder = _Folder(options.resources, plane, signals)
        stack.callback(folder.close)
        await folder.serve()
        steering = await stack.enter_async_context(
            ControlServer.running(plane, host=control.host, port=control.port, token=token)
        )
        for name, address in (("xds", plane.address), ("control", steering.address)):
            _announce(name, address)
        said = ""
        while await wake.wait() and not stop.is_set():
            wake.clear()
            try:
                await folder.serve()
            except ControlPlaneTrouble as trouble:
                # One change may wake it more than once.
                if (sentence := str(trouble)) != said:
                    _say(f"{sentence} What was served before stays.")
                said = sentence
            else:
                said = ""
    for sentence in plane.troubles:
        _say(sentence)


def _call_at_eof(end: Callable[[], object]) -> None:
    """Call `end` in this event loop when standard input ends."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        while os.read(sys.stdin.fileno(), 65536):
            pass
        with contextlib.suppress(RuntimeError):  # the loop has ended first
            loop.call_soon_threadsafe(end)

    # A thread, as an event loop cannot wait for a regular file. It blocks nothing at exit.
    threading.Thread(target=read, daemon=True).start()


def _announce(name: str, address: str) -> None:
    """Print where a server listens, in the same form as `python -m test_servers`."""
    parts = _Address(address)
    line = {"id": name, "address": address, "host": parts.host, "port": parts.port}
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


def _say(sentence: str) -> None:
    sys.stderr.write(f"fake_control_plane: {sentence}\n")
    sys.stderr.flush()


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; the exit code."""
    options = _parse(arguments)
    try:
        with contextlib.suppress(_Stopped):
            asyncio.run(_serve(options))
    except ControlPlaneTrouble as trouble:
        _say(str(trouble))
        return BAD_INPUT
    return 0


if __name__ == "__main__":
    # All is closed by now. To free what was read, one by one, would take most of a second.
    os._exit(main())
