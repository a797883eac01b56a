"""Expect each call where the ring maps its request hash."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, get_args

from conformance.judging.call_patterns import Hashing, MappedCall, rule_of, trait_of
from conformance.judging.expectations.finding import (
    BINOMIAL_BOUNDS,
    Finding,
    WrongKind,
    calls_of,
    counts_text,
    trouble_of,
)
from conformance.judging.expectations.ring_descriptions import (
    WEIGHTS,
    described,
    met_twice,
    named,
)
from conformance.judging.expectations.timing_sensitivity import (
    Ring,
    TimeDependent,
    all_calls,
    can_be_late,
    ends_of_time,
    is_overdue,
)
from conformance.judging.observations import Call, Observation
from conformance.spec.oracles.census import bounds_of, census
from conformance.spec.oracles.distinguishing import Way
from conformance.spec.oracles.request_hash import (
    HashPolicy,
    Metadata,
    TerminalReading,
    request_hash,
)
from conformance.spec.oracles.ring.building import build_for, fit, fits_otherwise
from conformance.spec.oracles.ring.search import Ring as BuiltRing
from conformance.spec.oracles.ring.sizes import RingConfig, Sizing, dealings, entry_counts
from conformance.spec.oracles.ring.variants import CANDIDATES, Candidate
from conformance.spec.oracles.ring.weights import RingLocality, WeightReading, weights

FEWEST_FOR_CENSUS = 20
"""With fewer hashes the bounds accept any number of changes."""


PATTERN: Final = "Pattern: "
"""Begins the line on what all wrong calls have in common: it may differ in the next run."""

CLOSEST: Final = "The nearest known ring"
"""What comes behind it depends on the ports, so it may be another ring in the next run."""


class MatchesRing(TimeDependent, frozen=True, tag="maps_like", kw_only=True):
    """Each call reaches the endpoint to which a ring of this kind maps its request hash.

    Exact where it is bound to a key format, or where any known one will do. The text gives the
    format as an example only: a client of which it is unknown is judged by the census of its arcs.

    The hash is computed by ``request_hash.request_hash`` and the ring by ``building.build_for``,
    which name most of the clauses, with what they call. That it is this ring and no other:

    Clauses: A37-FAILOVER-10, A42-CDS-12, A42-CDS-15, A42-CDS-19, A42-CDS-22, A42-CDS-25,
    A42-LOC-04, A42-HASH-21, A75-LEAF-01.
    """

    localities: tuple[RingLocality, ...]
    config: RingConfig
    policies: tuple[HashPolicy, ...]
    weights: WeightReading | None = None
    """None: any reading of the weights will do, as they are not what is judged."""
    terminal: TerminalReading = "A42"
    key_format: str | None = None
    allotment: str | None = None
    search: str | None = None
    sizing: str | None = None
    """The last four, if set: only variants of the ring with this property will do."""
    failed: tuple[str, ...] = ()
    """These have failed and the others are READY: calls that meet one of them go on to the next."""
    by_arcs: bool = False
    """True if the client's key format is unknown: calls that no known way of building the ring
    explains are then judged by the arcs."""

    def candidates(self) -> tuple[Candidate, ...]:
        """Return the accepted ways of building the ring."""
        return tuple(
            candidate
            for candidate in CANDIDATES
            for variant in [candidate.variant]
            if self.weights in {None, candidate.weights}
            and self.key_format in {None, variant.key_format}
            and self.allotment in {None, variant.allotment}
            and self.search in {None, variant.search}
            and self.sizing in {None, variant.sizing}
        )

    def picks(self) -> tuple[Way, ...]:
        """Where a request of a hash goes, by each ring that is another one; all are READY."""
        built = (build_for(self.localities, self.config, each) for each in self.candidates())
        return tuple(ring.pick for ring in dict.fromkeys(built))

    def ways(self, headers: Iterable[Mapping[str, str]]) -> frozenset[tuple[str, ...]]:
        """Return the endpoints that calls with these headers reach, for each way to build the ring.

        Raises:
            WrongKind: a call's hash would be random.
        """
        hashes = list[int]()
        for header in headers:
            value = _hash(tuple(header.items()), self.policies, self.terminal)
            if value is None:
                raise WrongKind(
                    f"a call with {dict(header)} has a random hash: it tells nothing apart"
                )
            hashes.append(value)
        built = (build_for(self.localities, self.config, each) for each in self.candidates())
        return frozenset(tuple(ring.pick(each, self.failed) for each in hashes) for ring in built)

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        endpoints = weights(self.localities, self.weights or "raw")
        size = sum(entry_counts(endpoints, self.config).values())
        wanted = (
            f"each call reaches the endpoint that owns its hash (computed ring: {size} entries)"
        )
        if self.failed:
            failed = " or ".join(self.failed)
            wanted += f"; if that is {failed}, which failed, the next other endpoint on the ring"
        reading = WEIGHTS[self.weights] if self.weights else "any reading of the weights"
        oracle = f"a ring of {size} entries built as A42 says, {reading}: " + ", ".join(
            f"{endpoint.address} (weight {endpoint.weight})" for endpoint in endpoints
        )
        if trouble := trouble_of(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble, oracle=oracle)
        observed = _observed(calls, self.policies, self.terminal)
        candidates = self.candidates()
        if way := self._explaining(observed, candidates):
            saw = f"all {len(calls)} calls so, with {way}"
            return Finding(holds=True, wanted=wanted, saw=saw, oracle=oracle)
        if self.by_arcs:
            return self._by_census(calls, observed, wanted)
        saw, wrong = self._difference(calls, observed, candidates)
        return Finding(holds=False, wanted=wanted, saw=saw, oracle=oracle, wrong=wrong)

    def is_timing_sensitive(self, seen: Observation, before: Ring | None = None) -> bool:
        """Return whether lateness can explain the calls.

        It can if calls failed, or if calls that succeeded show more than a wrong ring: they reached
        endpoints that are not on the ring, those of another priority or of an earlier list. If
        calls were repeated until they fit, it can if each call went to its endpoint on this ring or
        on the ring before.
        """
        return ends_of_time(seen) and (can_be_late(seen) or self._strays(seen, before))

    def _strays(self, seen: Observation, before: Ring | None) -> bool:
        calls = all_calls(seen)
        if not is_overdue(seen):
            on_ring = {end.address for place in self.localities for end in place.endpoints}
            return any(call.endpoint not in on_ring for call in calls)
        if before is None or self.by_arcs:  # where each call belongs is not known
            return True
        headers = [dict(call.metadata) for call in calls]
        if any(len(row) < len(call.metadata) for row, call in zip(headers, calls, strict=True)):
            return True  # a header is repeated, so the hash is not known here
        try:
            ways = itertools.product(self.ways(headers), before.ways(headers))
        except WrongKind:  # of before: its hashes were random
            return True
        return any(
            all(call.endpoint in pair for call, *pair in zip(calls, now, then, strict=True))
            for now, then in ways
        )

    def fits(self, seen: Observation) -> bool:
        """Return whether the finding would hold, without its text, which is slow to compute."""
        calls = calls_of(seen)
        if trouble_of(calls):
            return False
        observed = _observed(calls, self.policies, self.terminal)
        if self._explaining(observed, self.candidates()):
            return True
        return self.by_arcs and self.finding(seen).holds

    def key_formats(self, seen: Observation) -> frozenset[str]:
        """Return the known key formats that match."""
        calls = calls_of(seen)
        if trouble_of(calls):
            return frozenset()
        observed = _observed(calls, self.policies, self.terminal)
        ways = self.candidates()
        fitting = fit(observed, self.localities, self.config, ways, failed=self.failed)
        return frozenset(candidate.variant.key_format for candidate in fitting)

    def _explaining(
        self, observed: tuple[tuple[int, str], ...], candidates: Sequence[Candidate]
    ) -> str:
        """Return the first way of building the ring that explains all calls; building costs most.

        Unless an order is bound in which entries are dealt out, others than the known ones do, too.
        """
        ring = (self.localities, self.config)
        for candidate in candidates:
            if fit(observed, *ring, (candidate,), failed=self.failed):
                return named(candidate)
        is_open = self.allotment is None and not self.by_arcs
        for candidate in (
            each for each in candidates if is_open and each.variant.allotment == "list"
        ):
            if fits_otherwise(observed, *ring, candidate, failed=self.failed):
                return named(candidate, "in no known order")
        return ""

    def _difference(
        self,
        calls: tuple[Call, ...],
        observed: tuple[tuple[int, str], ...],
        candidates: tuple[Candidate, ...],
    ) -> tuple[str, float]:
        """Return how the calls differ from the expected ring, and the share of wrong calls."""
        lines = [_habit(observed)]
        if not candidates:
            lines.append("no known way of building the ring is allowed here")
            return ". ".join(filter(None, lines)), 1.0
        candidate, mapped, pattern = self._pattern(calls, observed, candidates)
        wrong = [call for call in mapped if not call.is_right]
        first = wrong[0]
        lines.append(
            f"{len(wrong)} of {len(mapped)} calls went elsewhere: "
            f"{described(first, self.policies)} reached {first.observed} instead of "
            f"{first.expected}"
        )
        notes = [f"{PATTERN}{pattern}" if pattern else ""]
        if candidate != candidates[0]:
            notes.append(
                f"{CLOSEST} ({len(mapped) - len(wrong)} of {len(mapped)} calls fit): "
                f"{named(candidate)}"
            )
        notes.append(met_twice(mapped, self.policies))
        text = ". ".join(filter(None, lines))
        return "\n".join(filter(None, (text, *notes))), len(wrong) / len(mapped)

    def _pattern(
        self,
        calls: tuple[Call, ...],
        observed: tuple[tuple[int, str], ...],
        candidates: tuple[Candidate, ...],
    ) -> tuple[Candidate, tuple[MappedCall, ...], str]:
        """Return the ring to compare with, the calls on it, and what the wrong calls share, if any.

        It is the ring by which a known wrong rule explains all calls; else the first one, unless
        another ring explains far more calls.
        """
        hashing = Hashing(policies=self.policies, terminal=self.terminal)
        tried: dict[tuple[MappedCall, ...], Candidate] = {}
        for candidate in candidates:
            ring = build_for(self.localities, self.config, candidate)
            mapped = self._mapped(calls, observed, ring)
            if tried.setdefault(mapped, candidate) != candidate:
                continue  # another way of building the ring that maps these calls alike
            rule = "" if self.failed else rule_of(mapped, ring, hashing, rings=len(candidates))
            if rule:
                return candidate, mapped, rule
        by_first, nearest = next(iter(tried)), min(tried, key=_count_wrong)
        if _count_wrong(by_first) < FAR_MORE * _count_wrong(nearest):
            nearest = by_first
        ring = build_for(self.localities, self.config, tried[nearest])
        return tried[nearest], nearest, trait_of(nearest, ring, hashing, self.failed)

    def _mapped(
        self, calls: tuple[Call, ...], observed: tuple[tuple[int, str], ...], ring: BuiltRing
    ) -> tuple[MappedCall, ...]:
        return tuple(
            MappedCall(
                call=call, hash=value, expected=ring.pick(value, self.failed), observed=where
            )
            for call, (value, where) in zip(calls, observed, strict=True)
        )

    def _by_census(
        self,
        calls: tuple[Call, ...],
        observed: tuple[tuple[int, str], ...],
        wanted: str,
    ) -> Finding:
        """Judge a client with a key format of its own by its arcs.

        Two statistics of the same calls share the chance of a false alarm. How often adjacent
        hashes reach different endpoints depends on the hash function and the ring size. How many
        reach each endpoint depends on the weights.
        """
        hashes = [value for value, _ in observed]
        placed = (
            MappedCall(call=call, hash=value, expected=where, observed=where)
            for call, (value, where) in zip(calls, observed, strict=True)
        )
        if saw := met_twice(placed, self.policies):
            return Finding(holds=False, wanted=wanted, saw=saw)
        taken = census(observed)
        if taken.values < FEWEST_FOR_CENSUS or self.failed:
            saw = f"by arcs alone nothing follows from {taken.values} different hashes"
            saw += " on a ring with failed endpoints" if self.failed else ": they are too few"
            return Finding(holds=True, wanted=wanted, saw=saw)
        bounds = bounds_of(self._dealt(), taken, hashes)
        changes, met = bounds.changes, bounds.met
        shares = counts_text(taken.met, "hash value")
        return Finding(
            bounds.hold(taken),
            f"{wanted}; by its arcs, as its key format is unknown: {changes.low} to "
            f"{changes.high} changes, and "
            + ", ".join(f"{at} ({it.low} to {it.high} hash values)" for at, it in met.items()),
            f"{taken.changes} changes among {taken.values} hashes in order; {shares}",
            f"the arcs of a ring as A42 says, and {BINOMIAL_BOUNDS}",
        )

    def _dealt(self) -> tuple[dict[str, int], ...]:
        """Return the number of entries of each address, by each accepted reading."""
        readings = get_args(WeightReading) if self.weights is None else (self.weights,)
        sizings = [each for each in get_args(Sizing) if self.sizing in {None, each}]
        listed = [weights(self.localities, reading) for reading in readings]
        ways = itertools.product(listed, sizings)
        rings = dict[frozenset[tuple[str, int]], dict[str, int]]()
        for endpoints, sizing in ways:
            for counts in dealings(endpoints, self.config, sizing):
                rings.setdefault(frozenset(counts.items()), counts)
        return tuple(rings.values())


FAR_MORE: Final = 2
"""A ring is called the nearest only if the first ring leaves this many times as many calls wrong:
every ring explains some wrong hashes by chance."""


def _count_wrong(mapped: Iterable[MappedCall]) -> int:
    return sum(not call.is_right for call in mapped)


def _habit(observed: Sequence[tuple[int, str]]) -> str:
    """By what calls went that no ring explains, where that is plain; else empty.

    Args:
        observed: request hash and endpoint of each call, in their order.
    """
    hashes = {value for value, _ in observed}
    places = [where for _, where in observed]
    turn = list(dict.fromkeys(places))
    if len(turn) == 1 and len(hashes) >= FEWEST_FOR_CENSUS:
        return f"all calls at {turn[0]}, whatever their hash"
    stretches = [{*places[i : i + len(turn)]} for i in range(len(places) - len(turn) + 1)]
    complete = sum(len(each) == len(turn) for each in stretches)
    # By chance, 20 calls or more alternate between two endpoints once in 10^5 runs. This text only
    # describes a client that has failed already.
    in_turn = len(stretches) >= FEWEST_FOR_CENSUS and complete > 0.95 * len(stretches)
    if in_turn and len(hashes) == len(places):
        return f"calls in turn, whatever their hash ({', '.join(turn)}, and again)"
    return ""


def _observed(
    calls: Iterable[Call], policies: tuple[HashPolicy, ...], terminal: TerminalReading
) -> tuple[tuple[int, str], ...]:
    """Request hash and endpoint of each call.

    Raises:
        WrongKind: a call's hash is random by these policies, so it maps to nothing.
    """
    rows = []
    for call in calls:
        value = _hash(call.metadata, policies, terminal)
        if value is None or call.endpoint is None:
            raise WrongKind(f"call {call.id} has no request hash to be mapped by a ring")
        rows.append((value, call.endpoint))
    return tuple(rows)


@functools.lru_cache(maxsize=4096)
def _hash(
    metadata: Metadata, policies: tuple[HashPolicy, ...], terminal: TerminalReading
) -> int | None:
    """Return the request hash; cached, because each candidate asks for it."""
    return request_hash(policies, metadata, terminal=terminal)
