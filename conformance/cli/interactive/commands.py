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
"""In the place of a status of what has not ended, and is not open."""

KINDS: Final[Mapping[str, Kind]] = {
    "lds": Kind.LISTENER,
    "rds": Kind.ROUTE,
    "cds": Kind.CLUSTER,
    "eds": Kind.ENDPOINTS,
}

MODES: Final = ("serve", "stall", "close", "refuse")
DEEDS: Final = ("kill", "goaway")


class BadCommand(Exception):
    """What was said is nothing that can be done; the message is a sentence."""


class Done(msgspec.Struct, frozen=True):
    """The person has done what was asked for."""

    status: str = ""
    """With this status those calls have ended that no backend has answered."""


class Make(msgspec.Struct, frozen=True):
    """The adapter should do the step."""

    always: bool = False
    """And whatever else is asked for."""


class ToEndpoints(msgspec.Struct, frozen=True):
    """Do something to endpoints."""

    what: str
    """One of MODES or DEEDS."""
    which: tuple[str, ...]
    """Their numbers or addresses."""


class Push(msgspec.Struct, frozen=True):
    """Serve what is in a file, in the place of what has the same names, or beside it."""

    file: str


class Break(msgspec.Struct, frozen=True):
    """End the streams of a service."""

    service: Service = Service.ADS


class HoldBack(msgspec.Struct, frozen=True):
    """Let responses of these types, or of all, wait from now on."""

    kinds: tuple[Kind, ...]


class Release(msgspec.Struct, frozen=True):
    """Send responses of these types, or of all, again."""

    kinds: tuple[Kind, ...]


class Reach(msgspec.Struct, frozen=True):
    """Have the control plane be out of reach, or back."""

    up: bool


class Show(msgspec.Struct, frozen=True):
    """Tell the world, or what is asked for."""

    what: str


class Wait(msgspec.Struct, frozen=True):
    """Take no further line before something is asked for, or the scenario is over."""


class Quit(msgspec.Struct, frozen=True):
    """End it."""


class Nothing(msgspec.Struct, frozen=True):
    """An empty line, or a comment."""


Action = ToEndpoints | Push | Break | HoldBack | Release | Reach
"""What is done to a world."""

Command = Action | Done | Make | Wait | Show | Quit | Nothing

HELP: Final = """\
done [STATUS]    (d)  you have done what is asked for; STATUS, such as UNAVAILABLE, is how those
                      calls ended that no backend has answered, or `unknown`, or `waiting`
make             (m)  let the adapter do it; `make all`: and whatever comes
kill N…          (k)  drop the live connections of endpoints, by number or address
stall N…         (s)  connections to come are accepted and get no answer
close N…              they are closed at once
refuse N…             nobody listens there
serve N…              they are served again
goaway N…             tell live connections that no more requests fit (GOAWAY)
push FILE        (p)  serve the resources of a file, protojson or YAML
break [lrs]      (b)  end the ADS streams, or those of load reports
stop, resume          the control plane is out of reach, and back
hold [TYPE…]          let responses wait: lds, rds, cds, eds, or all
release [TYPE…]       send them again
world            (w)  target, bootstrap, control service, endpoints
ask              (a)  what is asked for, once more
wait                  take no further line before something is asked for: for a script
help             (?)  this
quit             (q)  end it"""


def parse(line: str) -> Command:
    """What a line says.

    Raises:
        BadCommand: nothing that can be done.
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
        raise BadCommand(f"`{name}` stands alone: what is {' '.join(more)!r}?")


def _done(_name: str, more: Sequence[str]) -> Command:
    status, *rest = more or [""]
    _nothing_more(f"done {status}".strip(), rest)
    others = {UNKNOWN, WAITING}
    given = status if status in others else status.upper()
    if status and given not in {*get_args(StatusName), *others}:
        raise BadCommand(
            f"{status!r} is no status of gRPC such as UNAVAILABLE, and neither `unknown` nor "
            "`waiting`."
        )
    return Done(given)


def _make(_name: str, more: Sequence[str]) -> Command:
    if more and [*more] != ["all"]:
        raise BadCommand("`make` stands alone, or before `all`.")
    return Make(always=bool(more))


def _endpoints(name: str, more: Sequence[str]) -> Command:
    if not more:
        raise BadCommand(f"`{name}` which endpoint? By its number or address, as `world` has them.")
    return ToEndpoints(name, tuple(more))


def _push(_name: str, more: Sequence[str]) -> Command:
    if len(more) != 1:
        raise BadCommand("`push` takes one file of resources, protojson or YAML.")
    return Push(more[0])


def _break(_name: str, more: Sequence[str]) -> Command:
    services = {service.value: service for service in Service}
    service, *rest = more or [Service.ADS.value]
    if rest or service.lower() not in services:
        raise BadCommand("`break` ends the streams of `ads`, or of `lrs`.")
    return Break(services[service.lower()])


def _kinds(name: str, more: Sequence[str]) -> tuple[Kind, ...]:
    known = {**KINDS, **{kind.value: kind for kind in Kind}}
    for kind in more:
        if kind.lower() not in known:
            raise BadCommand(f"`{name}` is for responses of {', '.join(KINDS)}, and not of {kind}.")
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
    **dict.fromkeys((*MODES, *DEEDS), _endpoints),
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
            await _push_file(file, world, say)
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


async def _push_file(file: str, world: World, say: Printer) -> None:
    from fake_control_plane.files import load_file  # noqa: PLC0415 - parsers are slow to load

    content = await asyncio.to_thread(lambda: load_file(Path(file).expanduser()))
    push = await world.plane.set(*content.resources, version=content.version)
    versions = ", ".join(
        f"{kind.value} version {version}" for kind, version in push.versions.items()
    )
    say(f"{file} is served: {versions or 'it has no resources'}.")


def _names(kinds: frozenset[Kind]) -> str:
    by_kind = {kind: name for name, kind in KINDS.items()}
    return ", ".join(by_kind[kind] for kind in Kind if kind in kinds) or "no type"
