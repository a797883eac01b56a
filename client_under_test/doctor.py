"""Checks an adapter against the contract, on plain channels to a backend of its own: no xDS.

What fails here is the adapter's trouble and is never reported as a client's non-conformance.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Literal

import grpc
import msgspec
from grpc import aio

from client_under_test.channels import CALL_ID_KEY, Call, Channel, Outcome
from client_under_test.contract import Capability, OpenChannel, StateName, Watch
from client_under_test.environments import Prepared
from client_under_test.exceptions import ConversationFailed, NotSeen, RequestRefused, signal_name
from client_under_test.process import ClientProcess

# The slowest known start (a virtual machine without a warm cache on a busy computer), with room.
START_DEADLINE: Final = 60.0

# Everything else is local and small; this only has to be longer than a busy computer's hiccup.
ANSWER_DEADLINE: Final = 5.0

# How long "nothing happens" is looked at: a client that wants to connect does so at once.
QUIET: Final = 0.3

_SERVICE: Final = "grpc.testing.TestService"
_UNARY: Final = f"/{_SERVICE}/UnaryCall"
_DUPLEX: Final = f"/{_SERVICE}/FullDuplexCall"

# Tells the doctor's backend what to do with a call: sleep-MILLISECONDS or status-NUMBER.
_TREATMENT: Final = "doctor"


Verdict = Literal["ok", "wrong", "skipped"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found.

    `rule` is what the contract asks for, as a sentence; `seen` tells what was seen if the verdict
    is `wrong`, and why it was not looked at if it is `skipped`.
    """

    check: str
    rule: str
    verdict: Verdict
    seen: str = ""


async def examine(prepared: Prepared) -> tuple[Finding, ...]:
    """Run every check on an adapter, in order; a process that breaks is replaced for the next."""
    with tempfile.TemporaryDirectory(prefix="xdspec-doctor-") as folder:
        async with _Backend.running() as backend:
            patient = _Patient(prepared, Path(folder), backend)
            try:
                return tuple([await patient.undergo(check) for check in _CHECKS])
            finally:
                await patient.end()


class _Wrong(Exception):
    """The adapter did not do what the contract says."""


def _demand(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        raise _Wrong(otherwise)


class _Received(msgspec.Struct, frozen=True):
    """A call that reached the backend."""

    path: str
    metadata: tuple[tuple[str, str | bytes], ...]

    @property
    def call_id(self) -> str | bytes | None:
        return next((value for key, value in self.metadata if key == CALL_ID_KEY), None)


class _Backend:
    """A gRPC server that notes what comes, and does as a call's metadata says."""

    def __init__(self) -> None:
        self.address = ""
        self.received: list[_Received] = []
        self.under_way = 0
        self.most_under_way = 0
        self.idle = asyncio.Event()

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls) -> AsyncIterator[_Backend]:
        """Serve on a loopback port until the end of the block."""
        backend = cls()
        server = aio.server(options=(("grpc.so_reuseport", 0),))
        handlers: dict[str, Any] = {
            "UnaryCall": grpc.unary_unary_rpc_method_handler(backend._unary),
            "FullDuplexCall": grpc.stream_stream_rpc_method_handler(backend._duplex),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, handlers),))
        backend.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        try:
            yield backend
        finally:
            await server.stop(grace=None)

    def of(self, name: str) -> list[_Received]:
        """What came of the call with this id."""
        return [call for call in self.received if call.call_id == name]

    async def _unary(self, _request: bytes, context: Any) -> bytes:
        async with self._noted(_UNARY, context) as treatment:
            kind, _, number = treatment.partition("-")
            if kind == "sleep":
                await asyncio.sleep(int(number) / 1000)
            if kind == "status":
                code = next(c for c in grpc.StatusCode if c.value[0] == int(number))
                await context.abort(code, f"words of {code.name}")
            return b""

    async def _duplex(self, _requests: object, context: Any) -> AsyncIterator[bytes]:
        async with self._noted(_DUPLEX, context):
            await asyncio.Event().wait()  # until it is cancelled
            yield b""

    @contextlib.asynccontextmanager
    async def _noted(self, path: str, context: Any) -> AsyncIterator[str]:
        metadata = tuple((key, value) for key, value in context.invocation_metadata())
        self.received.append(_Received(path, metadata))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        self.idle.clear()
        try:
            await context.send_initial_metadata((("hostname", self.address),))
            yield str(dict(metadata).get(_TREATMENT, ""))
        finally:
            self.under_way -= 1
            if not self.under_way:
                self.idle.set()


