"""Expect connection attempts."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import msgspec

from conformance.judging.expectations.finding import Finding, WrongKind, counts_text
from conformance.judging.expectations.timing_sensitivity import TimeDependent
from conformance.judging.observations import Attempt, Attempts, Connections, Observation
from conformance.spec.oracles import backoff
from conformance.spec.oracles.backoff import Backoff


class NoAttempts(TimeDependent, frozen=True, tag="untouched"):
    """No connection is tried at any of the endpoints.

    Clauses: A37-CB-03, A37-DROP-03, A37-FAILOVER-06, A42-FAIL-03, A42-FAIL-05, A42-FAIL-09,
    A42-SUB-01.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh connections."""
        if not isinstance(seen, Connections):
            raise WrongKind(f"connections are expected here, not {type(seen).__name__}")
        saw = counts_text(seen.attempts, "attempt")
        wanted = f"no connection at {', '.join(seen.attempts)}"
        return Finding(not any(seen.attempts.values()), wanted, saw)


class AttemptCount(TimeDependent, frozen=True, tag="tried", kw_only=True):
    """Each of these endpoints sees a number of attempts within bounds, and the others see none.

    Clauses: A42-PICK-01, A42-PRO-01, A42-PRO-06, A42-PRO-07, A42-PRO-09, A42-PRO-10, A42-PRO-11,
    A37-FAILOVER-06, A37-FAILOVER-11, A37-TREE-13, A42-SUB-02, A42-SUB-03, A42-SUB-07, A42-SUB-13,
    A42-SUB-14, A61-PRO-02, A61-PRO-03, A76-REQ-06, A27-PRIO-11.
    """

    least: dict[str, int] = msgspec.field(default_factory=dict)
    """The fewest at each of these."""
    most: dict[str, int] = msgspec.field(default_factory=dict)
    """The most at each of these; those of neither kind see none, unless `others`."""
    others: bool = False
    total: int = 0
    """The fewest of all."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh attempts."""
        counts = Counter(attempt.address for attempt in attempts_of(seen))
        wanted = [f"{where} ({count} or more)" for where, count in self.least.items()]
        wanted += [f"{where} ({count} at most)" for where, count in self.most.items()]
        if self.total:
            wanted.append(f"{self.total} or more in all")
        if not self.others:
            wanted.append("none at any other endpoint" if wanted else "none at any endpoint")
        return Finding(
            counts.total() >= self.total
            and all(counts[where] >= count for where, count in self.least.items())
            and all(counts[where] <= count for where, count in self.most.items())
            and (self.others or set(counts) <= {*self.least, *self.most}),
            f"connection attempts: {', '.join(wanted)}",
            attempts_text(seen),
            differs=self._too_few(counts),
        )

    def _too_few(self, counts: Counter[str]) -> str:
        """Return the endpoints with fewer attempts than the least, as text."""
        few = [where for where, count in self.least.items() if counts[where] < count]
        none = [where for where in few if not counts[where]]
        some = [where for where in few if counts[where]]
        texts = [f"no attempt at {', '.join(none)}"] if none else []
        texts += [f"too few attempts at {', '.join(some)}"] if some else []
        return "; ".join(texts)


class KeepsConnection(TimeDependent, frozen=True, tag="keeps_connection"):
    """The one connection that an endpoint has seen is open still; or it is not.

    Clauses: A56-CHILD-01.
    """

    address: str
    kept: bool

    def finding(self, seen: Observation) -> Finding:
        """Weigh attempts."""
        at_it = [attempt for attempt in attempts_of(seen) if attempt.address == self.address]
        is_open = any(connection.ended_at is None for connection in at_it)
        holds = bool(at_it) and is_open == self.kept
        told = {True: "open", False: "closed"}
        wanted = f"the connection at {self.address} {told[self.kept]}"
        return Finding(holds, wanted, told[is_open] if at_it else "no connection")


