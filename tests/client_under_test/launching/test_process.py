from __future__ import annotations

import asyncio
import json
import os
import select
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from client_under_test import Call, Client, ClientProcess, Prepared, find, prepare
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
    NotSeen,
    NotStarted,
    ProtocolError,
    UnknownKnob,
    WrongContract,
)
from client_under_test.launching.pidfd import pidfd_open
from client_under_test.launching.process import Patience

ADAPTERS = Path(__file__).parents[2] / "adapters"
DEADLINE = 10.0

ON_ONE_CLOCK = 1.0
"""Seconds that the hello may have been read late on a busy machine: by them, times seem later."""
SHORT = 0.3

CALL = Call(id="a", path="/s/m")


def fake(name: str) -> Prepared:
    return prepare(find(str(ADAPTERS / name)))


def written(folder: Path, code: str, **more: object) -> Prepared:
    """An adapter of a few lines of Python."""
    prepared = fake("mute")
    command = (sys.executable, "-I", "-c", code)
    return msgspec.structs.replace(prepared, command=command, **more)


@asynccontextmanager
async def running(prepared: Prepared, folder: Path) -> AsyncIterator[ClientProcess]:
    process = await ClientProcess.start(prepared, stderr_path=folder / "stderr", deadline=DEADLINE)
    try:
        yield process
    finally:
        await process.close(deadline=0)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, or does so now."""
    try:
        handle = pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], DEADLINE)[0])
    finally:
        os.close(handle)


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
    assert said[:3] == [f"{waiting}, {waited} s" for waited in ("0.5", "1", "1.5")]


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
from client_under_test import ClientProcess, find, prepare

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


def unable() -> Client:
    """A client that states no capability."""
    client = fake("mute").client
    manifest = msgspec.structs.replace(client.manifest, capabilities=())
    return msgspec.structs.replace(client, manifest=manifest)


@pytest.mark.parametrize(
    ("how", "micros", "words"),
    [
        ("goes on", 0, None),
        ("falls silent", 0, None),
        ("jumps", 5_000_000, "the adapter's clock went ahead by "),
        ("jumps", -5_000_000, "the adapter wrote a line that the contract does not know"),
        ("jumps", 10**30, "the adapter wrote a line that the contract does not know"),
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


CHATTY = """
import json, sys, time
zero = time.monotonic_ns()
now = lambda: (time.monotonic_ns() - zero) // 1000
for line in sys.stdin:
    request = json.loads(line)
    match request["type"]:
        case "hello":
            about = {"contract": 1, "name": "chatty", "version": "0", "capabilities": []}
            about |= {"id": request["id"], "at": now()}
            print(json.dumps({"type": "hello", **about}), flush=True)
        case "start_calls":
            times = {"started_at": now(), "ended_at": now()}
            for call in request["calls"]:
                outcome = {"status": "OK", "details": "x" * 1000, "hostname": None}
                done = {"type": "finished", "call": call["id"], **outcome, **times}
                print(json.dumps(done), flush=True)
            open(sys.argv[1], "w").close()
        case _:
            print(json.dumps({"type": "done", "id": request["id"]}), flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other pipes have the size that they have")
async def test_the_adapter_does_not_wait_for_a_busy_suite(tmp_path: Path) -> None:
    all_said = tmp_path / "all said"
    prepared = written(tmp_path, CHATTY, client=unable())
    prepared = msgspec.structs.replace(prepared, command=(*prepared.command, str(all_said)))
    async with running(prepared, tmp_path) as process:
        channel = await process.open_channel("t", deadline=DEADLINE)
        calls = [Call(id=f"call-{number}", path="/s/m") for number in range(300)]
        batch = await channel.start_calls(calls, concurrency=1)
        assert not batch.outcomes  # the request has left: it is small enough for one write
        give_up_at = time.monotonic() + DEADLINE
        while not all_said.exists() and time.monotonic() < give_up_at:
            time.sleep(0.01)  # noqa: ASYNC251 - the loop is kept busy on purpose
        assert all_said.exists()
        assert not batch.outcomes


async def test_updates_of_a_registered_policy(tmp_path: Path) -> None:
    async with running(fake("registrar"), tmp_path) as process:
        policy = await process.register_policy("xdspec.TestPolicy", deadline=DEADLINE)
        with pytest.raises(NotSeen, match=r"no such update of xdspec.TestPolicy came within 0.1 s"):
            await policy.updated(lambda _: True, deadline=0.1)
        for number in (1, 2):
            config = json.dumps({"loadBalancingConfig": [{policy.name: {"endpoint": number}}]})
            channel = await process.open_channel(
                "dns:///127.0.0.1:1", deadline=DEADLINE, service_config=config
            )
            await channel.start_calls([msgspec.structs.replace(CALL, id=f"{number}")])
        second = await policy.updated(
            lambda registered: registered.value() == {"endpoint": 2}, deadline=DEADLINE
        )
        first, last = policy.updates
        assert last == second
        assert first.instance != last.instance
        assert first.endpoints == (("127.0.0.1:1",),)
        assert first.at <= last.at <= time.monotonic() + ON_ONE_CLOCK


async def test_a_policy_is_asked_for_only_where_it_is_stated(tmp_path: Path) -> None:
    async with running(fake("crasher"), tmp_path) as process:
        with pytest.raises(ValueError, match="does not tell of custom_policy"):
            await process.register_policy("xdspec.TestPolicy", deadline=DEADLINE)


# Used again.


async def test_a_released_process_has_nothing_under_way(tmp_path: Path) -> None:
    async with running(fake("sharer"), tmp_path) as process:
        channel = await process.open_channel("dns:///127.0.0.1:1", deadline=DEADLINE)
        await channel.watch(deadline=DEADLINE)
        waiting = msgspec.structs.replace(CALL, wait_for_ready=True)
        batch = await channel.start_calls([waiting])
        await process.release(deadline=DEADLINE)
        assert [outcome.status for outcome in batch.outcomes] == ["CANCELLED"]
        assert channel.is_closed
        assert process.failure is None
        await process.release(deadline=DEADLINE)


async def test_who_does_not_close_a_channel_is_not_released(tmp_path: Path) -> None:
    async with running(fake("hanger"), tmp_path) as process:
        channel = await process.open_channel("dns:///127.0.0.1:1", deadline=DEADLINE)
        await channel.start_calls([CALL])
        with pytest.raises(ClientHung, match=r"did not answer `close` within 0\.3 s"):
            await process.release(deadline=SHORT)


async def test_stderr_is_that_of_the_present_use(tmp_path: Path) -> None:
    async with running(fake("crasher"), tmp_path) as process:
        process.stderr_path.write_text("of the earlier use\n")
        assert process.stderr_tail() == "of the earlier use\n"
        process.begin_use()
        assert process.stderr_tail() == ""
        channel = await process.open_channel("dns:///127.0.0.1:1", deadline=DEADLINE)
        with pytest.raises(ClientCrashed) as crashed:
            await (await channel.start_calls([CALL])).finished(deadline=DEADLINE)
        assert crashed.value.stderr_tail == "a last word before the crash\n"


# Where it runs, and behind what.

SAYS_WHERE = """
import json, os, sys, time
began = 0
open("core", "w").close()
for line in sys.stdin:
    request, began = json.loads(line), began or time.monotonic()
    where = [os.getcwd(), os.environ.get("PWD")]
    print(json.dumps(where), file=sys.stderr, flush=True)
    answer = dict(type="hello", id=request["id"], contract=1, name="a", version="0")
    answer["at"] = int((time.monotonic() - began) * 1e6)
    print(json.dumps(dict(answer, capabilities=[])), flush=True)
"""


async def started_and_ended(prepared: Prepared, folder: Path) -> tuple[ClientProcess, list[str]]:
    """It, and the folder in which it was, as the system and its environment have it."""
    process = await ClientProcess.start(
        prepared, stderr_path=folder / "a.stderr", deadline=DEADLINE, as_stated=False
    )
    await process.close(deadline=DEADLINE)
    return process, json.loads(process.stderr_tail().splitlines()[0])


async def test_it_runs_in_a_folder_of_its_own(tmp_path: Path) -> None:
    process, where = await started_and_ended(written(tmp_path, SAYS_WHERE), tmp_path)
    assert where == [str(process.folder)] * 2
    assert process.folder.parent == tmp_path
    assert [path.name for path in process.folder.iterdir()] == ["core"]


async def test_words_of_the_user_hold_where_they_were_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = written(tmp_path, SAYS_WHERE)
    start = msgspec.structs.replace(known.client.manifest.start, asks={"COMMAND": "its command"})
    manifest = msgspec.structs.replace(known.client.manifest, start=start)
    client = msgspec.structs.replace(known.client, manifest=manifest)
    asked = msgspec.structs.replace(known, client=client)
    assert (await started_and_ended(asked, tmp_path))[1] == [str(tmp_path)] * 2


async def test_a_program_named_from_here_is_found_from_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "adapter.py").write_text(SAYS_WHERE)
    # A shell and not a line with the Python's path: the kernel reads such a path up to a space.
    start = shlex.join(["exec", sys.executable, str(tmp_path / "adapter.py")])
    (tmp_path / "adapter").write_text(f"#!/bin/sh\n{start}\n")
    (tmp_path / "adapter").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    here = msgspec.structs.replace(fake("mute"), command=("./adapter",))
    process, where = await started_and_ended(here, tmp_path)
    assert where[0] == str(process.folder)


async def test_a_tool_starts_it(tmp_path: Path) -> None:
    tool = ("/bin/sh", "-c", 'echo of the tool > log; exec "$@"', "sh")
    prepared = msgspec.structs.replace(written(tmp_path, SAYS_WHERE), wrap=tool)
    process, _ = await started_and_ended(prepared, tmp_path)
    assert (process.folder / "log").read_text() == "of the tool\n"
