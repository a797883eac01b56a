"""Parse the user's commands, and apply them to the endpoints and the control plane of a world."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, get_args

import msgspec

from client_under_test.contract.messages import StatusName
from conformance.cli.interactive import output
from conformance.cli.interactive.output import Printer
from conformance.world import World
from fake_control_plane import Kind, Service
from test_servers import BackendEndpoint, Close, Mode, Refuse, Serve, Stall

UNKNOWN: Final = "unknown"
"""The status of a call whose status the user did not see."""

WAITING: Final = "waiting"
"""The status of a stream that has neither opened nor ended."""

KINDS: Final[Mapping[str, Kind]] = {
    "lds": Kind.LISTENER,
    "rds": Kind.ROUTE,
    "cds": Kind.CLUSTER,
    "eds": Kind.ENDPOINTS,
}

MODES: Final = ("serve", "stall", "close", "refuse")
CONNECTION_ACTIONS: Final = ("kill", "goaway")


class BadCommand(Exception):
    """The line is not a valid command; the message is a sentence."""


class Done(msgspec.Struct, frozen=True):
    """The user has done the requested step."""

    status: str = ""
    """The status of the calls that no backend has answered."""


class Make(msgspec.Struct, frozen=True):
    """The adapter should do the step."""

    always: bool = False
    """True if the adapter should do all further steps as well."""


class ToEndpoints(msgspec.Struct, frozen=True):
    """Change the mode of endpoints, or act on their connections."""

    what: str
    """One of MODES or CONNECTION_ACTIONS."""
    which: tuple[str, ...]
    """Their numbers or addresses."""


class Push(msgspec.Struct, frozen=True):
    """Serve the resources of a file. They replace resources of the same names."""

    file: str


class Break(msgspec.Struct, frozen=True):
    """End the streams of a service."""

    service: Service = Service.ADS


class HoldBack(msgspec.Struct, frozen=True):
    """Hold back responses of these types, or of all types."""

    kinds: tuple[Kind, ...]


class Release(msgspec.Struct, frozen=True):
    """Send the held responses of these types, or of all types."""

    kinds: tuple[Kind, ...]


class Reach(msgspec.Struct, frozen=True):
    """Make the control plane unreachable, or reachable again."""

    up: bool


class Show(msgspec.Struct, frozen=True):
    """Print the world, the requested step, or help."""

    what: str


class Wait(msgspec.Struct, frozen=True):
    """Read no further line before the next step, or the end of the scenario."""


class Quit(msgspec.Struct, frozen=True):
    """End the session."""


class Nothing(msgspec.Struct, frozen=True):
    """An empty line, or a comment."""


Action = ToEndpoints | Push | Break | HoldBack | Release | Reach
"""A command that changes a world."""

Command = Action | Done | Make | Wait | Show | Quit | Nothing

HELP: Final = """\
done [STATUS]    (d)  you have done the step; STATUS, such as UNAVAILABLE, is the status of the
                      calls that no backend has answered, or `unknown`, or `waiting`
