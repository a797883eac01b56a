"""The ring of the ring_hash policy: its weights, its size, its entries and its picks.

A42, "Ring Construction" and "LB Policy Config"; A76 for hash keys; A113 for normalised weights.
The text fixes the size and the order by hash. How an entry's hash is made is only its example,
and in what order fractional counts are allotted it does not say: both are a `RingVariant` here,
one for each way that is known, to be found by `fit` and never demanded.

Addresses are text, "127.0.0.1:80" or "[::1]:80". Hashes are integers, 0 <= hash < 2^64.
"""

import dataclasses
import functools
import ipaddress
import itertools
import math
import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final, Literal, get_args

from msgspec import Struct

from conformance.oracles.request_hash import xxh64

WeightReading = Literal["raw", "A113", "envoy"]
"""An endpoint's weight: the product of the raw weights (A42), of shares in UQ1.31 (A113), or of
shares in double arithmetic (Envoy).
"""

KeyFormat = Literal["{address}_{i}", "/{address}_{i}", "[/{address}]_{i}", "{address}{n}"]
"""What is hashed for an entry; `i` counts the endpoint's own entries, `n` all entries of the ring.

In order: C-core, Envoy, Node and current Go; Java; Java up to 1.59; Go up to 1.53.
"""

KEY_FORMATS: Final[dict[str, KeyFormat]] = {
    "ip:port_i": "{address}_{i}",
    "/ip:port_i": "/{address}_{i}",
    "[/ip:port]_i": "[/{address}]_{i}",
    "ip:porti": "{address}{n}",
}
"""As manifests and reports write them."""

Allotment = Literal["list", "localities", "keys", "buckets"]
"""The order in which endpoints get their entries, which matters when a count is fractional.

As listed; by the localities' names, as listed within each (C-core); by their keys (Go); as they
lie in the buckets of a hash table (Java).
"""

Search = Literal["wrap", "signed"]
"""Where a hash finds its entry: at the first entry that is not below it.

`wrap`: past the last entry, the first. `signed`: hashes are compared as signed numbers, and past
the last entry it is the last (Java from 1.60).
"""

DEFAULT_MINIMUM: Final = 1024
DEFAULT_MAXIMUM: Final = 8 * 1024 * 1024  # when used through xDS
LIMIT: Final = 8 * 1024 * 1024  # values above it are NACKed
DEFAULT_CAP: Final = 4096  # the client's own

_SPACE: Final = 2**64
_ONE: Final = 1 << 31  # 1 in A113's UQ1.31
_IPV4_BYTES: Final = 4


class RingEndpoint(Struct, frozen=True):
    """An endpoint as EDS has it.

    Attributes:
        address: its first address, which places it on the ring (A61).
        weight: load_balancing_weight; 1 when unset.
        hash_key: places the endpoint instead of its address (A76).
    """

    address: str
    weight: int = 1
    hash_key: str | None = None


class RingLocality(Struct, frozen=True):
    """A locality of the ring's priority.

    Attributes:
        name: sorts among other names as (region, zone, sub-zone) do.
        endpoints: those that may be used, in the order of the resource.
        weight: load_balancing_weight; the locality is left out when it is 0 or None (unset).
    """

    name: str
    endpoints: tuple[RingEndpoint, ...]
    weight: int | None = 1


class WeightedEndpoint(Struct, frozen=True, kw_only=True):
    """An endpoint as the ring_hash policy is given it.

    `weight` is 1 or more, or by Envoy's reading a share of 1.
    """

    address: str
    weight: int | float = 1
    locality: str = ""
    hash_key: str | None = None


