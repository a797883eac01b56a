"""Rules of channels: how they are opened and closed."""

from __future__ import annotations

from typing import Final

from client_under_test.contract.exceptions import ClientHung, RequestRefused
from client_under_test.contract.messages import OpenChannel, Watch
from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.check import check
from client_under_test.doctor.deadlines import ANSWER_DEADLINE
from client_under_test.doctor.requirements import Violation, require_answer, require_status
from client_under_test.launching.channels import Channel


@check(
    "open-channel",
    rule="open_channel opens a channel and gets a done",
    advice=(
        "create a channel to `target` without connecting it, with insecure credentials and with "
        "retries off; keep it under the request's id, and write `done`"
    ),
    after="hello",
)
async def _open_channel(adapter: AdapterUnderCheck) -> None:
    await adapter.channel()


@check(
    "unknown-channel",
    rule="a request for a channel that is not open gets an error",
    advice="look the channel up first, and write an `error` if it is not open",
    after="unary",  # before, it would pass by refusing every `start_calls`
)
async def _unknown_channel(adapter: AdapterUnderCheck) -> None:
    dialogue = (await adapter.process()).dialogue
    batch = await Channel(dialogue, dialogue.next_id()).start_calls([adapter.call()])
    try:
        await batch.finished(deadline=ANSWER_DEADLINE)
    except RequestRefused:
        return
    except ClientHung:
        raise Violation(
            f"no error came within {ANSWER_DEADLINE:g} s for a `start_calls` with a channel that "
            "was never opened"
        ) from None
    raise Violation("the adapter answered with done")


@check(
    "close",
    rule="close ends the channel, its calls as CANCELLED, and its watch with a done",
    advice=(
        "finish all calls of the channel as CANCELLED, also those that have not started, and close "
        "the channel; write `done` for the close, the watch and each `start_calls`, in any order"
    ),
    after="unary",
)
async def _close(adapter: AdapterUnderCheck) -> None:
    dialogue = (await adapter.process()).dialogue
    opened, watched = dialogue.next_id(), dialogue.next_id()
    target = f"dns:///{adapter.backend.address}"
    await dialogue.ask_and_wait(
        OpenChannel(id=opened, target=target, options={}), deadline=ANSWER_DEADLINE
    )
    channel = Channel(dialogue, opened)
    watches = "watch" in adapter.prepared.client.manifest.capabilities
    if watches:
        dialogue.listen_to_channel(opened, lambda _state: None)
        dialogue.ask(Watch(id=watched, channel=opened))
    call = adapter.call("sleep-9000")
    batch = await channel.start_calls([call])
    await channel.close(deadline=ANSWER_DEADLINE)
    try:
        outcomes = await batch.finished(deadline=adapter.deadline)
    except (RequestRefused, ClientHung) as failure:
        raise type(failure)(
            f"the suite started {call.id} and closed its channel at once, perhaps before the call "
            f"had started; {failure}",
            hello_said=True,
            stderr_tail=failure.stderr_tail,
        ) from None
    for outcome in outcomes:
        require_status(outcome, "CANCELLED")
    if watches:
        await require_answer(lambda: dialogue.is_over(watched), dialogue.until)


@check(
    "channels",
    rule="channels are independent: others stay open if one is closed",
    advice="keep the calls and the watch of each channel under the number of the channel",
    after="close",
    needs=("channels",),
)
async def _channels(adapter: AdapterUnderCheck) -> None:
    first, second = await adapter.channel(), await adapter.channel()
    await first.close(deadline=ANSWER_DEADLINE)
    batch = await second.start_calls([adapter.call()])
    (outcome,) = await batch.finished(deadline=ANSWER_DEADLINE)
    require_status(outcome, "OK")


OPENING: Final = (_open_channel,)


AFTER_CALLS: Final = (_unknown_channel,)


CLOSING: Final = (_close, _channels)
