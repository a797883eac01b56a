"""What a clause expects of what was seen, as frozen values that can be written and weighed again.

Each expectation holds the inputs of its oracle, not the oracle's answer: the answer is computed
when it is weighed, so that an evidence folder is judged by the oracle of today.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

import msgspec

from conformance.oracles import ring, statistics
from conformance.oracles.census import census, met_intervals, ring_interval
from conformance.oracles.request_hash import HashPolicy, TerminalReading, request_hash
from conformance.seen import Answer, Call, Calls, Connections, Contrast, Seen


class Finding(msgspec.Struct, frozen=True):
    """Whether an expectation holds, in words that a maintainer of the client can act on."""

    holds: bool
    wanted: str
    saw: str
    oracle: str = ""
    """Which function computed what was wanted; empty where nothing had to be computed."""


class WrongKind(TypeError):
    """A scenario put something before an expectation that cannot be weighed by it."""


def _calls(seen: Seen) -> tuple[Call, ...]:
    if not isinstance(seen, Calls):
        raise WrongKind(f"calls are expected here, not {type(seen).__name__}")
    return seen.calls


def _trouble(calls: Iterable[Call]) -> str | None:
    """What spoils a judgement by endpoints: calls that none served, or none at all."""
    calls = tuple(calls)
    if not calls:
        return "no call was made"
    bad = [call for call in calls if call.status != "OK" or call.endpoint is None]
    if not bad:
        return None
    first = bad[0]
    what = f"{len(bad)} of {len(calls)} calls did not succeed"
    return f"{what}: call {first.id} {first.status} ({first.details or 'no details'})"


def _tally(calls: Iterable[Call]) -> str:
    counts = Counter(call.endpoint or call.status for call in calls)
    return ", ".join(f"{where}: {count}" for where, count in sorted(counts.items()))


class Outcome(msgspec.Struct, frozen=True, tag="outcome"):
    """Every call ends with this status."""

    status: str

    def finding(self, seen: Seen) -> Finding:
        """Weigh calls."""
        calls = _calls(seen)
        counts = Counter(call.status for call in calls)
        saw = ", ".join(f"{status}: {count}" for status, count in sorted(counts.items()))
        return Finding(set(counts) == {self.status}, f"every call ends {self.status}", saw)


class Grouped(msgspec.Struct, frozen=True):
    """How calls are put into groups, each looked at alone: by channel, by a header, or not."""

    each_channel: bool = False
    each_value_of: str = ""

    def groups(self, calls: Iterable[Call]) -> list[list[Call]]:
        """The groups."""
        found: dict[tuple[str, ...], list[Call]] = {}
        for call in calls:
            values = (value for key, value in call.metadata if key == self.each_value_of)
            channel = call.channel if self.each_channel else ""
            found.setdefault((channel, *values), []).append(call)
        return list(found.values())

    def in_words(self) -> str:
        """The end of a sentence on the calls of a group."""
        words = " of one channel" if self.each_channel else ""
        return words + (f" with one value of {self.each_value_of}" if self.each_value_of else "")


class OneEndpoint(Grouped, frozen=True, tag="one_endpoint"):
    """All calls of a group reach the same endpoint."""

    def finding(self, seen: Seen) -> Finding:
        """Weigh calls."""
        calls = _calls(seen)
        wanted = f"all calls{self.in_words()} at one and the same endpoint"
        if trouble := _trouble(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        split = [one for one in self.groups(calls) if len({c.endpoint for c in one}) > 1]
        return Finding(not split, wanted, _tally(split[0] if split else calls))


class SeveralEndpoints(Grouped, frozen=True, tag="several_endpoints"):
    """The calls of a group do not all reach the same endpoint.

    The scenario sends so many that a right client does not do so by chance: see
    ``statistics.all_same_chance``.
    """

    def finding(self, seen: Seen) -> Finding:
        """Weigh calls."""
        calls = _calls(seen)
        wanted = f"calls{self.in_words()} at more than one endpoint"
        if trouble := _trouble(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        groups = self.groups(calls)
        stuck = [one for one in groups if len({call.endpoint for call in one}) == 1]
        saw = _tally(calls)
        if stuck:
            same = _headers(stuck[0][0])
            saw = f"{len(stuck)} of {len(groups)} groups at one endpoint each, as {same}: "
            saw += _tally(stuck[0])
        return Finding(not stuck, wanted, saw)


class Avoids(msgspec.Struct, frozen=True, tag="avoids"):
    """Every call succeeds, and none at these endpoints."""

    addresses: tuple[str, ...]

    def finding(self, seen: Seen) -> Finding:
        """Weigh calls."""
        calls = _calls(seen)
        wanted = f"no call at {', '.join(self.addresses)}"
        if trouble := _trouble(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        met = {call.endpoint for call in calls}
        return Finding(not met & set(self.addresses), wanted, _tally(calls))


class Reaches(msgspec.Struct, frozen=True, tag="reaches"):
    """Every call succeeds, and each of these endpoints gets one at least."""

    addresses: tuple[str, ...]

    def finding(self, seen: Seen) -> Finding:
        """Weigh calls."""
        calls = _calls(seen)
        wanted = f"calls at each of {', '.join(self.addresses)}"
        if trouble := _trouble(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        met = {call.endpoint for call in calls}
        return Finding(met >= set(self.addresses), wanted, _tally(calls))


class Shares(msgspec.Struct, frozen=True, tag="shares"):
    """The calls are spread at random with these shares, by address: numerator and denominator.

    A rotation with the same shares stays nearer to them than chance does, so it fits as well.
    """

    shares: dict[str, tuple[int, int]]

    def finding(self, seen: Seen) -> Finding:
        """Weigh calls."""
        calls = _calls(seen)
        exact = {where: Fraction(*share) for where, share in self.shares.items()}
        bounds = statistics.intervals(len(calls), exact)
        wanted = ", ".join(f"{w}: {b.low} to {b.high}" for w, b in bounds.items())
        if trouble := _trouble(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        counts = Counter(call.endpoint or "" for call in calls)
        inside = all(counts[where] in bound for where, bound in bounds.items())
        holds = inside and set(counts) <= set(bounds)
        return Finding(holds, wanted, _tally(calls), "statistics.intervals")


class Evenly(msgspec.Struct, frozen=True, tag="evenly"):
    """The calls go round these endpoints: no two counts differ by more than one (round_robin)."""

    addresses: tuple[str, ...]

    def finding(self, seen: Seen) -> Finding:
        """Weigh calls."""
        calls = _calls(seen)
        wanted = f"the same number of calls, give or take one, at each of {len(self.addresses)}"
        if trouble := _trouble(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        counts = Counter(dict.fromkeys(self.addresses, 0))
        counts.update(call.endpoint or "" for call in calls)
        level = max(counts.values()) - min(counts.values()) <= 1
        return Finding(level and set(counts) == set(self.addresses), wanted, _tally(calls))


class Untouched(msgspec.Struct, frozen=True, tag="untouched"):
    """No connection is tried at any of the endpoints."""

    def finding(self, seen: Seen) -> Finding:
        """Weigh connections."""
        if not isinstance(seen, Connections):
            raise WrongKind(f"connections are expected here, not {type(seen).__name__}")
        saw = ", ".join(f"{where}: {count}" for where, count in seen.attempts.items())
        wanted = f"no connection at {', '.join(seen.attempts)}"
        return Finding(not any(seen.attempts.values()), wanted, saw)


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    """The client ACKs the response, or NACKs it."""

    acked: bool

    def finding(self, seen: Seen) -> Finding:
        """Weigh an answer."""
        if not isinstance(seen, Answer):
            raise WrongKind(f"an answer is expected here, not {type(seen).__name__}")
        said = "ACK" if seen.acked else f"NACK: {seen.error_detail}"
        wanted = f"{'ACK' if self.acked else 'NACK'} of {seen.kind} version {seen.version}"
        return Finding(seen.acked == self.acked, wanted, said)


class MovesOnly(msgspec.Struct, frozen=True, tag="moves_only"):
    """Between two rounds of the same requests, only those from or to these endpoints moved."""

    addresses: tuple[str, ...]

    def finding(self, seen: Seen) -> Finding:
        """Weigh a contrast."""
        if not isinstance(seen, Contrast):
            raise WrongKind(f"a contrast is expected here, not {type(seen).__name__}")
        which = ", ".join(self.addresses)
        wanted = f"no request moves except from or to {which}" if which else "no request moves"
        if trouble := _trouble((*seen.before, *seen.after)):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        pairs = list(zip(seen.before, seen.after, strict=True))
        moved = [(old, new) for old, new in pairs if old.endpoint != new.endpoint]
        wrong = [
            (old, new)
            for old, new in moved
            if old.endpoint not in self.addresses and new.endpoint not in self.addresses
        ]
        saw = f"{len(moved)} of {len(pairs)} requests moved"
        if wrong:
            old, new = wrong[0]
            saw += (
                f", {len(wrong)} of them between other endpoints: "
                f"{_headers(new)} from {old.endpoint} to {new.endpoint}"
            )
        return Finding(not wrong, wanted, saw)


class Spread(msgspec.Struct, frozen=True, tag="spread"):
    """The calls are spread as independent uniform hashes over a ring of these endpoints.

    Needs no knowledge of where the client places entries: see ``census.met_intervals``.
    """

    localities: tuple[ring.RingLocality, ...]
    config: ring.RingConfig

    def finding(self, seen: Seen) -> Finding:
        """Weigh calls."""
        calls = _calls(seen)
        entries = ring.entry_counts(ring.weights(self.localities, "raw"), self.config)
        bounds = met_intervals(entries, len(calls))
        wanted = "random hashes, so " + ", ".join(
            f"{address}: {bound.low} to {bound.high}" for address, bound in bounds.items()
        )
        oracle = "census.met_intervals"
        if trouble := _trouble(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble, oracle=oracle)
        counts = Counter(call.endpoint or "" for call in calls)
        inside = all(counts[where] in bound for where, bound in bounds.items())
        return Finding(inside and set(counts) <= set(bounds), wanted, _tally(calls), oracle)


class Everywhere(msgspec.Struct, frozen=True, tag="everywhere"):
    """The calls reach every endpoint, as those with random hashes do if there are enough."""

    localities: tuple[ring.RingLocality, ...]
    config: ring.RingConfig

    def finding(self, seen: Seen) -> Finding:
        """Weigh calls.

        Raises:
            WrongKind: a right client may miss an endpoint with so few calls.
        """
        calls = _calls(seen)
        entries = ring.entry_counts(ring.weights(self.localities, "raw"), self.config)
        bounds = met_intervals(entries, len(calls))
        wanted = "calls at every endpoint: " + ", ".join(entries)
        if trouble := _trouble(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        if any(bound.low < 1 for bound in bounds.values()):
            raise WrongKind(f"{len(calls)} calls are too few to reach every endpoint for sure")
        met = {call.endpoint for call in calls}
        return Finding(met == set(entries), wanted, _tally(calls))


class Calibration(msgspec.Struct, frozen=True):
    """What the same client did with a plain ring: tells which key format it has, if a known one."""

    calls: Calls
    localities: tuple[ring.RingLocality, ...]
    config: ring.RingConfig
    policies: tuple[HashPolicy, ...]

    def key_formats(self) -> frozenset[str]:
        """The known key formats that explain every call."""
        if _trouble(self.calls):
            return frozenset()
        observed = _observed(self.calls, self.policies, "A42")
        fitting = ring.fit(observed, self.localities, self.config)
        return frozenset(candidate.variant.key_format for candidate in fitting)

    def shows_an_unknown_format(self) -> bool:
        """Whether the calls went well, and no known key format explains them."""
        return not _trouble(self.calls) and not self.key_formats()


FEWEST_FOR_CENSUS = 20
"""With fewer hashes any number of changes is to be accepted."""


class MapsLike(msgspec.Struct, frozen=True, tag="maps_like", kw_only=True):
    """Each call reaches the endpoint to which a ring of this kind maps its request hash.

    Exact where the client's key format is a known one. The text gives the format as an example
    only, so a client with another is judged by the census of its arcs instead.
    """

    localities: tuple[ring.RingLocality, ...]
    config: ring.RingConfig
    policies: tuple[HashPolicy, ...]
    weights: ring.WeightReading | None = None
    """None: any reading of the weights will do, as they are not what is judged."""
    terminal: TerminalReading = "A42"
    key_format: str | None = None
    allotment: str | None = None
    search: str | None = None
    """The last three, if set: only variants of the ring with this property will do."""
    calibration: Calibration | None = None
    """Made when no known variant fits: tells an unknown key format from a deviation."""

    def candidates(self) -> tuple[ring.Candidate, ...]:
        """The ways of building the ring that will do."""
        formats = self.calibration.key_formats() if self.calibration else None
        return tuple(
            candidate
            for candidate in ring.CANDIDATES
            for variant in [candidate.variant]
            if self.weights in {None, candidate.weights}
            and self.key_format in {None, variant.key_format}
            and self.allotment in {None, variant.allotment}
            and self.search in {None, variant.search}
            and (not formats or variant.key_format in formats)
        )

    def finding(self, seen: Seen) -> Finding:
        """Weigh calls."""
        calls = _calls(seen)
        endpoints = ring.weights(self.localities, self.weights or "raw")
        size = sum(ring.entry_counts(endpoints, self.config).values())
        wanted = f"each call where a ring of {size} entries maps its hash"
        oracle = f"ring.build, weights {self.weights or 'raw or A113'}: " + ", ".join(
            f"{endpoint.address} x {endpoint.weight}" for endpoint in endpoints
        )
        if trouble := _trouble(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble, oracle=oracle)
        observed = _observed(calls, self.policies, self.terminal)
        candidates = self.candidates()
        for candidate in candidates:  # one by one: most of the work is building the rings
            if ring.fit(observed, self.localities, self.config, (candidate,)):
                saw = f"all {len(calls)} calls so, with {_named(candidate)}"
                return Finding(holds=True, wanted=wanted, saw=saw, oracle=oracle)
        if self.calibration and self.calibration.shows_an_unknown_format():
            return self._by_census(observed, endpoints, wanted)
        saw = self._nearest(calls, observed, candidates)
        return Finding(holds=False, wanted=wanted, saw=saw, oracle=oracle)

    def _nearest(
        self,
        calls: tuple[Call, ...],
        observed: tuple[tuple[int, str], ...],
        candidates: tuple[ring.Candidate, ...],
    ) -> str:
        """The way of building that explains most, and a call that it does not explain."""
        best = (-1, "no way of building the ring is known that would do")
        for candidate in candidates:
            built = ring.build_for(self.localities, self.config, candidate)
            picks = [built.pick(value) for value, _ in observed]
            wrong = [i for i, pick in enumerate(picks) if pick != observed[i][1]]
            right = len(observed) - len(wrong)
            if wrong and right > best[0]:
                call, pick = calls[wrong[0]], picks[wrong[0]]
                best = (
                    right,
                    (
                        f"{len(wrong)} of {len(observed)} calls elsewhere than by the nearest "
                        f"known way ({_named(candidate)}): {call.id} ({_headers(call)}, hash "
                        f"{observed[wrong[0]][0]:#018x}) reached {call.endpoint} instead of {pick}"
                    ),
                )
        return best[1]

    def _by_census(
        self,
        observed: tuple[tuple[int, str], ...],
        endpoints: tuple[ring.WeightedEndpoint, ...],
        wanted: str,
    ) -> Finding:
        """Judge a client with a key format of its own by its arcs.

        Two looks at the same calls, each with half of the false alarm: how often neighbouring
        hashes meet different endpoints tells the hash and the size, how many meet each endpoint
        tells the weights.
        """
        alarm = statistics.FALSE_ALARM / 2
        hashes = [value for value, _ in observed]
        met_by: dict[int, str] = {}
        for value, where in observed:
            if met_by.setdefault(value, where) != where:
                saw = f"one hash met two endpoints: {value:#018x} {met_by[value]} and {where}"
                return Finding(holds=False, wanted=wanted, saw=saw)
        taken = census(observed)
        if taken.values < FEWEST_FOR_CENSUS:
            saw = f"{taken.values} different hashes are too few to tell by arcs"
            return Finding(holds=True, wanted=wanted, saw=saw)
        changes = ring_interval(endpoints, self.config, hashes, alarm)
        met = met_intervals(ring.entry_counts(endpoints, self.config), taken.values, alarm)
        shares = ", ".join(f"{where}: {found}" for where, found in taken.met.items())
        return Finding(
            taken.changes in changes
            and all(taken.met.get(where, 0) in bound for where, bound in met.items())
            and set(taken.met) <= set(met),
            f"{wanted}; by its arcs, as its key format is unknown: {changes.low} to "
            f"{changes.high} changes, and "
            + ", ".join(f"{where}: {bound.low} to {bound.high}" for where, bound in met.items()),
            f"{taken.changes} changes among {taken.values} hashes in order; {shares}",
            "census.ring_interval, census.met_intervals",
        )


def _named(candidate: ring.Candidate) -> str:
    """How a way of building the ring is told to a reader."""
    variant = candidate.variant
    return (
        f"keys {variant.key_format}, allotted by {variant.allotment}, search {variant.search}, "
        f"weights {candidate.weights}"
    )


def _observed(
    calls: Iterable[Call], policies: tuple[HashPolicy, ...], terminal: TerminalReading
) -> tuple[tuple[int, str], ...]:
    """Request hash and endpoint of each call.

    Raises:
        WrongKind: a call's hash is random by these policies, so it maps to nothing.
    """
    rows = []
    for call in calls:
        value = request_hash(policies, call.metadata, terminal=terminal)
        if value is None or call.endpoint is None:
            raise WrongKind(f"call {call.id} has no request hash to be mapped by a ring")
        rows.append((value, call.endpoint))
    return tuple(rows)


def _headers(call: Call) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in call.metadata) or "no metadata"


Expectation = (
    Outcome
    | OneEndpoint
    | SeveralEndpoints
    | Everywhere
    | Avoids
    | Reaches
    | Shares
    | Evenly
    | Untouched
    | Answered
    | MovesOnly
    | Spread
    | MapsLike
)
