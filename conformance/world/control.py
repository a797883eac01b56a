"""Drive the control plane of a scenario and wait for the client's responses."""

from __future__ import annotations

import asyncio
import functools
import itertools
import math
from collections.abc import Callable, Collection, Coroutine
from typing import Any, TypeVar

import msgspec
from grpc import StatusCode

from conformance import timing
from conformance.judging import blocking
from conformance.judging.aborts import (
    NoAckOrNack,
    PreconditionTimeout,
    ResourceRejected,
)
from conformance.judging.expectations import Expectation, MatchesRing, fits
from conformance.judging.observations import (
    Answer,
    StreamRequests,
    Subscriptions,
)
from conformance.world import waits
from conformance.world.discovery_requests import (
    requests_none_of,
    stream_requests,
    subscriptions_since,
)
from conformance.world.references import NEVER, EarlyEnd, ReferenceWatch, is_above
from conformance.xds_config import dialect
from conformance.xds_config.clusters import Aggregate
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.references import NO_LOAD_STREAM
from conformance.xds_config.routes import CLUSTER
from conformance.xds_config.subscriptions import subscriptions
from fake_control_plane import (
    ControlPlane,
    DeadlinePassed,
    Event,
    Kind,
    Push,
    RawResource,
    Request,
    Service,
    StreamClosed,
)

_T = TypeVar("_T")