class _Patient:
    """The adapter's process while it is examined."""

    def __init__(self, prepared: Prepared, folder: Path, backend: _Backend) -> None:
        self.prepared = prepared
        self.backend = backend
        self._folder = folder
        self._process: ClientProcess | None = None
        self._does_not_start = ""
        self._numbers = itertools.count()

    async def undergo(self, check: _Check) -> Finding:
        """One check's finding."""
        stated = self.prepared.client.manifest.capabilities
        missing = [capability for capability in check.needs if capability not in stated]
        verdict: Verdict = "skipped"
        if missing:
            seen = f"its manifest does not state: {', '.join(missing)}"
        elif self._does_not_start:
            seen = self._does_not_start
        else:
            verdict, seen = await self._findings_of(check)
        return Finding(check=check.name, rule=check.rule, verdict=verdict, seen=seen)

    async def _findings_of(self, check: _Check) -> tuple[Verdict, str]:
        try:
            await check.run(self)
        except (_Wrong, NotSeen) as wrong:
            return "wrong", str(wrong)
        except ConversationFailed as failure:
            if self._process is None:
                self._does_not_start = "it does not start"
            await self.end()
            return "wrong", "; its stderr ends: ".join(
                filter(None, (str(failure), failure.stderr_tail))
            )
        return "ok", ""

    async def process(self) -> ClientProcess:
        """The process, started if there is none."""
        if self._process is None:
            self._process = await ClientProcess.start(
                self.prepared,
                stderr_path=self._folder / f"stderr-{next(self._numbers)}",
                deadline=START_DEADLINE,
            )
        return self._process

    async def end(self) -> None:
        """Leave no process."""
        if self._process is not None:
            process, self._process = self._process, None
            await process.close(deadline=0)

    async def channel(self, address: str | None = None) -> Channel:
        """A channel of its own for one check."""
        target = f"dns:///{address or self.backend.address}"
        return await (await self.process()).open_channel(target, deadline=ANSWER_DEADLINE)

    def call(self, treatment: str = "", **how: Any) -> Call:
        """A unary call to the backend."""
        metadata = (*how.pop("metadata", ()), (_TREATMENT, treatment))
        described = {"path": _UNARY, "deadline": ANSWER_DEADLINE, "metadata": metadata, **how}
        return Call(id=f"call-{next(self._numbers)}", **described)

    async def outcome(self, call: Call, address: str | None = None) -> Outcome:
        """The outcome of one call, on a channel of its own."""
        channel = await self.channel(address)
        (outcome,) = await (await channel.start_calls([call])).finished(deadline=ANSWER_DEADLINE)
        return outcome


class _Check(msgspec.Struct, frozen=True):
    name: str
    rule: str
    needs: tuple[Capability, ...]
    run: Callable[[_Patient], Awaitable[None]]


_CHECKS: Final[list[_Check]] = []

_Run = Callable[[_Patient], Awaitable[None]]


def _check(name: str, rule: str, *needs: Capability) -> Callable[[_Run], _Run]:
    def enter(run: _Run) -> _Run:
        _CHECKS.append(_Check(name, rule, needs, run))
        return run

    return enter


def _demand_status(outcome: Outcome, status: str) -> None:
    _demand(
        outcome.status == status,
        f"{outcome.status} ({outcome.details or 'no details'}) instead of {status}",
    )


@_check("hello", "hello tells the version and the capabilities that the manifest tells")
async def _hello(patient: _Patient) -> None:
    hello = (await patient.process()).hello
    stated = set(patient.prepared.client.manifest.capabilities)
    _demand(
        set(hello.capabilities) == stated,
        f"hello has {sorted(hello.capabilities)}, the manifest {sorted(stated)}",
    )
    _demand(
        hello.version == patient.prepared.version,
        f"version {hello.version} answers where {patient.prepared.version} was prepared",
    )


