"""Expect the status of calls and the endpoints that they reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from conformance.judging.expectations.finding import (
    BINOMIAL_BOUNDS,
    Finding,
    WrongKind,
    all_failed,
    calls_of,
    details_text,
    headers_of,
    spread,
    statuses_text,
    tally,
    trouble_of,
)
from conformance.judging.expectations.timing_sensitivity import CallsCanBeLate, OutcomesCanBeLate
from conformance.judging.observations import Call, Contrast, Observation
from conformance.spec.oracles import statistics
from conformance.spec.oracles.census import met_intervals
from conformance.spec.oracles.ring.sizes import RingConfig, entry_counts
from conformance.spec.oracles.ring.weights import RingLocality, weights


class EndsWith(OutcomesCanBeLate, frozen=True, tag="outcome"):
    """Every call ends with this status.

    Clauses: A27-DROP-02, A27-DROP-09, A27-DROP-11, A27-DROP-13, A37-DROP-01, A37-DROP-02,
    A37-DROP-04, A37-DROP-05, A32-CB-02, A32-CB-07, A32-CB-14, A32-CB-26, A42-CDS-20, A42-CDS-26,
    A42-CDS-32, A42-HDR-17, A52-CHANGE-02, A42-PICK-24, A42-PRO-09, A56-TIMER-03, A37-TREE-18,
    A37-TREE-31, A37-TREE-34, A37-TREE-38, A37-TROUBLE-34, A37-TROUBLE-36, A56-TIMER-04,
    A57-STREAM-01, A74-CONFIG-01, A76-REQ-07, A37-DNS-12, A28-TARGET-01.
    """

    status: str

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        statuses = {call.status for call in calls}
        wanted = f"every call ends {self.status}"
        return Finding(statuses == {self.status}, wanted, statuses_text(calls))


class Fails(OutcomesCanBeLate, frozen=True, tag="fails"):
    """No call succeeds or reaches a backend, and each call ends before its deadline.

    Clauses: A27-DROP-03, A32-CB-02, A32-CB-07, A37-TREE-17, A37-TREE-21, A37-TREE-38, A37-DNS-08,
    A37-DNS-09, A37-DNS-16, A37-DNS-20, A37-DNS-21, A37-DNS-22, A37-DNS-27, A37-TROUBLE-15,
    A37-TROUBLE-34, A57-STREAM-02.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        statuses = {call.status for call in calls}
        failed = bool(calls) and not statuses & {"OK", "DEADLINE_EXCEEDED"}
        nowhere = all(call.endpoint is None for call in calls)
        return Finding(failed and nowhere, "every call fails, without a wait", tally(calls))


class ErrorMentions(OutcomesCanBeLate, frozen=True, tag="mentions"):
    """Every call fails, and the details of each have this text in them; or those of none.

    Clauses: A37-DNS-28.
    """

    text: str
    is_told: bool = True

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        holds = all((self.text in call.details) is self.is_told for call in calls)
        whether = "with" if self.is_told else "without"
        wanted = f"every call fails, {whether} {self.text}"
        return Finding(all_failed(calls) and holds, wanted, details_text(calls))


class RoundsEndWith(OutcomesCanBeLate, frozen=True, tag="outcomes"):
    """Every call of the first round ends with one status, every call of the second with another.

    Clauses: A61-GUARD-01.
    """

    before: str
    after: str

    def finding(self, seen: Observation) -> Finding:
        """Weigh a contrast."""
        if not isinstance(seen, Contrast):
            raise WrongKind(f"a contrast is expected here, not {type(seen).__name__}")
        first = EndsWith(self.before).finding(seen.before)
        second = EndsWith(self.after).finding(seen.after)
        return Finding(
            first.holds and second.holds,
            f"first {first.wanted}, then {second.wanted}",
            f"first {first.saw}, then {second.saw}",
        )


