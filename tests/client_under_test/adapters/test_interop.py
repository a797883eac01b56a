"""The bridge to stock xDS interop clients, tried with one in miniature."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from client_under_test import doctor
from client_under_test.contract.exceptions import (
    ClientCrashed,
    ClientExited,
    ConversationFailed,
    MissingInput,
    RequestRefused,
)
from client_under_test.environments import Prepared, prepare
from client_under_test.launching.channels import CALL_ID_KEY, Call, Channel, Outcome
from client_under_test.launching.process import ClientProcess
from client_under_test.manifests.clients import find
from test_servers import DeadlinePassed, Fleet

STOCK = Path(__file__).parents[2] / "adapters" / "stock" / "stock.py"
UNARY = "/grpc.testing.TestService/UnaryCall"
EMPTY = "/grpc.testing.TestService/EmptyCall"
DEADLINE = 60.0
QUIET = 0.3


def stock(*more: str) -> str:
    return shlex.join([sys.executable, str(STOCK), *more])


def bridge(command: str) -> Prepared:
    return prepare(find("interop"), {"XDSPEC_INTEROP_CLIENT": command})


@asynccontextmanager
async def process(command: str, folder: Path) -> AsyncIterator[ClientProcess]:
    started = await ClientProcess.start(
        bridge(command), stderr_path=folder / "stderr", deadline=DEADLINE
    )
    try:
        yield started
    finally:
        await started.close(deadline=0)


@asynccontextmanager
async def channel(folder: Path, *more: str) -> AsyncIterator[tuple[Channel, Fleet]]:
    """A channel of the miniature to the one endpoint of a fleet."""
    async with Fleet.running() as fleet, process(stock(*more), folder) as started:
        target = f"dns:///{(await fleet.endpoint()).address}"
        yield await started.open_channel(target, deadline=DEADLINE), fleet


def row(first: int, count: int, **how: object) -> list[Call]:
    """Calls that are alike."""
    described = {"path": UNARY, "deadline": 10.0, "mark": f"call-{first}", **how}
    return [Call(id=f"call-{n}", **described) for n in range(first, first + count)]  # type: ignore[arg-type]


async def made(on: Channel, calls: list[Call]) -> tuple[Outcome, ...]:
    return await (await on.start_calls(calls)).finished(deadline=DEADLINE)


@pytest.mark.slow
async def test_the_doctor_finds_it_well(tmp_path: Path) -> None:
    findings = await doctor.examine(bridge(stock()), folder=tmp_path)
    assert {finding.check: finding.seen for finding in findings if finding.verdict == "wrong"} == {}
    assert {"unary", "statuses", "deadline", "fail-fast", "long-line", "close", "end"} <= {
        finding.check for finding in findings if finding.verdict == "ok"
    }


def test_without_a_command_the_user_is_asked_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDSPEC_INTEROP_CLIENT", raising=False)
    with pytest.raises(
        MissingInput, match=r"the command of a stock xDS interop client, such as .*--env"
    ):
        prepare(find("interop"))
    monkeypatch.setenv("XDSPEC_INTEROP_CLIENT", "some client")
    assert prepare(find("interop")).told == "some client"
    assert bridge("another").told == "another"


async def test_a_row_is_told_by_counts_and_every_one_of_it_was_made(tmp_path: Path) -> None:
    async with channel(tmp_path) as (used, fleet):
        calls = row(0, 30, metadata=(("a", "1"), ("a", "2"))) + row(30, 10, metadata=(("a", ""),))
        outcomes = await made(used, calls)
        (there,) = fleet.members
    assert [outcome.id for outcome in outcomes] == [call.id for call in calls]
    assert {(outcome.status, outcome.hostname) for outcome in outcomes} == {("OK", there.address)}
    values = {rpc.values(CALL_ID_KEY): rpc.values("a") for rpc in fleet.ledger.rpcs}
    assert values == {("call-0",): ("1", "2"), ("call-30",): ("",)}
    received = Counter(rpc.values(CALL_ID_KEY) for rpc in fleet.ledger.rpcs)
    assert received["call-0",] >= 30
    assert received["call-30",] >= 10
    assert {rpc.path for rpc in fleet.ledger.rpcs} == {UNARY}
    assert "Greeting" in (tmp_path / "stderr").read_text(), "what it prints is no message"


async def test_the_first_calls_of_all_are_those_that_are_wanted(tmp_path: Path) -> None:
    """It calls before it can be told anything: what its flags can say, they say."""
    async with channel(tmp_path) as (used, fleet):
        await made(used, row(0, 1, path=EMPTY, metadata=(("a", "1"), ("b", "1,2"), ("c", "1:2"))))
    assert fleet.ledger.rpcs[0].path == EMPTY
    assert fleet.ledger.rpcs[0].values("a") == ("1",)
    assert fleet.ledger.rpcs[-1].values("b") == ("1,2",)
    assert fleet.ledger.rpcs[-1].values("c") == ("1:2",)


async def test_it_rests_between_requests(tmp_path: Path) -> None:
    async with channel(tmp_path) as (used, fleet):
        await made(used, row(0, 5))
        for _ in range(2):  # the first one lets calls arrive that are under way
            before = len(fleet.ledger)
            with pytest.raises(DeadlinePassed):
                await fleet.ledger.wait(lambda _: False, deadline=QUIET)
        assert len(fleet.ledger) == before
        (late,) = await made(used, row(5, 1))
    assert late.status == "OK"


async def test_failures_have_their_statuses(tmp_path: Path) -> None:
    fails = [
        call
        for place, code in enumerate((5, 14, 5, 7))
        for call in row(place * 3, 3, metadata=(("rpc-behavior", f"error-code-{code}"),))
    ]
    async with channel(tmp_path) as (used, _):
        outcomes = await made(used, [*fails, *row(12, 2)])
    found = [outcome.status for outcome in outcomes]
    codes = ("NOT_FOUND", "UNAVAILABLE", "NOT_FOUND", "PERMISSION_DENIED")
    assert found == [code for code in codes for _ in range(3)] + ["OK", "OK"]


async def test_closing_the_channel_cancels_its_calls(tmp_path: Path) -> None:
    async with channel(tmp_path) as (used, _):
        behavior = (("rpc-behavior", "keep-open"),)
        batch = await used.start_calls(row(0, 3, metadata=behavior, deadline=50.0))
        await used.close(deadline=DEADLINE)
        outcomes = await batch.finished(deadline=DEADLINE)
    assert [outcome.status for outcome in outcomes] == ["CANCELLED"] * 3


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"path": "/a/b"}, "a stock client makes EmptyCall and UnaryCall"),
        ({"wait_for_ready": True}, "does not wait for ready"),
        ({"metadata": (("a-bin", b"1"),)}, "metadata as text only"),
    ],
)
async def test_what_it_cannot_do_it_says(
    tmp_path: Path, how: dict[str, object], words: str
) -> None:
    async with channel(tmp_path) as (used, _):
        with pytest.raises(RequestRefused, match=words):
            await made(used, row(0, 1, **how))


@pytest.mark.parametrize(
    ("misdeed", "trouble", "words"),
    [
        ("dies", ClientCrashed, "died by SIGABRT"),
        ("does not start", RequestRefused, "ended with code 1 before its stats service answered"),
        ("cannot be configured", RequestRefused, "Configure of the stock client answers UNIMPL"),
    ],
)
async def test_who_is_no_stock_client(
    tmp_path: Path, misdeed: str, trouble: type[ConversationFailed], words: str
) -> None:
    async with channel(tmp_path, f"--misdeed={misdeed}") as (used, _):
        with pytest.raises(trouble, match=words):
            await made(used, row(0, 1))


async def test_a_command_that_is_not_there_ends_the_bridge(tmp_path: Path) -> None:
    with pytest.raises(ClientExited, match="exited with code 1") as failure:
        async with process("no-such-program --flag", tmp_path):
            pass
    assert "there is no program no-such-program" in failure.value.stderr_tail


async def test_nothing_of_it_is_left(tmp_path: Path) -> None:
    async with Fleet.running() as fleet:
        there = await fleet.endpoint()
        async with process(stock(), tmp_path) as started:
            used = await started.open_channel(f"dns:///{there.address}", deadline=DEADLINE)
            await made(used, row(0, 1))
            ended = await started.close(deadline=DEADLINE)
            assert (ended.code, ended.killed) == (0, False)
        await fleet.ledger.wait_attempts(
            lambda connection: connection.closed_at is not None,
            count=len(there.attempts),
            deadline=DEADLINE,
        )
