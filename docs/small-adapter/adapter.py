"""Drive grpcio for xdspec: a complete adapter with the capabilities that most scenarios need."""

import asyncio
import base64
import contextlib
import json
import os
import sys
import time
from typing import Any

import grpc
import grpc.aio

CAPABILITIES = ["metadata", "wait_for_ready", "cancel", "channels"]  # as in client.toml
ALWAYS = [("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1)]
LINE_LIMIT = 1 << 27  # a request of a hundred thousand calls is one line

zero = 0  # when the clock started, in nanoseconds
channels: dict[int, grpc.aio.Channel] = {}
sent: dict[str, Any] = {}  # calls in progress, by id
cancelled: set[str] = set()  # ids


def now() -> int:
    return (time.monotonic_ns() - zero) // 1000


def say(kind: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


async def carry_out(request: dict[str, Any]) -> None:
    """Carry out one request; whatever it raises is answered as an `error`."""
    global zero  # noqa: PLW0603
    match request["type"]:
        case "hello":
            zero = zero or time.monotonic_ns()
            about = {"name": "grpcio", "version": grpc.__version__, "capabilities": CAPABILITIES}
            say("hello", id=request["id"], contract=2, **about, at=now())
            return
        case "open_channel":
            options = [*ALWAYS, *request["options"].items()]
            channels[request["id"]] = grpc.aio.insecure_channel(request["target"], options)
        case "start_calls":
            await start_calls(channels[request["channel"]], request)
        case "cancel":
            for name in request["calls"]:
                cancelled.add(name)  # a call that has not started finds its id here
                if name in sent:
                    sent[name].cancel()
        case "close":
            await channels.pop(request["channel"]).close()
        case other:
            raise ValueError(f"unknown request {other}")
    say("done", id=request["id"])


async def start_calls(channel: grpc.aio.Channel, request: dict[str, Any]) -> None:
    """Make the calls: `concurrency` at a time, or one every `pace`, or all at once."""
    turns = asyncio.Semaphore(request["concurrency"] or len(request["calls"]) or 1)
    clock, pace = asyncio.get_running_loop().time, (request["pace"] or 0) / 1e6
    first = clock()
    async with asyncio.TaskGroup() as group:
        for number, planned in enumerate(request["calls"]):
            await turns.acquire()
            await asyncio.sleep(first + number * pace - clock())  # so that delays do not add up
            group.create_task(make(channel, planned, turns))


async def make(
    channel: grpc.aio.Channel, planned: dict[str, Any], turns: asyncio.Semaphore
) -> None:
    """Make one unary call with an empty message, and report its result."""
    metadata = [
        (key, base64.b64decode(value) if key.endswith("-bin") else value)
        for key, value in planned["metadata"]
    ]
    timeout = None if planned["deadline"] is None else planned["deadline"] / 1e6
    method: Any = channel.unary_unary(planned["path"])
    name, waits, started = planned["id"], planned["wait_for_ready"], now()
    status, details, headers = "CANCELLED", "never sent", {}
    with contextlib.suppress(grpc.aio.UsageError):  # the channel was closed before this call
        if name not in cancelled:
            call = method(b"", metadata=metadata, timeout=timeout, wait_for_ready=waits)
            sent[name] = call
            status = (await call.code()).name  # waits for the end and raises nothing
            details = await call.details() or ""
            headers = dict(await call.initial_metadata() or ())
            del sent[name]
    finished = {"status": status, "details": details, "hostname": headers.get("hostname")}
    say("finished", call=name, **finished, started_at=started, ended_at=now())
    turns.release()


async def answer(line: bytes) -> None:
    request: Any = None
    try:
        request = json.loads(line)
        await carry_out(request)
    except Exception as error:  # noqa: BLE001 - the suite wants to know every one
        number = request.get("id") if isinstance(request, dict) else None
        say("error", id=number, message=f"{type(error).__name__}: {error}")


async def main() -> None:
    stdin = asyncio.StreamReader(limit=LINE_LIMIT)
    protocol = asyncio.StreamReaderProtocol(stdin)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    running = set()
    async for line in stdin:
        task = asyncio.create_task(answer(line))  # requests overlap
        running.add(task)
        task.add_done_callback(running.discard)
    os._exit(0)  # the end of stdin ends the adapter, whatever is in progress


asyncio.run(main())
