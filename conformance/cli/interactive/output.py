"""Print a world and its events to the user, and read the user's lines."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import stat
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

from envoy.config.endpoint.v3.endpoint_components_pb2 import LocalityLbEndpoints
from envoy.config.endpoint.v3.endpoint_pb2 import ClusterLoadAssignment
from google.protobuf.message import DecodeError

from client_under_test.launching.channels import CALL_ID_KEY
from conformance import timing
from conformance.world import World
from conformance.xds_config.bootstrap import VARIABLE
from conformance.xds_config.clusters import LogicalDns
from conformance.xds_config.config import LISTENER
from fake_control_plane import AckOrNack, Event, Kind, LoadRequest, Request
from test_servers import Attempt, BackendEndpoint, Rpc
from test_servers.proxy import host_port

FILE_VARIABLE: Final = "GRPC_XDS_BOOTSTRAP"
"""The variable of the environment that names a file with a bootstrap configuration."""

TARGET: Final = f"xds:///{LISTENER}"

_MOST: Final = 40
"""The most endpoints that a table lists."""

_Place = tuple[str, str, str, str]

_HEADS: Final = ("", "address", "mode", "live", "cluster", "locality", "priority", "weight")


def places(
    world: World, *, control: str, bootstrap: Path, adapter: str, knobs: Mapping[str, int]
) -> list[str]:
    """Return the addresses of a world's servers, and the settings for a client."""
    process = world.process
    # The user knows the values of `--env`; a transcript of the terminal should not contain them.
    beside = dict.fromkeys((name for name in world.environment if name != VARIABLE), "…")
    rows = [
        ("target", TARGET),
        ("bootstrap", world.environment[VARIABLE]),
        ("in a file", f"{FILE_VARIABLE}={bootstrap}"),
        (
            "variables",
            " ".join(f"{k}={v}" for k, v in {**process.prepared.environment, **beside}.items()),
        ),
        ("knobs", " ".join(f"{name}={value}" for name, value in knobs.items())),
        ("xds", world.plane.address),
        ("control", f"{control}, see fake_control_plane/control.proto"),
        ("adapter", adapter),
        ("client pid", f"{process.pid}"),
        ("suite pid", f"{os.getpid()}"),
    ]
    return [f"  {head:<11} {text}" for head, text in rows if text]


def endpoints(world: World) -> list[str]:
    """Return a table of the endpoints: number, address, mode, and place in EDS."""
    members = list(world.registry)
    if not members:
        return ["  no endpoints yet"]
    where = _places(world)
    rows = [_HEADS]
    for number, member in enumerate(members[:_MOST], start=1):
        mode = str(member.mode.__struct_config__.tag)
        live = sum(attempt.closed_at is None for attempt in member.attempts)
        placed = where[member.address] or [("not served", "", "", "")]
        rows += [(f"{number}", member.address, mode, f"{live}", *place) for place in placed]
    lines = _aligned(rows)
    if len(members) > _MOST:
        lines.append(f"  … and {len(members) - _MOST} more")
    return lines


def numbered(world: World, named: Iterable[str]) -> list[tuple[int, BackendEndpoint]]:
    """Return the endpoints of these numbers or addresses, each with its number.

    Raises:
        LookupError: no such endpoint; the message is a sentence.
    """
    members = list(world.registry)
    known = {f"{number}": number for number in range(1, len(members) + 1)}
    known |= {member.address: number for number, member in enumerate(members, start=1)}
    found = []
    for name in named:
        if name not in known:
            there = f"`world` lists 1 to {len(members)}" if members else "there are none yet"
            raise LookupError(f"There is no endpoint {name}: {there}.")
        found.append((known[name], members[known[name] - 1]))
    return found


def _places(world: World) -> dict[str, list[_Place]]:
    """Return the places of each address in EDS now, or in the DNS names of clusters."""
    found: dict[str, list[_Place]] = defaultdict(list)
    for name, packed in world.plane.snapshots.seen_by(None).of(Kind.ENDPOINTS).items():
        with suppress(DecodeError):  # a scenario may serve bytes that are no endpoints
            for place in ClusterLoadAssignment.FromString(packed.packed.body).endpoints:
                _add(found, name, place)
    served = world.control.served
    for cluster in served.clusters if served else ():
        if isinstance(cluster.discovery, LogicalDns):
            for address in cluster.discovery.resolved or (cluster.discovery.target,):
                found[address].append((cluster.name, "", "", ""))
    return found


