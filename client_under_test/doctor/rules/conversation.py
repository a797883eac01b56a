"""Rules of the conversation itself: the hello, and what is no request."""

from __future__ import annotations

from typing import Final

import msgspec

from client_under_test.contract.adapter_clock import DOUBT
from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.check import check
from client_under_test.doctor.requirements import require, require_answer
from client_under_test.launching.hello_check import contradiction


@check(
    "hello",
    rule="hello has the version and the capabilities of client.toml",
    advice=(
        "let the program that client.toml starts answer `hello` with its contract version, 1 or 2, "
        "the capabilities that client.toml declares, and the version of the library; write logs to "
        "stderr"
    ),
)
async def _hello(adapter: AdapterUnderCheck) -> None:
    why = contradiction((await adapter.process()).hello, adapter.prepared)
    require(why is None, why or "")
    early = (await adapter.process()).clock.seconds_before_hello
    require(
        early <= DOUBT,
        f"the adapter's clock started {early:,.0f} s before the first `hello`: let `at` be the "
        "microseconds since the first `hello`",
    )


@check(
    "not-a-request",
    rule="a line that is not a request gets an error whose id is null",
    advice="catch what the JSON parser raises, and write an `error` with the id null",
    after="hello",
)
async def _not_a_request(adapter: AdapterUnderCheck) -> None:
    dialogue = (await adapter.process()).dialogue
    before = len(dialogue.errors_without_id)
    dialogue.ask_badly(b"{this is not JSON", None)
    await require_answer(lambda: len(dialogue.errors_without_id) > before, dialogue.until)


@check(
    "unknown-request",
    rule="a request of unknown type gets an error with its id",
    advice="write an `error` with the id of the request if its type is none that you know",
    after="open-channel",  # before, it would pass by refusing everything
)
async def _unknown_request(adapter: AdapterUnderCheck) -> None:
    dialogue = (await adapter.process()).dialogue
    number = dialogue.next_id()
    dialogue.ask_badly(msgspec.json.encode({"type": "sing", "id": number}), number)
    await require_answer(lambda: dialogue.is_over(number), dialogue.until)


CHECKS: Final = (_hello, _not_a_request)


AFTER_OPENING: Final = (_unknown_request,)
