"""A client's process in use: its pipes, policies, folder and next scenario."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path

import msgspec
import pytest

from client_under_test.contract.exceptions import (
    ClientCrashed,
    ClientHung,
    NotSeen,
)
from client_under_test.environments import Prepared
from client_under_test.launching.channels import Call
from client_under_test.launching.process import ClientProcess
from tests.client_under_test.launching.fakes import (
    CALL,
    DEADLINE,
    SHORT,
    fake,
    running,
    unable,
    written,
)

ON_ONE_CLOCK = 1.0
"""Seconds that the hello may have been read late on a busy machine: by them, times seem later."""


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
