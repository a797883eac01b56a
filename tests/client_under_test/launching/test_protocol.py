"""Times that an adapter cannot have seen, in the words that its author reads."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from client_under_test.contract.adapter_clock import Impossible
from client_under_test.contract.invalid_line import InvalidLine
from client_under_test.contract.messages import OpenChannel, PlannedCall, StartCalls, Watch
from client_under_test.launching.protocol import StdioProtocol

SECOND = 1_000_000
CHANNEL = 1
BEFORE = 100
"""Seconds from the first hello to what is asked here."""

Said = Callable[[int], bytes]
"""Lines, by what the adapter's clock should say now."""


def line(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, **fields}).encode() + b"\n"


def hello(at: int) -> bytes:
    about = {"contract": 1, "name": "n", "version": "1", "capabilities": []}
    return line("hello", id=0, at=at, **about)


@pytest.fixture
def began() -> float:
    return time.monotonic()


def now(began: float) -> int:
    return round((BEFORE + time.monotonic() - began) * SECOND)


@pytest.fixture
def dialogue(began: float) -> StdioProtocol:
    """Hello said as the clock began; call a and the states of a channel asked for, 100 s later."""
    asked: list[bytes] = []
    made = StdioProtocol(asked.append, lambda: "")
    made.clock.heard(0, asked_at=began - BEFORE, heard_at=began - BEFORE)
    call = PlannedCall(
        id="a", path="/p", metadata=(), deadline=None, wait_for_ready=False, kept_open=True
    )
    made.ask(OpenChannel(id=CHANNEL, target="t", options={}))
    made.ask(StartCalls(id=2, channel=CHANNEL, calls=(call,), concurrency=None, pace=None))
    made.ask(Watch(id=3, channel=CHANNEL))
    made.listen_to_call("a", lambda _: None)
    made.listen_to_channel(CHANNEL, lambda _: None)
    return made


def opened(at: int) -> bytes:
    return line("opened", call="a", hostname="h", at=at)


def finished(started_at: int, ended_at: int) -> bytes:
    times = {"started_at": started_at, "ended_at": ended_at}
    return line("finished", call="a", status="OK", details="", hostname="h", **times)


def state(at: int) -> bytes:
    return line("state", channel=CHANNEL, state="READY", at=at)


@pytest.mark.parametrize(
    "said",
    [
        opened,
        state,
        lambda at: finished(at, at),
        lambda at: finished(at, at + 1),
        lambda at: state(at - 10_000) + opened(at + 10_000) + state(at - 20_000),
    ],
)
def test_times_that_can_be(dialogue: StdioProtocol, began: float, said: Said) -> None:
    dialogue.hear(said(now(began)))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (lambda at: opened(at + 60 * SECOND), "that a opened # after it said so"),
        (lambda _: opened(0), "that a opened # before it was asked for"),
        (lambda at: finished(0, at), "that a started # before it was asked for"),
        (lambda at: finished(at - 2 * SECOND, at), "that a started # before it was asked for"),
        (lambda at: finished(at, at + 2 * SECOND), "that a ended # after it said so"),
        (lambda at: finished(at, 10**15), "that a ended # after it said so"),
        (lambda at: finished(at + 1000, at), "that a ended # before it started"),
        (
            lambda at: state(at + 3600 * SECOND),
            "that channel 1 was READY # after it said so",
        ),
        (
            lambda at: state(at - 50 * SECOND),
            "that channel 1 was READY # before it was asked for",
        ),
    ],
)
def test_times_that_cannot(dialogue: StdioProtocol, began: float, said: Said, words: str) -> None:
    with pytest.raises(Impossible) as told:
        dialogue.hear(said(now(began)))
    sentence, _, _ = str(told.value).partition(" (")
    without_numbers = re.sub(r"\d+\.\d+ s", "#", sentence)
    assert without_numbers == f"the adapter says {words}"


@pytest.mark.parametrize("at", ["1" + 30 * "0", "1" + 400 * "0", "NaN", "Infinity", "-1", "1.5"])
def test_times_that_are_none(dialogue: StdioProtocol, at: str) -> None:
    with pytest.raises(InvalidLine):
        dialogue.hear(state(7).replace(b'"at": 7', b'"at": ' + at.encode()))


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (lambda at: at, None),
        (lambda at: at + 5 * SECOND, "ahead by 5"),
        (lambda at: at - 5 * SECOND, "back by 5"),
        (lambda _: 0, "back by 100"),
    ],
)
def test_a_clock_that_jumps_between_two_hellos(
    dialogue: StdioProtocol, began: float, second: Callable[[int], int], words: str | None
) -> None:
    heard_at = time.monotonic()
    at = second(round((BEFORE + heard_at - began) * SECOND))
    if words is None:
        dialogue.clock.heard(at, asked_at=heard_at, heard_at=heard_at)
        return
    with pytest.raises(Impossible) as told:
        dialogue.clock.heard(at, asked_at=heard_at, heard_at=heard_at)
    assert str(told.value).startswith(f"the adapter's clock went {words}")
