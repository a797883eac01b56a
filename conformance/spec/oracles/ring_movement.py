"""Compute which requests move when the list of endpoints changes.

When the list changes, the policy rescales the ring. So even a conforming client moves keys between
endpoints that stay. An anchored ring keeps its scale: with minimum size 1 the lightest endpoint,
the anchor, has one entry, so its weight alone sets the scale. A42-RING-16 and A42-RING-17 use
anchored rings.
"""

import itertools
from collections.abc import Collection, Iterable, Sequence
from typing import Final, get_args

from msgspec import Struct

from conformance.spec.oracles.ring.search import Ring
from conformance.spec.oracles.ring.sizes import Allotment, RingConfig, entry_counts
from conformance.spec.oracles.ring.values import NoSuchValueError
from conformance.spec.oracles.ring.weights import RingEndpoint, RingLocality, WeightReading, weights

_ANCHORED: Final = RingConfig(minimum=1)


class Move(Struct, frozen=True):
    """A hash that belongs to another address than before."""

    hash: int
    before: str
    after: str


def moves(before: Ring, after: Ring, hashes: Iterable[int]) -> tuple[Move, ...]:
    """Return the hashes that belong to another address on the second ring, in the given order."""
    picks = ((value, before.pick(value), after.pick(value)) for value in hashes)
    return tuple(Move(value, old, new) for value, old, new in picks if old != new)


def strays(moved: Iterable[Move], changed: Collection[str]) -> tuple[Move, ...]:
    """Return the moves between endpoints that are not in `changed` (added or removed)."""
    return tuple(move for move in moved if move.before not in changed and move.after not in changed)


class Anchored(Struct, frozen=True):
    """A list of endpoints; adding or removing one of them moves no key between the others.

    Attributes:
        endpoints: all endpoints, in the order of the EDS resource, in one locality.
        changed: address of the endpoint to add and remove.
        config: ring sizes to serve.
    """

    endpoints: tuple[RingEndpoint, ...]
    changed: str
    config: RingConfig = _ANCHORED

    def locality(self, name: str = "", *, changed: bool) -> RingLocality:
        """Return the locality with or without the endpoint to add and remove."""
        kept = (each for each in self.endpoints if changed or each.address != self.changed)
        return RingLocality(name, tuple(kept))


def anchored(addresses: Sequence[str], weight: int = 48) -> Anchored:
    """Choose weights for which no key strays, in each weight reading and order of allotment.

    The anchor has weight 1. All other endpoints share a weight near `weight`, and each has about
    that number of entries. For many weights, rounding adds or removes an entry. So the function
    tries weights until the other endpoints have the same numbers of entries with and without the
    changed endpoint. Equal numbers mean equal entries, because an entry's key consists of its
    endpoint and a number within that endpoint. (Go up to 1.53 numbered entries over all endpoints:
    there keys stray with any weights, and `strays` shows it.)

    Args:
        addresses: three or more, in the order of the EDS resource.
        weight: wanted weight of all endpoints but the anchor.

    Raises:
        ValueError: there are fewer than three addresses.
        NoSuchValueError: no weight up to twice `weight` works.
    """
    if len(addresses) < 3:  # noqa: PLR2004 - the anchor, the changed endpoint, one to watch
        raise ValueError("An anchored ring needs three addresses or more.")
    nearest = sorted(range(2, 2 * weight + 1), key=lambda each: (abs(each - weight), each))
    for near, anchor, changed in itertools.product(nearest, addresses, reversed(addresses)):
        endpoints = tuple(RingEndpoint(each, 1 if each == anchor else near) for each in addresses)
        choice = Anchored(endpoints, changed)
        if changed != anchor and _undisturbed(choice):
            return choice
    raise NoSuchValueError(f"No weights near {weight} leave {len(addresses)} endpoints in place.")


def _undisturbed(choice: Anchored) -> bool:
    """Return whether the other endpoints keep their entry counts without the changed one."""
    for reading in get_args(WeightReading):
        full, rest = (
            weights([choice.locality(changed=changed)], reading) for changed in (True, False)
        )
        for allotment in get_args(Allotment):
            entries = entry_counts(full, choice.config, allotment)
            del entries[choice.changed]
            if entries != entry_counts(rest, choice.config, allotment):
                return False
    return True
