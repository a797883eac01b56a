"""Header values, and how many calls with them are enough."""

from __future__ import annotations

import random
import string
from typing import get_args

from conformance.judging.ring_keys import RingKeys
from conformance.spec.oracles.distinguishing import values_of_entries, values_telling_apart
from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.building import build_for
from conformance.spec.oracles.ring.keys import KeyFormat
from conformance.spec.oracles.ring.search import Search
from conformance.spec.oracles.ring.values import values_telling_sizes
from conformance.spec.oracles.ring.variants import Candidate, RingVariant
from conformance.spec.oracles.ring.weights import WeightReading
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.distinguishing import TO_CHOOSE_FROM
from conformance.xds_config.routes import SESSION

ENOUGH_TO_DIFFER = 24
"""Calls with different hashes that do not all meet one of four equal endpoints by chance, in none
of up to 40 such groups. One of 256 entries in 1,024 owns more than 0.4 of the ring with a chance
below 1e-20 (Beta(256, 768)), and 40 x 4 x 0.4^24 is below 1e-7. Nor do all of them meet by chance,
by another hash, what they should: that is below 1e-9."""

TWICE_AS_MANY, ENOUGH_OF_EIGHT = 8, 15
"""Equal endpoints, and calls with hashes in one half of all that do not all meet the same of them
by chance, in none of up to 40 such groups. One of 64 entries in 512 owns more than 0.25 of that
half with a chance below 1e-12 (Beta(64, 448)), and 40 x 8 x 0.25^15 is below 1e-6."""

ENOUGH_TO_SPREAD = 60
"""Calls with random hashes that meet every one of four equal endpoints: `Everywhere` checks it, and
58 are the fewest that it takes for sure."""

ENOUGH_TO_WEIGH = 240
"""Calls with random hashes over four equal endpoints that show that every second one, about, has
the same hash: `RandomOverRing` misses it with a chance below 1e-7 (60 calls: 0.2)."""

TURNS, ROUNDS = 10, 4
"""Endpoints that get the same number of calls by lot, instead of in turn, with a chance of
40! / (4!^10 x 10^40), about 1e-6."""

ENOUGH_TO_TELL = 120
"""Calls with different hashes, of which one at least meets a ninth of all hashes, unless by a
chance of (8/9)^120, below 1e-6."""

ENOUGH_TO_MAP = 40
"""Calls with different hashes, of which one at least shows a change of a third of the ring, unless
by a chance of (2/3)^40, 1e-7, if it is known where each of them belongs."""

BY_ARCS = 400
"""Calls with different hashes where arcs are all that a ring can be judged by."""


LENGTHS = ((1, 3), (4, 7), (8, 31), (32, 100), (300, 1000))
"""Ranges of lengths in bytes. XXH64 reads each with other steps: single bytes, then a word of 4
bytes, words of 8, and stripes of 32. The last one is beyond what a byte can count."""

CHARACTERS = string.ascii_letters + string.digits + string.punctuation


class HeaderValues:
    """Header values of one scenario; the run's seed repeats them.

    Args:
        rng: the scenario's own random source.
        ring_keys: by which the client names ring entries, as far as that is known.
    """

    def __init__(self, rng: random.Random, ring_keys: RingKeys) -> None:
        self._rng = rng
        self._ring_keys = ring_keys

    def some(self, count: int) -> tuple[str, ...]:
        """Return `count` distinct values."""
        return tuple(f"{self._rng.getrandbits(48):012x}" for _ in range(count))

    def of_all_lengths(self, count: int) -> tuple[str, ...]:
        """Return `count` distinct values, as many of each of the `LENGTHS`."""
        values: dict[str, None] = {}
        while len(values) < count:
            length = self._rng.randint(*LENGTHS[len(values) % len(LENGTHS)])
            values["".join(self._rng.choices(CHARACTERS, k=length))] = None
        return tuple(values)

    def pairs(self, count: int) -> tuple[tuple[str, str], ...]:
        """Return values of two headers for each of `count` calls."""
        return tuple(zip(self.some(count), self.some(count), strict=True))

    def halves(self, each: int) -> tuple[list[str], list[str]]:
        """Return distinct values, `each` of them per value of the top bit of their XXH64."""
        halves: tuple[list[str], list[str]] = ([], [])
        while min(map(len, halves)) < each:
            (value,) = self.some(1)
            halves[xxh64(value) >> 63].append(value)
        return halves[0][:each], halves[1][:each]

    def sessions(self, count: int) -> tuple[dict[str, str], ...]:
        """Return the headers of `count` calls, each with a session of its own."""
        return tuple({SESSION: value} for value in self.some(count))

    def sessions_to_map(self) -> tuple[dict[str, str], ...]:
        """Return the headers of calls that map a ring: many, if its key format is unknown."""
        return self.sessions(ENOUGH_TO_MAP if self._ring_keys.known else BY_ARCS)

    def telling(
        self, served: XdsConfig, *, priority: int = 0, apart_from: XdsConfig | None = None
    ) -> tuple[dict[str, str], ...]:
        """Return the headers of calls that reveal how many ring entries each endpoint has.

        One call distinguishes each ring that has one entry more or fewer. Several distinguish a
        ring of another size that a client may build instead. The others show larger changes to the
        ring; if the key format is unknown, the suite relies on these.

        Raises:
            NoSuchValueError: no value distinguishes the two rings.
        """
        values = values_telling_sizes(
            served.ring_localities(priority),
            served.config(),
            TO_CHOOSE_FROM,
            self.likely_key_format,
        )
        apart = () if apart_from is None else self._telling_apart(served, apart_from)
        return (*({SESSION: value} for value in (*values, *apart)), *self.sessions_to_map())

    def at_entries(self, served: XdsConfig) -> tuple[dict[str, str], ...]:
        """Return headers of calls whose hashes equal ring entries, to expose wrong searches.

        Where the key format is no known one their hashes are as good as any.
        """
        rings = [
            build_for(served.ring_localities(), served.config(), Candidate(variant))
            for search in get_args(Search)
            for variant in [RingVariant(self.likely_key_format, search=search)]
        ]
        return tuple({SESSION: value} for value in values_of_entries(rings))

    def _telling_apart(self, served: XdsConfig, other: XdsConfig) -> tuple[str, ...]:
        """Values of which several go elsewhere on the ring of one than on that of the other."""
        right, wrong = (
            [
                build_for(
                    each.ring_localities(),
                    each.config(),
                    Candidate(RingVariant(self.likely_key_format, search=search), reading),
                ).pick
                for search in get_args(Search)
                for reading in get_args(WeightReading)
            ]
            for each in (served, other)
        )
        return values_telling_apart({"the ring": right, "the other": wrong}, TO_CHOOSE_FROM)

    @property
    def likely_key_format(self) -> KeyFormat:
        """By which values are chosen: the client's format, or for want of it the text's example."""
        return self._ring_keys.known or RingVariant().key_format