class Control:
    """Serves to the client, and hears its ACKs and NACKs.

    Args:
        plane: the control plane.
        spoken: the client's dialect of xDS, as its manifest has it.
        early_end: when the scenario does not wait to the end.
    """

    def __init__(
        self,
        plane: ControlPlane,
        spoken: str | None,
        early_end: EarlyEnd = NEVER,
    ) -> None:
        self._plane = plane
        self.references = ReferenceWatch(plane, early_end)
        self._asks_by_name = dialect.asks_by_name(spoken)
        self._asks_for_all = dialect.asks_for_all(spoken)
        self.history: list[str] = []
        """What was served, one after the other, in words."""
        self._before: XdsConfig | None = None
        """What was served before the present, which the client may not have left yet."""
        self._first: Push | None = None
        self._ever_reported: tuple[str, ...] = ()

    @property
    def served(self) -> XdsConfig | None:
        """What is served now; None: nothing yet."""
        return self.references.served

    async def serve(self, served: XdsConfig, *, label: str = "", unheard: bool = False) -> None:
        """Serve this configuration; a connected client must ACK what changes.

        This covers only resources that a conforming client subscribes to: it does not respond to
        others.

        Args:
            served: the whole configuration.
            label: a text for failure messages; the default is the whole configuration.
            unheard: do not wait for the response, as the scenario observes whether the client
                subscribes at all.

        Raises:
            ClientRefused: the client NACKed one of the resources.
            ClientSilent: the client did not respond in time.
            PreconditionTimeout: the client subscribes to none of the resources.
        """
        self._before = before = self.served
        self.references.add(served)
        self.history.append(label or str(served))
        self._ask_for_load(before, served)
        if before is None:
            self._first = await self._plane.set(*served.resources())
            return
        known = before.resources_by_name()
        changed = {
            what: resource
            for what, resource in served.resources_by_name().items()
            if resource != known.get(what)
        }
        push = await self._plane.set(*changed.values())
        if unheard:
            return
        awaited = {kind for kind, _ in subscriptions(served) & changed.keys()}
        for kind in (version for version in push.versions if version in awaited):
            self.require_accepted(kind, await self.answer(push, kind))

    async def offer(
        self, kind: Kind, *offered: Any, label: str = "", deadline: float = timing.ANSWER
    ) -> Answer:
        """Send resources that the client may reject in one response, and return its answer.

        Args:
            kind: the kind of the resources.
            offered: the resources.
            label: a text for failure messages; the default is the whole resources.
            deadline: the deadline for the answer.

        Raises:
            ClientSilent: the client did not respond in time.
            PreconditionTimeout: the client subscribes to none of the resources.
        """
        self._before = self.served
        push = await self._plane.set(*offered)
        said = f"a response with {kind.name} version {push.versions[kind]}"
        words = [label] if label else [" ".join(str(resource).split()) for resource in offered]
        self.history += [f"{said}: {word}" for word in words]
        return await self.answer(push, kind, deadline=deadline)

    async def offer_large(self, offered: RawResource, *, label: str) -> Answer | None:
        """Send what may be too large to be read: None if the client ends the stream instead.

        Raises:
            ClientSilent: it did neither in time.
            PreconditionTimeout: it asks for nothing of it.
        """
        kind, mark = offered.kind, self.mark
        heard = asyncio.create_task(self.offer(kind, offered, label=label))
        ended = asyncio.create_task(
            self._plane.transcript.wait(
                lambda event: isinstance(event, StreamClosed) and event.service is Service.ADS,
                deadline=math.inf,
                since=mark,
            )
        )
        try:
            await asyncio.wait([heard, ended], return_when=asyncio.FIRST_COMPLETED)
            return await heard if heard.done() else None
        finally:
            for task in (heard, ended):
                task.cancel()
            await asyncio.gather(heard, ended, return_exceptions=True)

    def require_accepted(self, kind: Kind, answer: Answer) -> None:
        """See that what the scenario builds on was taken.

        Raises:
            ClientRefused: it was not.
        """
        if not answer.acked:
            raise self._refused(kind, answer.error_detail)

    async def delete(self, kind: Kind, *names: str) -> Answer:
        """Delete resources that were served, and hear the answer to the response without them.

        Raises:
            ClientSilent: the client did not respond in time.
            PreconditionTimeout: the client subscribes to none of the resources.
        """
        self._before = self.served
        self.history.append(f"{kind.name} without {', '.join(names)}")
        return await self.answer(await self._plane.delete(kind, *names), kind)

    async def stop(self) -> None:
        """Be out of reach from now on: streams and connections are gone, new ones are refused."""
        self.history.append("a control plane that cannot be reached")
        await self._plane.stop()

    async def resume(self) -> None:
        """Be there again, with what is served by now."""
        self.history.append("a control plane that is back")
        await self._plane.resume()

    async def answer(self, push: Push, kind: Kind, *, deadline: float = timing.ANSWER) -> Answer:
        """Wait for the ACK or NACK of a pushed resource.

        Raises:
            ClientSilent: none came in time.
            PreconditionTimeout: the client requests none of the pushed resources.
        """
        transcript = self._plane.transcript
        try:
            request = await self.references.unless_ignored(
                transcript.answered(push, kind, deadline=deadline),
                lambda met: is_above(met, kind) and requests_none_of(push, kind, transcript.events),
            )
        except DeadlinePassed as passed:
            if requests_none_of(push, kind, transcript.events):
                what = f"the client requests none of the pushed resources: {passed}"
                raise PreconditionTimeout(what) from None
            raise NoAckOrNack(str(passed)) from None
        asked = (event for event in transcript.events if isinstance(event, Request))
        before = itertools.takewhile(lambda event: event is not request, asked)
        accepted = [
            event.answered_version for event in before if event.kind is kind and event.is_ack
        ]
        return Answer(
            kind=kind.name,
            version=push.versions[kind],
            acked=request.is_ack,
            error_detail=request.error_detail or "",
            told=request.version,
            accepted=accepted[-1] if accepted else "",
            nonce=request.nonce,
        )

    def last_word(self, answer: Answer) -> Answer:
        """Return the answer, or an ACK if a later request names its version without an error."""
        asked = (event for event in self._plane.transcript.events if isinstance(event, Request))
        taken = any(
            event.kind is Kind[answer.kind]
            and event.version == answer.version
            and not (event.error_code or event.error_detail)
            for event in asked
        )
        if answer.acked or not taken:
            return answer
        return msgspec.structs.replace(answer, acked=True, error_detail="", told=answer.version)

    @property
    def mark(self) -> int:
        """How much the transcript has by now: what comes later is `since` then."""
        return len(self._plane.transcript)

    def asked(self, *, since: int = 0) -> Subscriptions:
        """Return the client's subscriptions."""
        return subscriptions_since(since, self._plane.transcript.events)

    async def asked_until(self, expectation: Expectation) -> Subscriptions:
        """Wait until the subscriptions match, or ANSWER has passed; return them."""
        come = self._plane.transcript.wait(
            lambda event: isinstance(event, Request) and fits(expectation, self.asked()),
            deadline=timing.ANSWER,
        )
        await waits.watched(come)
        return self.asked()

    def stream_requests(self) -> StreamRequests:
        """Return the client's requests as parts of their streams."""
        return stream_requests(self._plane.transcript.events)

    async def stream_requests_until(
        self, expectation: Expectation, *, within: float = timing.ANSWER
    ) -> StreamRequests:
        """Wait until the requests match, or time is up; return them."""
        come = self._plane.transcript.wait(
            lambda event: isinstance(event, Request) and fits(expectation, self.stream_requests()),
            deadline=within,
        )
        await waits.watched(come)
        return self.stream_requests()

    async def require_asked(self, kind: Kind, count: int, *, within: float) -> None:
        """Wait until one request names `count` resources of a kind, or is a wildcard request.

        Raises:
            PreconditionTimeout: none did in time. The client may be alive without the resources
                that refer to these.
        """
        try:
            asking = self._asking(kind, count, within=within)
            await self.references.unless_ignored(asking, lambda met: is_above(met, kind))
        except DeadlinePassed as passed:
            raise PreconditionTimeout(str(passed)) from None

    async def give_time_to_ask(self, kind: Kind, count: int, *, within: float) -> None:
        """Wait for such a request as in `require_asked`, but continue without it.

        For a scenario that does not depend on the request and only saves time by it.
        """
        await waits.watched(self._asking(kind, count, within=within))

    def _asking(self, kind: Kind, count: int, *, within: float) -> Coroutine[Any, Any, Event]:
        enough = 0 if kind in self._asks_for_all else count
        return self._plane.transcript.wait(
            lambda event: (
                isinstance(event, Request) and event.kind is kind and len(event.names) >= enough
            ),
            deadline=within,
            what=f"request for {count} resources of {kind.name}",
        )

    def first_asked(
        self, kind: Kind, *names: str, beyond: int = 0, since: int = 0
    ) -> tuple[float, ...]:
        """When those of these that were asked for first were, by the suite's monotonic clock.

        Args:
            kind: of the resources.
            names: theirs.
            beyond: the number of the last stream that does not count.
            since: a mark before which no request counts.
        """
        first: dict[str, float] = {}
        for event in self._plane.transcript.events[since:]:
            if isinstance(event, Request) and event.kind is kind and event.stream > beyond:
                first.update(dict.fromkeys({*names} & {*event.names} - first.keys(), event.at))
        return tuple(first.values())

    async def renew(self, kind: Kind, name: str, code: StatusCode = StatusCode.OK) -> int:
        """End the streams, in good order or not, and go on when this is asked for on another.

        Returns:
            the number of the last stream before it.

        Raises:
            PreconditionTimeout: it did not in time.
        """
        last = max(event.stream for event in self._plane.transcript.events)
        self._plane.script.end_streams(code)
        asked = self._plane.transcript.wait(
            lambda event: (
                isinstance(event, Request)
                and event.stream > last
                and event.kind is kind
                and name in event.names
            ),
            deadline=timing.ATTEMPT,
            what=f"request for {kind.name} {name} on another stream",
        )
        try:
            await asked
        except DeadlinePassed as passed:
            raise PreconditionTimeout(str(passed)) from None
        return last

    async def unless_refused(
        self,
        waiting: Coroutine[Any, Any, _T],
        *,
        roots: Callable[[], Collection[str]] = frozenset,
    ) -> _T:
        """Return the awaited result unless the client rejects the first configuration.

        The suite does not wait for its ACKs: a client need not subscribe before it has calls.

        Args:
            waiting: the wait, for something to which requests lead.
            roots: returns the clusters of routes that the requests use; none: any.

        Raises:
            ClientRefused: it NACKed one of those resources.
            CauseIsKnown: the client ignores references, as in earlier scenarios, without which no
                request can be served.
        """
        first = self._first

        @functools.cache
        def used() -> frozenset[str]:
            return frozenset(roots()) or self.references.all_targets()

        unhindered = self.references.unless_ignored(
            waiting, lambda met: bool(used()) and met.roots >= used()
        )
        if first is None:
            return await unhindered
        waited = asyncio.create_task(unhindered)
        nacked = asyncio.create_task(self._plane.transcript.nacked(first, None, deadline=math.inf))
        try:
            await asyncio.wait([waited, nacked], return_when=asyncio.FIRST_COMPLETED)
            if waited.done():
                return await waited
            nack = nacked.result()
            assert nack.kind is not None, "a push has types that the suite knows"
            raise self._refused(nack.kind, nack.error_detail)
        finally:
            for task in (waited, nacked):
                task.cancel()
            await asyncio.gather(waited, nacked, return_exceptions=True)

    async def unless_no_load_stream(self, waiting: Coroutine[Any, Any, _T]) -> _T:
        """Return the awaited result, unless the client never opens a stream for load reports.

        Raises:
            CauseIsKnown: it opened none in earlier scenarios either.
        """
        return await self.references.unless_ignored(
            waiting, lambda met: met.cause == NO_LOAD_STREAM
        )

    def ring_before(self) -> MatchesRing | None:
        """Return the expectation for the ring of the previous configuration, if it had one."""
        before = self._before
        if before is None:
            return None
        own = before.get_cluster()
        if isinstance(own.discovery, Aggregate) or isinstance(own.policy, RoundRobin):
            return None
        return before.matches_ring()

    def _refused(self, kind: Kind, why: str | None) -> ResourceRejected:
        """Return the error for a client that NACKed the last configuration."""
        served = self.served.resources_by_name() if self.served else ()
        names = {CLUSTER} | {name for _, name in served}
        return ResourceRejected(
            f"the client refused the {kind.name} resource that the scenario builds on: {why or ''}",
            blocking.refusal(kind.value, why or "", names),
        )

    def _ask_for_load(self, before: XdsConfig | None, served: XdsConfig) -> None:
        """Before the clusters come, ask a client for their load that has to be asked by name.

        One that does not say that it can be asked for all is asked for those as well that have
        gone, as they may have requests in progress.
        """
        wanted = served.reported_clusters()
        ever = tuple(dict.fromkeys((*self._ever_reported, *wanted)))
        if ever != self._ever_reported:
            self._ever_reported = ever
            self._plane.script.loads.know(ever)
        known = before.reported_clusters() if before else ()
        if wanted != known and self._asks_by_name:
            self._plane.script.loads.name(wanted)
