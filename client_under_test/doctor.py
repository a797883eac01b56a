"""Checks an adapter against the contract, on plain channels to a backend of its own: no xDS.

What fails here is the adapter's trouble and is never reported as a client's non-conformance. The
checks are in the order in which an author writes an adapter, and lead through the contract.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import grpc
import msgspec

from client_under_test.channels import CALL_ID_KEY, Channel, Outcome
from client_under_test.contract import Capability, OpenChannel, StateName, Watch
from client_under_test.environments import Prepared
from client_under_test.exceptions import RequestRefused, signal_name
from client_under_test.patient import (
    ANSWER_DEADLINE,
    DUPLEX,
    SERVICE,
    Backend,
    Check,
    Finding,
    NoUse,
    Patient,
    Wrong,
    demand,
)

# How long "nothing happens" is looked at: a client that wants to connect does so at once.
QUIET: Final = 0.3


async def examine(
    prepared: Prepared, *, say: Callable[[str], None] = lambda _line: None
) -> tuple[Finding, ...]:
    """Run every check on an adapter, in order; `say` hears of it, line by line, as it goes on."""
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory(prefix="xdspec-doctor-") as folder:
        async with Backend.running() as backend:
            patient = Patient(prepared, Path(folder), backend, say)
            try:
                for check in _CHECKS:
                    findings.append(await patient.undergo(check))
                    for line in _lines(findings[-1]):
                        say(line)
            finally:
                await patient.end()
    for line in _last_lines(prepared.name, findings):
        say(line)
    return tuple(findings)


def is_healthy(findings: Sequence[Finding]) -> bool:
    """Whether an adapter obeys every rule that could be looked at."""
    return all(finding.verdict != "wrong" for finding in findings)


def _lines(finding: Finding) -> Iterator[str]:
    """A finding in words; those that wait for another one are told together at the end."""
    if finding.waits_for:
        return
    yield f"{finding.verdict:7}  {finding.check:15}  {finding.rule}"
    if finding.seen:
        mark = "saw: " if finding.verdict == "wrong" else ""
        yield f"{'':26}{mark}{finding.seen}".replace("\n", f"\n{'':28}")
    if finding.verdict == "wrong":
        yield f"{'':26}do:  {finding.advice}"


def _last_lines(name: str, findings: Sequence[Finding]) -> Iterator[str]:
    """What follows from all of them, and the author's next step."""
    wrong = [finding.check for finding in findings if finding.verdict == "wrong"]
    waiting = [finding.check for finding in findings if finding.waits_for]
    if waiting:
        yield f"then     {', '.join(waiting)}"
    if not wrong:
        skipped = sum(finding.verdict == "skipped" for finding in findings)
        for_want = f"; {skipped} rules ask for capabilities that it does not state"
        yield f"{name}: healthy{for_want if skipped else ''}"
        return
    right = sum(finding.verdict == "ok" for finding in findings)
    yield f"{name}: obeys {right} of {len(findings)} rules of the contract; next: {wrong[0]}"


_CHECKS: Final[list[Check]] = []

_Run = Callable[[Patient], Awaitable[None]]


def _check(
    name: str, *, rule: str, advice: str, after: str = "", needs: tuple[Capability, ...] = ()
) -> Callable[[_Run], _Run]:
    def enter(run: _Run) -> _Run:
        _CHECKS.append(
            Check(name=name, rule=rule, advice=advice, after=after, needs=needs, run=run)
        )
        return run

    return enter


def _demand_status(outcome: Outcome, status: str) -> None:
    demand(
        outcome.status == status,
        f"{outcome.status} ({outcome.details or 'no details'}) instead of {status}",
    )


