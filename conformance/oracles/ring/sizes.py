"""How many entries a ring has, and each of its endpoints.

A42, "Ring Construction" and "LB Policy Config". In what order fractional counts are allotted the
text does not say.
"""

import ipaddress
import math
from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from conformance.oracles.ring.weights import WeightedEndpoint, merged

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
    minimum, maximum = config.sizes()
    ordered = _allotted(merged(endpoints), allotment)
    if not ordered:
        raise ValueError("A ring needs at least one endpoint.")
    shares = any(isinstance(endpoint.weight, float) for endpoint in ordered)
    total = 1.0 if shares else sum(endpoint.weight for endpoint in ordered)
    lightest = min(endpoint.weight for endpoint in ordered) / total
    whole = math.ceil(lightest * minimum)
    if sizing == "above" and whole / lightest <= minimum:
        whole += 1
    scale = min(whole / lightest, float(maximum))
    counts: dict[str, int] = {}
    current = 0
    target = 0.0
    for endpoint in ordered:
        target += scale * (endpoint.weight / total)
        reached = max(current, math.ceil(target))
        counts[endpoint.address] = reached - current
        current = reached
    return counts


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
