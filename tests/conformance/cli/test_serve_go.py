"""docs/by-hand/go, as who copies it would use it: beside a world that `xdspec serve` keeps up."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

Started = Callable[..., AbstractAsyncContextManager[Any]]

EXAMPLE = Path(__file__).parents[3] / "docs/by-hand/go"

BUILDING = 900.0
"""Seconds for a build from nothing, of all that grpc-go needs, on a busy machine."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not EXAMPLE.exists(), reason="needs a checkout"),
    pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go toolchain here"),
    pytest.mark.xdist_group("serve_go"),
]

ENDPOINTS = {
    "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
    "clusterName": "cluster",
}


@pytest.fixture(scope="module")
async def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example, built with the flags of the adapter's build, so that both have one cache."""
    target = str(tmp_path_factory.mktemp("go") / "by-hand")
    process = await asyncio.create_subprocess_exec(
        *("go", "build", "-trimpath", "-ldflags=-s -w", "-o", target, "."),
        cwd=EXAMPLE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(BUILDING):
        _, said = await process.communicate()
    assert process.returncode == 0, said.decode()
    return target


async def say(program: str, *words: str, told: str = "", **environment: str) -> tuple[int, str]:
    """What it says, with these lines on its standard input."""
    process = await asyncio.create_subprocess_exec(
        *(program, *words),
        env={**os.environ, **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate(told.encode())
    assert process.returncode is not None
    return process.returncode, said.decode()


def count_of(file: str) -> int:
    return len(json.loads(Path(file).read_text()))


async def found(running: Any, pattern: str) -> str:
    match = re.search(pattern, await running.line(pattern.partition("(")[0]))
    assert match is not None
    return match[1]


async def test_a_client_in_go(started: Started, program: str) -> None:
    async with started("serve", "ring.search") as running:
        bootstrap = await found(running, r"GRPC_XDS_BOOTSTRAP=(\S+)")
        file = await found(running, r"file       (\S+)")
        count = count_of(file)
        code, said = await say(program, "calls", told=f"{file}\n", GRPC_XDS_BOOTSTRAP=bootstrap)
        assert (code, json.loads(said)) == (0, {"OK": count})
        running.process.stdin.write(b"done\nwait\nquit\n")
        ended = await running.ended()
        assert ended.code == 0
        assert "pass  A42-RING-13" in ended.out


async def test_the_control_service_from_go(started: Started, program: str) -> None:
    async with started("serve", "ring.search") as running:
        address = await found(running, r"  control     (\S+),")
        running.process.stdin.write(b"make\nwait\n")
        await running.line("The servers are up")

        async def control(method: str, **request: Any) -> tuple[int, str]:
            return await say(program, "control", address, method, json.dumps(request))

        code, said = await control("Hold", kinds=["ENDPOINTS"])
        assert (code, json.loads(said)) == (0, {"held": ["ENDPOINTS"]})
        code, said = await control("Set", resources=[ENDPOINTS])
        (version,) = json.loads(said)["versions"]
        assert (code, version) == (0, {"kind": "ENDPOINTS", "version": "2"})
        assert (await control("Release"))[0] == 0
        await running.line("endpoints version 2 [cluster] sent on stream 1")
        assert (await control("Inject", endStreams={"code": 14, "details": "by Go"}))[0] == 0
        await running.line("stream 1 ended by script with UNAVAILABLE 'by Go'")
        await running.line("stream 2 (ads) opened")
        code, said = await control("Fly")
        assert (code, said) == (1, "xdspec.control.v1.Control has no method Fly\n")
        running.process.stdin.write(b"quit\n")
        assert (await running.ended()).code == 0


def test_it_has_the_grpc_go_of_the_adapter() -> None:
    """So that both are updated together, and one download is enough."""
    files = (EXAMPLE, EXAMPLE.parents[2] / "client_under_test/adapters/go")
    match, other = (
        re.search(r"google.golang.org/grpc (v\S+)", (folder / "go.mod").read_text())
        for folder in files
    )
    assert match is not None
    assert other is not None
    assert match[1] == other[1]