@_check(
    "hello",
    rule="hello tells the version and the capabilities that the manifest tells",
    advice=(
        "let the program that client.toml starts answer `hello` with contract 1 and the "
        "capabilities and version that client.toml tells, and keep logs on stderr"
    ),
)
async def _hello(patient: Patient) -> None:
    hello = (await patient.process()).hello
    able = set(patient.prepared.client.manifest.capabilities)
    demand(
        set(hello.capabilities) == able,
        f"hello has {sorted(hello.capabilities)}, the manifest {sorted(able)}",
    )
    wanted, client = patient.prepared.version, patient.prepared.client
    pinned = client.manifest.python.version if client.manifest.python else client.manifest.version
    told = f"client.toml says {wanted}" if pinned == wanted else f"{wanted} was prepared"
    demand(hello.version == wanted, f"hello has version {hello.version}, and {told}")


@_check(
    "not-a-request",
    rule="a line that is no request is answered by an error whose id is null",
    advice="catch what the JSON parser raises, and say an error with id null",
    after="hello",
)
async def _not_a_request(patient: Patient) -> None:
    talk = (await patient.process()).talk
    before = len(talk.complaints)
    talk.ask_badly(b"{this is not JSON", None)
    await _answered(lambda: len(talk.complaints) > before, talk.until)


@_check(
    "unknown-request",
    rule="a request of unknown type is answered by an error with its id",
    advice="end the choice between the types of requests with an error that has the request's id",
    after="hello",
)
async def _unknown_request(patient: Patient) -> None:
    talk = (await patient.process()).talk
    number = talk.next_id()
    talk.ask_badly(msgspec.json.encode({"type": "sing", "id": number}), number)
    await _answered(lambda: talk.is_over(number), talk.until)


@_check(
    "open-channel",
    rule="a channel is opened, and done is said",
    advice=(
        "make a channel to `target`, not connected yet, without credentials and with retries "
        "off, keep it under the request's id, and say done"
    ),
    after="hello",
)
async def _open_channel(patient: Patient) -> None:
    await patient.channel()


@_check(
    "unknown-channel",
    rule="a request for a channel that is not open is answered by an error",
    advice="look for the channel first, and say an error if it is not open",
    after="hello",
)
async def _unknown_channel(patient: Patient) -> None:
    talk = (await patient.process()).talk
    try:
        await Channel(talk, talk.next_id()).connect(deadline=ANSWER_DEADLINE)
    except RequestRefused:
        return
    raise Wrong("it was answered by done")


@_check(
    "unary",
    rule="a unary call reports status, who answered, start and end, and is made once",
    advice=(
        "make each of `calls`, with its metadata and no bytes as its message, say finished with "
        "the response header `hostname`, and done after the last one"
    ),
    after="open-channel",
)
async def _unary_call(patient: Patient) -> None:
    call, asked_at = patient.call(), time.monotonic()
    outcome = await patient.outcome(call)
    heard_at, error = time.monotonic(), (await patient.process()).clock.error
    _demand_status(outcome, "OK")
    demand(
        outcome.hostname == patient.backend.address,
        f"hostname {outcome.hostname} instead of {patient.backend.address}",
    )
    demand(
        asked_at - error <= outcome.started_at <= outcome.ended_at <= heard_at + error,
        "start and end are not between the request and its answer, in this order",
    )
    times = len(patient.backend.of(call.id))
    if not times:
        raise NoUse(
            f"a call reached the backend without ({CALL_ID_KEY}, {call.id}) of its metadata"
        )
    once = times == 1 or (times > 1 and not patient.is_able("metadata"))
    demand(once, f"the backend got the call {times} times")


@_check(
    "metadata",
    rule="repeated keys keep their order, and -bin values arrive as bytes",
    advice=(
        "send every pair, in order, without replacing an earlier one of its key, and decode the "
        "base64 of values whose key ends in -bin"
    ),
    after="unary",
    needs=("metadata",),
)
async def _metadata(patient: Patient) -> None:
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
    received = patient.backend.of(call.id)
    demand(len(received) == 1, f"the backend got the call {len(received)} times")
    for key in ("session", "other", "trace-bin"):
        wanted = [value for name, value in sent if name == key]
        came = [value for name, value in received[0].metadata if name == key]
        if key.endswith("-bin"):
            as_told = [base64.b64encode(value) for value in wanted if isinstance(value, bytes)]
            demand(came != as_told, f"{key} came base64-encoded once too often")
            demand(came == wanted, f"{key}: other bytes came than all from 0 to 255, and then none")
        demand(came == wanted, f"{key}: {came} came instead of {wanted}")


