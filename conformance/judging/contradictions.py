"""Compare how calls ended according to the client with what backends and gates saw. Pure.

A conforming client is never accused: any possible reason why an answer did not reach it is an
excuse. The remaining calls failed according to the client's report alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from conformance import timing
from test_servers import Attempt, Rpc


class ReportedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A client's report of a unary call that the suite did not cancel, on an open channel.

    Times are monotonic seconds of the suite. `expires_at` is the deadline, None without one.
    """

    id: str
    status: str
    details: str
    ended_at: float
    expires_at: float | None


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """A client's report of a call, and the backend's row for the call."""

    told: ReportedCall
    row: Rpc

    def __str__(self) -> str:
        """Describe both."""
        told, details = self.told, f" ({self.told.details})" if self.told.details else ""
        how = (
            f"ended it with {self.row.status}"
            if told.status == "OK"
            else "answered OK, in time and over a connection that stayed whole"
        )
        return f"{told.id} as {told.status}{details}, but the backend that received it {how}"


def contradictions(
    told: Iterable[ReportedCall],
    rpcs: Iterable[tuple[str, Rpc]],
    attempts: Iterable[Attempt],
    *,
    doubt: float,
) -> Iterator[Contradiction]:
    """Yield the calls for which the client's report and the backend's record cannot both be true.

    Args:
        told: what the client says.
        rpcs: what the backends say: the call's id, and the row.
        attempts: what the gates say.
        doubt: seconds by which suite or client may have been late to see that a connection broke.
    """
    rows = defaultdict[str, list[Rpc]](list)
    for name, row in rpcs:
        rows[name].append(row)
    connections = {attempt.connection: attempt for attempt in attempts}
    for outcome in told:
        if len(rows[outcome.id]) != 1:
            continue
        (row,) = rows[outcome.id]
        if row.ended_at is None or row.status == outcome.status:
            continue
        if outcome.status == "OK" or _had_the_answer(
            outcome, row, connections.get(row.connection), doubt
        ):
            yield Contradiction(told=outcome, row=row)


def _had_the_answer(
    outcome: ReportedCall, row: Rpc, connection: Attempt | None, doubt: float
) -> bool:
    """Return whether the backend's OK must have reached a client that reports a failure."""
    if row.status != "OK" or row.ended_at is None or connection is None:
        return False
    expired = (
        outcome.expires_at is not None and outcome.ended_at > outcome.expires_at - timing.UNEXPIRED
    )
    gave_up_before = outcome.ended_at + timing.UNEXPIRED < row.ended_at
    whole_until = max(outcome.ended_at, row.ended_at) + timing.WHOLE + doubt
    broke = connection.closed_at is not None and connection.closed_at < whole_until
    return not (expired or gave_up_before or broke)
