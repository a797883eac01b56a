"""Drives grpcio for the suite: JSON lines on stdin and stdout, as contract.md says."""
# ruff: noqa: D102, D103, INP001 - a program; contract.md describes each request

import asyncio
import base64
import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import grpc
from grpc import aio

CONTRACT = 2
CAPABILITIES = ["metadata", "wait_for_ready", "kept_open", "cancel", "channels", "watch", "connect"]
CAPABILITIES += ["response_headers"]

# Retries would hide failures; shared subchannels would carry backoff from channel to channel.
OPTIONS = {"grpc.enable_retries": 0, "grpc.use_local_subchannel_pool": 1}

LINE_LIMIT = 1 << 27  # a request of a hundred thousand calls is one line

Fields = dict[str, Any]


class Adapter:
    """What one process holds: its clock, its channels, and the calls that have not finished."""

    def __init__(self) -> None:
        self.zero: int | None = None
        self.channels: dict[int, aio.Channel] = {}
        self.watchers: dict[int, asyncio.Task[None]] = {}
        self.watched: set[int] = set()
        # By id: the channel's number, and the RPC once the call's turn has come.
        self.calls: dict[str, tuple[int, Any]] = {}

    def now(self) -> int:
        return (time.monotonic_ns() - (self.zero or 0)) // 1000

    def say(self, kind: str, **fields: Any) -> None:
        sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
        sys.stdout.flush()

    async def answer(self, line: bytes) -> None:
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
        except Exception as trouble:  # noqa: BLE001 - the suite gets every error
            number = request.get("id") if isinstance(request, dict) else None
            self.say("error", id=number, message=f"{type(trouble).__name__}: {trouble}")

    async def hello(self, request: Fields) -> None:
        self.zero = self.zero or time.monotonic_ns()
        about = {"contract": CONTRACT, "name": "grpcio", "version": grpc.__version__}
        self.say("hello", id=request["id"], **about, capabilities=CAPABILITIES, at=self.now())

    async def open_channel(self, request: Fields) -> None:
        number, options = request["id"], {**OPTIONS, **request["options"]}
        channel = aio.insecure_channel(request["target"], options=tuple(options.items()))
        self.channels[number] = channel
        # From the start: up to 1.65, ADS updates are read only while something runs or watches.
        self.watchers[number] = asyncio.create_task(self.follow(number, channel))
        self.say("done", id=number)

    async def follow(self, number: int, channel: aio.Channel) -> None:
        while True:
            state = channel.get_state(try_to_connect=False)
            self.report(number, state)
            await channel.wait_for_state_change(state)

    def report(self, number: int, state: grpc.ChannelConnectivity) -> None:
        if number in self.watched:
            self.say("state", channel=number, state=state.name, at=self.now())

    async def watch(self, request: Fields) -> None:
        number = request["channel"]
        state = self.channels[number].get_state(try_to_connect=False)
        self.watched.add(number)
        self.report(number, state)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(self.watchers[number])
        self.say("done", id=request["id"])

    async def connect(self, request: Fields) -> None:
        self.channels[request["channel"]].get_state(try_to_connect=True)
        self.say("done", id=request["id"])

    async def close(self, request: Fields) -> None:
        number = request["channel"]
        channel = self.channels.pop(number)
        self.watchers.pop(number).cancel()
        self.drop([name for name, (home, _) in self.calls.items() if home == number])
        await channel.close()
        self.say("done", id=request["id"])

    async def cancel(self, request: Fields) -> None:
        self.drop(request["calls"])
        self.say("done", id=request["id"])

    def drop(self, names: list[str]) -> None:
        for name in names:
            _, rpc = self.calls.pop(name, (None, None))
            if rpc is not None:
                rpc.cancel()

    async def start_calls(self, request: Fields) -> None:
        number, planned = request["channel"], request["calls"]
        channel = self.channels[number]
        self.calls.update((call["id"], (number, None)) for call in planned)
        pace, concurrency = request["pace"], request["concurrency"] or len(planned)
        if pace is None:
            queue = iter(planned)
            await asyncio.gather(*(self.work(channel, queue) for _ in range(concurrency)))
        else:
            loop = asyncio.get_running_loop()
            begun, tasks = loop.time(), []
            for turn, call in enumerate(planned):
                await asyncio.sleep(begun + turn * pace / 1e6 - loop.time())
                tasks.append(asyncio.create_task(self.call(channel, call)))
            await asyncio.gather(*tasks)
        self.say("done", id=request["id"])

    async def work(self, channel: aio.Channel, queue: Iterator[Fields]) -> None:
        for call in queue:
            await self.call(channel, call)

    async def call(self, channel: aio.Channel, planned: Fields) -> None:
        name, started_at = planned["id"], self.now()
        status, details, hostname = "CANCELLED", "cancelled before it was sent", None
        further: Fields = {}
        if name in self.calls:
            rpc = begin(channel, planned)
            self.calls[name] = (self.calls[name][0], rpc)
            with contextlib.suppress(aio.AioRpcError, asyncio.CancelledError):
                if planned["kept_open"]:
                    await self.drain(name, rpc)
                else:
                    await rpc
            status, details = (await rpc.code()).name, await rpc.details() or ""
            headers = await rpc.initial_metadata()
            hostname = headers.get("hostname")
            if others := [pair(key, value) for key, value in headers if key != "hostname"]:
                further = {"headers": others}
            self.calls.pop(name, None)
        self.say(
            "finished",
            call=name,
            status=status,
            details=details,
            hostname=hostname,
            started_at=started_at,
            ended_at=self.now(),
            **further,
        )

    async def drain(self, name: str, rpc: Any) -> None:
        hostname = (await rpc.initial_metadata()).get("hostname")
        if hostname is not None:  # a call that failed has empty headers here
            self.say("opened", call=name, hostname=hostname, at=self.now())
        while await rpc.read() is not aio.EOF:
            pass


def pair(key: str, value: str | bytes) -> tuple[str, str]:
    return key, value if isinstance(value, str) else base64.b64encode(value).decode()


def begin(channel: aio.Channel, planned: Fields) -> Any:
    metadata = aio.Metadata(
        *((k, base64.b64decode(v) if k.endswith("-bin") else v) for k, v in planned["metadata"])
    )
    how: Fields = {
        "metadata": metadata,
        "timeout": None if planned["deadline"] is None else planned["deadline"] / 1e6,
        "wait_for_ready": planned["wait_for_ready"],
    }
    if planned["kept_open"]:
        return channel.stream_stream(planned["path"])(**how)
    unary: Any = channel.unary_unary(planned["path"])
    return unary(b"", **how)


async def main() -> None:
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
