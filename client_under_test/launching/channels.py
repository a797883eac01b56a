"""Channels of a client, the calls made on them, and the states that they go through."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec

from client_under_test.contract.exceptions import NotSeen
from client_under_test.contract.messages import (
    Answer,
    Cancel,
    Close,
    Connect,
    Finished,
    Opened,
    PlannedCall,
    StartCalls,
    State,
    StateName,
    StatusName,
    Watch,
)
from client_under_test.launching.protocol import StdioProtocol

# On every call, so that a backend's ledger can be matched with what the adapter reports.
CALL_ID_KEY: Final = "xdspec-call"

_MICROS: Final = 1_000_000


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One RPC to make.

    `id` is unique in the process; `metadata` values are bytes for keys that end in -bin;
    `deadline` is in seconds from the call's own start. A `kept_open` call is a bidirectional
    stream that sends nothing and stays open, another one is unary with an empty request. `mark`
    is what its metadata has under CALL_ID_KEY, its own id unless it shares one with calls like it.
    """

    id: str
    path: str
    metadata: tuple[tuple[str, str | bytes], ...] = ()
    deadline: float | None = None
    wait_for_ready: bool = False
    kept_open: bool = False
    mark: str | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended, as the adapter says; times by the suite's monotonic clock.

    `hostname` is the response header of that name: the address of the endpoint that answered.
    """

    id: str
    status: StatusName
    details: str
    hostname: str | None
    started_at: float
    ended_at: float
    clock_error: float = 0.0
    """Seconds by which both times can be wrong, either way."""
    headers: tuple[tuple[str, str], ...] = ()
    """The other response headers, if the client can report them; values of ``-bin`` keys in
    base64."""


class OpenedStream(msgspec.Struct, frozen=True, kw_only=True):
    """The response headers of a kept-open stream came."""

    id: str
    hostname: str
    at: float


class StateSeen(msgspec.Struct, frozen=True):
    """A channel's connectivity state, as the adapter says."""

    state: StateName
    at: float


