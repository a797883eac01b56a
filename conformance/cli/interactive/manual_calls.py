"""Track calls that the user makes with their own client.

The backends show where a call went and that it was answered. The user reports how a call ended that
no backend has answered.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol, cast

from client_under_test.contract.messages import StatusName
from client_under_test.launching.channels import CALL_ID_KEY, OpenedStream, Outcome
from client_under_test.launching.channels import Call as PlannedCall
from conformance import timing
from conformance.cli.interactive.commands import UNKNOWN, WAITING
from conformance.cli.interactive.steps import RequestedCalls, metadata
from conformance.judging.aborts import Unsupported
from conformance.world import World, waits
from test_servers import Rpc

MetadataKey = tuple[tuple[str, tuple[str | bytes, ...]], ...]
"""Pairs of a key and all its values, in order."""


def recognize(
    planned: Sequence[PlannedCall], rows: Mapping[int, Rpc]
) -> tuple[dict[str, int], tuple[int, ...]]:
    """Match received requests with requested calls, by id, or by path and metadata.

    Args:
        planned: the requested calls.
        rows: requests that backends received and that match no call yet, by number, oldest first.

    Returns:
        The row number of each received call, by call id; and the rows beyond the requested calls.
    """
    found, rest, again = _by_id({call.id for call in planned}, rows)
    by_keys: dict[tuple[str, ...], list[PlannedCall]] = defaultdict(list)
    for call in planned:
        if call.id not in found:
            by_keys[_keys(call)].append(call)
    # Calls with the most metadata first: a call without metadata matches every request.
    for keys in sorted(by_keys, key=len, reverse=True):
        waiting: dict[tuple[str, MetadataKey], deque[int]] = defaultdict(deque)
        for number, row in rest.items():
            waiting[row.path, _of_row(row, keys)].append(number)
        for key in by_keys[keys]:
            if alike := waiting[key.path, _of_call(key, keys)]:
                found[key.id] = alike.popleft()
                del rest[found[key.id]]
    return found, (*again, *rest)


def _by_id(
    ids: Collection[str], rows: Mapping[int, Rpc]
) -> tuple[dict[str, int], dict[int, Rpc], list[int]]:
    """Return the row of each id, the rows without an id, and the rows that repeat an id."""
    found: dict[str, int] = {}
    rest: dict[int, Rpc] = {}
    again = []
    for number, row in rows.items():
        carried = [str(value) for value in row.values(CALL_ID_KEY)]
        if not carried:
            rest[number] = row
        for name in carried:
            if name in found:
                again.append(number)
            elif name in ids:
                found[name] = number
    return found, rest, again


def _keys(call: PlannedCall) -> tuple[str, ...]:
    return tuple(sorted({key for key, _ in call.metadata}))


def _of_call(call: PlannedCall, keys: Collection[str]) -> MetadataKey:
    return tuple((key, tuple(v for name, v in call.metadata if name == key)) for key in keys)


def _of_row(row: Rpc, keys: Collection[str]) -> MetadataKey:
    return tuple((key, row.values(key)) for key in keys)


GIVEN_UP = "CANCELLED"
"""The status of a call that the client ended, for any reason, as the backend reports it."""


class Asks(Protocol):
    """Asks the user; `InteractiveSession` implements it."""

    async def ask(self, asked: RequestedCalls) -> str:
        """Ask the user to do a step; return the status that they name, or nothing."""


class ManualCalls:
    """Calls that the user was asked to make.

    Args:
        asks: asks the user.
        world: the world whose backends receive the calls.
        planned: the requested calls.
        since: the number of rows in the ledger before the calls.
        began: the time of the request, by the suite's monotonic clock.
    """

    tells_times = False

    def __init__(
        self,
        asks: Asks,
        world: World,
        planned: Sequence[PlannedCall],
        *,
        since: int,
        began: float,
    ) -> None:
        self._asks = asks
        self._world = world
        self._planned = tuple(planned)
        self.step = 0
        """The number of the step that requested the calls."""
        self._since = since
        self._began = began
        self._outcomes: dict[str, Outcome] = {}
        self._given_up: set[str] = set()
        self._strays = 0
        self._told: str | None = None
        self._says = ""
        self._assumed: set[str] = set()

    def are_open(self, status: str) -> None:
        """Note that the user reports open streams; the other streams ended with `status`."""
        self._says = status

    def are_over(self, status: str) -> None:
        """Note that the user reports the end of all calls; unanswered calls ended with `status`."""
        self._told = status

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """The known outcomes."""
        self.look()
        return tuple(self._outcomes.values())

    @property
    def given_up(self) -> frozenset[str]:
        """The ids of the calls that the user was asked to cancel."""
        return frozenset(self._given_up)

    @property
    def opened_streams(self) -> Sequence[OpenedStream]:
        """The kept-open streams that a backend has answered with its headers."""
        self.look()
        rows = ((call, self._row(call.id)) for call in self._planned if call.kept_open)
        return tuple(
            OpenedStream(id=call.id, hostname=self._address(row), at=row.at)
            for call, row in rows
            if row is not None
        )

    @property
    def received(self) -> int:
        """The number of calls that backends have received."""
        self.look()
        return sum(call.id in self._world.calls.recognized for call in self._planned)

    @property
    def strays(self) -> int:
        """The number of requests that backends received beyond the requested calls."""
        self.look()
        return self._strays

    @property
    def is_complete(self) -> bool:
        """Return whether backends have received all calls, and ended all but kept-open streams."""
        self.look()
        rows = [(call, self._row(call.id)) for call in self._planned]
        return all(row is not None and (call.kept_open or row.ended_at) for call, row in rows)

    async def complete(self, *, deadline: float) -> None:
        """Wait until `is_complete`, or until the deadline."""
        if not self.is_complete:
            ledger = self._world.fleet.ledger
            come = ledger.wait(lambda _: self.is_complete, since=self._since, deadline=deadline)
            await waits.watched(come)

    async def begun(self, *, deadline: float) -> Sequence[OpenedStream]:
        """Wait until each kept-open stream is open or has a status. Return the open streams.

        Raises:
            ClientUnable: the user does not know the status of some streams.
        """
        while missing := await self._unopened(deadline):
            if self._says == UNKNOWN:
                raise self._nobody_knows(missing)
            if self._says == WAITING:
                break
            if self._says:
                self._take(missing, self._says)
                self._assumed.update(missing)
            else:
                self._says = await self._asks.ask(self._how_ended(missing))
        return self.opened_streams

    async def _unopened(self, deadline: float) -> list[str]:
        """Return the streams that are not open; wait for them if the user has named no status."""
        if not self._says:
            await self.complete(deadline=min(deadline, timing.LEDGER))
        return self._neither()

    def _neither(self) -> list[str]:
        """Return the ids of calls that no backend has received and that have no outcome."""
        self.look()
        return [
            call.id
            for call in self._planned
            if self._row(call.id) is None and call.id not in self._outcomes
        ]

    async def __aiter__(self) -> AsyncIterator[Outcome]:
        """Yield the outcomes, once the user reports the end of all calls."""
        for outcome in await self.finished(deadline=0):
            yield outcome

    async def finished(
        self, *, deadline: float, done_deadline: float | None = None
    ) -> tuple[Outcome, ...]:
        """Return every outcome, once the user reports the end of all calls, without a deadline.

        Raises:
            ClientUnable: the user does not know the status of some calls.
        """
        del deadline, done_deadline
        while missing := await self._missing():
            if self._told in {UNKNOWN, WAITING}:
                raise self._nobody_knows(missing)
            if self._told:
                self._take(missing, self._told)
                break
            await self._ask(missing)
        return tuple(self._outcomes[call.id] for call in self._planned)

    async def _ask(self, missing: Sequence[str]) -> None:
        """Ask how calls ended; stop asking if the backends see the end of all calls."""
        if self._told is not None:
            self._told = await self._asks.ask(self._question(missing))
            return
        await self.complete(deadline=timing.PATIENCE)
        if self.is_complete:
            self._told = ""
            return
        asked = asyncio.create_task(self._asks.ask(self._question(missing)))
        ended = asyncio.create_task(self.complete(deadline=math.inf))
        try:
            await asyncio.wait([asked, ended], return_when=asyncio.FIRST_COMPLETED)
            self._told = await asked if asked.done() else ""
        finally:
            for task in (asked, ended):
                task.cancel()
            await asyncio.gather(asked, ended, return_exceptions=True)

    async def cancel(self, *, deadline: float) -> None:
        """Ask the user to cancel the calls that have not ended."""
        del deadline
        self.look()
        left = [call for call in self._planned if call.id not in self._outcomes]
        self._given_up.update(call.id for call in self._planned)
        if left:
            await self._asks.ask(
                RequestedCalls(
                    what=f"cancel {self._count(len(left))} in the client, without ending the "
                    "client",
                    details=(*metadata(left),),
                    until="they are cancelled",
                    is_step=False,
                )
            )
            self._take([call.id for call in left], GIVEN_UP)

    def look(self) -> None:
        """Match the requests that backends have received by now, and note how they ended."""
        recognized, rows = self._world.calls.recognized, self._world.fleet.ledger.rpcs
        taken = {*recognized.values()}
        fresh = {
            number: rows[number] for number in range(self._since, len(rows)) if number not in taken
        }
        unknown = [call for call in self._planned if call.id not in recognized]
        if fresh:
            found, strays = recognize(unknown, fresh)
            recognized.update(found)
            self._strays = len(strays)
        for call in self._planned:
            row = self._row(call.id)
            if row is not None and call.id in self._assumed:  # it came after the user's report
                self._assumed.remove(call.id)
                del self._outcomes[call.id]
            if row is None or row.status in {None, GIVEN_UP} or call.id in self._outcomes:
                continue
            self._outcomes[call.id] = Outcome(
                id=call.id,
                status=cast("StatusName", row.status),
                details="",
                hostname=self._address(row),
                started_at=row.at,
                ended_at=row.ended_at or row.at,
            )

    async def _missing(self) -> list[str]:
        """Return the calls with an unknown outcome, after received calls were answered."""
        if self._told is not None and not self._all_answered():
            ledger = self._world.fleet.ledger
            come = ledger.wait(
                lambda _: self._all_answered(), since=self._since, deadline=timing.LEDGER
            )
            await waits.watched(come)
        self.look()
        return [call.id for call in self._planned if call.id not in self._outcomes]

    def _all_answered(self) -> bool:
        """Return whether no received call is in progress."""
        self.look()
        rows = (self._row(call.id) for call in self._planned)
        return all(row is None or row.ended_at is not None for row in rows)

    def _question(self, missing: Sequence[str]) -> RequestedCalls:
        """Return the question about calls whose end is unknown."""
        if self._told is None:
            return RequestedCalls(
                what=f"wait for the end of {self._count(len(missing))}, which you started",
                until="they have ended; the scenario continues on its own when backends have "
                "answered all of them",
                wants_status=True,
                is_step=False,
            )
        return self._how_ended(missing)

    def _how_ended(self, missing: Sequence[str]) -> RequestedCalls:
        return RequestedCalls(
            what=f"report how {self._count(len(missing))} ended that no backend has answered",
            until="you have named their status, or `waiting` for streams without a status; or make "
            "the calls, and type `done` again",
            wants_status=True,
            is_step=False,
        )

    def _nobody_knows(self, missing: Sequence[str]) -> Unsupported:
        return Unsupported(
            f"no backend answered {self._count(len(missing))}, and the user did not see how they "
            "ended"
        )

    def _count(self, some: int) -> str:
        """Return a number of calls in words, such as "2 of the 5 calls of step 1"."""
        every = len(self._planned)
        if some < every:
            return f"{some} of the {every} calls of step {self.step}"
        return f"the {f'{every} calls' if every > 1 else 'call'} of step {self.step}"

    def _take(self, names: Sequence[str], status: str) -> None:
        rows = {name: self._row(name) for name in names}
        ended = self._world.clock.began + self._world.now
        for name, row in rows.items():
            self._outcomes[name] = Outcome(
                id=name,
                status=cast("StatusName", status),
                details="",
                hostname=None if row is None else self._address(row),
                started_at=self._began if row is None else row.at,
                ended_at=ended,
            )

    def _row(self, name: str) -> Rpc | None:
        number = self._world.calls.recognized.get(name)
        return None if number is None else self._world.fleet.ledger.rpcs[number]

    def _address(self, row: Rpc) -> str:
        return self._world.registry.address(row.endpoint)