@_check("not-a-request", "a line that is no request is answered by an error whose id is null")
async def _not_a_request(patient: _Patient) -> None:
    talk = (await patient.process()).talk
    before = len(talk.complaints)
    talk.ask_badly(b"{this is not JSON", None)
    await _answered(lambda: len(talk.complaints) > before, talk.until)


@_check("unknown-request", "a request of unknown type is answered by an error with its id")
async def _unknown_request(patient: _Patient) -> None:
    talk = (await patient.process()).talk
    number = talk.next_id()
    talk.ask_badly(msgspec.json.encode({"type": "sing", "id": number}), number)
    await _answered(lambda: talk.is_over(number), talk.until)


@_check("unknown-channel", "a request for a channel that is not open is answered by an error")
async def _unknown_channel(patient: _Patient) -> None:
    talk = (await patient.process()).talk
    try:
        await Channel(talk, talk.next_id()).connect(deadline=ANSWER_DEADLINE)
    except RequestRefused:
        return
    raise _Wrong("it was answered by done")


@_check("unary", "a unary call reports status, who answered, start and end, and is made once")
async def _unary_call(patient: _Patient) -> None:
    call, asked_at = patient.call(), time.monotonic()
    outcome = await patient.outcome(call)
    heard_at, error = time.monotonic(), (await patient.process()).clock.error
    _demand_status(outcome, "OK")
    _demand(
        outcome.hostname == patient.backend.address,
        f"hostname {outcome.hostname} instead of {patient.backend.address}",
    )
    _demand(
        asked_at - error <= outcome.started_at <= outcome.ended_at <= heard_at + error,
        "start and end are not between the request and its answer, in this order",
    )
    times = len(patient.backend.of(call.id))
    _demand(times == 1, f"the backend got the call {times} times")


@_check("metadata", "repeated keys keep their order, and -bin values arrive as bytes", "metadata")
async def _metadata(patient: _Patient) -> None:
    sent = (
        ("session", "b"),
        ("other", "x"),
        ("session", "a"),
        ("session", "b"),
        ("trace-bin", bytes(range(256))),
        ("trace-bin", b""),
    )
    call = patient.call(metadata=sent)
    _demand_status(await patient.outcome(call), "OK")
    (received,) = patient.backend.of(call.id)
    for key in ("session", "other", "trace-bin"):
        wanted = [value for name, value in sent if name == key]
        came = [value for name, value in received.metadata if name == key]
        _demand(came == wanted, f"{key}: {came} came instead of {wanted}")


@_check("statuses", "every status is reported by its gRPC name, with its details")
async def _statuses(patient: _Patient) -> None:
    channel = await patient.channel()
    codes = [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK]
    calls = [patient.call(f"status-{code.value[0]}") for code in codes]
    batch = await channel.start_calls(calls, concurrency=4)
    for code, outcome in zip(codes, await batch.finished(deadline=ANSWER_DEADLINE), strict=True):
        _demand_status(outcome, code.name)
        words = f"words of {code.name}"
        _demand(outcome.details == words, f"details {outcome.details!r} instead of {words!r}")


@_check("unknown-method", "a method that the backend does not know ends as UNIMPLEMENTED")
async def _unknown_method(patient: _Patient) -> None:
    _demand_status(await patient.outcome(patient.call(path=f"/{_SERVICE}/None")), "UNIMPLEMENTED")


@_check("deadline", "a call ends as DEADLINE_EXCEEDED at its deadline")
async def _deadline(patient: _Patient) -> None:
    wanted = 0.2
    call = patient.call(f"sleep-{ANSWER_DEADLINE * 1000:.0f}", deadline=wanted)
    outcome = await patient.outcome(call)
    _demand_status(outcome, "DEADLINE_EXCEEDED")
    lasted = outcome.ended_at - outcome.started_at
    _demand(wanted * 0.9 <= lasted < wanted + 2, f"it lasted {lasted:.3f} s instead of {wanted} s")


