"""``xdspec serve``: a world in the hands of a person, who is played by pipes and a client."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from fake_control_plane import control_pb2 as pb
from fake_control_plane import control_pb2_grpc

Started = Callable[..., AbstractAsyncContextManager[Any]]

PROMISED = 2.0
"""Seconds in which an interrupted command must be over."""

CLIENT = Path(__file__).with_name("plain_client.py")
UP = "The servers are up"

ENDPOINTS = """
"@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
cluster_name: cluster
endpoints:
  - locality: {region: elsewhere}
    priority: 0
    load_balancing_weight: 1
    lb_endpoints:
      - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: PORT}}}
"""


class Person:
    """Reads what the command says, and says something."""

    def __init__(self, running: Any) -> None:
        self.running = running

    async def until(self, words: str) -> str:
        line: str = await self.running.line(words)
        return line.rstrip("\n")

    async def found(self, pattern: str) -> str:
        """What the group of a pattern is, in the next line that has its beginning."""
        line = await self.until(pattern.partition("(")[0])
        match = re.search(pattern, line)
        assert match is not None, line
        return match[1]

    def say(self, *lines: str) -> None:
        self.running.process.stdin.write("".join(f"{line}\n" for line in lines).encode())

    async def quit(self) -> Any:
        self.say("quit")
        ended = await self.running.ended()
        await self.running.gone(deadline=PROMISED)
        assert ended.err == ""
        assert ended.left == []
        return ended


@contextlib.asynccontextmanager
async def client(bootstrap: str) -> AsyncIterator[Callable[[str], Any]]:
    """A client that a person has started: make the calls of a file, and tell how they ended."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(CLIENT)),
        env={**os.environ, "GRPC_XDS_BOOTSTRAP": bootstrap},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    reads, writes = process.stdout, process.stdin

    async def make(file: str) -> dict[str, int]:
        writes.write(f"{file}\n".encode())
        ended: dict[str, int] = ast.literal_eval((await reads.readline()).decode())
        return ended

    try:
        yield make
    finally:
        writes.close()
        await process.wait()


async def through(
    person: Person, make: Callable[[str], Any], answer: Callable[[set[str]], str]
) -> AsyncIterator[str]:
    """Each line until the world is up; what a file of calls is answered with is said before."""
    while UP not in (line := await person.until("")):
        if file := re.fullmatch(r"  file       (\S+)", line):
            person.say(answer({*await make(file[1])} - {"OK", "OPEN"}))
        yield line


def calls_of(file: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(file).read_text())
    return found


def decided(said: str) -> dict[str, str]:
    """By clause, the word that the summary has."""
    summary = said.partition(": decisions\n")[2]
    rows = re.findall(r"^  (\w+) +(A\d+-[A-Z]+-\d+): ", summary, re.MULTILINE)
    return {clause: word for word, clause in rows}


async def test_a_client_started_by_hand(started: Started) -> None:
    async with started("serve", "ring.search") as running:
        person = Person(running)
        bootstrap = await person.found(r"GRPC_XDS_BOOTSTRAP=(\S+)")
        async with client(bootstrap) as make:
            calls = calls_of(file := await person.found(r"file       (\S+)"))
            assert await make(file) == {"OK": len(calls)}
            await person.until("Backends received all of them")
            person.say("done")
            await person.until(UP)
        ended = await person.quit()
        assert ended.code == 0
        assert decided(ended.out) == {"A42-RING-13": "pass", "A42-RING-14": "seen"}
        (folder,) = (running.folder / "xdspec-out" / "by-hand").iterdir()
        record = json.loads((folder / "scenario.json").read_text())
        assert record["client"]["name"] == "by hand"
        rpcs = (folder / "rpcs.jsonl").read_text().splitlines()
        assert len(rpcs) == len(calls)
        assert not any("xdspec-call" in row for row in rpcs)


@pytest.mark.parametrize(
    ("scenario", "clause", "steps"),
    [
        # Of which some are begun, and something else is looked at while they are under way.
        ("picker.second_endpoint_in_ring_order", "A42-PICK-08", 4),
        # Of which some are dropped: no backend hears of them, and the person says what he saw.
        pytest.param("leaf_drops.every_priority", "A37-DROP-04", 2, marks=pytest.mark.slow),
    ],
)
async def test_each_step_by_hand(started: Started, scenario: str, clause: str, steps: int) -> None:
    async with started("serve", scenario) as running:
        person = Person(running)
        bootstrap = await person.found(r"GRPC_XDS_BOOTSTRAP=(\S+)")
        async with client(bootstrap) as make:
            async for _ in through(person, make, lambda failed: " ".join(["done", *failed])):
                pass
        ended = await person.quit()
        assert ended.code == 0
        assert decided(ended.out) == {clause: "pass"}
        assert len(re.findall(r"^  step \d+, by hand: ", ended.out, re.MULTILINE)) >= steps


