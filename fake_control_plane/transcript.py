"""All that happened between the control plane and its clients, and waits on it."""

from __future__ import annotations

import asyncio
import collections
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar, cast

import msgspec

from fake_control_plane.events import Dropped, Event, Request
from fake_control_plane.exceptions import DeadlinePassed
from fake_control_plane.export import write_events
from fake_control_plane.kinds import Kind
from fake_control_plane.stream import AckOrNack

# As many events as fit on a screen below the sentence that says what was waited for.
_SHOWN: Final = 12

_T = TypeVar("_T")


class Push(msgspec.Struct, frozen=True, kw_only=True):
    """A change of what is served, or a fault, as the transcript can find it again."""

    versions: Mapping[Kind, str]
    """The version of each type that was touched."""
    since: int
    """The index of the first event that can follow from it."""
    node: str | None = None
    """The node id whose snapshot was changed, or whose streams got the fault; None: default."""


class Transcript:
    """The events, oldest first. Waits look at what has happened before they wait for more.

    Args:
        keep: Bytes of events, as msgpack has them; None: all. Beyond it the oldest ones are
            dropped, a quarter at a time. An index counts those that were dropped, too.
    """

    def __init__(self, keep: int | None = None) -> None:
        self._events: list[Event] = []
        self._keep = keep
        self._dropped = 0
        self._dropped_at = 0.0
        self._sizes: collections.deque[int] = collections.deque()
        self._size = 0
        self._watchers: set[Callable[[], None]] = set()

    def record(self, event: Event) -> None:
        """Add an event and wake those who wait for it."""
        self._events.append(event)
        if self._keep is not None:
            self._make_room(self._keep, len(msgspec.msgpack.encode(event)))
        for look in tuple(self._watchers):
            look()

    def __len__(self) -> int:
        return self._dropped + len(self._events)

    @property
    def events(self) -> tuple[Event, ...]:
        """All events so far, but for those that were dropped."""
        return tuple(self._events)

    @property
    def dropped(self) -> Dropped | None:
        """The count of the events that the transcript no longer keeps, None if it keeps all."""
        return self._dropped_since(0) if self._dropped else None

    async def until(
        self, look: Callable[[], _T | None], *, deadline: float, what: str, since: int = 0
    ) -> _T:
        """Ask a question now and after each event, until it is answered.

        Args:
            look: The question; None means not yet.
            deadline: Seconds from now.
            what: What is waited for, for the message when it does not come.
            since: Index of the first event that the message shows.

        Raises:
            DeadlinePassed: there was no answer in time.
        """
        answer: asyncio.Future[_T] = asyncio.get_running_loop().create_future()

        def watch() -> None:
            if answer.done():
                return
            try:
                found = look()
            except Exception as trouble:  # noqa: BLE001 - a mistake in it is raised where it waits
                answer.set_exception(trouble)
            else:
                if found is not None:
                    answer.set_result(found)

        self._watchers.add(watch)
        try:
            watch()
            async with asyncio.timeout(deadline):
                return await answer
        except TimeoutError:
            raise DeadlinePassed(self._not_seen(what, deadline, since)) from None
        finally:
            self._watchers.discard(watch)

    async def wait(
        self,
        predicate: Callable[[Event], bool],
        *,
        deadline: float,
        since: int = 0,
        what: str = "event that fits",
    ) -> Event:
        """Wait for the first event that satisfies a predicate, past or future.

        Args:
            predicate: Asked once about each event.
            deadline: Seconds from now.
            since: Index of the first event to look at.
            what: What is waited for, for the message when it does not come.

        Raises:
            DeadlinePassed: none came in time.
        """
        unseen = since

        def look() -> Event | None:
            nonlocal unseen
            while unseen < len(self):
                unseen = max(unseen, self._dropped)
                event = self._events[unseen - self._dropped]
                unseen += 1
                if predicate(event):
                    return event
            return None

        return await self.until(look, deadline=deadline, what=what, since=since)

    async def answered(
        self, push: Push, kind: Kind, *, deadline: float, node: str | None = None
    ) -> Request:
        """Wait for the first ACK or NACK of a push.

        Args:
            push: The push.
            kind: Which of its types.
            deadline: Seconds from now.
            node: The node id that must answer, if not the push's own or any.

        Raises:
            DeadlinePassed: none came in time.
            KeyError: the push did not touch the type.
        """
        return await self._answer(push, kind, tuple(AckOrNack), deadline=deadline, node=node)

    async def acked(
        self, push: Push, kind: Kind, *, deadline: float, node: str | None = None
    ) -> Request:
        """Wait for the first ACK of a push; arguments and errors as of `answered`."""
        return await self._answer(push, kind, (AckOrNack.ACK,), deadline=deadline, node=node)

    async def nacked(
        self, push: Push, kind: Kind | None, *, deadline: float, node: str | None = None
    ) -> Request:
        """Wait for the first NACK of a push; arguments and errors as of `answered`.

        If `kind` is None, any of its types is meant.
        """
        return await self._answer(push, kind, (AckOrNack.NACK,), deadline=deadline, node=node)

    async def subscribed(
        self, kind: Kind, name: str, *, deadline: float, since: int = 0, node: str | None = None
    ) -> Request:
        """Wait for the first request that added a name; `*` is the wildcard.

        Raises:
            DeadlinePassed: none came in time.
        """
        return await self._request(
            lambda request: request.kind is kind and name in request.subscribed,
            deadline=deadline,
            since=since,
            node=node,
            what=f"subscription to {kind.value} {name!r}",
        )

    async def unsubscribed(
        self, kind: Kind, name: str, *, deadline: float, since: int = 0, node: str | None = None
    ) -> Request:
        """Wait for the first request that omits a name to which its stream had subscribed.

        Raises:
            DeadlinePassed: none came in time.
        """
        return await self._request(
            lambda request: request.kind is kind and name in request.unsubscribed,
            deadline=deadline,
            since=since,
            node=node,
            what=f"end of the subscription to {kind.value} {name!r}",
        )

    async def follow(self, since: int = 0) -> AsyncGenerator[tuple[int, Event], None]:
        """Each event with its index, from an index on, without end.

        In the place of those that were dropped comes one that says so, with the last one's index.
        """
        grown = asyncio.Event()
        self._watchers.add(grown.set)
        try:
            index = since
            while True:
                grown.clear()
                while index < len(self):
                    if index < self._dropped:
                        instead = self._dropped_since(index)
                        index = self._dropped
                        yield index - 1, instead
                    else:
                        index += 1
                        yield index - 1, self._events[index - 1 - self._dropped]
                await grown.wait()
        finally:
            self._watchers.discard(grown.set)

    def write(self, path: Path) -> None:
        """Write the events as JSON lines."""
        dropped = self.dropped
        write_events(path, ((dropped,) if dropped else ()) + self.events)

    def _make_room(self, keep: int, added: int) -> None:
        self._sizes.append(added)
        self._size += added
        if self._size <= keep:
            return
        count = 0
        while self._size > keep * 3 // 4 and len(self._sizes) > 1:
            self._size -= self._sizes.popleft()
            count += 1
        if count:
            self._dropped_at = self._events[count - 1].at
            self._dropped += count
            del self._events[:count]

    def _dropped_since(self, index: int) -> Dropped:
        return Dropped(at=self._dropped_at, stream=0, node="", count=self._dropped - index)

    async def _answer(
        self,
        push: Push,
        kind: Kind | None,
        answers: tuple[AckOrNack, ...],
        *,
        deadline: float,
        node: str | None,
    ) -> Request:
        versions = push.versions if kind is None else {kind: push.versions[kind]}
        asked = " or ".join(answer.name for answer in answers)
        meant = ", ".join(f"{kind.value} version {version}" for kind, version in versions.items())
        return await self._request(
            lambda request: (
                request.answer in answers
                and request.kind is not None
                and request.answered_version == versions.get(request.kind)
            ),
            deadline=deadline,
            since=push.since,
            node=push.node if node is None else node,
            what=f"{asked} of {meant}",
        )

    async def _request(
        self,
        fits: Callable[[Request], bool],
        *,
        deadline: float,
        since: int,
        node: str | None,
        what: str,
    ) -> Request:
        event = await self.wait(
            lambda event: isinstance(event, Request) and node in (None, event.node) and fits(event),
            deadline=deadline,
            since=since,
            what=what,
        )
        return cast("Request", event)

    def _not_seen(self, what: str, deadline: float, since: int) -> str:
        seen = [str(event) for event in self._events[max(0, since - self._dropped) :]]
        if not seen:
            return f"No {what} within {deadline:g} s, and nothing else happened."
        left_out = [f"({len(seen) - _SHOWN} earlier ones)"] if len(seen) > _SHOWN else []
        lines = "\n  ".join(left_out + seen[-_SHOWN:])
        return f"No {what} within {deadline:g} s; seen instead:\n  {lines}"
