"""Compute which requests move when the list of endpoints changes.

A ring is rescaled when its list changes, so that even a right client moves keys between endpoints
that stayed. On an anchored ring it does not: with minimum size 1 the lightest endpoint has one
entry, so the scale is the anchor's weight whatever else is in the list.
On such lists A42-RING-16 and A42-RING-17 are decided.
"""

import itertools
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import Final, get_args

from msgspec import Struct

from conformance.spec.oracles.ring.search import Ring
from conformance.spec.oracles.ring.sizes import Allotment, RingConfig, entry_counts
from conformance.spec.oracles.ring.values import NoSuchValueError
from conformance.spec.oracles.ring.weights import RingEndpoint, RingLocality, WeightReading, weights

_ANCHORED: Final = RingConfig(minimum=1)
_SPACE: Final = 2**64


class Move(Struct, frozen=True):
    """A hash that meets another address than before."""

    hash: int
    before: str
    after: str


def moves(before: Ring, after: Ring, hashes: Iterable[int]) -> tuple[Move, ...]:
    """The hashes that move from one ring to the other, in the order given."""
    picks = ((value, before.pick(value), after.pick(value)) for value in hashes)
    return tuple(Move(value, old, new) for value, old, new in picks if old != new)


def strays(moved: Iterable[Move], changed: Collection[str]) -> tuple[Move, ...]:
    """The moves that neither leave nor reach a changed (added, removed) endpoint."""
    return tuple(move for move in moved if move.before not in changed and move.after not in changed)


def stray_share(before: Ring, after: Ring, changed: Collection[str]) -> Fraction:
    """The part of all 2^64 hashes that strays from one ring to the other, exactly."""
    # An entry owns the hashes up to its own, so another arc can only begin right after an entry,
    # or where the hashes begin, unsigned or signed.
    begins = {0, _SPACE // 2}
    for ring in (before, after):
        begins.update((position - ring.shift + 1) % _SPACE for position in ring.positions)
    arcs = itertools.pairwise((*sorted(begins), _SPACE))
    strayed = sum(
        stop - start for start, stop in arcs if strays(moves(before, after, (start,)), changed)
    )
    return Fraction(strayed, _SPACE)


class Anchored(Struct, frozen=True):
    """A list of endpoints of which one may come and go without disturbing the others.

    Attributes:
        endpoints: all, in the order in which they are to be listed, in one locality.
        changed: address of the one that comes and goes.
        config: sizes to serve.
    """

    endpoints: tuple[RingEndpoint, ...]
    changed: str
    config: RingConfig = _ANCHORED

    def locality(self, name: str = "", *, changed: bool) -> RingLocality:
        """The locality with or without the endpoint that comes and goes."""
        kept = (each for each in self.endpoints if changed or each.address != self.changed)
        return RingLocality(name, tuple(kept))


def anchored(addresses: Sequence[str], weight: int = 48) -> Anchored:
    """Choose weights for which no key strays, in either reading and every order of allotment.

    One endpoint has weight 1 and the others one weight, near to the one asked for; each of these
    has about as many entries as its weight. Rounding gives or takes an entry for many weights, so
    they are tried until the numbers of entries of all that stay are the same with and without the
    one that changes. The same numbers mean the same entries, as an entry's key is made of its
    endpoint and a number of the endpoint's own. (Go up to 1.53 numbered over all endpoints: there
    keys stray whatever the weights, which is what `strays` is to show.)

    Args:
        addresses: three or more, in the order in which they are to be listed.
        weight: wanted of all but the anchor.

    Raises:
        ValueError: there are fewer than three addresses.
        NoSuchValueError: no weight up to twice the one asked for will do.
    """
    if len(addresses) < 3:  # noqa: PLR2004 - the anchor, the one that changes, one to watch
        raise ValueError("An anchored ring needs three addresses or more.")
    nearest = sorted(range(2, 2 * weight + 1), key=lambda each: (abs(each - weight), each))
    for near, anchor, changed in itertools.product(nearest, addresses, reversed(addresses)):
        endpoints = tuple(RingEndpoint(each, 1 if each == anchor else near) for each in addresses)
        choice = Anchored(endpoints, changed)
        if changed != anchor and _undisturbed(choice):
            return choice
    raise NoSuchValueError(f"No weights near {weight} leave {len(addresses)} endpoints in place.")


def _undisturbed(choice: Anchored) -> bool:
    """Whether all but the one that changes have as many entries with it as without."""
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
