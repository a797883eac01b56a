"""Names that are resolved again when asked, not too often."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Callable

import pytest

from client_under_test.reference.transport.clock import Clock
from client_under_test.reference.transport.dns import Name, Result
from client_under_test.reference.values import Status

from .rig import FAST, until


def follow(text: str, told: list[Result], *, min_interval: float = 30.0) -> Name:
    return Name(
        text,
        clock=Clock(asyncio.get_running_loop(), FAST),
        min_interval=min_interval,
        backoff_delay=lambda failures, _draw: float(failures),
        rng=random.Random(1),
        tell=told.append,
    )


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("127.0.0.1:5", ("127.0.0.1:5",)),
        ("[::1]:5", ("[::1]:5",)),
        ("127.0.0.1", ("127.0.0.1:443",)),
    ],
)
async def test_literals(text: str, result: tuple[str, ...]) -> None:
    told: list[Result] = []
    name = follow(text, told)
    await until(lambda: told)
    assert told == [result]
    name.close()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[list[str] | OSError]:
    """What the system's resolver will say, one after the other; the last one stays."""
    script: list[list[str] | OSError] = []

    def getaddrinfo(_host: str, port: str, *_how: object, **_more: object) -> object:
        answer = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(answer, OSError):
            raise answer
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, int(port))) for address in answer
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return script


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_again_after_the_interval(answers: list[list[str] | OSError]) -> None:
    answers += [["127.0.0.1"], ["127.0.0.2", "127.0.0.2"]]
    told: list[Result] = []
    began = now()
    name = follow("host:1", told, min_interval=10.0)
    await until(lambda: len(told) == 1)
    name.resolve_again()
    name.resolve_again()
    await until(lambda: len(told) == 2)
    assert now() - began >= 10.0 * FAST
    assert told == [("127.0.0.1:1",), ("127.0.0.2:1",)]
    name.close()


async def test_failures_are_tried_again_by_backoff(answers: list[list[str] | OSError]) -> None:
    answers += [OSError("no such name"), OSError("still none"), [], ["127.0.0.1"]]
    told: list[Result] = []
    name = follow("host:1", told)
    await until(lambda: len(told) == 4)
    assert [isinstance(outcome, Status) for outcome in told] == [True, True, True, False]
    assert "no such name" in getattr(told[0], "details", "")
    name.close()


async def test_closed_while_waiting(answers: list[list[str] | OSError]) -> None:
    answers += [["127.0.0.1"]]
    told: list[Result] = []
    closers: list[Callable[[], None]] = [follow("host:1", told).close for _ in range(2)]
    closers[0]()
    await until(lambda: told)
    closers[1]()
    assert len(told) == 1
