"""Compute the number of entries of a ring and of each endpoint.

A42, "Ring Construction" and "LB Policy Config". The text does not state the order in which an
implementation allots fractional counts.
"""

import functools
import ipaddress
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Final, Literal, get_args

from msgspec import Struct

from conformance.spec.oracles.ring.weights import WeightedEndpoint, merged

Allotment = Literal["list", "localities", "keys", "buckets"]
"""The order in which endpoints get their entries; it matters if a count is fractional.

`list`: as listed. `localities`: by locality name, as listed within each (C-core). `keys`: by hash
key (Go). `buckets`: in the order of a hash table's buckets (Java).
"""

Sizing = Literal["at least", "above"]
"""The smallest allowed ring: of the minimum size, or larger.

`at least`: as in Envoy, to which the text refers, and in every known client. `above`: the text's
"greater than", strictly.
"""

DEFAULT_MINIMUM: Final = 1024
DEFAULT_MAXIMUM: Final = 8 * 1024 * 1024  # when used through xDS
OWN_DEFAULT_MAXIMUM: Final = 4096  # in gRPC's own config of the policy
LIMIT: Final = 8 * 1024 * 1024  # a client rejects larger values
DEFAULT_CAP: Final = 4096  # a client's default ring size cap

_IPV4_BYTES: Final = 4
_FEW: Final = 5  # endpoints; try every order of these: 120
_MANY: Final = 100  # combinations of rounded counts; beyond them, use the known orders only
_ROUNDING: Final = 1e-12  # error of double arithmetic, far below what A113 truncates of a share


class RingConfig(Struct, frozen=True):
    """Ring sizes of a Cluster resource, None if unset, and the client's cap.

    Clauses: A42-CDS-03, A42-CDS-04, A42-CDS-05, A42-CDS-06, A42-CDS-07, A42-CDS-10, A42-CDS-11,
    A42-CDS-24, A42-CONF-01, A42-CONF-02, A42-CONF-03, A42-CONF-04, A42-CONF-05, A42-CONF-06,
    A42-CONF-07, A42-LOC-05.
    """

    minimum: int | None = None
    maximum: int | None = None
    cap: int = DEFAULT_CAP

    def sizes(self) -> tuple[int, int]:
        """Return the effective minimum and maximum size.

        Raises:
            ValueError: the config is invalid.
        """
        minimum = DEFAULT_MINIMUM if self.minimum is None else self.minimum
        maximum = DEFAULT_MAXIMUM if self.maximum is None else self.maximum
        if not 1 <= minimum <= maximum <= LIMIT or self.cap < 1:
            raise ValueError(
                f"No ring has minimum {minimum}, maximum {maximum} and cap {self.cap}: "
                f"it must hold that 1 <= minimum <= maximum <= {LIMIT} and 1 <= cap."
            )
        return min(minimum, self.cap), min(maximum, self.cap)


def entry_counts(
    endpoints: Sequence[WeightedEndpoint],
    config: RingConfig,
    allotment: Allotment = "list",
    sizing: Sizing = "at least",
) -> dict[str, int]:
    """Return the number of entries of each address, in the order of the allotment.

    The ring has the least size that gives the lightest endpoint a whole number of entries, from the
    minimum (or above it, see `Sizing`) up to the maximum (A42, "Ring Construction"). Other counts
    may be fractional: implementations add entries until they reach the running sum. This function
    uses the same operations in double arithmetic, because rounding can add or remove an entry.

    Clauses: A42-RING-05, A42-RING-06, A42-RING-07, A42-RING-08, A42-RING-09, A42-RING-10,
    A42-RING-11.

    Raises:
        ValueError: there is no endpoint, or no ring follows from the config.
    """
    ordered = _allotted(merged(endpoints), allotment)
    scale, total = _scaled(ordered, config, sizing)
    counts: dict[str, int] = {}
    current = 0
    target = 0.0
    for endpoint in ordered:
        target += scale * (endpoint.weight / total)
        reached = max(current, math.ceil(target))
        counts[endpoint.address] = reached - current
        current = reached
    return counts