make             (m)  let the adapter do the step; `make all`: and all further steps
kill N…          (k)  drop the live connections of endpoints, by number or address
stall N…         (s)  accept new connections, but send nothing on them
close N…              close new connections at once
refuse N…             stop listening, so that new connections are refused
serve N…              serve new connections again
goaway N…             send GOAWAY on live connections
push FILE        (p)  serve the resources of a file, protojson or YAML
break [lrs]      (b)  end the ADS streams, or the LRS streams
stop, resume          make the control plane unreachable, and reachable again
hold [TYPE…]          hold back responses: lds, rds, cds, eds, or all
release [TYPE…]       send them
world            (w)  print target, bootstrap, control service and endpoints
ask              (a)  print the requested step again
wait                  read no further line before the next step (for scripts)
help             (?)  print this list
quit             (q)  end the session"""


def parse(line: str) -> Command:
    """Parse a line.

    Raises:
        BadCommand: the line is not a valid command.
    """
    try:
        words = shlex.split(line, comments=True)
    except ValueError as why:
        raise BadCommand(f"{line.strip()!r} cannot be read: {why}.") from None
    if not words:
        return Nothing()
    name, *more = words
    name = _SHORT.get(name.lower(), name.lower())
    if name not in _READ:
        raise BadCommand(f"There is no command {name!r}: `help` lists them.")
    return _READ[name](name, more)


def _nothing_more(name: str, more: Sequence[str]) -> None:
    if more:
        raise BadCommand(f"`{name}` takes no argument, but got {' '.join(more)!r}.")


def _done(_name: str, more: Sequence[str]) -> Command:
    status, *rest = more or [""]
    _nothing_more(f"done {status}".strip(), rest)
    others = {UNKNOWN, WAITING}
    given = status if status in others else status.upper()
    if status and given not in {*get_args(StatusName), *others}:
        raise BadCommand(
            f"{status!r} is not a gRPC status such as UNAVAILABLE, `unknown` or `waiting`."
        )
    return Done(given)


def _make(_name: str, more: Sequence[str]) -> Command:
    if more and [*more] != ["all"]:
        raise BadCommand("`make` takes no argument, or `all`.")
    return Make(always=bool(more))


def _endpoints(name: str, more: Sequence[str]) -> Command:
    if not more:
        raise BadCommand(
            f"`{name}` needs the number or address of an endpoint: `world` lists them."
        )
    return ToEndpoints(name, tuple(more))


def _push(_name: str, more: Sequence[str]) -> Command:
    if len(more) != 1:
        raise BadCommand("`push` takes one file of resources, protojson or YAML.")
    return Push(more[0])


def _break(_name: str, more: Sequence[str]) -> Command:
    services = {service.value: service for service in Service}
    service, *rest = more or [Service.ADS.value]
    if rest or service.lower() not in services:
        raise BadCommand("`break` takes `ads` or `lrs`: it ends the streams of that service.")
    return Break(services[service.lower()])


def _kinds(name: str, more: Sequence[str]) -> tuple[Kind, ...]:
    known = {**KINDS, **{kind.value: kind for kind in Kind}}
    for kind in more:
        if kind.lower() not in known:
            raise BadCommand(f"`{name}` takes the types {', '.join(KINDS)}, but got {kind!r}.")
    return tuple(known[kind.lower()] for kind in more)


def _alone(command: Command) -> Callable[[str, Sequence[str]], Command]:
    def read(name: str, more: Sequence[str]) -> Command:
        _nothing_more(name, more)
        return command

    return read


_SHORT: Final = {
    "d": "done",
    "m": "make",
    "k": "kill",
    "s": "stall",
    "p": "push",
    "b": "break",
    "w": "world",
    "a": "ask",
    "?": "help",
    "h": "help",
    "q": "quit",
    "exit": "quit",
}
_READ: Final[Mapping[str, Callable[[str, Sequence[str]], Command]]] = {
    "done": _done,
    "make": _make,
    **dict.fromkeys((*MODES, *CONNECTION_ACTIONS), _endpoints),
    "push": _push,
    "break": _break,
    "hold": lambda name, more: HoldBack(_kinds(name, more)),
    "release": lambda name, more: Release(_kinds(name, more)),
    "stop": _alone(Reach(up=False)),
    "resume": _alone(Reach(up=True)),
    "world": _alone(Show("world")),
    "ask": _alone(Show("ask")),
    "help": _alone(Show("help")),
    "wait": _alone(Wait()),
    "quit": _alone(Quit()),
}


_MODES: Final[Mapping[str, Mode]] = {
    "serve": Serve(),
    "stall": Stall(),
    "close": Close(),
    "refuse": Refuse(),
}


async def execute(action: Action, world: World, say: Printer) -> None:
    """Execute a command, and print its result.

    Raises:
        LookupError, ControlPlaneTrouble: the command failed; the message is a sentence.
    """
    plane, script = world.plane, world.plane.script
    match action:
        case ToEndpoints(what, which):
            for number, endpoint in output.numbered(world, which):
                await _to_endpoint(what, number, endpoint, say)
        case Push(file):
            await _push_file(file, world, say)
        case Break(service):
            script.end_streams(service=service)
            say(f"Ended the {service.value} streams with UNAVAILABLE.")
        case HoldBack(kinds):
            script.hold(*kinds)
            say(f"Holding back responses of {_names(script.held)}.")
        case Release(kinds):
            script.release(*kinds)
            say(f"Holding back responses of {_names(script.held)}.")
        case Reach(up=True):
            await plane.resume()
            say(f"The control plane is reachable again at {plane.address}.")
        case Reach():
            await plane.stop()
            say("The control plane is unreachable: `resume` makes it reachable again.")


async def _to_endpoint(what: str, number: int, endpoint: BackendEndpoint, say: Printer) -> None:
    live = sum(attempt.closed_at is None for attempt in endpoint.attempts)
    name = f"Endpoint {number} ({endpoint.address})"
    if what == "kill":
        await endpoint.kill()
        say(f"{name} dropped its {live} live connections; its mode is unchanged.")
    elif what == "goaway":
        endpoint.go_away()
        say(f"{name} sent GOAWAY on its {live} live connections.")
    else:
        await endpoint.set_mode(_MODES[what])
        more = f" {live} live connections stay: `kill {number}` drops them." if live else ""
        say(f"{name} will {what} new connections.{more}")


async def _push_file(file: str, world: World, say: Printer) -> None:
    from fake_control_plane.files import load_file  # noqa: PLC0415 - parsers are slow to load

    content = await asyncio.to_thread(lambda: load_file(Path(file).expanduser()))
    push = await world.plane.set(*content.resources, version=content.version)
    versions = ", ".join(
        f"{kind.value} version {version}" for kind, version in push.versions.items()
    )
    say(f"Serving {file}: {versions or 'it has no resources'}.")


def _names(kinds: frozenset[Kind]) -> str:
    by_kind = {kind: name for name, kind in KINDS.items()}
    return ", ".join(by_kind[kind] for kind in Kind if kind in kinds) or "no type"
