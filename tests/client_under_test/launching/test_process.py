"""None"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from client_under_test.contract.exceptions import (
    ClientCrashed,
    ClientExited,
    ClientFlooded,
    ClientHung,
    ClientUnresponsive,
    ClockWrong,
    ConversationFailed,
    ConversationOver,
    HelloContradicted,
    NotStarted,
    ProtocolError,
    UnknownKnob,
    WrongContract,
)
from client_under_test.launching.channels import Call
from client_under_test.launching.process import ClientProcess, Patience
from tests.client_under_test.launching.fakes import (
    ADAPTERS,
    CALL,
    DEADLINE,
    SHORT,
    fake,
    running,
    unable,
    written,
)
from tests.processes import is_gone


async def fail_at_first_call(name: str, folder: Path, deadline: float) -> ConversationFailed:
    async with running(fake(name), folder) as process:
        channel = await process.open_channel("t", deadline=DEADLINE)
        batch = await channel.start_calls([CALL])
        with pytest.raises(ConversationFailed) as failed:
            await batch.finished(deadline=deadline)
    assert is_gone(process.pid)
    assert failed.value.hello_said
    return failed.value


async def fail_to_start(name: str, folder: Path, deadline: float = DEADLINE) -> ConversationFailed:
    with pytest.raises(ConversationFailed) as failed:
        await ClientProcess.start(fake(name), stderr_path=folder / "stderr", deadline=deadline)
    return failed.value


@pytest.mark.parametrize(
    ("name", "deadline", "kind", "words"),
    [
        ("crasher", DEADLINE, ClientCrashed, "the client died by SIGABRT"),
        ("exiter", DEADLINE, ClientExited, "the client exited with code 3"),
        ("breeder", DEADLINE, ClientExited, "the client exited with code 3"),
        ("hanger", SHORT, ClientHung, "did not end 1 of 1 calls within 0.3 s, such as a"),
        ("babbler", DEADLINE, ProtocolError, "Connected, all is well!"),
        ("flooder", DEADLINE, ClientFlooded, "the client wrote without end"),
    ],
)
async def test_trouble_after_hello(
    tmp_path: Path, name: str, deadline: float, kind: type[ConversationFailed], words: str
) -> None:
    failure = await fail_at_first_call(name, tmp_path, deadline)
    assert type(failure) is kind
    assert words in str(failure)


@pytest.mark.parametrize(
    ("name", "deadline", "kind"),
    [
        ("mute", SHORT, ClientUnresponsive),
        ("stillborn", DEADLINE, ClientExited),
        ("old-contract", DEADLINE, WrongContract),
    ],
)
async def test_trouble_before_hello(
    tmp_path: Path, name: str, deadline: float, kind: type[ConversationFailed]
) -> None:
    failure = await fail_to_start(name, tmp_path, deadline)
    assert type(failure) is kind
    assert not failure.hello_said


async def test_who_waits_for_a_slow_start_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    process = await ClientProcess.start(
        fake("slow"),
        stderr_path=tmp_path / "stderr",
        deadline=DEADLINE,
        patience=Patience(every=0.5, say=said.append),
    )
    await process.close(deadline=DEADLINE)
    assert process.hello.name == "fake"
    waiting = "still waiting for the hello of slow"
    question = "does the adapter flush stdout after each line?"
    assert said[:3] == [f"{waiting}, {waited} s: {question}" for waited in ("0.5", "1", "1.5")]


async def test_a_crash_tells_signal_and_last_words(tmp_path: Path) -> None:
    failure = await fail_at_first_call("crasher", tmp_path, DEADLINE)
    assert isinstance(failure, ClientCrashed)
    assert failure.signal == signal.SIGABRT
    assert failure.stderr_tail == "a last word before the crash\n"


async def test_a_contract_mismatch_names_both_versions(tmp_path: Path) -> None:
    failure = await fail_to_start("old-contract", tmp_path)
    assert "version 99 of the contract, this suite version 1" in str(failure)


async def test_what_the_client_started_ends_with_it(tmp_path: Path) -> None:
    failure = await fail_at_first_call("breeder", tmp_path, DEADLINE)
    child = int(failure.stderr_tail.split()[1])
    assert is_gone(child)


async def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    prepared = msgspec.structs.replace(fake("mute"), command=("no-such-program",))
    with pytest.raises(NotStarted, match="there is no program no-such-program"):
        await ClientProcess.launch(prepared, stderr_path=tmp_path / "stderr")


async def test_end_of_stdin_ends_a_good_one(tmp_path: Path) -> None:
    async with running(fake("exiter"), tmp_path) as process:
        ended = await process.close(deadline=DEADLINE)
    assert (ended.code, ended.signal, ended.killed) == (0, None, False)
    with pytest.raises(ConversationOver):
        await process.open_channel("t", deadline=DEADLINE)
    assert (await process.close(deadline=DEADLINE)).code == 0


async def test_who_minds_no_end_of_stdin_is_killed(tmp_path: Path) -> None:
    async with running(fake("hanger"), tmp_path) as process:
        channel = await process.open_channel("t", deadline=DEADLINE)
        batch = await channel.start_calls([CALL])
        with pytest.raises(ClientHung):
            await channel.connect(deadline=SHORT)
        waiting = asyncio.create_task(batch.finished(deadline=DEADLINE))
        ended = await process.close(deadline=SHORT)
        with pytest.raises(ConversationOver):
            await waiting
    assert (ended.code, ended.signal, ended.killed) == (None, signal.SIGKILL, True)


async def test_a_cancelled_start_leaves_nothing(tmp_path: Path) -> None:
    process = await ClientProcess.launch(fake("mute"), stderr_path=tmp_path / "stderr")
    greeting = asyncio.create_task(process.greet(deadline=DEADLINE))
    await asyncio.sleep(0)
    greeting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await greeting
    closing = asyncio.create_task(process.close(deadline=DEADLINE))
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert is_gone(process.pid)
    await process.close(deadline=0)


async def test_a_knob_for_the_environment_is_given_at_start(tmp_path: Path) -> None:
    prepared = fake("exiter")
    manifest = msgspec.structs.replace(
        prepared.client.manifest,
        knobs={"ring_size_cap": {"environment": "RING_CAP"}, "max_backoff_ms": {"option": "b"}},
    )
    manifest = msgspec.convert(msgspec.to_builtins(manifest), type(manifest))
    client = msgspec.structs.replace(prepared.client, manifest=manifest)
    async with running(msgspec.structs.replace(prepared, client=client), tmp_path) as process:
        await process.open_channel("t", deadline=DEADLINE, knobs={"max_backoff_ms": 5})
        with pytest.raises(UnknownKnob, match="reads RING_CAP from its environment"):
            await process.open_channel("t", deadline=DEADLINE, knobs={"ring_size_cap": 5})


async def test_the_client_sees_only_what_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTPS_PROXY", "GRPC_TRACE", "PYTHONPATH", "no_proxy"):
        monkeypatch.setenv(name, "inherited")
    code = "import json, os, sys; json.dump(dict(os.environ), open(sys.argv[1], 'w'))"
    seen = tmp_path / "seen"
    prepared = written(tmp_path, code, environment=dict.fromkeys("ABC", "manifest"))
    prepared = msgspec.structs.replace(prepared, command=(*prepared.command, str(seen)))
    process = await ClientProcess.launch(
        prepared,
        stderr_path=tmp_path / "stderr",
        environment={"B": "given", "C": None, "GRPC_VERBOSITY": "given"},
    )
    await process.close(deadline=DEADLINE)
    environment = json.loads(seen.read_text())
    assert environment["PATH"] == os.environ["PATH"]
    assert (environment["A"], environment["B"]) == ("manifest", "given")
    assert environment["GRPC_VERBOSITY"] == "given"
    assert "C" not in environment
    assert "inherited" not in environment.values()


DIES_WITH_ITS_CLIENT_RUNNING = """
import asyncio, os, signal, sys
from pathlib import Path
from client_under_test.environments import prepare
from client_under_test.launching.process import ClientProcess
from client_under_test.manifests.clients import find

