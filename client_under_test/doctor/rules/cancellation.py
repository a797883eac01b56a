"""Rules of calls that end because they are cancelled."""

from __future__ import annotations

import asyncio
from typing import Final

from client_under_test.contract.exceptions import ClientHung, Unanswered
from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.backend import DUPLEX
from client_under_test.doctor.check import check
from client_under_test.doctor.deadlines import ANSWER_DEADLINE, QUIET
from client_under_test.doctor.requirements import Violation, require, require_status


@check(
    "cancel",
    rule="cancelled calls end as CANCELLED; those that have not started are never sent",
    advice=(
        "register the calls before you read the next line, which may cancel them; when the turn of "
        "a cancelled call comes, write its `finished` with CANCELLED and do not send it. A task or "
        "thread that is cancelled before its first step writes no `finished`"
    ),
    after="unary",
    needs=("cancel",),
)
async def _cancel(adapter: AdapterUnderCheck) -> None:
    channel = await adapter.channel()
    first, second = (adapter.call("sleep-9000") for _ in range(2))
    batch = await channel.start_calls([first, second], concurrency=1)
    await batch.cancel(second.id, deadline=ANSWER_DEADLINE)
    await batch.cancel(first.id, deadline=ANSWER_DEADLINE)
    steps = (
        f"the suite started {first.id} and {second.id} with `concurrency` 1, cancelled "
        f"{second.id}, which was waiting for its turn, and then {first.id}"
    )
    try:
        outcomes = await batch.finished(deadline=ANSWER_DEADLINE)
    except ClientHung as hung:
        over = {outcome.id for outcome in batch.outcomes}
        lost = [call.id for call in (first, second) if call.id not in over]
        finished = f"no `finished` for {' and '.join(lost)} and " if lost else ""
        raise ClientHung(
            f"{steps}. Within {ANSWER_DEADLINE:g} s the adapter wrote {finished}no `done` for the "
            "`start_calls`",
            hello_said=True,
            stderr_tail=hung.stderr_tail,
        ) from None
    for outcome in outcomes:
        require(
            outcome.status == "CANCELLED",
            f"{steps}. {outcome.id} ended as {outcome.status} ({outcome.details or 'no details'}) "
            "instead of CANCELLED",
        )
    require(not adapter.backend.of(second.id), f"{steps}. {second.id} was sent all the same")
    await batch.cancel(deadline=ANSWER_DEADLINE)  # finished calls: nothing to do, and done


@check(
    "kept-open",
    rule=(
        "a kept-open stream reports when it opens, blocks no other request, and ends when cancelled"
    ),
    advice=(
        "open a bidirectional stream, send neither a message nor a half-close, write `opened` when "
        "the headers arrive, and read until it ends"
    ),
    after="cancel",
    needs=(
        "kept_open",
        "cancel",
    ),
)
async def _kept_open(adapter: AdapterUnderCheck) -> None:
    channel, process = await adapter.channel(), await adapter.process()
    call = adapter.call(path=DUPLEX, kept_open=True, deadline=None)
    batch = await channel.start_calls([call])
    opened = await batch.opened(call.id, deadline=ANSWER_DEADLINE)
    require(
        opened.hostname == adapter.backend.address,
        f"hostname {opened.hostname} instead of {adapter.backend.address}",
    )
    try:
        async with asyncio.timeout(ANSWER_DEADLINE):
            await process.dialogue.say_hello()
    except TimeoutError:
        late = f"did not answer `hello` within {ANSWER_DEADLINE:g} s"
        raise process.dialogue.hung(late, Unanswered) from None
    require(not batch.outcomes, "it ended before it was cancelled")
    require(not await adapter.backend.was_half_closed(QUIET), "the adapter half-closed it")
    await batch.cancel(call.id, deadline=ANSWER_DEADLINE)
    outcome = await batch.outcome(call.id, deadline=ANSWER_DEADLINE)
    require_status(outcome, "CANCELLED")
    try:
        async with asyncio.timeout(ANSWER_DEADLINE):
            await adapter.backend.idle.wait()
    except TimeoutError:
        raise Violation("the backend's end of the stream stays open") from None


CHECKS: Final = (_cancel, _kept_open)
