"""Compute the number of entries of a ring and of each endpoint.

A42, "Ring Construction" and "LB Policy Config". In what order fractional counts are allotted the
text does not say.
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
"""The order in which endpoints get their entries, which matters when a count is fractional.

As listed; by the localities' names, as listed within each (C-core); by their keys (Go); as they
lie in the buckets of a hash table (Java).
"""

Sizing = Literal["at least", "above"]
"""Whether a ring of just the minimum size is large enough.

`at least`: as in Envoy, to which the text refers, and in every client that is known. `above`: the
text's "greater than", strictly.
"""

DEFAULT_MINIMUM: Final = 1024
DEFAULT_MAXIMUM: Final = 8 * 1024 * 1024  # when used through xDS
OWN_DEFAULT_MAXIMUM: Final = 4096  # of gRPC's own config of the policy
LIMIT: Final = 8 * 1024 * 1024  # values above it are NACKed
DEFAULT_CAP: Final = 4096  # the client's own

_IPV4_BYTES: Final = 4
_FEW: Final = 5  # endpoints, of which every order is tried: 120
_MANY: Final = 100  # ways to give odd entries away, beyond which none but the known orders count
_ROUNDING: Final = 1e-12  # of double arithmetic, far below a share that A113 has truncated


class RingConfig(Struct, frozen=True):
    """Sizes as the Cluster resource has them, None when unset, and the client's cap.

    Clauses: A42-CDS-03, A42-CDS-04, A42-CDS-05, A42-CDS-06, A42-CDS-07, A42-CDS-10, A42-CDS-11,
    A42-CDS-24, A42-CONF-01, A42-CONF-02, A42-CONF-03, A42-CONF-04, A42-CONF-05, A42-CONF-06,
    A42-CONF-07, A42-LOC-05.
    """

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


def entry_counts(
    endpoints: Sequence[WeightedEndpoint],
    config: RingConfig,
    allotment: Allotment = "list",
    sizing: Sizing = "at least",
) -> dict[str, int]:
    """Number of entries of each address, in the order of the allotment.

    The ring has the least size, not below the minimum (strictly: above it), that gives the lightest
    endpoint whole entries, but not more than the maximum (A42, "Ring Construction"). Other counts
    may be fractional: entries are added until they reach the running sum. All of it is in double
    arithmetic, and operation by operation what implementations compute, because its rounding can
    give or take an entry.

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
    """Number of entries of each address by whatever order they are dealt out in, each once.

    The known orders come first. By any other one, too, each count is rounded down or up, and all
    of them together make the size. What double arithmetic gives or takes is known of few endpoints.

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
    """The counts rounded down but for as many as make up the size, which are rounded up."""
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
    """How many entries all endpoints are due, and what their weights add up to."""
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
