"""Define what every expectation has in common: its finding, and the text of observations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from conformance.judging.observations import Call, Calls, Observation


class Finding(msgspec.Struct, frozen=True):
    """The result of an expectation, with texts that a maintainer of the client can act on."""

    holds: bool
    wanted: str
    saw: str
    oracle: str = ""
    """What the expectation was computed from; empty where nothing had to be computed."""
    doubtful: bool = False
    """True if lateness of the machine may be the reason for a failure."""
    seconds: float | None = None
    """The time that was measured, where it is one that is weighed."""
    differs: str = ""
    """The rows that differ, if many rows were compared."""
    wrong: float | None = None
    """The share of observations that differ from what was expected; None if not counted."""


BINOMIAL_BOUNDS: Final = "binomial bounds that a conforming client misses at most once in a million"
"""What the bounds of a random share are computed from."""


class WrongKind(TypeError):
    """A scenario put something before an expectation that cannot be weighed by it."""


def calls_of(seen: Observation) -> tuple[Call, ...]:
    """Return the calls of an observation.

    Raises:
        WrongKind: the observation is of another kind.
    """
    if not isinstance(seen, Calls):
        raise WrongKind(f"calls are expected here, not {type(seen).__name__}")
    return seen.calls


def trouble_of(calls: Iterable[Call]) -> str | None:
    """Return what prevents a judgement by endpoints: calls without a backend, or no calls."""
    calls = tuple(calls)
    if not calls:
        return "no call was made"
    bad = [call for call in calls if call.status != "OK" or call.endpoint is None]
    if not bad:
        return None
    first = bad[0]
    what = f"{len(bad)} of {len(calls)} calls did not succeed"
    details = " ".join(first.details.split()) or "no details"
    return f"{what}, such as {first.id}: {first.status} ({details})"


def tally(calls: Iterable[Call]) -> str:
    """How many calls each endpoint got, or ended with each status."""
    return counts_text(Counter(call.endpoint or call.status for call in calls))


def spread(calls: Iterable[Call]) -> str:
    """Return how many calls each endpoint got; of many endpoints, those with the most calls.

    Args:
        calls: calls that reached endpoints.
    """
    calls = tuple(calls)
    reached = Counter(call.endpoint or call.status for call in calls)
    if len(reached) <= MOST_NAMED:
        return counts_text(reached)
    named = dict(sorted(reached.items(), key=lambda row: (-row[1], row[0]))[:MOST_NAMED])
    least = min(named.values())
    return (
        f"{reached.total()} calls at {len(reached)} endpoints: {counts_text(named)} and "
        f"{len(reached) - MOST_NAMED} more (at most {least} each)"
    )


MOST_NAMED: Final = 12
"""Endpoints that a count of calls names."""


def statuses_text(calls: Iterable[Call]) -> str:
    """How many calls ended with each status."""
    return counts_text(Counter(call.status for call in calls))


def counts_text(counts: Mapping[str, int], unit: str = "call") -> str:
    """Return counts with their unit, as in ``OK (3 calls), UNAVAILABLE (1 call)``."""
    return ", ".join(
        f"{what} ({count} {unit}{'' if count == 1 else 's'})"
        for what, count in sorted(counts.items())
    )


def all_failed(calls: Collection[Call]) -> bool:
    """Return whether there are calls and all of them failed."""
    return bool(calls) and all(call.status != "OK" for call in calls)


def details_text(calls: Iterable[Call]) -> str:
    """Return the distinct statuses of calls, each with the client's details."""
    told = dict.fromkeys(f"{call.status}: {call.details or 'no details'}" for call in calls)
    return "; ".join(told) or "no call"


def headers_of(call: Call) -> str:
    """Return the metadata of a call as text."""
    return ", ".join(f"{key}='{value}'" for key, value in call.metadata) or "no metadata"
