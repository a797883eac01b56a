"""Calls that were started, and who makes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from client_under_test import Call as PlannedCall
from client_under_test import Channel, OpenedStream, Outcome
from client_under_test.contract.exceptions import ClientHung
from conformance import timing
from conformance.judging.aborts import PreconditionTimeout, Unsupported
from conformance.judging.contradictions import ReportedCall
from conformance.judging.observations import Call, Calls
from conformance.world import settlement, waits
from conformance.world.clock import Clock

_T = TypeVar("_T")


class Started(Protocol):
    """Calls that somebody makes: those of an adapter's batch, or of a person who was asked to."""

    @property
    def tells_times(self) -> bool:
        """Whether the times of outcomes are the client's own."""

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """How those ended that have, in that order."""

    @property
    def given_up(self) -> Collection[str]:
        """The ids of those that were cancelled."""

    @property
    def opened_streams(self) -> Sequence[OpenedStream]:
        """Those of kept-open streams that have their response headers."""

    async def begun(self, *, deadline: float) -> Sequence[OpenedStream]:
        """The same, once each has them or has ended.

        Raises:
            NotSeen: some had neither in time.
        """

    def __aiter__(self) -> AsyncIterator[Outcome]: ...

    async def finished(self, *, deadline: float) -> tuple[Outcome, ...]:
        """Every outcome, once there is no other to come.

        Raises:
            ClientHung: they have not all ended in time.
        """

    async def cancel(self, *, deadline: float) -> None:
        """Cancel those that have not ended."""


class Caller(Protocol):
    """Who makes calls for a scenario. A channel of the adapter is one."""

    @property
    def is_closed(self) -> bool:
        """Whether it makes no more calls, and those under way have been given up."""

    async def start_calls(
        self,
        calls: Sequence[PlannedCall],
        *,
        concurrency: int | None = None,
        pace: float | None = None,
    ) -> Started:
        """Begin these calls: all at once, so many at once, or one each so many seconds."""


class CallDriver(Protocol):
    """By whose hands a client does what the scenario asks: a person's, or those of its adapter."""

    def caller(self, channel: Channel, name: str, *, beside: bool) -> Caller:
        """Who makes the next calls on a channel, in the place of its adapter.

        Args:
            channel: of the adapter.
            name: what it is called in evidence.
            beside: whether the scenario does something else while they are under way.
        """

    async def leave_to_adapter(self, what: str) -> None:
        """Ask whether the adapter may do what a person's own client cannot be asked for.

        Raises:
            ClientUnable: it may not.
        """

    def opened(self, channel: str, target: str, environment: Mapping[str, str | None]) -> None:
        """Take note of what a channel needs: its target, and what its process is given besides."""


class Settles(Protocol):
    """Where calls were started, and where they are held against what the backends received."""

    clock: Clock

    @property
    def tells_calls_apart(self) -> bool:
        """Whether the client makes each call once, with metadata of its own."""

    async def unless_refused(self, waiting: Coroutine[Any, Any, _T]) -> _T:
        """What is waited for, as long as the client does not refuse what it was served first."""

    async def settle(
        self,
        channel: str,
        planned: Sequence[PlannedCall],
        outcomes: Sequence[Outcome],
        since: int,
        *,
        opened: Sequence[OpenedStream] = (),
    ) -> Calls:
        """What became of calls, once the backends' rows agree."""