@functools.lru_cache(maxsize=64)
def dealings(
    endpoints: tuple[WeightedEndpoint, ...], config: RingConfig, sizing: Sizing = "at least"
) -> tuple[dict[str, int], ...]:
    """Return the numbers of entries by every order of allotment, each distinct result once.

    The known orders come first. Any other order also rounds each count down or up, and the counts
    add up to the size. The exact effect of double arithmetic is computed for up to five endpoints.

    Clauses: A42-RING-08, A42-RING-10.

    Raises:
        ValueError: there is no endpoint, or no ring follows from the config.
    """
    known = (entry_counts(endpoints, config, order, sizing) for order in get_args(Allotment))
    several = merged(endpoints)
    orders = itertools.permutations(several) if len(several) <= _FEW else ()
    any_order = (entry_counts(order, config, "list", sizing) for order in orders)
    found: dict[frozenset[tuple[str, int]], dict[str, int]] = {}
    for way in itertools.chain(known, any_order, _rounded(several, config, sizing)):
        found.setdefault(frozenset(way.items()), way)
    return tuple(found.values())


def _rounded(
    endpoints: Sequence[WeightedEndpoint], config: RingConfig, sizing: Sizing
) -> Iterator[dict[str, int]]:
    """Yield all counts that are rounded down or up and add up to the size."""
    scale, total = _scaled(endpoints, config, sizing)
    due = {each.address: scale * (each.weight / total) for each in endpoints}
    least = {address: math.floor(count * (1 + _ROUNDING)) for address, count in due.items()}
    odd = [address for address, count in due.items() if count * (1 - _ROUNDING) > least[address]]
    left = math.ceil(scale * (1 - _ROUNDING)) - sum(least.values())
    if 0 <= left <= len(odd) and math.comb(len(odd), left) <= _MANY:
        for more in itertools.combinations(odd, left):
            yield {address: count + (address in more) for address, count in least.items()}


def _scaled(
    endpoints: Sequence[WeightedEndpoint], config: RingConfig, sizing: Sizing
) -> tuple[float, float]:
    """Return the ring size (a fraction, before rounding up) and the sum of the weights."""
    if not endpoints:
        raise ValueError("A ring needs at least one endpoint.")
    minimum, maximum = config.sizes()
    shares = any(isinstance(endpoint.weight, float) for endpoint in endpoints)
    total = 1.0 if shares else sum(endpoint.weight for endpoint in endpoints)
    lightest = min(endpoint.weight for endpoint in endpoints) / total
    whole = math.ceil(lightest * minimum)
    if sizing == "above" and whole / lightest <= minimum:
        whole += 1
    return min(whole / lightest, float(maximum)), total


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
            size = 16  # A HashMap starts with 16 buckets and doubles them above 3/4 load.
            while len(endpoints) > size * 3 // 4:
                size *= 2
            return sorted(endpoints, key=lambda each: _bucket(each.address, size))


def _bucket(address: str, size: int) -> int:
    """Return the bucket of a java.util.HashMap of `size` buckets for a list of this one address.

    The key is a list of one InetSocketAddress. Return 0 if the host is not an IP literal, so that
    such addresses keep their order.
    """
    host, _, port = address.rpartition(":")
    try:
        packed = ipaddress.ip_address(host.strip("[]")).packed
    except ValueError:
        return 0
    # Java combines four bytes to a number; it takes the bytes of IPv6 as signed.
    sign = 0x80 if len(packed) > _IPV4_BYTES else 0
    code = 31 + int(port)
    for start in range(0, len(packed), 4):
        word = 0
        for byte in packed[start : start + 4]:
            word = (word << 8) + (byte ^ sign) - sign
        code += word
    code %= 1 << 32
    return (code ^ code >> 16) & (size - 1)