async def main():
    prepared = prepare(find(sys.argv[1]))
    process = await ClientProcess.launch(prepared, stderr_path=Path(sys.argv[2]))
    print(process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_a_client_does_not_outlive_the_suite(tmp_path: Path) -> None:
    arguments = (str(ADAPTERS / "hanger"), str(tmp_path / "stderr"))
    suite = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", DIES_WITH_ITS_CLIENT_RUNNING, *arguments),
        stdout=asyncio.subprocess.PIPE,
    )
    assert suite.stdout is not None
    pid = int(await suite.stdout.readline())
    assert await suite.wait() == -signal.SIGKILL
    assert is_gone(pid)


async def test_the_clock_is_known_within_the_pipes_delay(tmp_path: Path) -> None:
    async with running(fake("exiter"), tmp_path) as process:
        assert 0 <= process.clock.error < 1


GREETS = """
import json, sys, time
zero, said = time.monotonic_ns(), 0
for line in sys.stdin:
    said += 1
    if said > 4 and sys.argv[1] == "falls silent":
        continue
    at = (time.monotonic_ns() - zero) // 1000 + (int(sys.argv[2]) if said > 4 else 0)
    about = {"contract": 1, "name": "greets", "version": "0", "capabilities": []}
    about |= {"type": "hello", "id": json.loads(line)["id"], "at": at}
    print(json.dumps(about), flush=True)
"""