class PendingCalls:
    """Calls that were started and may still be waiting.

    Args:
        calls: where they were started.
        caller: who makes them.
        channel: what that is called in evidence.
        planned: what was asked for.
        batch: what became of it so far.
        since: so many rows were in the ledger before.
        concurrency: so many are made at once, if not all.
    """

    def __init__(
        self,
        calls: Settles,
        caller: Caller,
        channel: str,
        planned: Sequence[PlannedCall],
        batch: Started,
        since: int,
        *,
        concurrency: int | None = None,
    ) -> None:
        self._calls = calls
        self._caller = caller
        self._channel = channel
        self._planned = planned
        self._batch = batch
        self._since = since
        self._concurrency = concurrency
        self._is_settled = False

    async def over(self) -> Calls:
        """Every call, when the last of them has ended.

        Raises:
            ClientRefused: the client NACKed what was served first, so calls may wait in vain.
            ClientStuck: calls that wait for others to end ran into their deadlines instead.
            ClientLied: the client's word and the backends' rows contradict each other.
            ConversationFailed: the client died, hung or babbled.
        """
        outcomes = await self._calls.unless_refused(self._ended())
        calls = await self._calls.settle(self._channel, self._planned, outcomes, self._since)
        self._is_settled = True
        return calls

    async def begun(self) -> Calls:
        """Every stream, once it is open or has ended, or when a call would have had its time.

        What has not ended has no status: OPEN stands there, or WAITING.

        Raises:
            ClientLied: the client's word and the backends' rows contradict each other.
            ConversationFailed: the client died or babbled.
        """
        await self._calls.unless_refused(waits.watched(self._batch.begun(deadline=timing.CALL)))
        outcomes, opened = self._batch.outcomes, self._batch.opened_streams
        return await self._calls.settle(
            self._channel, self._planned, outcomes, self._since, opened=opened
        )

    def said(self) -> tuple[Call, ...]:
        """What the client says of calls that have ended, until it is held against the backends."""
        if self._is_settled:
            return ()
        outcomes = self._batch.outcomes
        over = {call.id for call in outcomes}
        planned = [call for call in self._planned if call.id in over]
        return settlement.ended(self._channel, planned, outcomes)

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """What the client says of those that have ended."""
        return self._batch.outcomes

    async def _ended(self) -> tuple[Outcome, ...]:
        """Every outcome; who makes one row of calls after another has time as long as some come."""
        longest = max((call.deadline or 0 for call in self._planned), default=0)
        while True:
            before = len(self._batch.outcomes)
            try:
                return await self._batch.finished(deadline=timing.BATCH + longest)
            except ClientHung as hung:
                ended = len(self._batch.outcomes)
                if self._in_time(ended, longest):
                    raise PreconditionTimeout(
                        f"{hung}, as those before them waited too long"
                    ) from None
                if self._calls.tells_calls_apart or ended == before:
                    raise

    def _in_time(self, ended: int, longest: float) -> bool:
        """Whether so many ended in BATCH as do if each of so many at once ends by its deadline."""
        if self._concurrency is None or not longest:
            return False
        return ended >= self._concurrency * int(timing.BATCH / longest) > 0

    @property
    def waiting(self) -> int:
        """How many have not ended."""
        return len(self._planned) - len(self._batch.outcomes)

    async def ends(self) -> AsyncIterator[int]:
        """How many have ended, each time that one more has.

        Raises:
            ConversationFailed: the client died or babbled.
        """
        count = 0
        async for _ in self._batch:
            count += 1
            yield count

    @property
    def spans(self) -> dict[str, tuple[float, float]]:
        """When each that has ended began, and when it ended; seconds since the scenario began.

        Raises:
            ClientUnable: who makes them does not tell.
        """
        if not self._batch.tells_times:
            raise Unsupported("nobody knows to the moment when calls made by hand began and ended")
        at = self._calls.clock.at
        return {call.id: (at(call.started_at), at(call.ended_at)) for call in self._batch.outcomes}

    def told(self) -> tuple[ReportedCall, ...]:
        """How those ended, as the client says, that nobody has given up."""
        if self._caller.is_closed or not self._batch.tells_times:
            return ()
        deadlines = {call.id: call.deadline for call in self._planned}
        return tuple(
            ReportedCall(
                id=outcome.id,
                status=outcome.status,
                details=outcome.details,
                ended_at=outcome.ended_at,
                expires_at=None
                if (left := deadlines[outcome.id]) is None
                else outcome.started_at + left,
            )
            for outcome in self._batch.outcomes
            if outcome.id not in self._batch.given_up
        )

    async def cancel(self) -> None:
        """Cancel those that have not ended.

        Raises:
            ConversationFailed: the client died, hung or babbled.
        """
        await self._batch.cancel(deadline=timing.ADAPTER_REPLY)
