"""List what the text leaves open about a ring, and every known variant.

The text fixes the order by hash, and the size but for one word. How an entry's hash is made is only
its example (A42-RING-03), in what order fractional counts are allotted it does not say
(A42-RING-10, A42-RING-11), nor plainly where a hash past the last entry belongs (A42-RING-14):
these are a `RingVariant` here, one for each way that is known, to be found by `building.fit` and
never demanded.
"""

from typing import Final, get_args

from msgspec import Struct

from conformance.spec.oracles.ring.keys import KeyFormat
from conformance.spec.oracles.ring.search import Search
from conformance.spec.oracles.ring.sizes import Allotment, Sizing
from conformance.spec.oracles.ring.weights import WeightReading


class RingVariant(Struct, frozen=True):
    """What the text leaves to the implementation."""

    key_format: KeyFormat = "{address}_{i}"
    allotment: Allotment = "list"
    search: Search = "wrap"
    sizing: Sizing = "at least"


class Candidate(Struct, frozen=True):
    """A variant together with a reading of the weights: all that decides a ring."""

    variant: RingVariant = RingVariant()
    weights: WeightReading = "raw"


VARIANTS: Final = tuple(
    RingVariant(key_format, allotment, search, sizing)
    for search in get_args(Search)
    for key_format in get_args(KeyFormat)
    for allotment in get_args(Allotment)
    for sizing in get_args(Sizing)
)
"""All variants known; the one that is the text's own example comes first."""

CANDIDATES: Final = tuple(
    Candidate(variant, reading) for variant in VARIANTS for reading in get_args(WeightReading)
)
