"""Find the entry of a hash on a ring.

A42, "Ring Construction" and "Picker Behavior". Hashes are integers, 0 <= hash < 2^64.
"""

import dataclasses
import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction
from typing import Final, Literal

Search = Literal["wrap", "signed", "clamp"]
"""The entry of a hash: the first entry at or after it; the variants differ past the last entry.

`wrap`: the first entry. `signed`: hashes compare as signed numbers, and past the last entry it is
the last (Java from 1.60). `clamp`: the last entry; no known client does so.

The direction of the search is not a variant. The next endpoint is the endpoint that the request
would reach without the first, and it follows the first on the ring (A42, "Picker Behavior"). Both
hold for an upward search only.
"""

SPACE: Final = 2**64


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Ring:
    """A ring, ready for picks.

    Evidence contains endpoints, config and variant instead of the ring; `build` rebuilds it.

    Clauses: A42-PICK-01, A42-PICK-08, A42-PICK-21, A42-RING-12, A42-RING-13, A42-RING-14,
    A42-LOC-02.

    Attributes:
        addresses: the endpoints, each once.
        positions: hashes of the entries plus `shift`, modulo 2^64, ascending.
        owners: for each entry, the index of its endpoint in `addresses`.
        keys: for each entry, the text that was hashed.
        shift: 0, or 2^63 if hashes compare as signed numbers.
        wraps: whether a hash past the last entry goes to the first, not the last.
    """

    addresses: tuple[str, ...]
    positions: tuple[int, ...]
    owners: tuple[int, ...]
    keys: tuple[str, ...]
    shift: int
    wraps: bool

    def __len__(self) -> int:
        return len(self.positions)

    def index(self, value: int) -> int:
        """Return the index of the entry of a hash."""
        index = bisect_left(self.positions, (value + self.shift) % SPACE)
        if index < len(self.positions):
            return index
        return 0 if self.wraps else index - 1

    def pick(self, value: int, failed: Collection[str] = ()) -> str:
        """Return the address for a hash if all endpoints but the failed are READY (A42, "Picker").

        Raises:
            ValueError: all have failed.
        """
        if not failed:
            return self.addresses[self.owners[self.index(value)]]
        for address in self.met(value):
            if address not in failed:
                return address
        raise ValueError("All endpoints of the ring have failed: there is none to pick.")

    def met(self, value: int) -> Iterator[str]:
        """Return the address of each entry, in ring order from a hash."""
        start = self.index(value)
        walk = itertools.chain(range(start, len(self)), range(start))
        return (self.addresses[self.owners[index]] for index in walk)

    def preference(self, value: int) -> tuple[str, ...]:
        """Return every address once, in ring order from a hash."""
        return tuple(dict.fromkeys(self.met(value)))

    def entries_of(self, address: str) -> tuple[int, ...]:
        """Return the hashes of an endpoint's entries, ascending."""
        owner = self.addresses.index(address)
        own = (
            (position - self.shift) % SPACE
            for position, each in zip(self.positions, self.owners, strict=True)
            if each == owner
        )
        return tuple(sorted(own))

    def counts(self) -> dict[str, int]:
        """Return the number of entries of each address."""
        counted = Counter(self.owners)
        return {address: counted[index] for index, address in enumerate(self.addresses)}

    def shares(self) -> dict[str, Fraction]:
        """Return each address's part of all 2^64 hashes; the parts sum to 1."""
        owned = dict.fromkeys(self.addresses, 0)
        for start, stop, owner in self._arcs():
            owned[self.addresses[owner]] += stop - start
        return {address: Fraction(size, SPACE) for address, size in owned.items()}

    def _arcs(self) -> Iterable[tuple[int, int, int]]:
        """Yield the pieces [start, stop) of the shifted hash space and their owners, in order."""
        start = 0
        for position, owner in zip(self.positions, self.owners, strict=True):
            yield start, position + 1, owner
            start = position + 1
        yield start, SPACE, self.owners[0 if self.wraps else -1]
