"""Drives the client for xdspec: JSON lines on stdin and stdout, as contract.md says."""
# ruff: noqa: D102, ERA001, INP001 - a program with an example; contract.md describes requests

import asyncio
import json
import os
import sys
import time
import traceback
from importlib import metadata
from typing import Any

CONTRACT = 2
DISTRIBUTION = "grpcio"  # as in client.toml
# client.toml has this list too: change both.
CAPABILITIES = ["metadata", "wait_for_ready", "kept_open", "cancel", "channels", "watch", "connect"]

LINE_LIMIT = 1 << 27  # a request of a hundred thousand calls is one line

Fields = dict[str, Any]


class Adapter:
    """What one process holds: its clock, its channels, and the calls that have not finished."""

    def __init__(self) -> None:
        self.zero: int | None = None
        self.channels: dict[int, Any] = {}

    def now(self) -> int:
        return (time.monotonic_ns() - (self.zero or 0)) // 1000

    def say(self, kind: str, **fields: Any) -> None:
        sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
        sys.stdout.flush()

    async def answer(self, line: bytes) -> None:
        """Answer one line. Others run beside it: what must be in order comes before any await."""
        request: Any = None
        try:
            request = json.loads(line)
            do = {
                "hello": self.hello,
                "open_channel": self.open_channel,
                "start_calls": self.start_calls,
                "cancel": self.cancel,
                "watch": self.watch,
                "connect": self.connect,
                "close": self.close,
            }
            await do[request["type"]](request)
        except Exception as trouble:  # noqa: BLE001 - the suite receives every one
            number = request.get("id") if isinstance(request, dict) else None
            place = traceback.extract_tb(trouble.__traceback__)[-1]
            where = f"{place.name}, line {place.lineno}"
            self.say("error", id=number, message=f"{type(trouble).__name__}: {trouble} ({where})")

    async def hello(self, request: Fields) -> None:
        self.zero = self.zero or time.monotonic_ns()
        about = {"contract": CONTRACT, "name": DISTRIBUTION}
        about["version"] = metadata.version(DISTRIBUTION)
        self.say("hello", id=request["id"], **about, capabilities=CAPABILITIES, at=self.now())

    # To write, in the order in which `xdspec doctor` asks for them. Each ends with
    # self.say("done", id=request["id"]); the adapter reports what it raises as `error`.

    async def open_channel(self, request: Fields) -> None:
        raise NotImplementedError("open_channel is not written yet")

    async def start_calls(self, request: Fields) -> None:
        raise NotImplementedError("start_calls is not written yet")

    # Do not cancel the asyncio task of a call. A task that is cancelled before its first step runs
    # nothing, not even its `except`, so the call would never finish. Remember the id instead, and
    # look it up when the call's turn comes (in __init__: self.cancelled = set(), self.sent = {}):
    #
    #     async def cancel(self, request: Fields) -> None:
    #         for name in request["calls"]:
    #             self.cancelled.add(name)
    #             if name in self.sent:
    #                 self.sent[name].cancel()
    #         self.say("done", id=request["id"])
    #
    #     async def outcome(self, channel: Any, call: Fields) -> tuple[str, str]:
    #         if call["id"] in self.cancelled:
    #             return "CANCELLED", "cancelled before it was sent"
    #         rpc = self.sent[call["id"]] = channel.unary_unary(call["path"])(b"")
    #         status, details = (await rpc.code()).name, await rpc.details() or ""
    #         del self.sent[call["id"]]
    #         return status, details

    async def cancel(self, request: Fields) -> None:
        raise NotImplementedError("cancel is not written yet")

    async def watch(self, request: Fields) -> None:
        raise NotImplementedError("watch is not written yet")

    async def connect(self, request: Fields) -> None:
        raise NotImplementedError("connect is not written yet")

    async def close(self, request: Fields) -> None:
        raise NotImplementedError("close is not written yet")


async def main() -> None:
    """Answer lines until there are no more."""
    stdin = asyncio.StreamReader(limit=LINE_LIMIT)
    protocol = asyncio.StreamReaderProtocol(stdin)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    adapter, running = Adapter(), set()
    async for line in stdin:
        task = asyncio.create_task(adapter.answer(line))
        running.add(task)
        task.add_done_callback(running.discard)
    os._exit(0)  # end of stdin means exit: whatever is still open is dropped


if __name__ == "__main__":
    asyncio.run(main())