@_check("fail-fast", "a call that cannot connect fails as UNAVAILABLE")
async def _fail_fast(patient: _Patient) -> None:
    with _refusing_address() as address:
        _demand_status(await patient.outcome(patient.call(), address), "UNAVAILABLE")


@_check(
    "wait-for-ready", "a call that waits for ready does not fail as it connects", "wait_for_ready"
)
async def _wait_for_ready(patient: _Patient) -> None:
    call = patient.call(wait_for_ready=True, deadline=0.5)
    with _refusing_address() as address:
        _demand_status(await patient.outcome(call, address), "DEADLINE_EXCEEDED")


@_check("all-at-once", "calls without concurrency and pace are all under way at once")
async def _all_at_once(patient: _Patient) -> None:
    _demand((most := await _most_under_way(patient, None)) == _CALLS, f"{most} of {_CALLS} were")


@_check("concurrency", "so many calls are under way at once as the request says")
async def _concurrency(patient: _Patient) -> None:
    wanted = 4
    most = await _most_under_way(patient, wanted)
    _demand(most == wanted, f"{most} were, instead of {wanted}")


_CALLS: Final = 12


async def _most_under_way(patient: _Patient, concurrency: int | None) -> int:
    channel = await patient.channel()
    first = await channel.start_calls([patient.call()])  # connects
    await first.finished(deadline=ANSWER_DEADLINE)
    patient.backend.most_under_way = 0
    calls = [patient.call("sleep-250") for _ in range(_CALLS)]
    batch = await channel.start_calls(calls, concurrency=concurrency)
    for outcome in await batch.finished(deadline=ANSWER_DEADLINE):
        _demand_status(outcome, "OK")
    return patient.backend.most_under_way


@_check("pace", "calls with a pace start one after the other, in order, not waiting for the last")
async def _pace(patient: _Patient) -> None:
    pace = 0.05
    channel = await patient.channel()
    calls = [patient.call("sleep-500") for _ in range(5)]
    batch = await channel.start_calls(calls, pace=pace)
    outcomes = await batch.finished(deadline=ANSWER_DEADLINE)
    starts = [outcome.started_at for outcome in outcomes]
    _demand(starts == sorted(starts), "they did not start in order")
    spread = starts[-1] - starts[0]
    least = pace * (len(calls) - 1) * 0.9
    _demand(spread >= least, f"they started within {spread:.3f} s instead of {least:.3f} s or more")
    _demand(starts[-1] < outcomes[0].ended_at, "the last one waited for the first one's end")


@_check("long-line", "a request of a megabyte is one line like any other")
async def _long_line(patient: _Patient) -> None:
    channel = await patient.channel()
    calls = [patient.call(metadata=(("filling", "x" * 2000),)) for _ in range(500)]
    batch = await channel.start_calls(calls, concurrency=16)
    for outcome in await batch.finished(deadline=3 * ANSWER_DEADLINE):
        _demand_status(outcome, "OK")


@_check(
    "kept-open",
    "a kept-open stream reports when it opened, lets other requests by, and ends when cancelled",
    "kept_open",
    "cancel",
)
async def _kept_open(patient: _Patient) -> None:
    channel, process = await patient.channel(), await patient.process()
    call = patient.call(path=_DUPLEX, kept_open=True, deadline=None)
    batch = await channel.start_calls([call])
    opened = await batch.opened(call.id, deadline=ANSWER_DEADLINE)
    _demand(
        opened.hostname == patient.backend.address,
        f"hostname {opened.hostname} instead of {patient.backend.address}",
    )
    async with asyncio.timeout(ANSWER_DEADLINE):
        await process.talk.say_hello()
    _demand(not batch.outcomes, "it ended before it was cancelled")
    await batch.cancel(call.id, deadline=ANSWER_DEADLINE)
    outcome = await batch.outcome(call.id, deadline=ANSWER_DEADLINE)
    _demand_status(outcome, "CANCELLED")
    try:
        async with asyncio.timeout(ANSWER_DEADLINE):
            await patient.backend.idle.wait()
    except TimeoutError:
        raise _Wrong("the backend's end of the stream stays open") from None


