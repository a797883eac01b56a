"""The bridge: the contract of contract.md on one side, a stock xDS interop client on the other.

    python -I -m client_under_test.adapters.interop --version=VERSION [COMMAND...]

Without COMMAND, the environment variable XDSPEC_INTEROP_CLIENT contains the command. An interop
client cannot give each call its own metadata, so the bridge lacks the capability `metadata`. It
makes calls in batches of equal calls, and more calls than the suite requested.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shlex
import shutil
import sys
import time
from typing import Any, Final

from client_under_test.adapters.interop.stock import METHODS, Made, Pairs, StockClient, Unfit

CONTRACT: Final = 1
COMMAND: Final = "XDSPEC_INTEROP_CLIENT"
RATE: Final = int(os.environ.get("XDSPEC_INTEROP_QPS", "200"))

LINE_LIMIT: Final = 1 << 27  # a request of a hundred thousand calls is one line

Fields = dict[str, Any]
How = tuple[str, Pairs, int]
"""Path, metadata, and deadline in whole seconds."""
Row = tuple[How, list[str]]
"""How calls are made that are alike, and their ids."""


class Bridge:
    """What one process holds: its clock, and a stock client for each channel."""

    def __init__(self, version: str, command: list[str]) -> None:
        self.version = version
        self.command = command
        self.zero: int | None = None
        self.clients: dict[int, StockClient] = {}
        self.turns: dict[int, asyncio.Lock] = {}
        self.under_way: dict[int, set[asyncio.Task[None]]] = {}

    def now(self) -> int:
        """Microseconds since the first hello."""
        return (time.monotonic_ns() - (self.zero or 0)) // 1000

    def say(self, kind: str, **fields: Any) -> None:
        """Write a line."""
        sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
        sys.stdout.flush()

    async def answer(self, line: bytes) -> None:
        """Do what a line asks."""
        request: Any = None
        try:
            request = json.loads(line)
            do = {
                "hello": self.hello,
                "open_channel": self.open_channel,
                "start_calls": self.start_calls,
                "close": self.close,
            }
            await do[request["type"]](request)
        except Exception as trouble:  # noqa: BLE001 - the suite gets every error
            number = request.get("id") if isinstance(request, dict) else None
            words = str(trouble) if isinstance(trouble, Unfit) else repr(trouble)
            self.say("error", id=number, message=words)

    async def hello(self, request: Fields) -> None:
        """Say who is here."""
        self.zero = self.zero or time.monotonic_ns()
        about = {"contract": CONTRACT, "name": "interop", "version": self.version}
        self.say("hello", id=request["id"], **about, capabilities=[], at=self.now())

    async def open_channel(self, request: Fields) -> None:
        """Keep the target: the client would connect at once, so it starts with the first call."""
        number = request["id"]
        self.clients[number] = StockClient(self.command, request["target"], RATE)
        self.turns[number] = asyncio.Lock()
        self.under_way[number] = set()
        self.say("done", id=number)

    async def start_calls(self, request: Fields) -> None:
        """Make the calls, a row of alike ones at a time."""
        number, calls = request["channel"], request["calls"]
        rows = [(how, [call["id"] for call in row]) for how, row in itertools.groupby(calls, _how)]
        waiting = dict.fromkeys(call["id"] for call in calls)
        task = asyncio.create_task(self.make(number, rows, waiting))
        self.under_way[number].add(task)
        try:
            await task
        except asyncio.CancelledError:  # the channel was closed
            for name in waiting:
                self.finish(name, ("CANCELLED", None), self.now())
        finally:
            self.under_way.get(number, set()).discard(task)
        self.say("done", id=request["id"])

    async def make(self, number: int, rows: list[Row], waiting: dict[str, None]) -> None:
        """Make rows of calls, and tell how each call ended; those that did wait no longer."""
        client = self.clients[number]
        async with self.turns[number]:
            for how, names in rows:
                await client.turn_to(*how)
                started_at = self.now()
                for name, made in zip(names, await client.made(len(names)), strict=True):
                    self.finish(name, made, started_at)
                    del waiting[name]
            await client.rest()

    def finish(self, name: str, made: Made, started_at: int) -> None:
        """Tell how a call ended."""
        status, hostname = made
        times = {"started_at": started_at, "ended_at": self.now()}
        self.say("finished", call=name, status=status, details="", hostname=hostname, **times)

    async def close(self, request: Fields) -> None:
        """End the channel's client."""
        number = request["channel"]
        client, tasks = self.clients.pop(number), self.under_way.pop(number)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await client.end()
        self.say("done", id=request["id"])


def _how(call: Fields) -> How:
    """Return the settings that all calls of a batch share.

    Raises:
        Unfit: a stock client cannot make such a call.
    """
    path, pairs = call["path"], tuple((key, value) for key, value in call["metadata"])
    if path not in METHODS or call["kept_open"] or call["wait_for_ready"]:
        raise Unfit("a stock client makes EmptyCall and UnaryCall, and does not wait for ready")
    if any(key.endswith("-bin") for key, _ in pairs):
        raise Unfit("a stock client is given metadata as text only")
    deadline = call["deadline"]
    return path, pairs, 0 if deadline is None else max(1, -(-deadline // 1_000_000))


def command() -> list[str]:
    """Return the user's command.

    Raises:
        SystemExit: there is none, or no such program.
    """
    try:
        words = sys.argv[2:] or command_of(os.environ.get(COMMAND, ""))
    except ValueError as error:
        sys.exit(f"{COMMAND} is no command: {error}")
    if not words:
        sys.exit(f"the command of a stock xDS interop client is wanted in {COMMAND}")
    if shutil.which(words[0]) is None:
        sys.exit(f"there is no program {words[0]}, which {COMMAND} should start")
    return words


def command_of(text: str) -> list[str]:
    """Split a command into arguments; the path of an existing program is a single argument.

    Raises:
        ValueError: a quotation is not closed.
    """
    return [text] if os.path.isfile(text) else shlex.split(text)  # noqa: PTH113 - also if it is long


async def main() -> None:
    """Answer until the end of stdin."""
    bridge, running = Bridge(sys.argv[1].removeprefix("--version="), command()), set()
    stdin = asyncio.StreamReader(limit=LINE_LIMIT)
    protocol = asyncio.StreamReaderProtocol(stdin)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    async for line in stdin:
        task = asyncio.create_task(bridge.answer(line))
        running.add(task)
        task.add_done_callback(running.discard)
    for client in bridge.clients.values():
        with contextlib.suppress(Exception):
            await client.end()
    os._exit(0)  # end of stdin means exit: whatever is still open is dropped


if __name__ == "__main__":
    asyncio.run(main())