class Batch:
    """Calls that were started together. Iterate for outcomes as they come."""

    tells_times: Final = True
    """True: the adapter itself reports the times of outcomes."""

    def __init__(self, dialogue: StdioProtocol, number: int, calls: Sequence[Call]) -> None:
        self._dialogue = dialogue
        self._number = number
        self._ids = tuple(call.id for call in calls)
        self._deadlines = {call.id: call.deadline for call in calls}
        self._outcomes: dict[str, Outcome] = {}
        self._given_up: set[str] = set()
        self._opened: dict[str, OpenedStream] = {}
        self._begun: set[str] = set()
        for name in self._ids:
            dialogue.listen_to_call(name, self._take)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Those that came so far, in the order in which they came."""
        return tuple(self._outcomes.values())

    @property
    def given_up(self) -> frozenset[str]:
        """The calls that the suite has cancelled, whether they had ended or not."""
        return frozenset(self._given_up)

    async def finished(
        self, *, deadline: float, done_deadline: float | None = None
    ) -> tuple[Outcome, ...]:
        """Return all outcomes, in the order of the calls.

        Args:
            deadline: seconds for the calls to end.
            done_deadline: seconds from the last of them to the `done`; None: until `deadline`.

        Raises:
            ClientHung: not all calls ended within `deadline` seconds.
            DoneMissing: they did, but the `done` did not follow.
            RequestRefused, ConversationFailed: as they say.
        """
        try:
            async with asyncio.timeout(deadline) as limit:
                if done_deadline is not None:
                    await self._dialogue.until(lambda: not self._missing or self._is_over())
                    limit.reschedule(asyncio.get_running_loop().time() + done_deadline)
                await self._dialogue.until(self._is_over)
        except TimeoutError:
            missing = self._missing
            if not missing:
                raise self._dialogue.done_missing(self._number) from None
            raise self._dialogue.hung(
                f"did not end {len(missing)} of {len(self._ids)} calls within {deadline:g} s, "
                f"such as {self._named(missing[0])}"
            ) from None
        self._dialogue.check_refusal(self._number, "`start_calls`")
        return tuple(self._outcomes[name] for name in self._ids)

    def _named(self, call: str) -> str:
        """Return the id of a call, with its deadline if it has one."""
        limit = self._deadlines.get(call)
        return call if limit is None else f"{call} (deadline {limit:g} s)"

    async def outcome(self, name: str, *, deadline: float) -> Outcome:
        """Wait for the outcome of one call.

        Raises:
            ClientHung: the call did not end within `deadline` seconds.
            RequestRefused, ConversationFailed: as they say.
        """
        try:
            async with asyncio.timeout(deadline):
                await self._dialogue.until(lambda: name in self._outcomes or self._is_over())
        except TimeoutError:
            raise self._dialogue.hung(
                f"did not end call {self._named(name)} within {deadline:g} s"
            ) from None
        self._dialogue.check_refusal(self._number, "`start_calls`")
        return self._outcomes[name]

    async def opened(self, name: str, *, deadline: float) -> OpenedStream:
        """Wait until a kept-open stream has received its response headers.

        Raises:
            NotSeen: it did not within `deadline` seconds, or the call ended without.
            RequestRefused, ConversationFailed: as they say.
        """
        try:
            async with asyncio.timeout(deadline):
                await self._dialogue.until(
                    lambda: name in self._opened or name in self._outcomes or self._is_over()
                )
        except TimeoutError:
            raise NotSeen(f"stream {name} did not open within {deadline:g} s") from None
        self._dialogue.check_refusal(self._number, "`start_calls`")
        if name not in self._opened:
            outcome = self._outcomes[name]
            raise NotSeen(f"stream {name} ended before it opened: {outcome.status}")
        return self._opened[name]

    async def begun(self, *, deadline: float) -> tuple[OpenedStream, ...]:
        """Wait until each kept-open stream has headers or has ended; return the open streams.

        Raises:
            NotSeen: some had neither within `deadline` seconds.
            RequestRefused, ConversationFailed: as they say.
        """
        try:
            async with asyncio.timeout(deadline):
                await self._dialogue.until(
                    lambda: len(self._begun) == len(self._ids) or self._is_over()
                )
        except TimeoutError:
            missing = len(self._ids) - len(self._begun)
            raise NotSeen(f"{missing} streams did not open within {deadline:g} s") from None
        self._dialogue.check_refusal(self._number, "`start_calls`")
        return self.opened_streams

    @property
    def opened_streams(self) -> tuple[OpenedStream, ...]:
        """The kept-open streams that have got their response headers so far."""
        return tuple(self._opened.values())

    async def cancel(self, *names: str, deadline: float) -> None:
        """Cancel these calls, or all; those that have finished stay as they are.

        Raises:
            ClientHung: the adapter did not answer within `deadline` seconds.
            RequestRefused, ConversationFailed: as they say.
        """
        request = Cancel(id=self._dialogue.next_id(), calls=names or self._ids)
        self._given_up.update(request.calls)
        await self._dialogue.ask_and_wait(request, deadline=deadline)

    async def __aiter__(self) -> AsyncIterator[Outcome]:
        """Outcomes as they come; the caller sets the deadline."""
        given = 0

        def more() -> bool:
            return len(self._outcomes) > given or self._is_over()

        while given < len(self._ids):
            await self._dialogue.until(more)
            self._dialogue.check_refusal(self._number, "`start_calls`")
            for outcome in self.outcomes[given:]:
                given += 1
                yield outcome

    @property
    def _missing(self) -> list[str]:
        """The calls that have not ended."""
        return [name for name in self._ids if name not in self._outcomes]

    def _is_over(self) -> bool:
        return self._dialogue.is_over(self._number)

    def _take(self, answer: Answer) -> None:
        clock = self._dialogue.clock
        match answer:
            case Opened() | Finished():
                self._begun.add(answer.call)
        match answer:
            case Opened(call=name, hostname=hostname, at=at):
                self._opened[name] = OpenedStream(id=name, hostname=hostname, at=clock.to_suite(at))
            case Finished(call=name):
                self._outcomes[name] = Outcome(
                    id=name,
                    status=answer.status,
                    details=answer.details,
                    hostname=answer.hostname,
                    started_at=clock.to_suite(answer.started_at),
                    ended_at=clock.to_suite(answer.ended_at),
                    clock_error=clock.error,
                    headers=answer.headers,
                )


class StateWatch:
    """The states of one channel, from the watch's start on.

    States that came and went between two looks of the adapter may be missing.
    """

    def __init__(self, dialogue: StdioProtocol, number: int) -> None:
        self._dialogue = dialogue
        self._seen: list[StateSeen] = []
        dialogue.listen_to_channel(number, self._take)

    @property
    def states(self) -> tuple[StateSeen, ...]:
        """What was seen so far, oldest first."""
        return tuple(self._seen)

    async def reached(self, *states: StateName, deadline: float, since: int = 0) -> StateSeen:
        """Wait until the channel is in one of these states, from index `since` of `states` on.

        Raises:
            NotSeen: it was not within `deadline` seconds.
            ConversationFailed: as it says.
        """

        def first() -> StateSeen | None:
            return next((seen for seen in self._seen[since:] if seen.state in states), None)

        try:
            async with asyncio.timeout(deadline):
                await self._dialogue.until(lambda: first() is not None)
        except TimeoutError:
            seen = ", ".join(seen.state for seen in self._seen[since:]) or "nothing"
            raise NotSeen(
                f"the channel was not {' or '.join(states)} within {deadline:g} s, but {seen}"
            ) from None
        found = first()
        assert found is not None, "waited for"
        return found

    def _take(self, answer: Answer) -> None:
        if isinstance(answer, State):
            self._seen.append(StateSeen(answer.state, self._dialogue.clock.to_suite(answer.at)))


class Channel:
    """An open channel of the client."""

    def __init__(self, dialogue: StdioProtocol, number: int) -> None:
        self._dialogue = dialogue
        self._number = number
        self.is_closed = False  # or about to be

    async def start_calls(
        self,
        calls: Sequence[Call],
        *,
        concurrency: int | None = None,
        pace: float | None = None,
    ) -> Batch:
        """Start calls, in order.

        Args:
            calls: what to call.
            concurrency: the number of calls in flight at once.
            pace: seconds from one start to the next. Without both all start at once.

        Raises:
            ValueError: both are given, or an id of a call was used before.
            ConversationFailed: it is over.
        """
        if concurrency is not None and pace is not None:
            raise ValueError("calls have either a concurrency or a pace")
        number = self._dialogue.next_id()
        batch = Batch(self._dialogue, number, calls)
        self._dialogue.ask(
            StartCalls(
                id=number,
                channel=self._number,
                calls=tuple(map(_planned, calls)),
                concurrency=concurrency,
                pace=None if pace is None else round(pace * _MICROS),
            )
        )
        return batch

    async def watch(self, *, deadline: float) -> StateWatch:
        """Watch the channel's state, without asking it to connect.

        Raises:
            ClientHung: the present state was not told within `deadline` seconds.
            RequestRefused, ConversationFailed: as they say.
        """
        number = self._dialogue.next_id()
        watch = StateWatch(self._dialogue, self._number)
        self._dialogue.ask(Watch(id=number, channel=self._number))
        try:
            async with asyncio.timeout(deadline):
                await self._dialogue.until(
                    lambda: bool(watch.states) or self._dialogue.is_over(number)
                )
        except TimeoutError:
            raise self._dialogue.hung(f"told no state within {deadline:g} s") from None
        self._dialogue.check_refusal(number, "`watch`")
        return watch

    async def connect(self, *, deadline: float) -> None:
        """Ask an idle channel to connect.

        Raises:
            ClientHung: the adapter did not answer within `deadline` seconds.
            RequestRefused, ConversationFailed: as they say.
        """
        request = Connect(id=self._dialogue.next_id(), channel=self._number)
        await self._dialogue.ask_and_wait(request, deadline=deadline)

    async def close(self, *, deadline: float) -> None:
        """Close the channel: its calls finish as CANCELLED.

        Raises:
            ClientHung: the adapter did not answer within `deadline` seconds.
            RequestRefused, ConversationFailed: as they say.
        """
        request = Close(id=self._dialogue.next_id(), channel=self._number)
        self.is_closed = True
        await self._dialogue.ask_and_wait(request, deadline=deadline)


def _planned(call: Call) -> PlannedCall:
    metadata = (*call.metadata, (CALL_ID_KEY, call.mark or call.id))
    return PlannedCall(
        id=call.id,
        path=call.path,
        metadata=tuple((key, _as_text(key, value)) for key, value in metadata),
        deadline=None if call.deadline is None else round(call.deadline * _MICROS),
        wait_for_ready=call.wait_for_ready,
        kept_open=call.kept_open,
    )


def _as_text(key: str, value: str | bytes) -> str:
    if key.endswith("-bin") != isinstance(value, bytes):
        raise ValueError(f"metadata {key}: values are bytes if the key ends in -bin, and only then")
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
