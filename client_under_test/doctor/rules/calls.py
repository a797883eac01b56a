"""Rules of one call: what is sent, and what is said of its end."""

from __future__ import annotations

import base64
import contextlib
import socket
import time
from typing import Any, Final

import grpc

from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.backend import RESPONSE_HEADERS, SERVICE
from client_under_test.doctor.check import check
from client_under_test.doctor.deadlines import ANSWER_DEADLINE
from client_under_test.doctor.requirements import NotApplicable, require, require_status
from client_under_test.launching.channels import CALL_ID_KEY


@check(
    "unary",
    rule="a unary call is made once and reports status, backend, start and end",
    advice=(
        "make each of `calls` with its metadata and an empty message; write `finished` with the "
        "response header `hostname` and its times in microseconds for each, and `done` after the "
        "last one"
    ),
    after="open-channel",
)
async def _unary_call(adapter: AdapterUnderCheck) -> None:
    call, asked_at = adapter.call(), time.monotonic()
    outcome = await adapter.outcome(call)
    heard_at, clock = time.monotonic(), (await adapter.process()).clock
    require_status(outcome, "OK")
    require(
        outcome.hostname == adapter.backend.address,
        f"hostname {outcome.hostname} instead of {adapter.backend.address}",
    )
    require(
        asked_at - clock.error <= outcome.started_at <= outcome.ended_at <= heard_at + clock.error,
        f"started_at {clock.of_adapter(outcome.started_at):,}, "
        f"ended_at {clock.of_adapter(outcome.ended_at):,} us; the request was at about "
        f"{clock.of_adapter(asked_at):,} us, its answer at about {clock.of_adapter(heard_at):,} "
        "us: times are microseconds since the first `hello`",
    )
    times = len(adapter.backend.of(call.id))
    if not times:
        raise NotApplicable(
            f"a call reached the backend without ({CALL_ID_KEY}, {call.id}) of its metadata"
        )
    once = times == 1 or (times > 1 and not adapter.is_able("metadata"))
    require(once, f"the backend got the call {times} times")


@check(
    "metadata",
    rule="repeated keys keep their order, and -bin values arrive as bytes",
    advice=(
        "send every pair in order, also if its key repeats; decode the base64 of values whose key "
        "ends in -bin"
    ),
    after="unary",
    needs=("metadata",),
)
async def _metadata(adapter: AdapterUnderCheck) -> None:
    sent = (
        ("session", "b"),
        ("other", "x"),
        ("session", "a"),
        ("session", "b"),
        ("trace-bin", bytes(range(256))),
        ("trace-bin", b""),
    )
    call = adapter.call(metadata=sent)
    require_status(await adapter.outcome(call), "OK")
    received = adapter.backend.of(call.id)
    require(len(received) == 1, f"the backend got the call {len(received)} times")
    for key in ("session", "other", "trace-bin"):
        wanted = [value for name, value in sent if name == key]
        came = [value for name, value in received[0].metadata if name == key]
        if key.endswith("-bin"):
            as_told = [base64.b64encode(value) for value in wanted if isinstance(value, bytes)]
            require(came != as_told, f"{key} came base64-encoded once too often")
            require(
                came == wanted, f"{key}: other bytes came than all from 0 to 255, and then none"
            )
        require(came == wanted, f"{key}: {came} came instead of {wanted}")


@check(
    "response-headers",
    rule="the other response headers are reported, in order within a key",
    advice="write the response headers other than `hostname` as pairs in `headers` of `finished`",
    after="unary",
    needs=("metadata", "response_headers"),
)
async def _response_headers(adapter: AdapterUnderCheck) -> None:
    outcome = await adapter.outcome(adapter.call("headers"))
    require_status(outcome, "OK")
    for key in dict(RESPONSE_HEADERS):
        wanted = [value for name, value in RESPONSE_HEADERS if name == key]
        came = [value for name, value in outcome.headers if name == key]
        require(came == wanted, f"`headers` has {key}: {came} instead of {wanted}")


@check(
    "unknown-method",
    rule="a method that the backend does not know ends as UNIMPLEMENTED",
    advice="write `finished` with the status for a call that fails, too",
    after="unary",
    needs=("metadata",),
)
async def _unknown_method(adapter: AdapterUnderCheck) -> None:
    require_status(await adapter.outcome(adapter.call(path=f"/{SERVICE}/None")), "UNIMPLEMENTED")


@check(
    "statuses",
    rule="every status is reported by its gRPC name, with its details",
    advice=(
        "write the status by its gRPC name (CANCELLED, not Canceled or 1), and its message as "
        "`details`"
    ),
    after="unary",
)
async def _statuses(adapter: AdapterUnderCheck) -> None:
    channel = await adapter.channel()
    codes = [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK]
    calls = [adapter.call(f"status-{code.value[0]}") for code in codes]
    batch = await channel.start_calls(calls, concurrency=4)
    for code, outcome in zip(codes, await batch.finished(deadline=adapter.deadline), strict=True):
        require_status(outcome, code.name)
        words = f"words of {code.name}" if adapter.is_able("metadata") else outcome.details
        require(outcome.details == words, f"details {outcome.details!r} instead of {words!r}")


@check(
    "deadline",
    rule="a call ends as DEADLINE_EXCEEDED at its deadline",
    advice="set the deadline of the call: microseconds from the start of this call",
    after="unary",
)
async def _deadline(adapter: AdapterUnderCheck) -> None:
    wanted = 0.2
    call = adapter.call(f"sleep-{ANSWER_DEADLINE * 1000:.0f}", deadline=wanted)
    outcome = await adapter.outcome(call)
    require_status(outcome, "DEADLINE_EXCEEDED")
    lasted = outcome.ended_at - outcome.started_at
    # Late only by what a busy computer may be late; who has no deadline gets the answer by then.
    in_time = wanted * 0.9 <= lasted < wanted + ANSWER_DEADLINE * 0.9
    require(in_time, f"it lasted {lasted:.3f} s instead of {wanted} s")


@check(
    "fail-fast",
    rule="a call that cannot connect fails as UNAVAILABLE",
    advice="turn retries off; set wait_for_ready only if the call has it",
    after="unary",
)
async def _fail_fast(adapter: AdapterUnderCheck) -> None:
    with _refusing_address() as address:
        require_status(await adapter.outcome(adapter.call(), address), "UNAVAILABLE")


@check(
    "wait-for-ready",
    rule="a call with wait_for_ready waits while the channel connects",
    advice="let a call with wait_for_ready wait until its deadline",
    after="unary",
    needs=("wait_for_ready",),
)
async def _wait_for_ready(adapter: AdapterUnderCheck) -> None:
    call = adapter.call(wait_for_ready=True, deadline=0.5)
    with _refusing_address() as address:
        require_status(await adapter.outcome(call, address), "DEADLINE_EXCEEDED")


@contextlib.contextmanager
def _refusing_address() -> Any:
    """Reserve an address without a listener, so that no other process can bind it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


CHECKS: Final = (
    _unary_call,
    _metadata,
    _response_headers,
    _unknown_method,
    _statuses,
    _deadline,
    _fail_fast,
    _wait_for_ready,
)
