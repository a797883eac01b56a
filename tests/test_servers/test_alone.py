"""``python -m test_servers`` as a process of its own."""

import asyncio
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from test_servers import Ledger
from test_servers import __main__ as program


@asynccontextmanager
async def alone(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "test_servers",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_serves_until_a_signal_and_leaves_a_ledger(
    number: signal.Signals, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.jsonl"
    async with alone("--count", "2", "--ledger", str(ledger)) as process:
        assert process.stdout is not None
        async with asyncio.timeout(20):
            endpoints = [json.loads(await process.stdout.readline()) for _ in range(2)]
        for endpoint in endpoints:
            assert endpoint["address"] == f"{endpoint['host']}:{endpoint['port']}"
            async with grpc.aio.insecure_channel(endpoint["address"]) as channel:
                call: Any = channel.unary_unary("/grpc.testing.TestService/UnaryCall")
                assert endpoint["id"].encode() in await call(b"", timeout=5)
        process.send_signal(number)
        async with asyncio.timeout(5):
            assert await process.wait() == 0
            assert process.stderr is not None
            assert await process.stderr.read() == b""
    rpcs = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert [rpc["endpoint"] for rpc in rpcs] == ["endpoint-0", "endpoint-1"]


async def test_the_file_has_every_rpc_and_memory_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    made: list[Ledger] = []

    def ledger_of(most: int, *more: Any) -> Ledger:
        assert most == 20_000
        made.append(Ledger(4, *more))
        return made[0]

    monkeypatch.setattr(program, "Ledger", ledger_of)
    file = tmp_path / "ledger.jsonl"
    file.write_text("of an earlier process\n")
    serving = asyncio.create_task(program._serve("127.0.0.1", (0,), file, until_eof=False))
    said = b""
    async with asyncio.timeout(20):
        while b"\n" not in said:
            await asyncio.sleep(0)
            said += capsysbinary.readouterr().out
        async with grpc.aio.insecure_channel(json.loads(said)["address"]) as channel:
            call: Any = channel.unary_unary("/grpc.testing.TestService/UnaryCall")
            for number in range(11):
                await call(b"", metadata=(("number", str(number)),))
                assert len(made[0].rpcs) <= 4
        signal.raise_signal(signal.SIGTERM)
        await serving
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().remove_signal_handler(number)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [dict(row["metadata"])["number"] for row in rows] == [*map(str, range(11))]
    assert {row["status"] for row in rows} == {"OK"}


async def test_a_ledger_that_cannot_be_appended_to_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program._append((), tmp_path)
    assert (
        capsys.readouterr().err == f"test_servers: 0 RPCs are not in {tmp_path}: Is a directory\n"
    )


async def test_the_end_of_standard_input_ends_it() -> None:
    async with alone("--until-eof") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        async with asyncio.timeout(20):
            await process.stdout.readline()
            process.stdin.close()
            _, complaints = await process.communicate()
        assert (process.returncode, complaints) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--host", "0.0.0.0"], "'0.0.0.0' is no loopback address"),  # noqa: S104 - to be refused
        (["--port", "{taken}"], "127.0.0.1:{taken} is in use: choose another port"),
        (["--port", "0", "--port", "{taken}"], "127.0.0.1:{taken} is in use: choose another port"),
        (["--count", "3", "--port", "0"], "--count 3 with 1 ports: give one --port for each"),
        (["--count", "0"], "Invalid value for '--count'"),
        (["--ledger", "/missing/ledger"], "cannot write to /missing/ledger"),
        (["--unheard-of"], "--unheard-of"),
    ],
)
async def test_bad_input_is_one_sentence(arguments: list[str], sentence: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with alone(*(argument.format(taken=port) for argument in arguments)) as process:
            async with asyncio.timeout(20):
                out, err = await process.communicate()
    assert process.returncode == 4
    assert out == b""
    assert err.decode().startswith("test_servers: ")
    assert sentence.format(taken=port) in err.decode()
    assert err.count(b"\n") == 1