@pytest.mark.slow
@pytest.mark.parametrize("when", ["at once", "when asked"])
async def test_streams_that_are_opened_and_cancelled_by_hand(started: Started, when: str) -> None:
    """The person says how those ended that no backend has, at once or when he is asked."""
    statuses, asked = list[str](), 0

    def answer(failed: set[str]) -> str:
        # Several statuses at once are those that the backends have sent, and know.
        status = failed.pop() if len(failed) == 1 else ""
        statuses.append(status)
        return f"done {status}" if when == "at once" else "done"

    async with started("serve", "circuit_breaking.ended_requests") as running:
        person = Person(running)
        bootstrap = await person.found(r"GRPC_XDS_BOOTSTRAP=(\S+)")
        async with client(bootstrap) as make:
            async for line in through(person, make, answer):
                if re.match(r"also: cancel the call of step \d+ in the client", line):
                    which = await person.found(r"  metadata   session: (\S+)")
                    assert await make(f"cancel session {which}") == {"CANCELLED": 1}
                    person.say("done")
                if re.match(r"also: report how .* of step \d+ ended that no backend", line):
                    asked += 1
                    person.say(f"done {statuses[-1] or 'DEADLINE_EXCEEDED'}")
        ended = await person.quit()
        assert ended.code == 0
        assert decided(ended.out) == dict.fromkeys(
            ("A32-CB-10", "A32-CB-11", "A32-CB-12", "A32-CB-15"), "pass"
        )
        # By step: that of the call that expired, and of the one that a backend ends as CANCELLED.
        assert asked == (2 if when == "at once" else 2 + sum(map(bool, statuses)))


@pytest.mark.slow
async def test_a_stream_that_waits_is_told_as_one(started: Started) -> None:
    """The person's client has it wait, instead of having it fail by the limit."""
    async with started("serve", "circuit_breaking.shared_by_channels") as running:
        person = Person(running)
        bootstrap = await person.found(r"GRPC_XDS_BOOTSTRAP=(\S+)")
        async with client(bootstrap) as make:
            async for _ in through(person, make, lambda bad: "done waiting" if bad else "done"):
                pass
        ended = await person.quit()
        assert ended.code == 1
        assert decided(ended.out) == {"A32-CB-21": "fail"}
        assert "WAITING (1 " in ended.out


@pytest.mark.slow
async def test_the_calls_file_and_the_words_agree(started: Started) -> None:
    async with started("serve", "ring.search") as running:
        person = Person(running)
        count = int(await person.found(r"step 1: (\d+) calls on channel-1 to xds:///xdspec.test"))
        shown = await person.found(r"session: (\S+),")
        calls = calls_of(await person.found(r"file       (\S+)"))
        assert len(calls) == count
        assert shown in dict(calls[0]["metadata"]).values()
        assert (await person.quit()).code == 0


async def test_a_script_lets_the_adapter_do_all(started: Started) -> None:
    async with started("serve", "header.repeated_header") as running:
        person = Person(running)
        person.say("make", "make", "wait")
        ended = await person.quit()
        assert ended.code == 0
        assert "step 2, reference: " in ended.out
        assert set(decided(ended.out).values()) <= {"pass", "seen"}


@pytest.mark.slow
async def test_nothing_is_decided_of_two_clients(started: Started) -> None:
    async with started("serve", "header.repeated_header") as running:
        person = Person(running)
        bootstrap = await person.found(r"GRPC_XDS_BOOTSTRAP=(\S+)")
        async with client(bootstrap) as make:
            await make(await person.found(r"file       (\S+)"))
            person.say("done", "make")
            await person.until(UP)
        ended = await person.quit()
        assert ended.code == 0
        assert "Two clients made the calls" in ended.out
        assert set(decided(ended.out).values()) == {"open"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("done unknown", "no backend answered the 60 calls of step 1"),
        ("done UNAVAILABLE", "never opened a stream to the control plane"),
        ("quit", "ended the scenario before it decided"),
    ],
)
async def test_what_nobody_has_done_is_open(started: Started, said: str, words: str) -> None:
    async with started("serve", "ring.search") as running:
        person = Person(running)
        await person.until("`make`")
        if said != "quit":
            person.say("done")
            await person.until("how the 60 calls of step 1 ended that no backend has answered")
        person.say(said)
        ended = await person.quit()
        assert ended.code == 0
        assert words in ended.out
        assert set(decided(ended.out).values()) == {"open"}


@pytest.mark.slow
async def test_a_failure_by_hand(started: Started) -> None:
    """The person says that calls failed which a right client serves."""
    async with started("serve", "ring.search") as running:
        person = Person(running)
        bootstrap = await person.found(r"GRPC_XDS_BOOTSTRAP=(\S+)")
        calls = calls_of(await person.found(r"file       (\S+)"))
        some = running.folder / "some.json"
        some.write_text(json.dumps(calls[1:]))
        async with client(bootstrap) as make:
            await make(str(some))
            person.say("done UNAVAILABLE")
            await person.until(UP)
        ended = await person.quit()
        assert ended.code == 1
        assert decided(ended.out)["A42-RING-13"] == "fail"