@pytest.mark.parametrize(
    ("how", "micros", "words"),
    [
        ("goes on", 0, None),
        ("falls silent", 0, None),
        ("jumps", 5_000_000, "the adapter's clock went ahead by "),
        ("jumps", -5_000_000, "the adapter wrote a line that is not a valid message"),
        ("jumps", 10**30, "the adapter wrote a line that is not a valid message"),
    ],
)
async def test_a_clock_is_looked_at_again(
    tmp_path: Path, how: str, micros: int, words: str | None
) -> None:
    prepared = written(tmp_path, GREETS, client=unable())
    command = (*prepared.command, how, str(micros))
    async with running(msgspec.structs.replace(prepared, command=command), tmp_path) as process:
        if words is None:
            await process.look_at_the_clock(deadline=SHORT if how == "falls silent" else DEADLINE)
            assert process.failure is None
            return
        with pytest.raises((ClockWrong, ProtocolError), match=words) as told:
            await process.look_at_the_clock(deadline=DEADLINE)
    assert "\n" not in str(told.value)


async def test_a_hello_of_another_client_is_none(tmp_path: Path) -> None:
    with pytest.raises(
        HelloContradicted, match=r"hello has version 9, and client\.toml says 0: let"
    ):
        await ClientProcess.start(
            fake("impostor"), stderr_path=tmp_path / "stderr", deadline=DEADLINE
        )
    process = await ClientProcess.start(
        fake("impostor"), stderr_path=tmp_path / "stderr", deadline=DEADLINE, as_stated=False
    )
    assert process.hello.version == "9"
    await process.close(deadline=0)


@pytest.mark.parametrize(
    "call",
    [
        Call(id="b", path="/s/m", metadata=(("key", b"bytes"),)),
        Call(id="c", path="/s/m", metadata=(("key-bin", "text"),)),
    ],
)
async def test_metadata_of_the_wrong_kind(tmp_path: Path, call: Call) -> None:
    async with running(fake("exiter"), tmp_path) as process:
        channel = await process.open_channel("t", deadline=DEADLINE)
        with pytest.raises(ValueError, match="values are bytes if the key ends in -bin"):
            await channel.start_calls([call])
        with pytest.raises(ValueError, match="either a concurrency or a pace"):
            await channel.start_calls([CALL], concurrency=1, pace=1.0)