class RingConfig(Struct, frozen=True):
    """Sizes as the Cluster resource has them, None when unset, and the client's cap."""

    minimum: int | None = None
    maximum: int | None = None
    cap: int = DEFAULT_CAP

    def sizes(self) -> tuple[int, int]:
        """Minimum and maximum size in force.

        Raises:
            ValueError: no ring follows from this config.
        """
        minimum = DEFAULT_MINIMUM if self.minimum is None else self.minimum
        maximum = DEFAULT_MAXIMUM if self.maximum is None else self.maximum
        if not 1 <= minimum <= maximum <= LIMIT or self.cap < 1:
            raise ValueError(
                f"No ring has minimum {minimum}, maximum {maximum} and cap {self.cap}: "
                f"it must hold that 1 <= minimum <= maximum <= {LIMIT} and 1 <= cap."
            )
        return min(minimum, self.cap), min(maximum, self.cap)


class RingVariant(Struct, frozen=True):
    """What the text leaves to the implementation."""

    key_format: KeyFormat = "{address}_{i}"
    allotment: Allotment = "list"
    search: Search = "wrap"


class Candidate(Struct, frozen=True):
    """A variant together with a reading of the weights: all that decides a ring."""

    variant: RingVariant = RingVariant()
    weights: WeightReading = "raw"


VARIANTS: Final = tuple(
    RingVariant(key_format, allotment, search)
    for search in get_args(Search)
    for key_format in get_args(KeyFormat)
    for allotment in get_args(Allotment)
)
"""All variants known; the one that is the text's own example comes first."""

CANDIDATES: Final = tuple(
    Candidate(variant, reading) for variant in VARIANTS for reading in get_args(WeightReading)
)


class NoSuchValueError(LookupError):
    """No header value, or no weight, with the property asked for was found."""


def weights(
    localities: Sequence[RingLocality], reading: WeightReading
) -> tuple[WeightedEndpoint, ...]:
    """Flatten a priority's localities into the one list that the ring is built of.

    All localities of one priority share a ring (A42, "Background: Envoy vs. gRPC LB Policies").

    Raises:
        ValueError: an endpoint's weight is below 1, which EDS does not allow.
    """
    present = [(each, each.weight) for each in localities if each.weight]
    locality_sum = sum(weight for _, weight in present)
    flat: list[WeightedEndpoint] = []
    for locality, locality_weight in present:
        endpoint_sum = sum(endpoint.weight for endpoint in locality.endpoints)
        for endpoint in locality.endpoints:
            if endpoint.weight < 1:
                raise ValueError(
                    f"The weight of {endpoint.address} is {endpoint.weight}; it must be 1 or more."
                )
            weight: float
            match reading:
                case "raw":
                    weight = endpoint.weight * locality_weight
                case "A113":
                    share = endpoint.weight * _ONE // endpoint_sum
                    locality_share = locality_weight * _ONE // locality_sum
                    weight = max(share * locality_share >> 31, 1)
                case "envoy":
                    weight = endpoint.weight * (locality_weight / locality_sum) / endpoint_sum
            flat.append(
                WeightedEndpoint(
                    address=endpoint.address,
                    weight=weight,
                    locality=locality.name,
                    hash_key=endpoint.hash_key,
                )
            )
    return tuple(flat)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Ring:
    """A ring, ready to be picked from.

    It is not written to evidence: endpoints, config and variant are, and `build` makes it again.

    Attributes:
        addresses: the endpoints, each once.
        positions: of the entries, ascending: their hashes plus `shift`, modulo 2^64.
        owners: for each entry, the index of its endpoint in `addresses`.
        keys: for each entry, the text whose hash it has.
        shift: 0, or 2^63 where hashes are compared as signed numbers.
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
        """Index of the entry that a hash finds."""
        index = bisect_left(self.positions, (value + self.shift) % _SPACE)
        if index < len(self.positions):
            return index
        return 0 if self.wraps else index - 1

    def pick(self, value: int, failed: Collection[str] = ()) -> str:
        """The address that a hash goes to while all but the failed are READY (A42, "Picker").

        Raises:
            ValueError: all have failed.
        """
        if not failed:
            return self.addresses[self.owners[self.index(value)]]
        for address in self.met(value):
            if address not in failed:
                return address
        raise ValueError("All endpoints of the ring have failed: none is left to be picked.")

    def met(self, value: int) -> Iterator[str]:
        """The address of each entry, in the order in which the ring is walked from a hash."""
        start = self.index(value)
        walk = itertools.chain(range(start, len(self)), range(start))
        return (self.addresses[self.owners[index]] for index in walk)

    def preference(self, value: int) -> tuple[str, ...]:
        """Every address, each once, in the order in which the ring is walked from a hash."""
        return tuple(dict.fromkeys(self.met(value)))

    def entries_of(self, address: str) -> tuple[int, ...]:
        """Hashes of an endpoint's entries, ascending."""
        owner = self.addresses.index(address)
        own = (
            (position - self.shift) % _SPACE
            for position, each in zip(self.positions, self.owners, strict=True)
            if each == owner
        )
        return tuple(sorted(own))

    def counts(self) -> dict[str, int]:
        """Number of entries of each address."""
        counted = Counter(self.owners)
        return {address: counted[index] for index, address in enumerate(self.addresses)}

    def shares(self) -> dict[str, Fraction]:
        """The part of all 2^64 hashes that goes to each address; the parts sum to 1."""
        owned = dict.fromkeys(self.addresses, 0)
        for start, stop, owner in self._arcs():
            owned[self.addresses[owner]] += stop - start
        return {address: Fraction(size, _SPACE) for address, size in owned.items()}

    def _arcs(self) -> Iterable[tuple[int, int, int]]:
        """Pieces [start, stop) of the shifted hash space and their owners, in order."""
        start = 0
        for position, owner in zip(self.positions, self.owners, strict=True):
            yield start, position + 1, owner
            start = position + 1
        yield start, _SPACE, self.owners[0 if self.wraps else -1]


