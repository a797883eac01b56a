"""Expect each call where the ring maps its request hash."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, get_args

from conformance.judging.call_patterns import Hashing, MappedCall, rule_of, trait_of
from conformance.judging.expectations.finding import (
    BY_CHANCE,
    Finding,
    WrongKind,
    calls_of,
    counts_text,
    headers_of,
    trouble_of,
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
    HeaderPolicy,
    Metadata,
    TerminalReading,
    header_values,
    request_hash,
    rewrite,
)
from conformance.spec.oracles.ring.building import build_for, fit, fits_otherwise
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
        wanted = f"each call reaches the endpoint to which a ring of {size} entries maps its hash"
        if self.failed:
            wanted += f", or further along the ring past {' and '.join(self.failed)}"
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
        candidate, pattern = self._pattern(calls, observed, candidates)
        mapped = self._mapped(calls, observed, candidate)
        wrong = [call for call in mapped if not call.is_right]
        first = wrong[0]
        lines.append(
            f"{len(wrong)} of {len(mapped)} calls went elsewhere: "
            f"{_described(first, self.policies)} reached {first.observed} instead of "
            f"{first.expected}"
        )
        notes = [f"{PATTERN}{pattern}" if pattern else ""]
        if candidate != candidates[0]:
            notes.append(
                f"{CLOSEST} ({len(mapped) - len(wrong)} of {len(mapped)} calls fit): "
                f"{named(candidate)}"
            )
        notes.append(_met_twice(mapped, self.policies))
        text = ". ".join(filter(None, lines))
        return "\n".join(filter(None, (text, *notes))), len(wrong) / len(mapped)

    def _pattern(
        self,
        calls: tuple[Call, ...],
        observed: tuple[tuple[int, str], ...],
        candidates: tuple[Candidate, ...],
    ) -> tuple[Candidate, str]:
        """Return the ring to compare with, and what the wrong calls have in common, if anything.

        It is the ring by which a known wrong rule explains all calls; else the first one, unless
        another ring explains far more calls.
        """
        hashing = Hashing(policies=self.policies, terminal=self.terminal)
        rings: dict[tuple[str, ...], Candidate] = {}
        for candidate in candidates:
            ring = build_for(self.localities, self.config, candidate)
            mapped = self._mapped(calls, observed, candidate)
            if rings.setdefault(tuple(call.expected for call in mapped), candidate) != candidate:
                continue
            rule = "" if self.failed else rule_of(mapped, ring, hashing, rings=len(candidates))
            if rule:
                return candidate, rule
        wrong = {
            candidate: sum(pick != where for pick, (_, where) in zip(picks, observed, strict=True))
            for picks, candidate in rings.items()
        }
        nearest = min(wrong, key=wrong.__getitem__)
        if wrong[candidates[0]] < FAR_MORE * wrong[nearest]:
            nearest = candidates[0]
        ring = build_for(self.localities, self.config, nearest)
        mapped = self._mapped(calls, observed, nearest)
        return nearest, trait_of(mapped, ring, hashing, self.failed)

    def _mapped(
        self,
        calls: tuple[Call, ...],
        observed: tuple[tuple[int, str], ...],
        candidate: Candidate,
    ) -> tuple[MappedCall, ...]:
        ring = build_for(self.localities, self.config, candidate)
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
        if saw := _met_twice(placed, self.policies):
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
            f"the arcs of a ring as A42 says, and {BY_CHANCE}",
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

MET_TWICE: Final = "calls with one expected hash reached two endpoints"


def _met_twice(mapped: Iterable[MappedCall], policies: tuple[HashPolicy, ...]) -> str:
    """Describe calls of one hash at two endpoints, which no ring allows; empty if there are none.

    Calls with equal metadata come first: the client picks by more than the hash.
    """
    by_hash: dict[int, list[MappedCall]] = {}
    for call in mapped:
        by_hash.setdefault(call.hash, []).append(call)
    pairs = [
        (first, other)
        for first, *others in by_hash.values()
        for other in others
        if first.observed != other.observed
    ]
    equal = [(first, other) for first, other in pairs if first.call.metadata == other.call.metadata]
    for first, other in (*equal, *pairs):
        same = ", although their headers are equal" if equal else ""
        return (
            f"{MET_TWICE}: {_described(first, policies)} reached {first.observed}, "
            f"{_described(other, policies)} reached {other.observed}{same}"
        )
    return ""


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


def _described(mapped: MappedCall, policies: Iterable[HashPolicy]) -> str:
    """Name a call, with what it sent and the hash that the ring expects."""
    rewritten = _rewritten(mapped.call, policies)
    return (
        f"{mapped.call.id} ({headers_of(mapped.call)}{rewritten}, expected hash "
        f"{mapped.hash:#018x})"
    )


def _rewritten(call: Call, policies: Iterable[HashPolicy]) -> str:
    """Describe the rewritten header values that the client must hash."""
    pairs = (
        (value, rewrite(value, policy.regex, policy.substitution))
        for policy in policies
        if isinstance(policy, HeaderPolicy) and policy.regex is not None
        for value in header_values(call.metadata, policy.name, policy.several)
    )
    return "".join(
        f", must be rewritten to '{rewritten}'" for value, rewritten in pairs if value != rewritten
    )


def named(candidate: Candidate, order: str = "") -> str:
    """Describe a way of building the ring."""
    variant = candidate.variant
    return (
        f"entry keys {variant.key_format}; fractional entry counts rounded "
        f"{order or ORDERS[variant.allotment]}; {SEARCHES[variant.search]}; "
        f"{SIZES[variant.sizing]}; {WEIGHTS[candidate.weights]}"
    )


ORDERS: Final[dict[str, str]] = {
    "list": "in the order of the list",
    "localities": "in the order of the names of localities",
    "keys": "in the order of the keys",
    "buckets": "in the order of a Java hash table",
}
SEARCHES: Final[dict[str, str]] = {
    "wrap": "a hash beyond the last entry goes to the first",
    "signed": "hashes compare as signed numbers and beyond the last entry go to the last",
    "clamp": "a hash beyond the last entry goes to the last",
}
SIZES: Final[dict[str, str]] = {
    "at least": "the ring has at least the minimum size",
    "above": "the ring has more than the minimum size",
}
WEIGHTS: Final[dict[str, str]] = {
    "raw": "weights multiplied (A42)",
    "A113": "weights as fixed-point shares (A113)",
    "envoy": "weights as floating-point shares (Envoy)",
}


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