@_check(
    "unknown-method",
    rule="a method that the backend does not know ends as UNIMPLEMENTED",
    advice="a call that fails has finished like any other: say its status",
    after="unary",
    needs=("metadata",),
)
async def _unknown_method(patient: Patient) -> None:
    _demand_status(await patient.outcome(patient.call(path=f"/{SERVICE}/None")), "UNIMPLEMENTED")


@_check(
    "statuses",
    rule="every status is reported by its gRPC name, with its details",
    advice=(
        "say a status by gRPC's name of it (CANCELLED, neither Canceled nor 1), and its message "
        "as `details`"
    ),
    after="unary",
)
async def _statuses(patient: Patient) -> None:
    channel = await patient.channel()
    codes = [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK]
    calls = [patient.call(f"status-{code.value[0]}") for code in codes]
    batch = await channel.start_calls(calls, concurrency=4)
    for code, outcome in zip(codes, await batch.finished(deadline=patient.deadline), strict=True):
        _demand_status(outcome, code.name)
        words = f"words of {code.name}" if patient.is_able("metadata") else outcome.details
        demand(outcome.details == words, f"details {outcome.details!r} instead of {words!r}")


@_check(
    "deadline",
    rule="a call ends as DEADLINE_EXCEEDED at its deadline",
    advice="give the call its deadline: microseconds, reckoned from that call's own start",
    after="unary",
)
async def _deadline(patient: Patient) -> None:
    wanted = 0.2
    call = patient.call(f"sleep-{ANSWER_DEADLINE * 1000:.0f}", deadline=wanted)
    outcome = await patient.outcome(call)
    _demand_status(outcome, "DEADLINE_EXCEEDED")
    lasted = outcome.ended_at - outcome.started_at
    demand(wanted * 0.9 <= lasted < wanted + 2, f"it lasted {lasted:.3f} s instead of {wanted} s")


@_check(
    "fail-fast",
    rule="a call that cannot connect fails as UNAVAILABLE",
    advice="turn retries off, and wait for ready only where the call says so",
    after="unary",
)
async def _fail_fast(patient: Patient) -> None:
    with _refusing_address() as address:
        _demand_status(await patient.outcome(patient.call(), address), "UNAVAILABLE")


@_check(
    "wait-for-ready",
    rule="a call that waits for ready does not fail as it connects",
    advice="make a call with wait_for_ready wait, until its deadline",
    after="unary",
    needs=("wait_for_ready",),
)
async def _wait_for_ready(patient: Patient) -> None:
    call = patient.call(wait_for_ready=True, deadline=0.5)
    with _refusing_address() as address:
        _demand_status(await patient.outcome(call, address), "DEADLINE_EXCEEDED")


@_check(
    "all-at-once",
    rule="calls without concurrency and pace are all under way at once",
    advice="if both concurrency and pace are null, start every call before waiting for any",
    after="unary",
    needs=("metadata",),
)
async def _all_at_once(patient: Patient) -> None:
    demand((most := await _most_under_way(patient, None)) == _CALLS, f"{most} of {_CALLS} were")


@_check(
    "concurrency",
    rule="so many calls are under way at once as the request says",
    advice="let as many workers as `concurrency` take calls from one queue, until it is empty",
    after="unary",
    needs=("metadata",),
)
async def _concurrency(patient: Patient) -> None:
    wanted = 4
    most = await _most_under_way(patient, wanted)
    demand(most == wanted, f"{most} were, instead of {wanted}")


_CALLS: Final = 12


async def _most_under_way(patient: Patient, concurrency: int | None) -> int:
    channel = await patient.channel()
    first = await channel.start_calls([patient.call()])  # connects
    await first.finished(deadline=ANSWER_DEADLINE)
    patient.backend.most_under_way = 0
    calls = [patient.call("sleep-250") for _ in range(_CALLS)]
    batch = await channel.start_calls(calls, concurrency=concurrency)
    for outcome in await batch.finished(deadline=ANSWER_DEADLINE):
        _demand_status(outcome, "OK")
    return patient.backend.most_under_way


