"""Judge what a course has shown. Each judge is a pure function from the record to findings.

Whatever is in doubt is accepted: a judge reports only what no right client can show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from conformance import timing
from conformance.runner.explore.judges import (
    channel_state,
    connections,
    requests,
    responses,
    retries,
    subscriptions,
)
from conformance.runner.explore.judges.demands import (
    ATTEMPTS,
    BACKOFF,
    CALM,
    CONNECTIONS,
    LIFE,
    LIVENESS,
    REQUESTS,
    STATE,
    SUBSCRIPTIONS,
)
from conformance.runner.explore.judges.evidence import Evidence
from conformance.runner.explore.record import Finding, Observed

OF_MOMENTS: Final = frozenset({REQUESTS, ATTEMPTS, BACKOFF})
"""Judges that look for a reason within the last moments."""

OF_DEADLINES: Final = frozenset({CALM, STATE, CONNECTIONS, LIVENESS, SUBSCRIPTIONS})
"""Judges of what has not come by a deadline."""


def findings(seen: Observed) -> tuple[Finding, ...]:
    """Return what no right client shows, in the order of time; empty if there is nothing.

    Lateness of the suite, or a client that waited for a processor, excuses what depends on time.
    """
    evidence = Evidence(seen)
    found = [finding for judge in ALL for finding in judge(evidence)]
    excused = OF_DEADLINES | OF_MOMENTS if is_late(seen) else frozenset()
    if seen.lateness > timing.BELIEVED:
        excused |= OF_MOMENTS
    kept = (finding for finding in found if finding.judge not in excused)
    return tuple(sorted(kept, key=lambda finding: finding.at))


def is_late(seen: Observed) -> bool:
    """Return whether the suite or the machine was so late that no deadline counts."""
    starved = max(timing.STARVED, seen.ended / 2)
    return seen.lateness > timing.LATE or seen.starved > starved


def judge_life(evidence: Evidence) -> Iterator[Finding]:
    """Find a client that died, hung or did not answer."""
    trouble = evidence.seen.trouble
    if trouble is not None and trouble.verdict == "fail":
        first, *_ = trouble.what.splitlines()
        yield Finding(
            judge=LIFE,
            title=f"the client {trouble.reason}",
            expected="a client that lives and answers",
            observed=first,
            at=trouble.at,
        )


ALL: Final[tuple[Callable[[Evidence], Iterator[Finding]], ...]] = (
    requests.judge_requests,
    requests.judge_calms,
    channel_state.judge_states,
    retries.judge_trying,
    retries.judge_retries,
    connections.judge_attempts,
    connections.judge_backoff,
    connections.judge_connections,
    responses.judge_answers,
    subscriptions.judge_subscriptions,
    judge_life,
)
