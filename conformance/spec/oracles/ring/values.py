"""Find header values whose hashes fall on chosen places of a ring.

On an entry (A42-RING-12), before an order of endpoints (A42-PICK-08), or where a ring of another
size (A42-RING-05, A42-RING-06, A42-RING-07, A42-RING-08, A42-RING-09) has another owner.
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
    """No header value, or no weight, with the property asked for was found."""


def value_hitting(ring: Ring, address: str) -> str:
    """A header value whose hash is that of one of the endpoint's entries: a key of the ring.

    Raises:
        NoSuchValueError: the endpoint has no entry, or none that is found by its own hash.
    """
    for index, key in enumerate(ring.keys):
        value = xxh64(key)
        if ring.addresses[ring.owners[index]] == address and ring.pick(value) == address:
            return key
    raise NoSuchValueError(f"No entry of this ring of {len(ring)} belongs to {address}.")


def value_preferring(ring: Ring, *order: str, rng: random.Random, tries: int = 1_000_000) -> str:
    """A header value from whose hash on the ring meets these addresses first, in this order.

    Args:
        ring: a ring of 1,024 entries or more has nearly every order of three.
        order: one or more different addresses.
        rng: where candidates come from.
        tries: how many candidates to try; one costs about 1 µs.

    Raises:
        NoSuchValueError: no arc of this ring has that order, or no candidate met one.
    """
    starts = _preferring(ring, order)
    if not starts:
        raise NoSuchValueError(
            f"No hash on this ring of {len(ring)} entries meets {', '.join(order)} first; "
            "take a larger ring."
        )
    prefix = f"{rng.getrandbits(64):016x}-"
    for number in range(tries):
        value = f"{prefix}{number}"
        if ring.index(xxh64(value)) in starts:
            return value
    raise NoSuchValueError(
        f"None of {tries} values meets {', '.join(order)} first, though {len(starts)} of "
        f"{len(ring)} arcs do; try more."
    )


def values_telling_sizes(
    localities: Sequence[RingLocality],
    config: RingConfig,
    values: tuple[str, ...],
    key_format: KeyFormat = "{address}_{i}",
) -> tuple[str, ...]:
    """Header values that tell a ring from those where one endpoint has an entry more, or fewer.

    Such an entry changes the owner of one arc, and a value tells if its hash lies there. None can
    where the owner is the same endpoint all the same; nor does any of these where the arc is
    narrow: then one more tells, which all that have still more of them have, too.

    Args:
        localities: of the priority whose ring it is.
        config: of the ring.
        values: to choose from; of 20,000 some twenty lie in an arc of a ring of 1,024 entries.
        key_format: of the ring's entries.

    Returns:
        For each of those rings the first value that tells, if one does.
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
    """A value that goes elsewhere by the other ring, in an arc that only one of them has."""
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
    """Values behind their hashes, in their order."""
    return sorted((xxh64(value), value) for value in values)


FURTHER: Final = 8
"""By so many entries more, or fewer, rings are looked at before one is given up."""


def _rings_beside(
    entries: tuple[tuple[str, str, int], ...], *, numbered_together: bool
) -> Iterator[Iterator[Ring]]:
    """The rings of these endpoints where one of them has an entry more, then two more, and so on.

    And those where it has fewer. Who has many more has these as well, so what tells the second of
    them tells most of what is larger, also where the first has an owner that it had without it.
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


def _preferring(ring: Ring, order: Sequence[str]) -> frozenset[int]:
    """Indices of the entries from which a walk meets these addresses first, in this order."""
    wanted = [ring.addresses.index(address) for address in order]
    # Walking backwards, the last entry seen of each endpoint is the next one in ring order: at
    # first those that a walk from the ring's beginning meets.
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
