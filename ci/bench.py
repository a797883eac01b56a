"""Measures what the suite promises, and says beside each figure what was promised.

Figures are for a quiet machine with two cores: a busy one is slower, and that is no failure, so
this only prints. Run it before and after a change that may cost time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from client_under_test import Call, ClientProcess, find, prepare
from conformance.xds_config.bootstrap import VARIABLE, bootstrap
from conformance.xds_config.config import LISTENER, single_locality
from fake_control_plane import ControlPlane, Kind, resources
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


def suite(*arguments: str) -> dict[str, object]:
    """Run the suite, and return the only run of its report."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        command = [sys.executable, "-m", "conformance", "run", "python", "--json", str(path)]
        subprocess.run(
            [*command, "--out", folder, *arguments], check=True, stdout=subprocess.DEVNULL
        )
        run: dict[str, object] = json.loads(path.read_text("utf-8"))["runs"][0]
        return run


def main() -> None:
    """Measure everything, the slow things last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of the whole suite")
    arguments = parser.parse_args()
    say("4 endpoints", f"{asyncio.run(fleet(4)) * 1000:.0f} ms", "50 ms")
    say("500 endpoints", f"{asyncio.run(fleet(500)) * 1000:.0f} ms", "2000 ms")
    taken = asyncio.run(push_to_ack(30, 1000))
    median = statistics.median(taken) * 1000
    say("push to ACK, EDS with 1,000 endpoints, median", f"{median:.0f} ms", "50 ms")
    up, calls = asyncio.run(rate(3000))
    say("start of the Python adapter", f"{up * 1000:.0f} ms", "-")
    say("calls through a gate", f"{calls:.0f} /s", "-")
    reports = [suite("--scenario", "ring.order_of_endpoints", "--jobs", "1") for _ in range(5)]
    alone = [run["scenarios"][0]["seconds"] for run in reports]  # type: ignore[index]
    say("a plain ring scenario, alone and cold, median", f"{statistics.median(alone):.2f} s", "-")
    walls = []
    for _ in range(arguments.runs):
        run = suite()
        walls.append(float(run["wall_seconds"]))  # type: ignore[arg-type]
    say("the whole suite", f"{statistics.median(walls):.1f} s", "40 s")
    warm = [s["seconds"] for s in run["scenarios"]]  # type: ignore[attr-defined]
    say("a scenario among the others, median", f"{statistics.median(warm):.2f} s", "-")


if __name__ == "__main__":
    main()
