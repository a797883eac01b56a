"""Calls that were started, and who makes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from client_under_test.contract.exceptions import ClientHung
from client_under_test.launching.channels import Call as PlannedCall
from client_under_test.launching.channels import Channel, OpenedStream, Outcome
from conformance import timing
from conformance.judging.aborts import PreconditionTimeout, Unsupported
from conformance.judging.contradictions import ReportedCall
from conformance.judging.observations import Call, Calls
from conformance.world import settlement, waits
from conformance.world.clock import Clock

_T = TypeVar("_T")


class Started(Protocol):
    """Calls that an adapter makes as a batch, or that a person makes by hand."""

    @property
    def tells_times(self) -> bool:
        """Return whether the client itself measured the times of outcomes."""

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """The outcomes of calls that have ended, in the order in which they ended."""

    @property
    def given_up(self) -> Collection[str]:
        """The ids of cancelled calls."""

    @property
    def opened_streams(self) -> Sequence[OpenedStream]:
        """The kept-open streams that have received response headers."""

    async def begun(self, *, deadline: float) -> Sequence[OpenedStream]:
        """Return the opened streams once each has response headers or has ended.

        Raises:
            NotSeen: some streams did neither in time.
        """

    def __aiter__(self) -> AsyncIterator[Outcome]: ...

    async def finished(
        self, *, deadline: float, done_deadline: float | None = None
    ) -> tuple[Outcome, ...]:
        """Return every outcome, once all calls have ended.

        Args:
            deadline: seconds for the calls to end.
            done_deadline: seconds from the last of them to the adapter's `done`.

        Raises:
            ClientHung: they have not all ended in time.
            DoneMissing: they have, but the adapter wrote no `done`.
        """

    async def cancel(self, *, deadline: float) -> None:
        """Cancel the calls that have not ended."""


class Caller(Protocol):
    """Makes calls for a scenario, as a channel of the adapter does."""

    @property
    def is_closed(self) -> bool:
        """Return whether the caller has stopped and has given up the calls under way."""

    async def start_calls(
        self,
        calls: Sequence[PlannedCall],
        *,
        concurrency: int | None = None,
        pace: float | None = None,
    ) -> Started:
        """Start these calls: all at once, `concurrency` at a time, or one every `pace` seconds."""


class CallDriver(Protocol):
    """Drives a client for a scenario through a person or through the client's adapter."""

    def caller(self, channel: Channel, name: str, *, beside: bool) -> Caller:
        """Return the caller that makes the next calls on a channel, instead of its adapter.

        Args:
            channel: the adapter's channel.
            name: the channel's name in evidence.
            beside: whether the scenario does something else during the calls.
        """

    async def leave_to_adapter(self, what: str) -> None:
        """Ask whether the adapter may do what a person cannot do with the client.

        Raises:
            ClientUnable: it may not.
        """

    def opened(self, channel: str, target: str, environment: Mapping[str, str | None]) -> None:
        """Record a channel's target and the additional environment of its process."""


class Settles(Protocol):
    """Compares calls with what the backends received."""

    clock: Clock

    @property
    def tells_calls_apart(self) -> bool:
        """Return whether the client makes each call once, with metadata of its own."""

    async def unless_refused(
        self, waiting: Coroutine[Any, Any, _T], planned: Sequence[PlannedCall]
    ) -> _T:
        """Return the awaited result of calls, unless it is clear that they cannot be served."""

    async def settle(
        self,
        channel: str,
        planned: Sequence[PlannedCall],
        outcomes: Sequence[Outcome],
        since: int,
        *,
        opened: Sequence[OpenedStream] = (),
    ) -> Calls:
        """Return the results of calls, once the backends' rows agree."""


class PendingCalls:
    """Calls that were started and may still be waiting.

    Args:
        calls: settles the calls.
        caller: makes the calls.
        channel: the channel's name in evidence.
        planned: the requested calls.
        batch: the started calls.
        since: the number of rows in the ledger before the calls.
        concurrency: the number of calls made at once, if not all.
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
        """Return every call once the last of them has ended.

        Raises:
            ClientRefused: the client NACKed the first configuration, so calls may never end.
            PreconditionTimeout: calls that wait for others to end ran into their deadlines instead.
            ClientLied: the client's report and the backends' rows contradict each other.
            ConversationFailed: the client died, hung or babbled.
        """
        outcomes = await self._calls.unless_refused(self._ended(), self._planned)
        calls = await self._calls.settle(self._channel, self._planned, outcomes, self._since)
        self._is_settled = True
        return calls

    async def begun(self) -> Calls:
        """Return every stream once it is open, has ended, or has run into a call's deadline.

        What has not ended has no status: OPEN stands there, or WAITING.

        Raises:
            ClientLied: the client's word and the backends' rows contradict each other.
            ConversationFailed: the client died or babbled.
        """
        begun = waits.watched(self._batch.begun(deadline=timing.CALL))
        await self._calls.unless_refused(begun, self._planned)
        outcomes, opened = self._batch.outcomes, self._batch.opened_streams
        return await self._calls.settle(
            self._channel, self._planned, outcomes, self._since, opened=opened
        )

    def said(self) -> tuple[Call, ...]:
        """Return ended calls as the client reports them, as long as they are not settled."""
        if self._is_settled:
            return ()
        outcomes = self._batch.outcomes
        over = {call.id for call in outcomes}
        planned = [call for call in self._planned if call.id in over]
        return settlement.ended(self._channel, planned, outcomes)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the requested calls, in order."""
        return tuple(call.id for call in self._planned)

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """The ended calls as the client reports them."""
        return self._batch.outcomes

    async def _ended(self) -> tuple[Outcome, ...]:
        """Return every outcome; a client that makes calls in rows has time while outcomes come."""
        longest = max((call.deadline or 0 for call in self._planned), default=0)
        while True:
            before = len(self._batch.outcomes)
            try:
                return await self._batch.finished(
                    deadline=timing.BATCH + longest, done_deadline=timing.ADAPTER_REPLY
                )
            except ClientHung as hung:
                ended = len(self._batch.outcomes)
                if self._in_time(ended, longest):
                    raise PreconditionTimeout(
                        f"{hung}, as those before them waited too long"
                    ) from None
                if self._calls.tells_calls_apart or ended == before:
                    raise

    def _in_time(self, ended: int, longest: float) -> bool:
        """Return whether enough calls ended in BATCH if each used up its deadline."""
        if self._concurrency is None or not longest:
            return False
        return ended >= self._concurrency * int(timing.BATCH / longest) > 0

    @property
    def waiting(self) -> int:
        """The number of calls that have not ended."""
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
        """Return when each ended call started and ended, in seconds since the scenario started.

        The start is the earliest and the end the latest that the client's clock, as far as the
        suite knows it, allows: what the suite did within a call is never before or after it.

        Raises:
            ClientUnable: the caller does not report times.
        """
        if not self._batch.tells_times:
            raise Unsupported("the exact start and end of calls made by hand are unknown")
        at = self._calls.clock.at
        return {
            call.id: (at(call.started_at - call.clock_error), at(call.ended_at + call.clock_error))
            for call in self._batch.outcomes
        }

    def reported(self) -> tuple[ReportedCall, ...]:
        """Return how calls ended according to the client, if the caller has not given them up."""
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
