"""Repeat a round of calls until it fits: a client sends an ACK before it uses the new policy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.judging.expectations import Expectation, fits, kind_of
from conformance.judging.observations import Calls, Observation
from conformance.judging.ring_keys import RingKeys
from conformance.world import waits

Round = Callable[[], Awaitable[Calls]]
"""Makes a round of calls."""


class Rounds:
    """Rounds of calls, of a client whose ring keys are these."""

    def __init__(self, ring_keys: RingKeys) -> None:
        self._ring_keys = ring_keys

    async def eventually(
        self, expectation: Expectation, calls: Round, *, within: float | None = None
    ) -> Calls:
        """Repeat a round of calls until it fits; the last one starts when `within` has passed.

        Args:
            expectation: what the calls must fit.
            calls: makes a round.
            within: the seconds that a conforming client may need; the default is APPLY.
        """
        return await self.eventually_any((expectation,), calls, within=within)

    async def eventually_any(
        self, ways: Iterable[Expectation], calls: Round, *, within: float | None = None
    ) -> Calls:
        """Repeat a round of calls as in `eventually`, until any of several expectations fits."""
        bound = [self._ring_keys.bind(choice) for choice in ways]
        deadline = timing.APPLY if within is None else within
        waited = await waits.until(
            calls,
            lambda seen: any(fits(expectation, seen) for expectation in bound),
            within=deadline,
            what="a round of calls as is wanted (the last one is judged)",
        )
        return Calls(waited.seen.calls, overdue=not waited.fits)

    async def eventually_stable(self, expectation: Expectation, calls: Round) -> Calls:
        """As `eventually`, and the round of calls after the first that fits."""
        seen = await self.eventually(expectation, calls)
        return seen if seen.overdue else await calls()

    async def require(self, expectation: Expectation, calls: Round, *, why: str) -> Calls:
        """Repeat a round of calls, and require that it fits.

        Args:
            expectation: what the calls must fit.
            calls: makes a round.
            why: the reason why a conforming client makes it fit.

        Raises:
            PreconditionTimeout: no round fitted within APPLY.
        """
        seen = await self.eventually(expectation, calls)
        if seen.overdue:
            raise stuck(expectation, seen, timing.APPLY, why)
        return seen


def stuck(
    expectation: Expectation, seen: Observation, within: float, why: str
) -> PreconditionTimeout:
    """Return the error for an expectation that was not met in time."""
    found = expectation.finding(seen)
    return PreconditionTimeout(
        f"expected {found.wanted} within {within:g} s, saw {found.saw}, though {why}",
        kind_of(expectation),
    )
