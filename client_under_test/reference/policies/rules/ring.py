"""The ring (A42, Ring Construction): who stands on it, how large it is, where a hash belongs."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import xxhash

from client_under_test.reference.values import Endpoint


class Sizes(msgspec.Struct, frozen=True):
    """The smallest and the largest number of entries."""

    minimum: int
    maximum: int


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint as it stands on the ring: its identity, what is hashed for it, its weight."""

    identity: str
    key: str
    weight: int


class Ring(msgspec.Struct, frozen=True):
    """Entries in the order of their hashes; each belongs to the endpoint of that index."""

    hashes: tuple[int, ...]
    owners: tuple[int, ...]


# The endpoints on the ring.


def ring_endpoints(_before: Sequence[Endpoint], now: Sequence[Endpoint]) -> Sequence[Endpoint]:
    """After an update the endpoints are those that it lists, as it lists them.

    Clauses: A42-AGG-06, A42-AGG-13, A42-AGG-14, A42-PICK-23, A42-RING-15, A42-RING-16,
    A42-RING-17, A42-RING-18, A42-RING-19, A61-RING-01, A76-KEY-01, A76-KEY-03, A76-KEY-04,
    A76-KEY-05.
    """
    return now


def endpoint_identity(endpoint: Endpoint) -> str:
    """A42: a ring of single addresses, so an endpoint is its address."""
    return endpoint.addresses[0]


def endpoint_identity_a61(endpoint: Endpoint) -> str:
    """Identify an endpoint by the set of its addresses, whatever else is attached to it.

    Clauses: A42-SUB-14, A61-SUB-03, A52-WRR-03.
    """
    return " ".join(sorted(set(endpoint.addresses)))


def ring_key(endpoint: Endpoint) -> str:
    """Place an endpoint on the ring by its first address.

    Clauses: A42-RING-03, A61-RING-02, A61-RING-04.
    """
    return endpoint.addresses[0]


def ring_key_a76(endpoint: Endpoint) -> str:
    """By its hash_key, or by its first address if that is empty.

    Clauses: A61-RING-02, A61-RING-04, A76-KEY-01, A76-KEY-02, A76-KEY-03, A76-KEY-04, A76-KEY-06,
    A76-KEY-07.
    """
    return endpoint.hash_key or endpoint.addresses[0]


def standings(endpoints: Sequence[Endpoint], rules: RingRules) -> tuple[Standing, ...]:
    """Each endpoint once, with the sum of its weights. A61-RING-01: not per address.

    An endpoint without any weight has no place (A42-LOC-09, our choice).

    Clauses: A42-RING-20.
    """
    weights: dict[str, int] = {}
    keys: dict[str, str] = {}
    for endpoint in endpoints:
        identity = rules.endpoint_identity(endpoint)
        weights[identity] = rules.repeated_weight(weights.get(identity, 0), endpoint.weight)
        keys.setdefault(identity, rules.ring_key(endpoint))
    standing = (
        Standing(identity=identity, key=keys[identity], weight=weight)
        for identity, weight in weights.items()
        if weight > 0
    )
    return rules.endpoints_with_entries(tuple(standing))


def endpoints_with_entries(standing: tuple[Standing, ...]) -> tuple[Standing, ...]:
    """Entries are dealt out in the order of the list, to each as it is (our choice: A42-RING-10).

    Clauses: A42-RING-06, A42-RING-09, A42-RING-10, A42-RING-11, A42-RING-15, A42-RING-16,
    A42-RING-17.
    """
    return standing


def repeated_weight(before: int, weight: int) -> int:
    """A42-RING-20: an address that is listed twice counts with the sum of its weights."""
    return before + weight


# How large it is.


def capped_sizes(sizes: Sizes, cap: int) -> Sizes:
    """Limit the minimum and the maximum to the local cap.

    Clauses: A42-CDS-24, A42-CONF-01, A42-CONF-02, A42-CONF-03, A42-CONF-04, A42-CONF-05,
    A42-CONF-06.
    """
    return Sizes(min(sizes.minimum, cap), min(sizes.maximum, cap))


def entries_for(weights: Sequence[int], sizes: Sizes) -> float:
    """How many entries all endpoints together are due.

    The least size from the minimum on that gives the lightest endpoint whole entries, or else the
    maximum. A fraction, since the others need not come out even.

    Clauses: A42-RING-05, A42-RING-06, A42-RING-07, A42-RING-08, A42-RING-11.
    """
    lightest = min(weights) / sum(weights)
    return min(math.ceil(lightest * sizes.minimum) / lightest, float(sizes.maximum))


