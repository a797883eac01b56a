"""The ring of a check: who owns what of it, and where each call fell and went. Pure."""

from __future__ import annotations

import itertools
from collections import Counter

import msgspec

from conformance.judging.expectations import MatchesRing
from conformance.judging.expectations.finding import headers_of
from conformance.judging.expectations.ring_descriptions import named
from conformance.judging.expectations.ring_mapping import FAR_MORE
from conformance.judging.observations import Call, Calls, Observation
from conformance.spec.oracles.request_hash import request_hash
from conformance.spec.oracles.ring.building import build_for
from conformance.spec.oracles.ring.search import SPACE, Ring
from conformance.spec.oracles.ring.sizes import entry_counts
from conformance.spec.oracles.ring.variants import Candidate
from conformance.spec.oracles.ring.weights import weights

SLOTS = 720
"""Places of the circle, each with the owner of its middle: more than an eye tells apart."""

LARGEST = 65_536
"""Entries of a ring that is drawn; of a larger one it is said that it is too large."""

TOLD = 40
"""The number of calls that are listed, and of further calls that went elsewhere."""

FEW_ENTRIES = 48
"""Entries of a ring of which all are listed; of a larger one those near wrong calls."""

NEAR = 12
"""Wrong calls whose neighborhood on a larger ring is listed."""

WAYS = 32
"""Ways of building a ring that are tried; of a client whose keys are known there are fewer."""


class Arc(msgspec.Struct, frozen=True, kw_only=True):
    """Slots of the circle, side by side, of one owner."""

    first: int
    after: int
    owner: int


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint of the ring, in numbers."""

    address: str
    entries: int
    share: float
    """The part of all hashes that it owns."""
    due: int
    """Calls that fell to it."""
    went: int
    """Calls that reached it."""


class Fallen(msgspec.Struct, frozen=True, kw_only=True):
    """A call on the ring."""

    call: str
    sent: str
    """Its metadata, in words."""
    hash: int
    due: str
    went: str

    @property
    def is_right(self) -> bool:
        """Return whether the call reached the endpoint that owns its hash."""
        return self.due == self.went

    @property
    def turn(self) -> float:
        """Where on the circle its hash is, from 0 to 1."""
        return self.hash / SPACE


class RingEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the ring."""

    number: int
    """Its position in ring order, from 1."""
    hash: int
    key: str
    """The text that was hashed."""
    owner: str
    wrong: tuple[Fallen, ...] = ()
    """Calls whose hash belongs to it, but which went elsewhere."""


class RingPicture(msgspec.Struct, frozen=True, kw_only=True):
    """A ring, and calls on it."""

    built: str
    """By which known way, in words."""
    size: int
    owners: tuple[Owner, ...]
    strangers: tuple[str, ...]
    """Where calls went that is not on the ring."""
    arcs: tuple[Arc, ...]
    calls: tuple[Fallen, ...]
    failed: tuple[str, ...]
    entries: tuple[RingEntry, ...] = ()
    """In ring order: all of a small ring, else those before, at and after wrong calls."""

    @property
    def wrong(self) -> tuple[Fallen, ...]:
        """The calls that went elsewhere."""
        return tuple(call for call in self.calls if not call.is_right)

    @property
    def listed(self) -> tuple[Fallen, ...]:
        """The first calls, and of the others some that went elsewhere."""
        others = (call for call in self.calls[TOLD:] if not call.is_right)
        return (*self.calls[:TOLD], *itertools.islice(others, TOLD))


def ring_picture(expected: MatchesRing, seen: Observation) -> RingPicture | str | None:
    """Return the ring by which calls were judged.

    Returns:
        The nearest of the known ways of building it; why there is no picture; or None, where
        calls are not what was seen.
    """
    if not isinstance(seen, Calls):
        return None
    hashed = _hashed(expected, seen)
    if not hashed:
        return "no call with a hash was served, so there is nothing to be put on a ring"
    size = sum(entry_counts(weights(expected.localities, "raw"), expected.config).values())
    if size > LARGEST:
        return f"a ring of {size} entries is too large to be drawn"
    tried: list[tuple[int, Candidate, Ring]] = []
    for candidate in expected.candidates()[:WAYS]:
        ring = build_for(expected.localities, expected.config, candidate)
        wrong = sum(ring.pick(value, expected.failed) != call.endpoint for call, value in hashed)
        tried.append((wrong, candidate, ring))
        if not wrong:
            break
    if not tried:
        return "no known way of building the ring would do"
    first, nearest = tried[0], min(tried, key=lambda each: each[0])
    # Another ring explains one or two of the wrong calls by chance.
    count, candidate, ring = first if first[0] < FAR_MORE * nearest[0] else nearest
    others = ""
    if nearest[0] < count:
        fits = f"{len(hashed) - nearest[0]} of {len(hashed)} calls, not {len(hashed) - count}"
        others = f". Another known ring fits {fits}: {named(nearest[1])}"
    calls = tuple(
        Fallen(
            call=call.id,
            sent=headers_of(call),
            hash=value,
            due=ring.pick(value, expected.failed),
            went=call.endpoint or "",
        )
        for call, value in hashed
    )
    return RingPicture(
        built=named(candidate) + others,
        size=len(ring),
        owners=_owners(ring, calls),
        strangers=tuple(sorted({call.went for call in calls} - {*ring.addresses})),
        arcs=arcs_of(ring),
        calls=calls,
        failed=expected.failed,
        entries=_entries(ring, calls),
    )


def _hashed(expected: MatchesRing, seen: Calls) -> list[tuple[Call, int]]:
    found = []
    for call in seen:
        value = request_hash(expected.policies, call.metadata, terminal=expected.terminal)
        if value is not None and call.endpoint is not None:
            found.append((call, value))
    return found


def _owners(ring: Ring, calls: tuple[Fallen, ...]) -> tuple[Owner, ...]:
    entries, shares = ring.counts(), ring.shares()
    due, went = Counter(call.due for call in calls), Counter(call.went for call in calls)
    return tuple(
        Owner(
            address=address,
            entries=entries[address],
            share=float(shares[address]),
            due=due[address],
            went=went[address],
        )
        for address in ring.addresses
    )


def _entries(ring: Ring, calls: tuple[Fallen, ...]) -> tuple[RingEntry, ...]:
    """Return all entries of a small ring; of a larger one those around wrong calls."""
    wrong: dict[int, list[Fallen]] = {}
    for call in calls:
        if not call.is_right:
            wrong.setdefault(ring.index(call.hash), []).append(call)
    size = len(ring)
    near = {(at + step) % size for at in [*wrong][:NEAR] for step in (-1, 0, 1)}
    return tuple(
        RingEntry(
            number=at + 1,
            hash=(ring.positions[at] - ring.shift) % SPACE,
            key=ring.keys[at],
            owner=ring.addresses[ring.owners[at]],
            wrong=tuple(sorted(wrong.get(at, ()), key=lambda call: call.hash)),
        )
        for at in (range(size) if size <= FEW_ENTRIES else sorted(near))
    )


def arcs_of(ring: Ring) -> tuple[Arc, ...]:
    """Return the circle's slots, with adjacent slots of one owner merged."""
    arcs: list[Arc] = []
    for slot in range(SLOTS):
        owner = ring.owners[ring.index((2 * slot + 1) * SPACE // (2 * SLOTS))]
        if arcs and arcs[-1].owner == owner:
            arcs[-1] = msgspec.structs.replace(arcs[-1], after=slot + 1)
        else:
            arcs.append(Arc(first=slot, after=slot + 1, owner=owner))
    return tuple(arcs)
