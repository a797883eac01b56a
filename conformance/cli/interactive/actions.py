"""What a person does to a world: to its endpoints, and to its control plane."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from conformance.cli.interactive import commands, output
from conformance.cli.interactive.commands import (
    Action,
    Break,
    HoldBack,
    Push,
    Reach,
    Release,
    ToEndpoints,
)
from conformance.cli.interactive.printer import Printer
from conformance.world import World
from fake_control_plane import Kind
from test_servers import BackendEndpoint, Close, Mode, Refuse, Serve, Stall

_MODES: Final[Mapping[str, Mode]] = {
    "serve": Serve(),
    "stall": Stall(),
    "close": Close(),
    "refuse": Refuse(),
}


async def execute(deed: Action, world: World, say: Printer) -> None:
    """Do it, and say so.

    Raises:
        LookupError, ControlPlaneTrouble: it cannot be done; the message is a sentence.
    """
    plane, script = world.plane, world.plane.script
    match deed:
        case ToEndpoints(what, which):
            for number, endpoint in output.numbered(world, which):
                await _to_endpoint(what, number, endpoint, say)
        case Push(file):
            await _push(file, world, say)
        case Break(service):
            script.end_streams(service=service)
            say(f"The streams of {service.value} were ended with UNAVAILABLE.")
        case HoldBack(kinds):
            script.hold(*kinds)
            say(f"Held back are responses of {_names(script.held)}.")
        case Release(kinds):
            script.release(*kinds)
            say(f"Held back are responses of {_names(script.held)}.")
        case Reach(up=True):
            await plane.resume()
            say(f"The control plane is at {plane.address} again.")
        case Reach():
            await plane.stop()
            say("The control plane cannot be reached: `resume` has it come back.")


async def _to_endpoint(what: str, number: int, endpoint: BackendEndpoint, say: Printer) -> None:
    live = sum(attempt.closed_at is None for attempt in endpoint.attempts)
    name = f"Endpoint {number} ({endpoint.address})"
    if what == "kill":
        await endpoint.kill()
        say(f"{name} has dropped its live connections, {live} in all; its mode stays.")
    elif what == "goaway":
        endpoint.go_away()
        say(f"{name} has sent GOAWAY over its live connections, {live} in all.")
    else:
        await endpoint.set_mode(_MODES[what])
        more = f" Live ones stay, {live} in all: `kill {number}` drops them." if live else ""
        say(f"{name} is to {what} connections to come.{more}")


async def _push(file: str, world: World, say: Printer) -> None:
    from fake_control_plane.files import load_file  # noqa: PLC0415 - parsers are slow to load

    content = await asyncio.to_thread(lambda: load_file(Path(file).expanduser()))
    push = await world.plane.set(*content.resources, version=content.version)
    versions = ", ".join(
        f"{kind.value} version {version}" for kind, version in push.versions.items()
    )
    say(f"{file} is served: {versions or 'it has no resources'}.")


def _names(kinds: frozenset[Kind]) -> str:
    by_kind = {kind: name for name, kind in commands.KINDS.items()}
    return ", ".join(by_kind[kind] for kind in Kind if kind in kinds) or "no type"