def _add(found: dict[str, list[_Place]], name: str, place: LocalityLbEndpoints) -> None:
    """Add a locality's endpoints with their cluster, locality, priority and weight."""
    locality = "/".join(
        part
        for part in (place.locality.region, place.locality.zone, place.locality.sub_zone)
        if part
    )
    if place.HasField("load_balancing_weight"):
        locality += f" (weight {place.load_balancing_weight.value})"
    for endpoint in place.lb_endpoints:
        has_weight = endpoint.HasField("load_balancing_weight")
        weight = f"{endpoint.load_balancing_weight.value}" if has_weight else ""
        further = (more.address for more in endpoint.endpoint.additional_addresses)
        for address in (endpoint.endpoint.address, *further):
            where = address.socket_address
            key = host_port(where.address, where.port_value)
            found[key].append((name, locality.strip(), f"{place.priority}", weight))


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


class Printer(Protocol):
    """Prints one or more lines; `style` is a name such as "bold", for a terminal."""

    def __call__(self, words: str, style: str = "") -> None:
        """Print."""


_ONE_BY_ONE: Final = 8
"""The number of calls or attempts in a row that are printed singly; further ones are counted."""

_TRANSPORT: Final = frozenset({"user-agent", "te", "content-type", "grpc-accept-encoding"})


class EventFeed:
    """Follows a world from a moment on, until it is cancelled.

    Args:
        world: which.
        say: prints the events.
        since_the_beginning: or from now on.
    """

    def __init__(self, world: World, say: Printer, *, since_the_beginning: bool) -> None:
        self._world = world
        self._say = say
        self._events_since = 0 if since_the_beginning else len(world.plane.transcript)
        ledger = world.fleet.ledger
        self._rpcs_since = 0 if since_the_beginning else len(ledger)
        self._attempts_since = 0 if since_the_beginning else len(ledger.attempts)
        self._closed: set[int] = set()
        self._calls = _Burst("calls", self._line)
        self._attempts = _Burst("connections", self._line)
        self._ends = _Burst("ends of connections", self._line)

    async def follow(self) -> None:
        """Tell all of it."""
        ledger = self._world.fleet.ledger
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow_events())
                # Each is asked of every row as it begins and changes, and none ends the wait.
                tasks.create_task(
                    ledger.wait(self._tell_rpc, since=self._rpcs_since, deadline=math.inf)
                )
                tasks.create_task(
                    ledger.wait_attempts(
                        self._tell_attempt, since=self._attempts_since, deadline=math.inf
                    )
                )
        finally:
            for burst in (self._calls, self._attempts, self._ends):
                burst.flush()

    async def _follow_events(self) -> None:
        async for _, event in self._world.plane.transcript.follow(self._events_since):
            self._tell_event(event)

    def _tell_event(self, event: Event) -> None:
        if isinstance(event, LoadRequest):
            if text := _load(event):
                self._line(event.at, "lrs", text)
            return
        is_nack = isinstance(event, Request) and event.answer is AckOrNack.NACK
        self._line(event.at, "xds", str(event), "red" if is_nack else "")

    def _tell_rpc(self, row: Rpc) -> bool:
        if row.status is not None:
            at = self._world.clock.began if row.ended_at is None else row.ended_at
            name = row.path.rpartition("/")[2]
            headers = " ".join(
                f"{key}={value!r}" if isinstance(value, bytes) else f"{key}={value}"
                for key, value in row.metadata
                if key not in _TRANSPORT and key != CALL_ID_KEY
            )
            where = self._number(row.endpoint)
            self._calls.tell(at, f"call   {where}  {name} {headers} {row.status}".rstrip(), where)
        elif row.path.endswith("FullDuplexCall"):
            where = self._number(row.endpoint)
            self._calls.tell(row.at, f"open   {where}  FullDuplexCall", where)
        return False

    def _tell_attempt(self, row: Attempt) -> bool:
        where = self._number(row.endpoint)
        if row.closed_at is not None and row.connection not in self._closed:
            self._closed.add(row.connection)
            self._ends.tell(row.closed_at, f"end    {where}  by {row.closed_by}", where)
        elif row.closed_at is None and row.first_byte_at is None:
            mode = row.mode.__struct_config__.tag
            self._attempts.tell(row.accepted_at, f"accept {where}  {mode}", where)
        return False

    def _number(self, endpoint: str) -> str:
        """Return the endpoint's number in tables, and its address."""
        for number, member in enumerate(self._world.registry, start=1):
            if member.id == endpoint:
                return f"{number} {member.address}"
        return endpoint

    def _line(self, at: float, what: str, text: str, style: str = "") -> None:
        self._say(f"{self._world.clock.at(at):9.3f}  {what:<4} {text}", style or "dim")


