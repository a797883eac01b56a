"""Measure what the suite promises, and print the promise beside each figure.

Figures are for a quiet machine with two cores: a busy one is slower, and that is no failure, so
this only prints. Run it before and after a change that may cost time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from client_under_test.environments import prepare
from client_under_test.launching.channels import Call
from client_under_test.launching.process import ClientProcess
from client_under_test.manifests.clients import find
from conformance.runner.jobs import cores
from conformance.xds_config.bootstrap import VARIABLE, bootstrap
from conformance.xds_config.config import LISTENER, single_locality
from fake_control_plane import ControlPlane, Event, Kind, Request, resources
from test_servers import Fleet

UNARY = "/grpc.testing.TestService/UnaryCall"
DEADLINE = 30.0


def say(what: str, figure: str, promised: str) -> None:
    """One row."""
    print(f"{what:58}  {figure:>18}   promised: {promised}", flush=True)


async def seconds(work: Callable[[], Awaitable[object]]) -> float:
    """How long it takes."""
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


async def fleet(count: int) -> float:
    """Return the seconds that it takes to start `count` endpoints."""
    made = await Fleet.start()
    try:
        return await seconds(lambda: made.endpoints(count))
    finally:
        await made.stop()


async def push_to_ack(rounds: int, endpoints: int) -> list[float]:
    """From the push of a large EDS resource to the client's ACK of it."""
    servers = await Fleet.start()
    (address,) = (endpoint.address for endpoint in await servers.endpoints(1))
    plane = await ControlPlane.start()
    with tempfile.TemporaryDirectory() as folder:
        process = await ClientProcess.start(
            prepare(find("python")),
            environment={VARIABLE: bootstrap(plane.address)},
            stderr_path=Path(folder) / "stderr",
            deadline=DEADLINE,
        )
        served = single_locality([address])
        await plane.set(*served.resources())
        channel = await process.open_channel(f"xds:///{LISTENER}", deadline=DEADLINE)
        batch = await channel.start_calls([Call(id="first", path=UNARY, deadline=DEADLINE)])
        await batch.finished(deadline=DEADLINE)
        taken = []
        for number in range(rounds):
            many = [f"127.1.{number % 200}.{i % 250}:{20000 + i}" for i in range(endpoints)]
            resource = resources.endpoints(
                served.endpoints().cluster_name,
                resources.locality(
                    "l", *(resources.endpoint(member) for member in (address, *many))
                ),
            )
            started = time.perf_counter()
            push = await plane.set(resource)
            await plane.transcript.acked(push, Kind.ENDPOINTS, deadline=DEADLINE)
            taken.append(time.perf_counter() - started)
        await process.close(deadline=1)
    await plane.close()
    await servers.stop()
    return taken


async def rate(calls: int) -> tuple[float, float]:
    """Start-up of the Python adapter in seconds, and its calls a second through a gate."""
    servers = await Fleet.start()
    (endpoint,) = await servers.endpoints(1)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        process = await ClientProcess.start(
            prepare(find("python")), stderr_path=Path(folder) / "stderr", deadline=DEADLINE
        )
        up = time.perf_counter() - started
        channel = await process.open_channel(f"ipv4:{endpoint.address}", deadline=DEADLINE)
        planned = [Call(id=str(n), path=UNARY, deadline=DEADLINE) for n in range(calls)]
        started = time.perf_counter()
        batch = await channel.start_calls(planned, concurrency=32)
        await batch.finished(deadline=DEADLINE)
        taken = time.perf_counter() - started
        await process.close(deadline=1)
    await servers.stop()
    return up, calls / taken


async def small_pushes(streams: int, rounds: int) -> list[float]:
    """Measure from the push of one endpoint until all streams have ACKed it."""
    plane = await ControlPlane.start()
    clients = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ACKING_CLIENT, plane.address, str(streams)
    )
    taken = []
    try:
        for number in range(rounds):
            member = resources.endpoint(f"127.0.0.1:{1000 + number}")
            started = time.perf_counter()
            push = await plane.set(resources.endpoints("e", resources.locality("l", member)))
            missing = _Missing(streams, push.versions[Kind.ENDPOINTS])
            await plane.transcript.wait(missing.is_none_after, deadline=DEADLINE, since=push.since)
            taken.append(time.perf_counter() - started)
    finally:
        clients.kill()
        await clients.wait()
        await plane.close()
    return taken[1:]  # the first one waited for the start of the clients


class _Missing:
    """Counts the streams that have not ACKed a version."""

    def __init__(self, streams: int, version: str) -> None:
        self._left = streams
        self._version = version

    def is_none_after(self, event: Event) -> bool:
        """Return whether this event is the last ACK."""
        self._left -= isinstance(event, Request) and event.answered_version == self._version
        return not self._left


