"""The program: the reference client behind the adapter contract, JSON lines on stdin and stdout."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from client_under_test.reference import endpoint_by_number
from client_under_test.reference.channel.channel import Call, CallSpec, Channel
from client_under_test.reference.client import Client
from client_under_test.reference.editions import behavior
from client_under_test.reference.editions.editions import NoSuchEdition
from client_under_test.reference.transport.clock import BadScale, Clock
from client_under_test.reference.transport.http2 import Header
from client_under_test.reference.values import Endpoint, State, Status

CONTRACT: Final = 2
NAME: Final = "xdspec-reference"
VERSION: Final = "1.0.0"
CAPABILITIES: Final = (
    "metadata",
    "wait_for_ready",
    "kept_open",
    "cancel",
    "channels",
    "watch",
    "connect",
    "custom_policy",
    "response_headers",
)

EXIT_FAULT: Final = 70
"""The exit code after a fault of the client itself."""

# A request of a hundred thousand calls is one line.
_LINE_LIMIT: Final = 1 << 27

Fields = dict[str, Any]


class Adapter:
    """What the suite has asked for and is not over yet.

    Args:
        client: the client to drive.
        write: takes lines.
    """

    def __init__(self, client: Client, write: Callable[[bytes], None]) -> None:
        self._client = client
        self._write = write
        self._loop = asyncio.get_running_loop()
        self._encode = msgspec.json.Encoder().encode
        self._unsaid: list[bytes] = []
        self._zero: int | None = None
        self._instances = itertools.count()  # of policies that were registered
        self._channels: dict[int, Channel] = {}
        self._watches: dict[int, list[int]] = {}
        self._batches: dict[int, list[Batch]] = {}
        self._planned: dict[str, PlannedCall] = {}
        self._requests: dict[str, Callable[[Fields], None]] = {
            "hello": self._hello,
            "register_policy": self._register_policy,
            "open_channel": self._open_channel,
            "start_calls": self._start_calls,
            "cancel": self._cancel,
            "watch": self._watch,
            "connect": self._connect,
            "close": self._close,
        }

    def now(self) -> int:
        """Microseconds since the hello."""
        return (time.monotonic_ns() - (self._zero or 0)) // 1000

    def say(self, kind: str, **fields: Any) -> None:
        """Say something; all of one round of the loop is written at once."""
        if not self._unsaid:
            self._loop.call_soon(self._flush)
        self._unsaid.append(self._encode({"type": kind, **fields}))

    def _flush(self) -> None:
        lines, self._unsaid = self._unsaid, []
        self._write(b"\n".join([*lines, b""]))

    def answer(self, line: bytes) -> None:
        """Carry out the request in a line; report to the suite what is wrong with it."""
        request: Any = None
        try:
            request = msgspec.json.decode(line)
            self._requests[request["type"]](request)
        except Exception as trouble:  # noqa: BLE001 - nothing that is asked for ends the process
            number = request.get("id") if isinstance(request, dict) else None
            self.say("error", id=number, message=f"{type(trouble).__name__}: {trouble}")

    def _hello(self, request: Fields) -> None:
        self._zero = self._zero or time.monotonic_ns()
        about = {"contract": CONTRACT, "name": NAME, "version": VERSION}
        self.say("hello", id=request["id"], **about, capabilities=CAPABILITIES, at=self.now())

    def _register_policy(self, request: Fields) -> None:
        number = request["id"]

        def tell(instance: int, config: Mapping[str, Any], endpoints: Sequence[Endpoint]) -> None:
            self.say(
                "policy_update",
                policy=number,
                instance=instance,
                config=json.dumps(config),  # whole numbers may be greater than msgspec takes them
                endpoints=[endpoint.addresses for endpoint in endpoints],
                at=self.now(),
            )

        parser = endpoint_by_number.parser(request["name"], self._instances, tell)
        self._client.register_policy(request["name"], parser)
        self.say("done", id=number)

    def _open_channel(self, request: Fields) -> None:
        number = request["id"]
        self._channels[number] = self._client.open_channel(
            request["target"], request["options"], request.get("service_config")
        )
        self.say("done", id=number)

    def _watch(self, request: Fields) -> None:
        number = request["channel"]
        channel = self._channels[number]
        watches = self._watches.setdefault(number, [])
        watches.append(request["id"])

        def tell(state: State) -> None:
            self.say("state", channel=number, state=state.value, at=self.now())

        channel.watch(tell)

    def _connect(self, request: Fields) -> None:
        self._channels[request["channel"]].connect()
        self.say("done", id=request["id"])

    def _close(self, request: Fields) -> None:
        number = request["channel"]
        channel = self._channels.pop(number)
        for batch in tuple(self._batches.pop(number, ())):
            batch.stop()
        channel.close()
        for watch in self._watches.pop(number, ()):
            self.say("done", id=watch)
        self.say("done", id=request["id"])

    def _cancel(self, request: Fields) -> None:
        for name in request["calls"]:
            planned = self._planned.get(name)
            if planned is not None:
                planned.cancel()
        self.say("done", id=request["id"])

    def _start_calls(self, request: Fields) -> None:
        number = request["channel"]
        channel = self._channels[number]
        calls = [PlannedCall(self, call) for call in request["calls"]]
        self._planned.update((call.name, call) for call in calls)
        batches = self._batches.setdefault(number, [])

        def over() -> None:
            if batch in batches:
                batches.remove(batch)
            self.say("done", id=request["id"])

        batch = Batch(channel, calls, over)
        batches.append(batch)
        batch.start(request["concurrency"], request["pace"])

    def forget(self, name: str) -> None:
        """Forget a call that has ended."""
        del self._planned[name]


class Batch:
    """The calls of one request: a fixed number in flight, one per pace, or all at once."""

    def __init__(
        self, channel: Channel, calls: Sequence[PlannedCall], over: Callable[[], None]
    ) -> None:
        self._channel = channel
        self._queue: Iterator[PlannedCall] = iter(calls)
        self._left = len(calls)
        self._over = over
        self._timer: asyncio.TimerHandle | None = None
        self._pace: float | None = None
        self._is_filling = False
        self._room = 0

    def start(self, concurrency: int | None, pace: int | None) -> None:
        """Start the first call, or the first ones."""
        if not self._left:
            self._over()
        elif pace is None:
            self._room = concurrency or self._left
            self._fill()
        else:
            self._pace = pace / 1e6
            self._next_paced(asyncio.get_running_loop().time())

    def stop(self) -> None:
        """Finish the calls whose turn has not come, as cancelled."""
        if self._timer is not None:
            self._timer.cancel()
        self._pace = None
        self._room = 0
        for call in self._queue:
            call.cancel()
            self._end_one()

    def ended(self) -> None:
        """One call is over: another one may start."""
        self._end_one()
        if self._pace is None and self._left:
            self._room += 1
            self._fill()

    def _end_one(self) -> None:
        self._left -= 1
        if not self._left:
            self._over()

    def _fill(self) -> None:
        """Start calls while there is room; calls that end at once make room without recursion."""
        if self._is_filling:
            return
        self._is_filling = True
        while self._room:
            call = next(self._queue, None)
            if call is None:
                break
            self._room -= 1
            call.start(self._channel, self)
        self._is_filling = False

    def _next_paced(self, at: float) -> None:
        call = next(self._queue, None)
        if call is not None and self._pace is not None:
            due = at + self._pace
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(due, self._next_paced, due)
            call.start(self._channel, self)


class PlannedCall:
    """A call as the suite asked for it, before and after its turn has come."""

    def __init__(self, adapter: Adapter, fields: Fields) -> None:
        self.name: Final[str] = fields["id"]
        self._adapter = adapter
        deadline = fields["deadline"]
        self._spec = CallSpec(
            path=fields["path"],
            metadata=tuple(_pair(name, value) for name, value in fields["metadata"]),
            deadline=None if deadline is None else deadline / 1e6,
            wait_for_ready=fields["wait_for_ready"],
            kept_open=fields["kept_open"],
        )
        self._batch: Batch | None = None
        self._call: Call | None = None
        self._started_at: int | None = None
        self._hostname: str | None = None
        self._headers: list[tuple[str, str]] = []
        self._is_over = False

    def start(self, channel: Channel, batch: Batch) -> None:
        """Its turn has come; if it was cancelled before, it ends without having been sent."""
        self._batch = batch
        if self._is_over:
            batch.ended()
            return
        self._started_at = self._adapter.now()
        call = channel.start(self._spec, self)
        if not self._is_over:
            self._call = call

    def cancel(self) -> None:
        """Cancel it, started or not."""
        if self._call is not None:
            self._call.cancel()
        elif not self._is_over:
            self._finish(Status("CANCELLED", "cancelled before it was sent"))

    # What the call reports.

    def opened(self, headers: Sequence[Header]) -> None:
        """Note which backend answers; report a kept-open stream to the suite at once."""
        host = next((value for name, value in headers if name == b"hostname"), None)
        if host is not None:
            self._hostname = host.decode("ascii", "replace")
        self._headers = [_as_reported(name, value) for name, value in headers if _is_custom(name)]
        if self._spec.kept_open:
            at = self._adapter.now()
            self._adapter.say("opened", call=self.name, hostname=self._hostname or "", at=at)

    def finished(self, status: Status) -> None:
        """Report the outcome, and let the next call start."""
        self._finish(status)
        assert self._batch is not None, "it was started"
        self._batch.ended()

    def _finish(self, status: Status) -> None:
        self._is_over = True
        now = self._adapter.now()
        further = {"headers": self._headers} if self._headers else {}
        self._adapter.say(
            "finished",
            call=self.name,
            status=status.code,
            details=status.details,
            hostname=self._hostname,
            started_at=now if self._started_at is None else self._started_at,
            ended_at=now,
            **further,
        )
        self._adapter.forget(self.name)


def _pair(name: str, value: str) -> tuple[str, str | bytes]:
    name = name.lower()
    return name, base64.b64decode(value) if name.endswith("-bin") else value


def _is_custom(name: bytes) -> bool:
    return not name.startswith((b":", b"grpc-")) and name not in {b"content-type", b"hostname"}


def _as_reported(name: bytes, value: bytes) -> tuple[str, str]:
    text = value.decode("ascii", "replace")
    if name.endswith(b"-bin"):  # padded, as in the contract
        text += "=" * (-len(text) % 4)
    return name.decode("ascii", "replace"), text


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _end_visibly(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Exit at once if a rule raises an exception, since the client would hang otherwise."""
    loop.default_exception_handler(context)
    if "handle" in context or "protocol" in context:
        sys.stderr.flush()
        os._exit(EXIT_FAULT)


async def main() -> None:
    """Answer requests until stdin ends."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_end_visibly)
    stdin = asyncio.StreamReader(limit=_LINE_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
    try:
        client = Client(behavior.from_environment(), Clock.from_environment(loop), random.Random())
    except (NoSuchEdition, BadScale) as bad:
        sys.exit(str(bad))
    adapter = Adapter(client, _write)
    async for line in stdin:
        adapter.answer(line)
    os._exit(0)  # end of stdin means exit: whatever is still open is dropped