class _Burst:
    """Print the first events of a kind that may come by hundreds, and count the rest.

    Args:
        what: the kind of event, in the plural.
        line: prints an event with its time.
    """

    def __init__(self, what: str, line: Callable[[float, str, str], None]) -> None:
        self._what = what
        self._line = line
        self._count = 0
        self._rest = Counter[str]()
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, at: float, text: str, key: str) -> None:
        """Print an event, or count it under its key."""
        self._count += 1
        self._last = at
        if self._count <= _ONE_BY_ONE:
            self._line(at, "rpc" if self._what == "calls" else "tcp", text)
        else:
            self._rest[key] += 1
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(timing.BURST, self.flush)

    def flush(self) -> None:
        """Print the count, and start again."""
        if self._timer is not None:
            self._timer.cancel()
        if self._rest:
            each = ", ".join(f"{count} at {key}" for key, count in sorted(self._rest.items()))
            self._line(self._last, "", f"{self._rest.total()} more {self._what}: {each}")
        self._count = 0
        self._rest.clear()


def _load(event: LoadRequest) -> str:
    """Return the nonzero load of a report."""
    parts = []
    for load in event.clusters:
        issued = sum(place.issued for place in load.localities)
        if issued or load.dropped:
            parts.append(f"{load.cluster} {issued} issued, {load.dropped} dropped")
    return "; ".join(parts)


_CHUNK: Final = 1 << 16
_LONGEST: Final = 1 << 16
"""Bytes of the longest line; a longer one is no command."""


class InputLines:
    """The lines of standard input, from a user or a script.

    If standard input is neither a terminal nor a pipe nor a file, no line comes, and the input does
    not end.
    """

    def __init__(self) -> None:
        self._number = _standard_input()
        self._is_file = self._number is not None and stat.S_ISREG(os.fstat(self._number).st_mode)
        self.is_terminal: Final = self._number is not None and os.isatty(self._number)
        self._news = asyncio.Event()
        self._rest = b""
        self._lines: list[str] = []
        self._over = False

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield each line, until the end of input."""
        number = self._number
        if number is None:
            await asyncio.Event().wait()
            return
        watched = not self._is_file
        loop = asyncio.get_running_loop()
        if watched:
            loop.add_reader(number, self._read, number)
        try:
            while True:
                if not watched and not self._over:
                    self._read(number)
                while self._lines:
                    yield self._lines.pop(0)
                if self._over:
                    return
                if watched:
                    self._news.clear()
                    await self._news.wait()
        finally:
            if watched and not self._over:
                loop.remove_reader(number)

    def _read(self, number: int) -> None:
        try:
            data = os.read(number, _CHUNK)
        except OSError:  # the terminal has gone
            data = b""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data or len(self._rest) > _LONGEST:
            lines += [self._rest] if self._rest else []
            self._over = True
            if not self._is_file:
                asyncio.get_running_loop().remove_reader(number)
        self._lines += [line.decode("utf-8", "backslashreplace") for line in lines]
        self._news.set()


def _standard_input() -> int | None:
    """Return the descriptor of a terminal, pipe or file; None if stdin is none of these."""
    try:
        number = sys.__stdin__.fileno() if sys.__stdin__ else None
        mode = os.fstat(number).st_mode if number is not None else 0
    except (OSError, ValueError):
        return None
    is_one = stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)
    return number if number is not None and (is_one or os.isatty(number)) else None


@contextmanager
def signals_handled(handle: Callable[[], None]) -> Iterator[None]:
    """Handle SIGINT and SIGTERM by `handle` alone, for the length of a block."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        loop.add_signal_handler(number, handle)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])


async def end_tasks(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks, and raise the errors of those that have failed."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task
