"""Attempts to connect, as the gates saw them: what came, what must come, and that nothing comes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.judging.expectations import Expectation, fits
from conformance.judging.observations import Attempt, Attempts, Connections
from conformance.world import waits
from conformance.world.calls import CallMaker, Headers
from conformance.world.clock import Clock
from conformance.world.control import Control
from conformance.world.endpoints import EndpointRegistry
from conformance.world.rounds import stuck
from test_servers import Attempt as Accepted
from test_servers import BackendEndpoint, DeadlinePassed, Fleet, Mode


class AttemptWatch:
    """Watches the connection attempts at the endpoints of one scenario.

    Args:
        fleet: the backends, whose ledger records the attempts.
        members: the endpoints.
        calls: reports requests that failed instead.
        control: reports whether the client rejected the first configuration.
        clock: the scenario's clock.
        notes: where a watch that saw nothing is noted.
    """

    def __init__(
        self,
        fleet: Fleet,
        members: EndpointRegistry,
        calls: CallMaker,
        control: Control,
        clock: Clock,
        notes: list[str],
    ) -> None:
        self._fleet = fleet
        self._members = members
        self._calls = calls
        self._control = control
        self._clock = clock
        self._notes = notes

    def seen(self, *endpoints: BackendEndpoint, since: float = 0.0) -> Attempts:
        """Return the attempts at these endpoints, or at all, from `since` (seconds) on."""
        watched = self._members.ids(*endpoints)
        rows = (self._seen(row) for row in self._fleet.ledger.attempts if row.endpoint in watched)
        return Attempts(tuple(row for row in rows if row.at >= since), self._clock.late)

    def _seen(self, row: Accepted) -> Attempt:
        at = self._clock.at
        return Attempt(
            self._members.address(row.endpoint),
            at(row.accepted_at),
            None if row.closed_at is None else at(row.closed_at),
        )

    async def require_count(self, endpoint: BackendEndpoint, count: int = 1, *, why: str) -> None:
        """Wait until an endpoint has seen `count` attempts since the scenario started.

        Args:
            endpoint: the endpoint.
            count: the number of attempts.
            why: the reason why a conforming client tries the endpoint.

        Raises:
            PreconditionTimeout: it saw fewer in time.
            ClientRefused: the client NACKed what was served first.
        """
        try:
            await self._control.unless_refused(
                self._fleet.attempted(endpoint, count, deadline=timing.ATTEMPT)
            )
        except DeadlinePassed:
            raise PreconditionTimeout(
                f"expected attempt {count} to connect to {endpoint.address}, saw "
                f"{len(endpoint.attempts)} attempts to connect within {timing.ATTEMPT:g} s, "
                f"though {why}"
                f"{self._calls.failed_meanwhile()}"
            ) from None

    async def require_one(
        self,
        *endpoints: BackendEndpoint,
        why: str,
        since: float = 0.0,
        within: float = timing.ATTEMPT,
        beyond: int = 0,
        met: Mode | None = None,
    ) -> Attempt:
        """Wait for the first attempt at any of these endpoints from `since` on.

        Args:
            endpoints: the endpoints to watch.
            why: the reason why a conforming client tries one of them.
            since: in seconds since the scenario began.
            within: the deadline, from timing.py.
            beyond: the number of attempts, at any endpoint, that were already reported. A gate
                notes when it accepts an attempt but reports it a moment later, when its mode
                may have changed.
            met: the mode in which the gate met it, if that matters.

        Raises:
            PreconditionTimeout: there was none in time.
            ClientRefused: the client NACKed what was served first.
        """
        watched = {endpoint.id for endpoint in endpoints}

        def is_it(row: Accepted) -> bool:
            is_in_time = self._clock.is_past(row.accepted_at, since)
            return row.endpoint in watched and is_in_time and met in {None, row.mode}

        try:
            first, *_ = await self._control.unless_refused(
                self._fleet.ledger.wait_attempts(is_it, since=beyond, deadline=within)
            )
        except DeadlinePassed:
            names = " or ".join(endpoint.address for endpoint in endpoints)
            raise PreconditionTimeout(
                f"expected an attempt to connect to {names}, saw none within {within:g} s, "
                f"though {why}{self._calls.failed_meanwhile()}"
            ) from None
        return self._seen(first)

    async def quiet(
        self, *endpoints: BackendEndpoint, why: str, seconds: float = timing.QUIET
    ) -> Connections:
        """Watch these endpoints for a while; the attempts at each since the beginning.

        Args:
            endpoints: where no connection should be tried.
            why: what would have made a wrong client try one by now.
            seconds: how long, from timing.py.
        """
        watched = {endpoint.id for endpoint in endpoints}
        await waits.watched(
            self._fleet.ledger.wait_attempts(
                lambda attempt: attempt.endpoint in watched, deadline=seconds
            )
        )
        self._notes.append(f"quiet for {seconds} s after: {why}")
        return Connections({endpoint.address: len(endpoint.attempts) for endpoint in endpoints})

    async def quiet_from_now(
        self, *endpoints: BackendEndpoint, why: str, seconds: float = timing.QUIET, count: int = 1
    ) -> Attempts:
        """Watch these endpoints, or all, for a while and return the attempts in that time.

        Args:
            endpoints: the endpoints that the client should not try.
            why: the reason why a non-conforming client would try one in this time.
            seconds: how long to watch, from timing.py.
            count: the number of attempts that ends the watch early.
        """
        watched = self._members.ids(*endpoints)
        began = self._clock.now
        await waits.watched(
            self._fleet.ledger.wait_attempts(
                lambda attempt: attempt.endpoint in watched,
                since=len(self._fleet.ledger.attempts),
                count=count,
                deadline=seconds,
            )
        )
        self._notes.append(f"quiet for {seconds} s after: {why}")
        return self.seen(*endpoints, since=began)

    async def until(
        self,
        expectation: Expectation,
        *endpoints: BackendEndpoint,
        since: float = 0.0,
        meanwhile: Sequence[Headers] = (),
        within: float = timing.ATTEMPT,
    ) -> Attempts:
        """Return the attempts at these endpoints, or all, once they fit or the deadline has passed.

        Args:
            expectation: what the attempts must fit.
            endpoints: the endpoints to watch.
            since: earlier attempts, in seconds since the scenario started, are left out.
            meanwhile: calls to repeat during the wait.
            within: the deadline, from timing.py.
        """
        waited = await self._until(
            expectation, *endpoints, since=since, meanwhile=meanwhile, within=within
        )
        return waited.seen

    async def require(
        self, expectation: Expectation, *endpoints: BackendEndpoint, why: str, since: float = 0.0
    ) -> None:
        """Wait until the attempts at these endpoints, or all, fit.

        Args:
            expectation: what the attempts must fit.
            endpoints: the endpoints to watch.
            why: the reason why a conforming client makes such attempts.
            since: earlier attempts, in seconds since the scenario started, are left out.

        Raises:
            PreconditionTimeout: they did not fit within ATTEMPT.
        """
        waited = await self._until(expectation, *endpoints, since=since)
        if not waited.fits:
            raise stuck(expectation, waited.seen, timing.ATTEMPT, why)

    async def _until(
        self,
        expectation: Expectation,
        *endpoints: BackendEndpoint,
        since: float,
        meanwhile: Sequence[Headers] = (),
        within: float = timing.ATTEMPT,
    ) -> waits.Waited[Attempts]:
        deadline = time.monotonic() + within
        ledger = self._fleet.ledger
        known: int | None = None

        async def look() -> Attempts:
            nonlocal known
            if known is not None:  # not the first time
                left = timing.PACE if meanwhile else deadline - time.monotonic()
                if meanwhile:
                    await self._calls.make(meanwhile)
                more = ledger.wait_attempts(lambda _: True, since=known, deadline=left)
                await self._control.unless_refused(waits.watched(more))
            known = len(ledger.attempts)
            return self.seen(*endpoints, since=since)

        return await waits.until(
            look, partial(fits, expectation), within=within, what="attempts as are wanted"
        )