@_check(
    "pace",
    rule="calls with a pace start one after the other, in order, not waiting for the last",
    advice=(
        "start call number n at n times `pace` after the first, whatever has become of the others"
    ),
    after="unary",
    needs=("metadata",),
)
async def _pace(patient: Patient) -> None:
    pace = 0.05
    channel = await patient.channel()
    calls = [patient.call("sleep-500") for _ in range(5)]
    batch = await channel.start_calls(calls, pace=pace)
    outcomes = await batch.finished(deadline=ANSWER_DEADLINE)
    starts = [outcome.started_at for outcome in outcomes]
    demand(starts == sorted(starts), "they did not start in order")
    spread = starts[-1] - starts[0]
    least = pace * (len(calls) - 1) * 0.9
    demand(spread >= least, f"they started within {spread:.3f} s instead of {least:.3f} s or more")
    demand(starts[-1] < outcomes[0].ended_at, "the last one waited for the first one's end")


@_check(
    "long-line",
    rule="a request of a megabyte is one line like any other",
    advice="read lines of any length, and let neither reading nor writing wait for a call",
    after="unary",
)
async def _long_line(patient: Patient) -> None:
    channel = await patient.channel()
    calls = [patient.call(metadata=(("filling", "x" * 2000),)) for _ in range(500)]
    batch = await channel.start_calls(calls, concurrency=16)
    for outcome in await batch.finished(deadline=3 * patient.deadline):
        _demand_status(outcome, "OK")


@_check(
    "cancel",
    rule="cancelled calls end as CANCELLED, those whose turn has not come without being sent",
    advice=(
        "note the calls before the next line is read, for a cancel may be in it, and finish those "
        "that are never sent as CANCELLED"
    ),
    after="unary",
    needs=("cancel",),
)
async def _cancel(patient: Patient) -> None:
    channel = await patient.channel()
    calls = [patient.call("sleep-9000") for _ in range(2)]
    batch = await channel.start_calls(calls, concurrency=1)
    await batch.cancel(calls[1].id, deadline=ANSWER_DEADLINE)
    await batch.cancel(calls[0].id, deadline=ANSWER_DEADLINE)
    for outcome in await batch.finished(deadline=ANSWER_DEADLINE):
        _demand_status(outcome, "CANCELLED")
    demand(not patient.backend.of(calls[1].id), "the second call was sent")
    await batch.cancel(deadline=ANSWER_DEADLINE)  # finished calls: nothing to do, and done


@_check(
    "kept-open",
    rule=(
        "a kept-open stream reports when it opened, lets other requests by, and ends when cancelled"
    ),
    advice=(
        "open a bidirectional stream, send neither a message nor a half-close, say opened when its "
        "headers are there, and read until it ends"
    ),
    after="cancel",
    needs=(
        "kept_open",
        "cancel",
    ),
)
async def _kept_open(patient: Patient) -> None:
    channel, process = await patient.channel(), await patient.process()
    call = patient.call(path=DUPLEX, kept_open=True, deadline=None)
    batch = await channel.start_calls([call])
    opened = await batch.opened(call.id, deadline=ANSWER_DEADLINE)
    demand(
        opened.hostname == patient.backend.address,
        f"hostname {opened.hostname} instead of {patient.backend.address}",
    )
    async with asyncio.timeout(ANSWER_DEADLINE):
        await process.talk.say_hello()
    demand(not batch.outcomes, "it ended before it was cancelled")
    demand(not await patient.backend.was_half_closed(QUIET), "the adapter half-closed it")
    await batch.cancel(call.id, deadline=ANSWER_DEADLINE)
    outcome = await batch.outcome(call.id, deadline=ANSWER_DEADLINE)
    _demand_status(outcome, "CANCELLED")
    try:
        async with asyncio.timeout(ANSWER_DEADLINE):
            await patient.backend.idle.wait()
    except TimeoutError:
        raise Wrong("the backend's end of the stream stays open") from None


