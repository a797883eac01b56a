"""Calls: how they are made, and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from client_under_test.launching.channels import Call as PlannedCall
from client_under_test.launching.channels import Channel, OpenedStream, Outcome
from conformance import timing
from conformance.judging.aborts import (
    PreconditionTimeout,
    ReportContradicted,
    Unsupported,
    WrongOutcome,
)
from conformance.judging.contradictions import ReportedCall
from conformance.judging.expectations import EndsWith as Ends
from conformance.judging.observations import Call, Calls
from conformance.world import settlement, waits
from conformance.world.channels import Channels
from conformance.world.clock import Clock
from conformance.world.control import Control
from conformance.world.endpoints import EndpointRegistry
from conformance.world.pending_calls import CallDriver, Caller, PendingCalls
from test_servers import Fleet, Rpc

UNARY = "/grpc.testing.TestService/UnaryCall"
EMPTY = "/grpc.testing.TestService/EmptyCall"
DUPLEX = "/grpc.testing.TestService/FullDuplexCall"
CONCURRENCY = 32

_T = TypeVar("_T")

Headers = Mapping[str, str | bytes] | Sequence[tuple[str, str | bytes]]


class CallMaker:
    """Has the client make calls, and says where each really went.

    Args:
        channels: the client's.
        control: tells whether the client refused what was served first.
        fleet: its ledger has what the backends received.
        members: the endpoints.
        clock: the scenario's.
        hands: who is asked by whom calls are made; None: the adapter makes them.
    """

    def __init__(
        self,
        channels: Channels,
        control: Control,
        fleet: Fleet,
        members: EndpointRegistry,
        clock: Clock,
        driver: CallDriver | None = None,
    ) -> None:
        self.clock = clock
        self.recognized: dict[str, int] = {}
        """By call, the number of its row among those of the backends, of calls that may carry no
        id: those that a person has made."""
        self._hands = driver
        self._made: dict[str, Call] = {}
        self._channels = channels
        self._control = control
        self._ledger = fleet.ledger
        self._members = members
        self._planned = 0
        # An id of a call is used once in a process.
        turn = len(channels.launched.earlier)
        self._ids = f"call-{turn}." if turn else "call-"
        self._under_way: list[PendingCalls] = []

    @property
    def tells_calls_apart(self) -> bool:
        """Return whether the client makes each call once, with metadata of its own."""
        return "metadata" in self._channels.manifest.capabilities

    @property
    def made(self) -> tuple[Call, ...]:
        """Every settled call: it has ended, or it is a stream that was open at the time."""
        return tuple(self._made.values())

    def made_after(self, count: int) -> Calls:
        """Return the calls made after the first `count`."""
        return Calls(self.made[count:])

    async def unless_refused(
        self, waiting: Coroutine[Any, Any, _T], planned: Sequence[PlannedCall]
    ) -> _T:
        """Return the awaited result of calls, unless it is clear that they cannot be served.

        Raises:
            ClientRefused: the client NACKed the first configuration.
            CauseIsKnown: a cause that is known in this run prevents it.
        """

        def roots() -> frozenset[str]:
            used = (self._control.references.targets(call.path, call.metadata) for call in planned)
            return frozenset[str]().union(*used)

        return await self._control.unless_refused(waiting, roots=roots)

    async def make(
        self,
        headers: Sequence[Headers],
        *,
        path: str = UNARY,
        channel: Channel | None = None,
        concurrency: int = CONCURRENCY,
        deadline: float | None = None,
    ) -> Calls:
        """Make a call with each of these headers, and say where each really went.

        Without a deadline of its own a call has time enough to succeed.

        Raises:
            ClientLied: the client's word and the backends' rows contradict each other.
            ClientUnable: it cannot make such calls.
            ConversationFailed: the client died, hung or babbled.
        """
        if deadline is None:
            deadline = timing.CALL if self.tells_calls_apart else timing.COLD_CALL
        started = await self._start(
            headers,
            path=path,
            channel=channel,
            concurrency=concurrency,
            deadline=deadline,
            beside=False,
        )
        return await started.over()

    async def require_served(
        self,
        headers: Sequence[Headers],
        *,
        path: str = UNARY,
        channel: Channel | None = None,
        deadline: float | None = None,
    ) -> Calls:
        """As `make`, and go on only if all succeed: they bring the client to where it is wanted.

        Raises:
            PreconditionTimeout: one did not, as one of a late client does not.
            ClientStrayed: one ended as none of a right client does.
        """
        calls = await self.make(headers, path=path, channel=channel, deadline=deadline)
        served = Ends("OK")
        if not (found := served.finding(calls)).holds:
            kind = PreconditionTimeout if served.is_timing_sensitive(calls) else WrongOutcome
            said = "; ".join(dict.fromkeys(call.details for call in calls if call.details))
            raise kind(f"expected {found.wanted}, saw {found.saw} ({said or 'no details'})")
        return calls

    async def start(
        self,
        headers: Sequence[Headers],
        *,
        path: str = UNARY,
        channel: Channel | None = None,
        concurrency: int | None = None,
        pace: float | None = None,
        deadline: float | None = timing.CALL,
        wait_for_ready: bool = False,
        kept_open: bool = False,
    ) -> PendingCalls:
        """Start a call for each of these headers.

        The calls start all at once, `concurrency` at a time, or one every `pace` seconds.

        Raises:
            ClientUnable: it cannot make such calls, or makes one row of them after another.
            ConversationFailed: the client died, hung or babbled.
        """
        if not self.tells_calls_apart:
            raise Unsupported("the client cannot make calls beside others that wait")
        return await self._start(
            headers,
            path=path,
            channel=channel,
            concurrency=concurrency,
            pace=pace,
            deadline=deadline,
            wait_for_ready=wait_for_ready,
            kept_open=kept_open,
            beside=True,
        )

    async def _start(
        self,
        headers: Sequence[Headers],
        *,
        path: str,
        channel: Channel | None,
        concurrency: int | None,
        pace: float | None = None,
        deadline: float | None,
        wait_for_ready: bool = False,
        kept_open: bool = False,
        beside: bool,
    ) -> PendingCalls:
        used = channel or await self._channels.default()
        first = self._planned
        self._planned += len(headers)
        planned = [
            PlannedCall(
                id=f"{self._ids}{first + number}",
                path=path,
                metadata=_pairs(header),
                deadline=deadline,
                wait_for_ready=wait_for_ready,
                kept_open=kept_open,
            )
            for number, header in enumerate(headers)
        ]
        if not self.tells_calls_apart:
            planned = settlement.marked_by_rows(planned)
            if not settlement.can_be_plain(planned, {UNARY, EMPTY}):
                raise Unsupported("the client makes plain calls with metadata of text only")
        mark = len(self._ledger)
        name = self._channels.name(used)
        caller: Caller = used
        if self._hands is not None:
            caller = self._hands.caller(used, name, beside=beside)
        batch = await caller.start_calls(planned, concurrency=concurrency, pace=pace)
        started = PendingCalls(self, caller, name, planned, batch, mark, concurrency=concurrency)
        self._under_way.append(started)
        return started

    def row(self, call: str) -> int:
        """Return the number of a call's row among the backends' rows.

        Raises:
            LookupError: no backend has received it.
        """
        if call in self.recognized:
            return self.recognized[call]
        rows = enumerate(self._ledger.rpcs)
        found = next((number for number, row in rows if call in settlement.ids(row)), None)
        if found is None:
            raise LookupError(f"No backend has received {call}.")
        return found

    async def settle(
        self,
        channel: str,
        planned: Sequence[PlannedCall],
        outcomes: Sequence[Outcome],
        since: int,
        *,
        opened: Sequence[OpenedStream] = (),
    ) -> Calls:
        """Return the results of calls, once the backends' rows agree.

        Raises:
            ClientLied: the client's word and the backends' rows contradict each other.
        """
        if self.tells_calls_apart:
            served = settlement.said_ok(outcomes) | {call.id for call in opened}
            endpoints = await self._arrived(served, since)
            lie = settlement.lie_by_id(outcomes, endpoints, opened)
        else:
            endpoints = settlement.answered_by(outcomes)
            claimed = settlement.claims(planned, endpoints)
            lie = settlement.lie_by_count(claimed, await self._counted(claimed, since))
        if lie:
            raise ReportContradicted(lie)
        made = settlement.ended(channel, planned, outcomes, endpoints, opened)
        self._made.update({call.id: call for call in made})
        return Calls(made)

    async def _arrived(self, claimed: AbstractSet[str], since: int) -> dict[str, str]:
        """By call: the endpoint whose backend has a row of it, once all of these have one."""
        arrived = {
            call: self._members.address(self._ledger.rpcs[row].endpoint)
            for call, row in self.recognized.items()
            if call in claimed
        }
        missing = set(claimed) - arrived.keys()

        def take(row: Rpc) -> bool:
            for call in settlement.ids(row):
                arrived[call] = self._members.address(row.endpoint)
                missing.discard(call)
            return not missing

        if missing:
            await waits.watched(self._ledger.wait(take, since=since, deadline=timing.LEDGER))
        for row in self._ledger.rpcs[since:]:
            take(row)
        return arrived

    async def _counted(
        self, claimed: Counter[settlement.ClaimedAnswer], since: int
    ) -> Counter[settlement.ClaimedAnswer]:
        """How many calls of each mark each endpoint received, once they are as many as claimed."""
        counted = Counter[settlement.ClaimedAnswer]()
        looked_at = since

        def complete(_: Rpc) -> bool:
            nonlocal looked_at
            fresh = self._ledger.rpcs[looked_at:]
            looked_at += len(fresh)
            for row in fresh:
                address = self._members.address(row.endpoint)
                counted.update((mark, address) for mark in settlement.ids(row))
            return bool(fresh) and claimed <= counted

        if claimed:
            await waits.watched(self._ledger.wait(complete, since=since, deadline=timing.LEDGER))
        return counted

    def unsettled(self) -> tuple[Call, ...]:
        """Return calls that the client reports as ended but that the scenario did not await."""
        return tuple(call for batch in self._under_way for call in batch.said())

    def spans(self) -> dict[str, tuple[float, float]]:
        """Return when each ended call started and ended, by the suite's monotonic clock."""
        outcomes = (outcome for batch in self._under_way for outcome in batch.outcomes)
        return {outcome.id: (outcome.started_at, outcome.ended_at) for outcome in outcomes}

    def failed_meanwhile(self) -> str:
        """Describe the unsettled calls that failed, as a sentence to append."""
        ended = Counter(
            f"{call.status} ({call.details or 'no details'})"
            for call in self.unsettled()
            if call.status != "OK"
        )
        listed = "; ".join(f"{count} ended with {how}" for how, count in ended.items())
        return f". Requests under way: {listed}" if listed else ""

    def reported(self) -> tuple[ReportedCall, ...]:
        """Return how calls ended according to the client."""
        return tuple(call for batch in self._under_way for call in batch.reported())


def _pairs(headers: Headers) -> tuple[tuple[str, str | bytes], ...]:
    return tuple(headers.items()) if isinstance(headers, Mapping) else tuple(headers)