class AttemptOrder(TimeDependent, frozen=True, tag="in_order"):
    """The first attempts at these endpoints come in this order, and each of them sees one.

    Clauses: A42-PRO-05.
    """

    addresses: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh attempts."""
        met = list(dict.fromkeys(attempt.address for attempt in attempts_of(seen)))
        met = [address for address in met if address in self.addresses]
        wanted = f"first attempts at {', then '.join(self.addresses)}"
        return Finding(tuple(met) == self.addresses, wanted, attempts_text(seen))


class DistinctAttempts(TimeDependent, frozen=True, tag="different"):
    """The first `count` attempts are each at another endpoint.

    Clauses: A42-PRO-04.
    """

    count: int

    def finding(self, seen: Observation) -> Finding:
        """Weigh attempts."""
        first = [attempt.address for attempt in attempts_of(seen)][: self.count]
        wanted = f"the first {self.count} attempts at as many endpoints"
        return Finding(len(set(first)) == self.count, wanted, attempts_text(seen))


class EndpointsTried(TimeDependent, frozen=True, tag="at_most"):
    """The client tries at most `count` endpoints, and at least `least`.

    Clauses: A42-PRO-02, A42-PRO-12, A52-CHANGE-06, A52-WRR-03, A61-PRO-01, A76-REQ-05.
    """

    count: int
    least: int = 0

    def finding(self, seen: Observation) -> Finding:
        """Weigh attempts."""
        met = {attempt.address for attempt in attempts_of(seen)}
        fewest = f"{self.least} at least, " if self.least else ""
        wanted = f"attempts at {fewest}{self.count} endpoints at most"
        return Finding(self.least <= len(met) <= self.count, wanted, attempts_text(seen))


class AttemptSpacing(TimeDependent, frozen=True, tag="apart", kw_only=True):
    """From each attempt to the next at the same endpoint pass as many seconds as backoff has it.

    All of them fail. An attempt that is seen late makes the time to the next one shorter, so all
    times are taken for longer than they seem, by an allowance. A miss is doubtful if it would be
    none with the suite's own lateness in the allowance's place. The seconds are computed by
    ``backoff.least``.

    Clauses: A42-PRO-08, A27-LRS-26.
    """

    backoff: Backoff
    gaps: int
    """How many between attempts at one endpoint tell a client whose backoff does not grow."""
    needed: int
    """The fewest attempts at one endpoint: a client that is too fast makes all of them soon."""
    allowance: float

    def finding(self, seen: Observation) -> Finding:
        """Weigh attempts."""
        times: dict[str, list[float]] = {}
        for attempt in attempts_of(seen):
            times.setdefault(attempt.address, []).append(attempt.at)
        least = [f"{backoff.least(gap, self.backoff):.2f}" for gap in range(self.gaps)]
        wanted = f"at least {', then '.join(least)} s between attempts at one endpoint"
        apart = {
            address: [after - before for before, after in pairwise(several)]
            for address, several in times.items()
        }
        saw = "; ".join(
            f"{address}: {', '.join(f'{seconds:.3f}' for seconds in several)} s"
            for address, several in apart.items()
            if several
        )
        late = lateness_of(seen)
        missing = max(
            (
                backoff.least(gap, self.backoff) - seconds
                for several in apart.values()
                for gap, seconds in enumerate(several)
            ),
            default=0.0,
        )
        enough = max(map(len, apart.values()), default=0) >= self.needed
        return Finding(
            enough and missing <= self.allowance,
            wanted,
            saw or "no endpoint was tried twice",
            "the shortest backoff after each attempt",
            doubtful=late > self.allowance and (not enough or missing <= late),
        )


def attempts_of(seen: Observation) -> tuple[Attempt, ...]:
    """Return the attempts of an observation.

    Raises:
        WrongKind: the observation is of another kind.
    """
    if not isinstance(seen, Attempts):
        raise WrongKind(f"attempts are expected here, not {type(seen).__name__}")
    return seen.attempts


def attempts_text(seen: Observation) -> str:
    """When each of them came, and where."""
    rows = [f"{attempt.address} at {attempt.at:.3f} s" for attempt in attempts_of(seen)]
    return "attempts at " + ", ".join(rows) if rows else "no attempt"


def lateness_of(seen: Observation) -> float:
    """By how much the suite was late while it watched; in seconds."""
    return seen.lateness if isinstance(seen, Attempts) else 0.0