# Where its entries are.


def entry_hash(key: str, number: int) -> int:
    """XXH64 with seed 0 of the key, an underscore, a running number.

    Clauses: A42-RING-02, A42-RING-03, A42-RING-04, A42-RING-18.
    """
    return xxhash.xxh64_intdigest(f"{key}_{number}".encode(), seed=0)


def entry_number(own: int, _all: int) -> int:
    """Return an entry's number among the entries of its endpoint, not on the whole ring.

    Clauses: A42-RING-16, A42-RING-17.
    """
    return own


def sort_entries(entries: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """A42-RING-01: sort entries, each a hash and the index of its endpoint."""
    return sorted(entries)


def build(standing: Sequence[Standing], sizes: Sizes, rules: RingRules) -> Ring:
    """Deal out entries by weight in the order of the list; sort.

    Places depend on nothing but the key and the number, so others stay when one comes or goes.

    Clauses: A42-RING-01, A42-RING-09, A42-RING-10, A42-RING-11, A42-RING-15, A42-RING-16,
    A42-RING-17.
    """
    if not standing:
        return Ring((), ())
    weights = [endpoint.weight for endpoint in standing]
    entries = rules.entries_for(weights, sizes)
    total = sum(weights)
    placed: list[tuple[int, int]] = []
    numbers: dict[str, int] = {}  # A76-KEY-05: two endpoints of one key go on counting.
    due = 0.0
    for owner, endpoint in enumerate(standing):
        due += entries * (endpoint.weight / total)
        while len(placed) < due:
            own = numbers.get(endpoint.key, 0)
            numbers[endpoint.key] = own + 1
            number = rules.entry_number(own, len(placed))
            placed.append((rules.entry_hash(endpoint.key, number), owner))
    placed = rules.sort_entries(placed)
    return Ring(tuple(place for place, _ in placed), tuple(owner for _, owner in placed))


# Where a hash belongs.


def find_entry(hashes: Sequence[int], request_hash: int) -> int:
    """Return the first entry at or after the hash, wrapping around.

    Clauses: A42-PICK-01, A42-PICK-23, A42-RING-12, A42-RING-13, A42-RING-14.
    """
    return bisect.bisect_left(hashes, request_hash) % len(hashes)


def endpoints_along_ring(owners: Sequence[int], start: int) -> Iterator[int]:
    """Whom a request meets from an entry on: in ring order, past the end and once around.

    Clauses: A42-PICK-01, A42-PICK-08, A42-PICK-09, A42-PICK-21, A42-SUB-02; A42-LOC-02, since who
    comes next is who would be first if the endpoint were not there.
    """
    seen = set()
    for offset in range(len(owners)):
        owner = owners[(start + offset) % len(owners)]
        if owner not in seen:
            seen.add(owner)
            yield owner


def ring_order(ring: Ring, standing: Sequence[Standing]) -> tuple[str, ...]:
    """List the identities by their first entries; those without an entry come last."""
    owners = dict.fromkeys((*ring.owners, *range(len(standing))))
    return tuple(standing[owner].identity for owner in owners)


@dataclass(frozen=True, kw_only=True)
class RingRules:
    """How a ring is made and searched (A42, Ring Construction)."""

    ring_endpoints: Callable[[Sequence[Endpoint], Sequence[Endpoint]], Sequence[Endpoint]] = (
        ring_endpoints
    )
    endpoint_identity: Callable[[Endpoint], str] = endpoint_identity
    ring_key: Callable[[Endpoint], str] = ring_key
    repeated_weight: Callable[[int, int], int] = repeated_weight
    endpoints_with_entries: Callable[[tuple[Standing, ...]], tuple[Standing, ...]] = (
        endpoints_with_entries
    )
    capped_sizes: Callable[[Sizes, int], Sizes] = capped_sizes
    entries_for: Callable[[Sequence[int], Sizes], float] = entries_for
    entry_number: Callable[[int, int], int] = entry_number
    entry_hash: Callable[[str, int], int] = entry_hash
    sort_entries: Callable[[Iterable[tuple[int, int]]], list[tuple[int, int]]] = sort_entries
    find_entry: Callable[[Sequence[int], int], int] = find_entry
    endpoints_along_ring: Callable[[Sequence[int], int], Iterable[int]] = endpoints_along_ring