ACKING_CLIENT = """
import asyncio, sys, grpc.aio
from envoy.config.core.v3.base_pb2 import Node
from envoy.service.discovery.v3.ads_pb2_grpc import AggregatedDiscoveryServiceStub
from envoy.service.discovery.v3.discovery_pb2 import DiscoveryRequest

URL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

async def stream(channel):
    call = AggregatedDiscoveryServiceStub(channel).StreamAggregatedResources()
    await call.write(DiscoveryRequest(node=Node(id="n"), type_url=URL, resource_names=["e"]))
    while (got := await call.read()) is not grpc.aio.EOF:
        await call.write(DiscoveryRequest(type_url=URL, resource_names=["e"],
            version_info=got.version_info, response_nonce=got.nonce))

async def main():
    async with grpc.aio.insecure_channel(sys.argv[1]) as channel:
        await asyncio.gather(*(stream(channel) for _ in range(int(sys.argv[2]))))

asyncio.run(main())
"""
"""Opens ADS streams on one connection, and ACKs each response."""


class Measured(NamedTuple):
    """One run of a client."""

    run: dict[str, Any]
    processor: float
    """Seconds of processor time, of the suite and of the client."""

    @property
    def wall(self) -> float:
        """Seconds from the start of the scenarios to their end."""
        return float(self.run["wall_seconds"])

    @property
    def longest(self) -> float:
        """Seconds of the longest scenario, which is a chain of timers."""
        return max(float(scenario["seconds"]) for scenario in self.run["scenarios"])

    @property
    def floor(self) -> float:
        """The least seconds that this run can take on this machine."""
        return max(self.longest, self.processor / cores())


def suite(*arguments: str, client: str = "python") -> Measured:
    """Run the suite against a client; failures of the client do not matter here."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        command = [sys.executable, "-m", "conformance", "run", client, "--json", str(path)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [*command, "--out", folder, *arguments], check=False, stdout=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Measured(json.loads(path.read_text("utf-8"))["runs"][0], processor)


PROMISED: Final = {
    "python": 55,
    "go": 55,
    "envoy": 90,
    "node": 90,
    "java": 120,
    "reference": 60,
    "rust+a42": 120,
}
"""Seconds for a whole run on two quiet cores, by client."""


def table(clients: Sequence[str], runs: int) -> None:
    """Print the median run of each client beside its floor."""
    print(
        f"{'client':12} {'wall s':>8} {'promised':>9} {'floor s':>8} {'longest s':>10} "
        f"{'CPU s':>8} {'CPU s/scenario':>15} {'load':>6}"
    )
    for client in clients:
        suite("--scenario", "ring.order_of_endpoints", client=client)  # builds it
        measured = sorted((suite(client=client) for _ in range(runs)), key=lambda each: each.wall)
        median = measured[len(measured) // 2]
        each = median.processor / len(median.run["scenarios"])
        print(
            f"{client:12} {median.wall:8.1f} {PROMISED.get(client, '-'):>9} {median.floor:8.1f} "
            f"{median.longest:10.1f} {median.processor:8.1f} {each:15.3f} "
            f"{os.getloadavg()[0]:6.1f}",
            flush=True,
        )


def main() -> None:
    """Measure everything, the slow things last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of the whole suite")
    parser.add_argument("--clients", nargs="*", default=["python"], help="to run the suite against")
    parser.add_argument("--only-clients", action="store_true", help="measure nothing else")
    arguments = parser.parse_args()
    if arguments.only_clients:
        table(arguments.clients, arguments.runs)
        return
    say("4 endpoints", f"{asyncio.run(fleet(4)) * 1000:.0f} ms", "50 ms")
    say("500 endpoints", f"{asyncio.run(fleet(500)) * 1000:.0f} ms", "2000 ms")
    taken = asyncio.run(push_to_ack(30, 1000))
    median = statistics.median(taken) * 1000
    say("push to ACK, EDS with 1,000 endpoints, median", f"{median:.0f} ms", "50 ms")
    for streams, rounds, promised in ((1, 300, "1 ms"), (200, 40, "8 ms")):
        median = statistics.median(asyncio.run(small_pushes(streams, rounds))) * 1000
        say(f"push of 1 endpoint, {streams} streams, median", f"{median:.2f} ms", promised)
    up, calls = asyncio.run(rate(3000))
    say("start of the Python adapter", f"{up * 1000:.0f} ms", "-")
    say("calls through a gate", f"{calls:.0f} /s", "-")
    reports = [suite("--scenario", "ring.order_of_endpoints", "--jobs", "1") for _ in range(5)]
    alone = [measured.run["scenarios"][0]["seconds"] for measured in reports]
    say("a plain ring scenario, alone and cold, median", f"{statistics.median(alone):.2f} s", "-")
    table(arguments.clients, arguments.runs)


if __name__ == "__main__":
    main()