@_check(
    "watch",
    rule="a watch tells the state at once and does not make the channel connect",
    advice="ask for the state without the wish to connect, say it at once, and then each change",
    after="open-channel",
    needs=("watch",),
)
async def _watch(patient: Patient) -> None:
    async with _listening() as (address, accepted):
        watch = await (await patient.channel(address)).watch(deadline=ANSWER_DEADLINE)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(QUIET):
                await accepted.wait()
        demand(not accepted.is_set(), "the channel connected")
        demand(watch.states[0].state == "IDLE", f"it was {watch.states[0].state} at first")


@_check(
    "connect",
    rule="a channel that is asked to connect does, and a watch sees it",
    advice=(
        "ask the channel to connect, as by asking for its state with that wish, and say done "
        "without waiting for it"
    ),
    after="watch",
    needs=(
        "watch",
        "connect",
    ),
)
async def _connect(patient: Patient) -> None:
    channel = await patient.channel()
    watch = await channel.watch(deadline=ANSWER_DEADLINE)
    await channel.connect(deadline=ANSWER_DEADLINE)
    ready: StateName = "READY"
    await watch.reached(ready, deadline=ANSWER_DEADLINE)


@_check(
    "close",
    rule="close ends the channel: its calls as CANCELLED, a watch of it as done",
    advice="cancel the channel's calls, close it, end its watch with done, and then say done",
    after="unary",
)
async def _close(patient: Patient) -> None:
    talk = (await patient.process()).talk
    opened, watched = talk.next_id(), talk.next_id()
    target = f"dns:///{patient.backend.address}"
    await talk.ask_and_wait(
        OpenChannel(id=opened, target=target, options={}), deadline=ANSWER_DEADLINE
    )
    channel = Channel(talk, opened)
    watches = "watch" in patient.prepared.client.manifest.capabilities
    if watches:
        talk.listen_to_channel(opened, lambda _state: None)
        talk.ask(Watch(id=watched, channel=opened))
    batch = await channel.start_calls([patient.call("sleep-9000")])
    await channel.close(deadline=ANSWER_DEADLINE)
    for outcome in await batch.finished(deadline=patient.deadline):
        _demand_status(outcome, "CANCELLED")
    if watches:
        await _answered(lambda: talk.is_over(watched), talk.until)


@_check(
    "channels",
    rule="channels are independent: closing one leaves the others",
    advice="keep each channel under its own number, and what belongs to it beside it",
    after="close",
    needs=("channels",),
)
async def _channels(patient: Patient) -> None:
    first, second = await patient.channel(), await patient.channel()
    await first.close(deadline=ANSWER_DEADLINE)
    batch = await second.start_calls([patient.call()])
    (outcome,) = await batch.finished(deadline=ANSWER_DEADLINE)
    _demand_status(outcome, "OK")


@_check(
    "end",
    rule="the end of stdin ends the process with code 0, whatever is under way",
    advice="exit with code 0 as soon as stdin ends, without waiting for calls or closing anything",
    after="open-channel",
)
async def _end(patient: Patient) -> None:
    channel, process = await patient.channel(), await patient.process()
    await channel.start_calls([patient.call("sleep-9000")])
    ended = await process.close(deadline=ANSWER_DEADLINE)
    await patient.end()
    demand(not ended.killed, "it went on and had to be killed")
    demand(ended.signal is None, f"it died by {signal_name(ended.signal or 0)}")
    demand(ended.code == 0, f"its code was {ended.code}")


async def _answered(
    ready: Callable[[], bool], until: Callable[[Callable[[], bool]], Awaitable[None]]
) -> None:
    try:
        async with asyncio.timeout(ANSWER_DEADLINE):
            await until(ready)
    except TimeoutError:
        raise Wrong(f"no answer came within {ANSWER_DEADLINE:g} s") from None


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