class Grouped(CallsCanBeLate, frozen=True):
    """How calls are put into groups, each looked at alone: by channel, by a header, or not."""

    each_channel: bool = False
    each_value_of: str = ""

    def groups(self, calls: Iterable[Call]) -> list[list[Call]]:
        """Return the groups of calls."""
        found: dict[tuple[str, ...], list[Call]] = {}
        for call in calls:
            values = (value for key, value in call.metadata if key == self.each_value_of)
            channel = call.channel if self.each_channel else ""
            found.setdefault((channel, *values), []).append(call)
        return list(found.values())

    def in_words(self) -> str:
        """Return the end of a sentence about the calls of a group."""
        words = " of one channel" if self.each_channel else ""
        return words + (f" with one value of {self.each_value_of}" if self.each_value_of else "")


class OneEndpoint(Grouped, frozen=True, tag="one_endpoint"):
    """All calls of a group reach the same endpoint.

    Clauses: A42-CDS-01, A42-CDS-26, A42-CHAN-01, A42-CHAN-04, A42-HASH-13, A42-HASH-14,
    A42-HASH-15, A42-HASH-16, A61-DNS-01, A75-LEAF-04, A76-KEY-05,
    A37-DNS-04.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        wanted = f"all calls{self.in_words()} at one and the same endpoint"
        if trouble := trouble_of(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        split = [group for group in self.groups(calls) if len({c.endpoint for c in group}) > 1]
        return Finding(not split, wanted, spread(split[0] if split else calls))


class SeveralEndpoints(Grouped, frozen=True, tag="several_endpoints"):
    """The calls of a group do not all reach the same endpoint.

    The scenario sends enough calls that a conforming client does not do so by chance: see
    ``statistics.all_same_chance``.

    Clauses: A42-CHAN-02, A42-HASH-05, A42-HASH-10.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        wanted = f"calls{self.in_words()} at more than one endpoint"
        if trouble := trouble_of(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        groups = self.groups(calls)
        stuck = [group for group in groups if len({call.endpoint for call in group}) == 1]
        saw = tally(calls)
        if stuck:
            same = headers_of(stuck[0][0])
            saw = f"{len(stuck)} of {len(groups)} groups at one endpoint each, as {same}: "
            saw += tally(stuck[0])
        return Finding(not stuck, wanted, saw)


class ChannelsDiffer(CallsCanBeLate, frozen=True, tag="few_alike"):
    """No more channels than these send calls to the same endpoints throughout.

    Channels of a right client whose ids are near each other may do so, as where they are combined
    with another hash by exclusive or: the scenario says how likely that is.

    Clauses: A42-CHAN-05.
    """

    by: str
    """The header by whose values the calls are compared."""
    most: int

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        wanted = f"at most {self.most} channels at the same endpoint for each value of {self.by}"
        if trouble := trouble_of(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        met: dict[str, dict[tuple[str, ...], str | None]] = {}
        for call in calls:
            values = tuple(value for key, value in call.metadata if key == self.by)
            met.setdefault(call.channel, {})[values] = call.endpoint
        alike: dict[frozenset[object], list[str]] = {}
        for channel, where in met.items():
            alike.setdefault(frozenset(where.items()), []).append(channel)
        most = max(alike.values(), key=len)
        saw = f"{len(most)} of {len(met)} channels alike: {', '.join(most)}"
        return Finding(len(most) <= self.most, wanted, saw)


class NoneServedBy(CallsCanBeLate, frozen=True, tag="avoids"):
    """Every call succeeds, and none at these endpoints.

    Clauses: A42-RING-16.
    """

    addresses: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        wanted = f"no call at {', '.join(self.addresses)}"
        if trouble := trouble_of(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        met = {call.endpoint for call in calls}
        return Finding(not met & set(self.addresses), wanted, tally(calls))


class AllServedBy(OutcomesCanBeLate, frozen=True, tag="only_at"):
    """Every call succeeds, at one of these endpoints.

    Clauses: A27-PRIO-01, A27-PRIO-02, A27-PRIO-03, A27-PRIO-04, A27-PRIO-05, A27-PRIO-06,
    A27-PRIO-07, A27-PRIO-08, A27-PRIO-09, A27-DROP-04, A37-VALID-28, A37-VALID-29, A42-FAIL-01,
    A42-FAIL-02, A42-FAIL-08, A42-FAIL-09, A42-FAIL-11, A42-FAIL-12, A42-FAIL-13, A42-PICK-06,
    A42-SUB-08, A42-SUB-10, A42-SUB-11, A46-NACK-03, A56-TIMER-05, A61-SUB-01, A75-LEAF-02,
    A75-LEAF-03, A75-LEAF-05, A76-REQ-04, A37-DNS-09, A37-DNS-10, A37-DNS-15, A37-DNS-17,
    A37-DNS-24, A27-PRIO-12, A37-DNS-25, A52-CUSTOM-09, A52-CUSTOM-10, A52-CUSTOM-14, A52-WRR-04,
    A52-WRR-06, A28-TARGET-01, A62-TARGET-02, A62-RETRY-01, A27-ADS-01, A27-PRIO-10, A37-DNS-29,
    A37-DNS-02, A52-CUSTOM-15, A37-FAILOVER-13.
    """

    addresses: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        wanted = f"every call served by {' or '.join(self.addresses)}"
        if trouble := trouble_of(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        met = {call.endpoint for call in calls}
        return Finding(met <= set(self.addresses), wanted, tally(calls))


class EachServesSome(CallsCanBeLate, frozen=True, tag="reaches"):
    """Every call succeeds, and each of these endpoints gets one at least.

    Clauses: A32-CB-09, A27-WEIGHT-02, A27-HEALTH-01, A42-RING-17.
    """

    addresses: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        wanted = f"calls at each of {', '.join(self.addresses)}"
        if trouble := trouble_of(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        met = {call.endpoint for call in calls}
        return Finding(met >= set(self.addresses), wanted, tally(calls))


class Proportions(CallsCanBeLate, frozen=True, tag="shares"):
    """The calls are spread at random with these shares, by address: numerator and denominator.

    A rotation with the same shares stays nearer to them than chance does, so it fits as well: see
    ``statistics.intervals``.

    Clauses: A27-WEIGHT-02, A27-WEIGHT-03, A27-WEIGHT-04, A27-WEIGHT-05, A27-HEALTH-01,
    A37-FAILOVER-09, A42-LOC-06, A52-WRR-01, A52-WRR-02, A52-WRR-04, A52-WRR-07, A52-WRR-08,
    A48-LEAST-01, A48-LEAST-02, A48-LEAST-03, A48-LEAST-04, A48-LEAST-06, A28-SPLIT-01.
    """

    shares: dict[str, tuple[int, int]]
    rest: tuple[str, ...] = ()
    """Endpoints that all other calls may reach, however they are divided among them."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        exact = {where: Fraction(*share) for where, share in self.shares.items()}
        bounds = statistics.intervals(len(calls), exact)
        wanted = ", ".join(f"{w} ({b.low} to {b.high} calls)" for w, b in bounds.items())
        if self.rest:
            wanted += f", and all others at {', '.join(self.rest)}"
        if trouble := trouble_of(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        counts = Counter(call.endpoint or "" for call in calls)
        inside = all(counts[where] in bound for where, bound in bounds.items())
        holds = inside and set(counts) <= {*bounds, *self.rest}
        return Finding(holds, wanted, tally(calls), BINOMIAL_BOUNDS)


class MinimumShare(CallsCanBeLate, frozen=True, tag="least_share"):
    """At least this share of the calls reaches this endpoint: numerator and denominator.

    The bound is computed by ``statistics.interval``.

    Clauses: A58-LOAD-01, A58-WRR-07.
    """

    address: str
    share: tuple[int, int]

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        least = statistics.interval(len(calls), Fraction(*self.share)).low
        wanted = f"{self.address}: {least} or more"
        if trouble := trouble_of(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        count = sum(call.endpoint == self.address for call in calls)
        return Finding(count >= least, wanted, tally(calls), BINOMIAL_BOUNDS)


class EqualShares(OutcomesCanBeLate, frozen=True, tag="evenly"):
    """The calls go round these endpoints: no two counts differ by more than one (round_robin).

    Clauses: A42-CDS-02, A42-CDS-23, A42-HASH-19, A52-CHANGE-03, A52-CUSTOM-13, A52-LIST-14,
    A52-ROUND-01, A52-ROUND-02, A52-WRR-05.
    """

    addresses: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        wanted = f"the same number of calls, give or take one, at each of {len(self.addresses)}"
        if trouble := trouble_of(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        counts = Counter(dict.fromkeys(self.addresses, 0))
        counts.update(call.endpoint or "" for call in calls)
        level = max(counts.values()) - min(counts.values()) <= 1
        return Finding(level and set(counts) == set(self.addresses), wanted, tally(calls))


class OnlyTheseMoved(CallsCanBeLate, frozen=True, tag="moves_only"):
    """Between two rounds of the same requests, only those from or to these endpoints moved.

    Clauses: A42-LOC-02, A42-RING-15, A42-RING-16, A42-RING-17.
    """

    addresses: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh a contrast."""
        if not isinstance(seen, Contrast):
            raise WrongKind(f"a contrast is expected here, not {type(seen).__name__}")
        which = ", ".join(self.addresses)
        wanted = f"no request moves except from or to {which}" if which else "no request moves"
        if trouble := trouble_of((*seen.before, *seen.after)):
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
                f"{headers_of(new)} from {old.endpoint} to {new.endpoint}"
            )
        return Finding(not wrong, wanted, saw)


class RandomOverRing(CallsCanBeLate, frozen=True, tag="spread"):
    """The calls are spread as independent uniform hashes over a ring of these endpoints.

    Needs no knowledge of where the client places entries: see ``census.met_intervals``.

    Clauses: A42-CHAN-03, A42-HASH-12, A76-REQ-03.
    """

    localities: tuple[RingLocality, ...]
    config: RingConfig

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        entries = entry_counts(weights(self.localities, "raw"), self.config)
        bounds = met_intervals(entries, len(calls))
        wanted = "random hashes, so " + ", ".join(
            f"{address} ({bound.low} to {bound.high} calls)" for address, bound in bounds.items()
        )
        oracle = f"each endpoint's entries on the ring, and {BINOMIAL_BOUNDS}"
        if trouble := trouble_of(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble, oracle=oracle)
        counts = Counter(call.endpoint or "" for call in calls)
        inside = all(counts[where] in bound for where, bound in bounds.items())
        return Finding(inside and set(counts) <= set(bounds), wanted, tally(calls), oracle)


class AllEndpointsServe(CallsCanBeLate, frozen=True, tag="everywhere"):
    """The calls reach every endpoint, as those with random hashes do if there are enough.

    How many each gets at least is computed by ``census.met_intervals``.

    Clauses: A42-HASH-09, A42-HASH-11.
    """

    localities: tuple[RingLocality, ...]
    config: RingConfig

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls.

        Raises:
            WrongKind: a right client may miss an endpoint with so few calls.
        """
        calls = calls_of(seen)
        entries = entry_counts(weights(self.localities, "raw"), self.config)
        bounds = met_intervals(entries, len(calls))
        wanted = "calls at every endpoint: " + ", ".join(entries)
        if trouble := trouble_of(calls):
            return Finding(holds=False, wanted=wanted, saw=trouble)
        if any(bound.low < 1 for bound in bounds.values()):
            raise WrongKind(f"{len(calls)} calls are too few to reach every endpoint for sure")
        met = {call.endpoint for call in calls}
        return Finding(met == set(entries), wanted, tally(calls))