def entry_counts(
    endpoints: Sequence[WeightedEndpoint], config: RingConfig, allotment: Allotment = "list"
) -> dict[str, int]:
    """Number of entries of each address, in the order of the allotment.

    The ring has the least size, not below the minimum, that gives the lightest endpoint whole
    entries, but not more than the maximum (A42, "Ring Construction"). Other counts may be
    fractional: entries are added until they reach the running sum. All of it is in double
    arithmetic, and operation by operation what implementations compute, because its rounding can
    give or take an entry.

    Raises:
        ValueError: there is no endpoint, or no ring follows from the config.
    """
    minimum, maximum = config.sizes()
    ordered = _allotted(_merged(endpoints), allotment)
    if not ordered:
        raise ValueError("A ring needs at least one endpoint.")
    shares = any(isinstance(endpoint.weight, float) for endpoint in ordered)
    total = 1.0 if shares else sum(endpoint.weight for endpoint in ordered)
    lightest = min(endpoint.weight for endpoint in ordered) / total
    scale = min(math.ceil(lightest * minimum) / lightest, float(maximum))
    counts: dict[str, int] = {}
    current = 0
    target = 0.0
    for endpoint in ordered:
        target += scale * (endpoint.weight / total)
        reached = max(current, math.ceil(target))
        counts[endpoint.address] = reached - current
        current = reached
    return counts


def build(
    endpoints: tuple[WeightedEndpoint, ...],
    config: RingConfig,
    variant: RingVariant = RingVariant(),  # noqa: B008 - frozen
) -> Ring:
    """Build the ring of a list of endpoints; equal rings are built once and are one object.

    An address that is listed more than once has the sum of its weights.

    Raises:
        ValueError: there is no endpoint, or no ring follows from the config.
    """
    entries, numbered_together = _entries(endpoints, config, variant)
    return _assemble(entries, variant.search, numbered_together=numbered_together)


def build_for(
    localities: Sequence[RingLocality],
    config: RingConfig,
    candidate: Candidate = Candidate(),  # noqa: B008 - frozen
) -> Ring:
    """Build the ring of a priority's localities under one candidate; errors as in `build`."""
    return build(weights(localities, candidate.weights), config, candidate.variant)