async def test_what_is_done_to_the_world(started: Started, tmp_path: Path) -> None:
    async with started("serve", "ring.search") as running:
        person = Person(running)
        person.say("make", "wait")
        await person.until(UP)
        lines = [line.split() for line in running.heard]
        (number, address), *_ = [
            row[:2] for row in lines if len(row) > 4 and row[2:5] == ["SERVE", "1", "cluster"]
        ]
        person.say(f"stall {number}")
        await person.until(f"Endpoint {number} ({address}) will stall new connections")
        person.say("world")
        await person.until(f"{number}  {address}  STALL  1")
        person.say(f"kill {address}")
        await person.until(f"tcp  end    {number} {address}  by gate")
        person.say("kill 99", "nonsense", f"push {tmp_path}/none.yaml")
        await person.until("There is no endpoint 99")
        await person.until("There is no command 'nonsense'")
        await person.until("none.yaml: cannot be read")
        (tmp_path / "eds.yaml").write_text(ENDPOINTS.replace("PORT", address.split(":")[1]))
        person.say("hold eds", f"push {tmp_path}/eds.yaml")
        await person.until("Holding back responses of eds")
        await person.until("eds.yaml: endpoints version 2")
        person.say("release")
        await person.until("endpoints version 2 [cluster] sent on stream 1")
        await person.until("ACK of version 2")
        person.say("break")
        await person.until("stream 1 ended by script with UNAVAILABLE")
        await person.until("stream 2 (ads) opened")
        person.say("stop")
        await person.until("stream 2 ended by stop")
        person.say("resume")
        await person.until("stream 3 (ads) opened")
        assert (await person.quit()).code == 0


@pytest.mark.slow
async def test_the_control_service_does_the_same(started: Started) -> None:
    async with started("serve", "ring.search") as running:
        person = Person(running)
        address = await person.found(r"  control     (\S+),")
        person.say("make", "wait")
        await person.until(UP)
        async with grpc.aio.insecure_channel(address) as channel:
            control = control_pb2_grpc.ControlStub(channel)  # type: ignore[no-untyped-call]
            await control.Inject(pb.Fault(end_streams=pb.Fault.EndStreams(code=14)))
            await person.until("stream 1 ended by script")
        assert (await person.quit()).code == 0


@pytest.mark.slow
async def test_what_the_client_refuses_ends_the_scenario(started: Started, tmp_path: Path) -> None:
    """Though the person has not said that his calls are over."""
    (tmp_path / "cds.yaml").write_text(
        '"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster\n'
        "name: cluster\ntype: STATIC\n"
    )
    async with started("serve", "ring.search") as running:
        person = Person(running)
        bootstrap = await person.found(r"GRPC_XDS_BOOTSTRAP=(\S+)")
        file = await person.found(r"file       (\S+)")
        person.say("hold cds")
        await person.until("Holding back")
        async with client(bootstrap) as make:
            making = asyncio.create_task(make(file))
            await person.until("request for cluster [cluster]")
            person.say(f"push {tmp_path}/cds.yaml", "release")
            await person.until("NACK of version 2")
            making.cancel()
            person.say("done unknown")
            await person.until(UP)
        assert (await person.quit()).code in {0, 1}


@pytest.mark.parametrize("when", ["while it asks", "at its end"])
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
async def test_a_signal(started: Started, number: signal.Signals, when: str) -> None:
    async with started("serve", "ring.search") as running:
        person = Person(running)
        await person.until("`make`")
        if when == "at its end":
            person.say("make")
            await person.until(UP)
        running.send(number, group=True)
        ended = await running.ended()
        await running.gone(deadline=PROMISED)
        assert ended.err == ""
        assert ended.left == []
        if when == "at its end":
            assert ended.code == 0
        else:
            assert ended.code == 2
            assert "interrupted" in ended.out
            assert "no call was made" in ended.out


@pytest.mark.slow
async def test_a_kill(started: Started) -> None:
    async with started("serve", "ring.search") as running:
        person = Person(running)
        await person.until("`make`")
        running.watch()
        sockets = running.sockets()
        assert sockets
        running.send(signal.SIGKILL)
        await running.gone(deadline=PROMISED)
        assert not sockets & running.sockets_of_all()


@pytest.mark.slow
async def test_the_end_of_what_is_said(started: Started) -> None:
    """Whoever closes the pipe has left."""
    async with started("serve", "ring.search") as running:
        person = Person(running)
        person.say("make")
        running.process.stdin.close()
        ended = await running.ended()
        assert ended.code == 0
        assert decided(ended.out)["A42-RING-13"] == "pass"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "answer", "word"),
    [
        ("subchannel_states.failed", "done", "open"),
        ("subchannel_states.failed", "make all", "pass"),
    ],
)
async def test_what_only_an_adapter_can_tell(
    started: Started, scenario: str, answer: str, word: str
) -> None:
    async with started("serve", scenario) as running:
        person = Person(running)
        await person.until("step 1: the states of channel-1")
        person.say(answer, "wait")
        await person.until(UP)
        ended = await person.quit()
        assert ended.code == 0
        assert set(decided(ended.out).values()) == {word}
