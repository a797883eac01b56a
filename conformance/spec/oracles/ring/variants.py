"""List what the text leaves open about a ring, and every known variant.

The text fixes the order by hash, and the size except for the meaning of one word. It leaves open:

- the key of an entry; the text has only an example (A42-RING-03);
- the order in which fractional counts are allotted (A42-RING-10, A42-RING-11);
- the owner of a hash past the last entry, which the text does not state plainly (A42-RING-14).

A `RingVariant` is one combination of known choices. `building.fit` finds the variants that match a
client; no check requires a variant.
"""

from typing import Final, get_args

from msgspec import Struct

from conformance.spec.oracles.ring.keys import KeyFormat
from conformance.spec.oracles.ring.search import Search
from conformance.spec.oracles.ring.sizes import Allotment, Sizing
from conformance.spec.oracles.ring.weights import WeightReading


class RingVariant(Struct, frozen=True):
    """One combination of the choices that the text leaves to an implementation."""

    key_format: KeyFormat = "{address}_{i}"
    allotment: Allotment = "list"
    search: Search = "wrap"
    sizing: Sizing = "at least"


class Candidate(Struct, frozen=True):
    """A variant and a reading of the weights; together they determine a ring."""

    variant: RingVariant = RingVariant()
    weights: WeightReading = "raw"


VARIANTS: Final = tuple(
    RingVariant(key_format, allotment, search, sizing)
    for search in get_args(Search)
    for key_format in get_args(KeyFormat)
    for allotment in get_args(Allotment)
    for sizing in get_args(Sizing)
)
"""All known variants; the text's own example comes first."""

CANDIDATES: Final = tuple(
    Candidate(variant, reading) for variant in VARIANTS for reading in get_args(WeightReading)
)