def fit(
    observed: Sequence[tuple[int, str]],
    localities: Sequence[RingLocality],
    config: RingConfig,
    candidates: Iterable[Candidate] = CANDIDATES,
    *,
    failed: Collection[str] = (),
) -> tuple[Candidate, ...]:
    """The candidates that agree with every observation: pairs of a hash and the address it met.

    All endpoints but the failed were READY.

    Several are left when they build the same ring, as they do when every count is whole. None
    left means that the client's way of building is not known, which is no fault of its own.
    """
    judged: dict[Ring, bool] = {}
    fitting: list[Candidate] = []
    for candidate in candidates:
        ring = build_for(localities, config, candidate)
        if ring not in judged:
            judged[ring] = all(ring.pick(value, failed) == address for value, address in observed)
        if judged[ring]:
            fitting.append(candidate)
    return tuple(fitting)


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
    narrow.

    Args:
        localities: of the priority whose ring it is.
        config: of the ring.
        values: to choose from; of 20,000 some twenty lie in an arc of a ring of 1,024 entries.
        key_format: of the ring's entries.

    Returns:
        For each of those rings the first value that tells, if one does.
    """
    entries, together = _entries(weights(localities, "raw"), config, RingVariant(key_format))
    right = _assemble(entries, "wrap", numbered_together=together)
    by_hash = _by_hash(values)
    telling: dict[str, None] = {}
    for other in _rings_beside(entries, numbered_together=together):
        positions = sorted({*right.positions, *other.positions})
        for end in sorted({*right.positions} ^ {*other.positions}):
            index = bisect_left(positions, end)
            start = positions[index - 1] if index else -1
            first = bisect_left(by_hash, (start + 1, ""))
            found = by_hash[first : first + 1]
            if found and found[0][0] <= end and right.pick(end) != other.pick(end):
                telling[found[0][1]] = None
                break
    return tuple(telling)


@functools.lru_cache(maxsize=1)
def _by_hash(values: tuple[str, ...]) -> list[tuple[int, str]]:
    """Values behind their hashes, in their order."""
    return sorted((xxh64(value), value) for value in values)


def _rings_beside(
    entries: tuple[tuple[str, str, int], ...], *, numbered_together: bool
) -> Iterator[Ring]:
    """The rings of these endpoints where one of them has an entry more, or fewer."""
    for index, (address, name, count) in enumerate(entries):
        for other in (count - 1, count + 1):
            beside = (*entries[:index], (address, name, max(other, 0)), *entries[index + 1 :])
            if any(count for _, _, count in beside):
                yield _assemble.__wrapped__(beside, "wrap", numbered_together=numbered_together)


def _entries(
    endpoints: tuple[WeightedEndpoint, ...], config: RingConfig, variant: RingVariant
) -> tuple[tuple[tuple[str, str, int], ...], bool]:
    """Of endpoints: address, beginning of its keys, count; and whether one number runs over all."""
    counts = entry_counts(endpoints, config, variant.allotment)
    names = {each.address: _name(each, variant.key_format) for each in _merged(endpoints)}
    if variant.key_format == "{address}{n}":
        return tuple((address, names[address], count) for address, count in counts.items()), True
    return tuple((address, name, counts[address]) for address, name in names.items()), False


@functools.lru_cache(maxsize=64)
def _assemble(
    endpoints: tuple[tuple[str, str, int], ...], search: Search, *, numbered_together: bool
) -> Ring:
    """Number, hash and sort the entries of endpoints: address, beginning of its keys, count."""
    hashes: list[int] = []
    owners: list[int] = []
    keys: list[str] = []
    for owner, (_, name, count) in enumerate(endpoints):
        first = len(keys) if numbered_together else 0
        numbered, hashed = _numbered(name, first + count)
        keys += numbered[first : first + count]
        hashes += hashed[first : first + count]
        owners += itertools.repeat(owner, count)
    shift = 0 if search == "wrap" else _SPACE // 2
    positions = [(each + shift) % _SPACE for each in hashes] if shift else hashes
    order = sorted(range(len(keys)), key=positions.__getitem__)
    return Ring(
        addresses=tuple(address for address, _, _ in endpoints),
        positions=tuple([positions[index] for index in order]),
        owners=tuple([owners[index] for index in order]),
        keys=tuple([keys[index] for index in order]),
        shift=shift,
        wraps=search == "wrap",
    )


def _numbered(name: str, count: int) -> tuple[list[str], list[int]]:
    """Keys that begin so, numbered from 0, at least as many; and their hashes."""
    keys, hashes = _numbered_so_far(name)
    more = [f"{name}{number}" for number in range(len(keys), count)]
    keys += more
    hashes += map(xxh64, more)
    return keys, hashes


@functools.lru_cache(maxsize=64)
def _numbered_so_far(name: str) -> tuple[list[str], list[int]]:  # noqa: ARG001 - the cache's key
    """Lists to be gone on with: rings of the same endpoints have the same keys."""
    return [], []


def _merged(endpoints: Iterable[WeightedEndpoint]) -> list[WeightedEndpoint]:
    """Each address once, where it is first listed, with the sum of its weights."""
    merged: dict[str, WeightedEndpoint] = {}
    for endpoint in endpoints:
        first = merged.get(endpoint.address)
        if first is None:
            merged[endpoint.address] = endpoint
        else:
            merged[endpoint.address] = WeightedEndpoint(
                address=first.address,
                weight=first.weight + endpoint.weight,
                locality=first.locality,
                hash_key=first.hash_key,
            )
    return list(merged.values())


def _allotted(
    endpoints: Sequence[WeightedEndpoint], allotment: Allotment
) -> Sequence[WeightedEndpoint]:
    match allotment:
        case "list":
            return endpoints
        case "localities":
            return sorted(endpoints, key=lambda each: each.locality)
        case "keys":
            return sorted(endpoints, key=lambda each: each.hash_key or each.address)
        case "buckets":
            size = 16  # what a HashMap begins with; it doubles once more than three quarters full
            while len(endpoints) > size * 3 // 4:
                size *= 2
            return sorted(endpoints, key=lambda each: _bucket(each.address, size))


def _bucket(address: str, size: int) -> int:
    """Where java.util.HashMap, with so many buckets, puts the list of just this InetSocketAddress.

    Known for literal addresses only; any others stay in their order.
    """
    host, _, port = address.rpartition(":")
    try:
        packed = ipaddress.ip_address(host.strip("[]")).packed
    except ValueError:
        return 0
    # Four bytes make a number; those of IPv6 count as signed ones.
    sign = 0x80 if len(packed) > _IPV4_BYTES else 0
    code = 31 + int(port)
    for start in range(0, len(packed), 4):
        word = 0
        for byte in packed[start : start + 4]:
            word = (word << 8) + (byte ^ sign) - sign
        code += word
    code %= 1 << 32
    return (code ^ code >> 16) & (size - 1)


def _name(endpoint: WeightedEndpoint, key_format: KeyFormat) -> str:
    """An entry's key without its number."""
    name = endpoint.hash_key or endpoint.address
    match key_format:
        case "{address}_{i}":
            return f"{name}_"
        case "/{address}_{i}":
            return f"{name}_" if endpoint.hash_key else f"/{_in_full(name)}_"
        case "[/{address}]_{i}":
            return f"{name}_" if endpoint.hash_key else f"[/{_in_full(name)}]_"
        case "{address}{n}":
            return name


def _in_full(address: str) -> str:
    """The address as Java (14 on) writes it: an IPv6 host with its eight groups, none left out."""
    host, _, port = address.rpartition(":")
    if not host.startswith("["):
        return address
    groups = ipaddress.IPv6Address(host[1:-1]).exploded.split(":")
    return f"[{':'.join(f'{int(group, 16):x}' for group in groups)}]:{port}"


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
