"""Clients that misbehave in one way each."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from client_under_test.environments import Prepared, prepare
from client_under_test.launching.channels import Call
from client_under_test.launching.process import ClientProcess
from client_under_test.manifests.clients import Client, find

ADAPTERS = Path(__file__).parents[2] / "adapters"
DEADLINE = 10.0
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


def unable() -> Client:
    """A client that states no capability."""
    client = fake("mute").client
    manifest = msgspec.structs.replace(client.manifest, capabilities=())
    return msgspec.structs.replace(client, manifest=manifest)