@_check(
    "cancel",
    "cancelled calls end as CANCELLED, those whose turn has not come without being sent",
    "cancel",
)
async def _cancel(patient: _Patient) -> None:
    channel = await patient.channel()
    calls = [patient.call("sleep-9000") for _ in range(2)]
    batch = await channel.start_calls(calls, concurrency=1)
    await batch.cancel(calls[1].id, deadline=ANSWER_DEADLINE)
    await batch.cancel(calls[0].id, deadline=ANSWER_DEADLINE)
    for outcome in await batch.finished(deadline=ANSWER_DEADLINE):
        _demand_status(outcome, "CANCELLED")
    _demand(not patient.backend.of(calls[1].id), "the second call was sent")
    await batch.cancel(deadline=ANSWER_DEADLINE)  # finished calls: nothing to do, and done


@_check("watch", "a watch tells the state at once and does not make the channel connect", "watch")
async def _watch(patient: _Patient) -> None:
    async with _listening() as (address, accepted):
        watch = await (await patient.channel(address)).watch(deadline=ANSWER_DEADLINE)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(QUIET):
                await accepted.wait()
        _demand(not accepted.is_set(), "the channel connected")
        _demand(watch.states[0].state == "IDLE", f"it was {watch.states[0].state} at first")


@_check(
    "connect", "a channel that is asked to connect does, and a watch sees it", "watch", "connect"
)
async def _connect(patient: _Patient) -> None:
    channel = await patient.channel()
    watch = await channel.watch(deadline=ANSWER_DEADLINE)
    await channel.connect(deadline=ANSWER_DEADLINE)
    ready: StateName = "READY"
    await watch.reached(ready, deadline=ANSWER_DEADLINE)


@_check("close", "close ends the channel: its calls as CANCELLED, its watch as done", "watch")
async def _close(patient: _Patient) -> None:
    process = await patient.process()
    talk = process.talk
    opened, watched = talk.next_id(), talk.next_id()
    target = f"dns:///{patient.backend.address}"
    await talk.ask_and_wait(
        OpenChannel(id=opened, target=target, options={}), deadline=ANSWER_DEADLINE
    )
    channel = Channel(talk, opened)
    talk.listen_to_channel(opened, lambda _state: None)
    talk.ask(Watch(id=watched, channel=opened))
    batch = await channel.start_calls([patient.call("sleep-9000")])
    await channel.close(deadline=ANSWER_DEADLINE)
    for outcome in await batch.finished(deadline=ANSWER_DEADLINE):
        _demand_status(outcome, "CANCELLED")
    await _answered(lambda: talk.is_over(watched), talk.until)


@_check("channels", "channels are independent: closing one leaves the others", "channels")
async def _channels(patient: _Patient) -> None:
    first, second = await patient.channel(), await patient.channel()
    await first.close(deadline=ANSWER_DEADLINE)
    batch = await second.start_calls([patient.call()])
    (outcome,) = await batch.finished(deadline=ANSWER_DEADLINE)
    _demand_status(outcome, "OK")


@_check("end", "the end of stdin ends the process with code 0, whatever is under way")
async def _end(patient: _Patient) -> None:
    channel, process = await patient.channel(), await patient.process()
    await channel.start_calls([patient.call("sleep-9000")])
    ended = await process.close(deadline=ANSWER_DEADLINE)
    await patient.end()
    _demand(not ended.killed, "it went on and had to be killed")
    _demand(ended.signal is None, f"it died by {signal_name(ended.signal or 0)}")
    _demand(ended.code == 0, f"its code was {ended.code}")


async def _answered(
    ready: Callable[[], bool], until: Callable[[Callable[[], bool]], Awaitable[None]]
) -> None:
    try:
        async with asyncio.timeout(ANSWER_DEADLINE):
            await until(ready)
    except TimeoutError:
        raise _Wrong(f"no answer came within {ANSWER_DEADLINE:g} s") from None


@contextlib.contextmanager
def _refusing_address() -> Any:
    """An address that nobody listens at, and nobody else can take meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


@contextlib.asynccontextmanager
async def _listening() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """An address, and an event that is set when somebody has connected there."""
    accepted = asyncio.Event()

    def note(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set()
        writer.close()

    server = await asyncio.start_server(note, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", accepted
