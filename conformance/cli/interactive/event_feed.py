"""Print the events of a world as they happen."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from typing import Final

from client_under_test import CALL_ID_KEY
from conformance import timing
from conformance.cli.interactive.printer import Printer
from conformance.world import World
from fake_control_plane import AckOrNack, Event, LoadRequest, Request
from test_servers import Attempt, Rpc

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
            told = " ".join(
                f"{key}={value!r}" if isinstance(value, bytes) else f"{key}={value}"
                for key, value in row.metadata
                if key not in _TRANSPORT and key != CALL_ID_KEY
            )
            where = self._number(row.endpoint)
            self._calls.tell(at, f"call   {where}  {name} {told} {row.status}".rstrip(), where)
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
        """Which endpoint, by the number that tables have, with its address."""
        for number, member in enumerate(self._world.registry, start=1):
            if member.id == endpoint:
                return f"{number} {member.address}"
        return endpoint

    def _line(self, at: float, what: str, text: str, style: str = "") -> None:
        self._say(f"{self._world.clock.at(at):9.3f}  {what:<4} {text}", style or "dim")


class _Burst:
    """Print the first events of a kind that may come by hundreds, and count the rest.

    Args:
        what: they are, in the plural.
        line: tells one, with its moment.
    """

    def __init__(self, what: str, line: Callable[[float, str, str], None]) -> None:
        self._what = what
        self._line = line
        self._count = 0
        self._rest = Counter[str]()
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, at: float, text: str, key: str) -> None:
        """Tell one, which counts under this key, or count it."""
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
    """What a load report tells that is not zero."""
    told = []
    for load in event.clusters:
        issued = sum(place.issued for place in load.localities)
        if issued or load.dropped:
            told.append(f"{load.cluster} {issued} issued, {load.dropped} dropped")
    return "; ".join(told)
