"""Expectations of connection attempts."""

from __future__ import annotations

from collections import Counter

import msgspec

from conformance.expectations.weighing import Finding, WrongKind
from conformance.seen import Attempt, Attempts, Connections, Seen


class Untouched(msgspec.Struct, frozen=True, tag="untouched"):
    """No connection is tried at any of the endpoints."""

    def finding(self, seen: Seen) -> Finding:
        """Weigh connections."""
        if not isinstance(seen, Connections):
            raise WrongKind(f"connections are expected here, not {type(seen).__name__}")
        saw = ", ".join(f"{where}: {count}" for where, count in seen.attempts.items())
        wanted = f"no connection at {', '.join(seen.attempts)}"
        return Finding(not any(seen.attempts.values()), wanted, saw)


class Tried(msgspec.Struct, frozen=True, tag="tried", kw_only=True):
    """Of the attempts, each of these endpoints sees so many, and the others none."""

    least: dict[str, int] = {}
    """The fewest at each of these."""
    most: dict[str, int] = {}
    """The most at each of these; those of neither kind see none, unless `others`."""
    others: bool = False
    total: int = 0
    """The fewest of all."""

    def finding(self, seen: Seen) -> Finding:
        """Weigh attempts."""
        counts = Counter(one.address for one in attempts_of(seen))
        wanted = [f"{where}: {count} or more" for where, count in self.least.items()]
        wanted += [f"{where}: {count} at most" for where, count in self.most.items()]
        if self.total:
            wanted.append(f"{self.total} or more in all")
        if not self.others:
            wanted.append("none elsewhere")
        return Finding(
            counts.total() >= self.total
            and all(counts[where] >= count for where, count in self.least.items())
            and all(counts[where] <= count for where, count in self.most.items())
            and (self.others or set(counts) <= {*self.least, *self.most}),
            f"attempts: {', '.join(wanted)}",
            attempts_told(seen),
        )


class InOrder(msgspec.Struct, frozen=True, tag="in_order"):
    """The first attempts at these endpoints come in this order, and each of them sees one."""

    addresses: tuple[str, ...]

    def finding(self, seen: Seen) -> Finding:
        """Weigh attempts."""
        met = list(dict.fromkeys(one.address for one in attempts_of(seen)))
        met = [address for address in met if address in self.addresses]
        wanted = f"first attempts at {', then '.join(self.addresses)}"
        return Finding(tuple(met) == self.addresses, wanted, attempts_told(seen))


class Different(msgspec.Struct, frozen=True, tag="different"):
    """The first so many attempts are each at another endpoint."""

    count: int

    def finding(self, seen: Seen) -> Finding:
        """Weigh attempts."""
        first = [one.address for one in attempts_of(seen)][: self.count]
        wanted = f"the first {self.count} attempts at as many endpoints"
        return Finding(len(set(first)) == self.count, wanted, attempts_told(seen))


class AtMost(msgspec.Struct, frozen=True, tag="at_most"):
    """No more endpoints than so many are tried."""

    count: int

    def finding(self, seen: Seen) -> Finding:
        """Weigh attempts."""
        met = {one.address for one in attempts_of(seen)}
        wanted = f"attempts at {self.count} endpoints at most"
        return Finding(len(met) <= self.count, wanted, attempts_told(seen))


class Apart(msgspec.Struct, frozen=True, tag="apart"):
    """From each attempt to the next at the same endpoint pass so many seconds at least.

    An attempt that is seen late makes the time to the next one shorter: a miss is doubtful if the
    suite was later than the allowance, by which all times are taken for longer than they seem.
    """

    seconds: float
    allowance: float

    def finding(self, seen: Seen) -> Finding:
        """Weigh attempts."""
        attempts = attempts_of(seen)
        latest: dict[str, float] = {}
        apart: list[float] = []
        for one in attempts:
            if one.address in latest:
                apart.append(one.at - latest[one.address])
            latest[one.address] = one.at
        wanted = f"attempts at one endpoint at least {self.seconds:g} s apart"
        if not apart:
            return Finding(holds=False, wanted=wanted, saw="no endpoint was tried twice")
        return Finding(
            min(apart) >= self.seconds - self.allowance,
            wanted,
            f"{min(apart):.3f} s at the closest",
            doubtful=lateness_of(seen) > self.allowance,
        )


def attempts_of(seen: Seen) -> tuple[Attempt, ...]:
    """The attempts, where nothing else can be weighed.

    Raises:
        WrongKind: it is something else.
    """
    if not isinstance(seen, Attempts):
        raise WrongKind(f"attempts are expected here, not {type(seen).__name__}")
    return seen.attempts


def attempts_told(seen: Seen) -> str:
    """When each of them came, and where."""
    rows = [f"{one.address} at {one.at:.3f} s" for one in attempts_of(seen)]
    return "attempts at " + ", ".join(rows) if rows else "no attempt"


def lateness_of(seen: Seen) -> float:
    """By how much the suite was late while it watched; in seconds."""
    return seen.lateness if isinstance(seen, Attempts) else 0.0
