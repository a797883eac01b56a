"""Find header values whose hashes fall on chosen places of a ring.

Places: on an entry (A42-RING-12), before endpoints in a given order (A42-PICK-08), or where a ring
of another size (A42-RING-05, A42-RING-06, A42-RING-07, A42-RING-08, A42-RING-09) has another owner.
"""

import functools
import itertools
import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.building import assembled, counted
from conformance.spec.oracles.ring.keys import KeyFormat
from conformance.spec.oracles.ring.search import Ring
from conformance.spec.oracles.ring.sizes import RingConfig
from conformance.spec.oracles.ring.variants import RingVariant
from conformance.spec.oracles.ring.weights import RingLocality, weights


class NoSuchValueError(LookupError):
    """The search found no header value, or no weight, with the wanted property."""


def value_hitting(ring: Ring, address: str) -> str:
    """Return a header value that hashes onto an entry of the endpoint: a key of the ring.

    Raises:
        NoSuchValueError: the endpoint has no entry, or its entries' hashes belong to others.
    """
    for index, key in enumerate(ring.keys):
        value = xxh64(key)
        if ring.addresses[ring.owners[index]] == address and ring.pick(value) == address:
            return key
    raise NoSuchValueError(f"No entry of this ring of {len(ring)} belongs to {address}.")


def value_preferring(ring: Ring, *order: str, rng: random.Random, tries: int = 1_000_000) -> str:
    """Return a header value whose ring order starts with these addresses, in this order.

    Args:
        ring: a ring of 1,024 entries or more has nearly every order of three.
        order: one or more different addresses.
        rng: source of candidates.
        tries: number of candidates to try, at about 1 µs each.

    Raises:
        NoSuchValueError: no arc of this ring has that order, or no candidate hit such an arc.
    """
    starts = _preferring(ring, order)
    if not starts:
        raise NoSuchValueError(
            f"No hash on this ring of {len(ring)} entries reaches {', '.join(order)} first; "
            "use a larger ring."
        )
    prefix = f"{rng.getrandbits(64):016x}-"
    for number in range(tries):
        value = f"{prefix}{number}"
        if ring.index(xxh64(value)) in starts:
            return value
    raise NoSuchValueError(
        f"None of {tries} values reaches {', '.join(order)} first, though {len(starts)} of "
        f"{len(ring)} arcs do; try more."
    )


def values_telling_sizes(
    localities: Sequence[RingLocality],
    config: RingConfig,
    values: tuple[str, ...],
    key_format: KeyFormat = "{address}_{i}",
) -> tuple[str, ...]:
    """Return header values that expose a ring with one entry too many or too few.

    Such an entry changes the owner of one arc. A value exposes the ring if its hash lies in that
    arc. No value does if the new owner is the same endpoint, or if the arc is too narrow to contain
    the hash of a candidate. The function then tries a ring with two entries more, and so on: a
    ring with still more entries has those entries as well.

    Args:
        localities: the localities of the ring's priority.
        config: the ring's sizes.
        values: candidates; about 20 of 20,000 lie in an arc of a ring of 1,024 entries.
        key_format: the format of the entries' keys.

    Returns:
        For each endpoint, the first value that exposes more entries and the first that exposes
        fewer, as far as there are such values.
    """
    entries, together = counted(weights(localities, "raw"), config, RingVariant(key_format))
    right = assembled(entries, "wrap", numbered_together=together)
    by_hash = _by_hash(values)
    telling: dict[str, None] = {}
    for rings in _rings_beside(entries, numbered_together=together):
        told = (_telling(right, other, by_hash) for other in rings)
        if value := next(filter(None, told), None):
            telling[value] = None
    return tuple(telling)


def _telling(right: Ring, other: Ring, by_hash: list[tuple[int, str]]) -> str | None:
    """Return a value with different owners on the rings, in an arc that only one ring has."""
    positions = sorted({*right.positions, *other.positions})
    for end in sorted({*right.positions} ^ {*other.positions}):
        index = bisect_left(positions, end)
        start = positions[index - 1] if index else -1
        first = bisect_left(by_hash, (start + 1, ""))
        found = by_hash[first : first + 1]
        if found and found[0][0] <= end and right.pick(end) != other.pick(end):
            return found[0][1]
    return None


@functools.lru_cache(maxsize=1)
def _by_hash(values: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return pairs of hash and value, sorted by hash."""
    return sorted((xxh64(value), value) for value in values)


FURTHER: Final = 8
"""The largest difference in entries to try before giving up on an endpoint."""


def _rings_beside(
    entries: tuple[tuple[str, str, int], ...], *, numbered_together: bool
) -> Iterator[Iterator[Ring]]:
    """Yield, for each endpoint and sign, the rings where it has one entry more (fewer), then two.

    A ring with many more entries includes the entries of a ring with two more. So a value that
    exposes the ring with two more exposes most larger rings, even if no value exposes one more.
    """

    def beside(index: int, change: int) -> Ring | None:
        address, name, count = entries[index]
        changed = (*entries[:index], (address, name, count + change), *entries[index + 1 :])
        if count + change < 0 or not any(count for _, _, count in changed):
            return None
        return assembled.__wrapped__(changed, "wrap", numbered_together=numbered_together)

    for index in range(len(entries)):
        for sign in (-1, 1):
            rings = (beside(index, sign * further) for further in range(1, FURTHER + 1))
            yield (ring for ring in rings if ring is not None)


@functools.lru_cache(maxsize=16)
def _preferring(ring: Ring, order: tuple[str, ...]) -> frozenset[int]:
    """Return the indices of entries whose ring order starts with these addresses."""
    wanted = [ring.addresses.index(address) for address in order]
    # Going backwards, the entry of each endpoint seen last is the next one in ring order. Start
    # with the ring order from the first entry.
    recent = dict.fromkeys(reversed(dict.fromkeys(ring.owners)))
    starts: set[int] = set()
    for step in range(len(ring) - 1, -1, -1):
        owner = ring.owners[step]
        del recent[owner]
        recent[owner] = None
        latest = itertools.islice(reversed(recent), len(wanted))
        if list(latest) == wanted:
            starts.add(step)
    return frozenset(starts)
