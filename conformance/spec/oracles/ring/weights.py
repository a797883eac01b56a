"""Compute the endpoints of a ring and their weights.

A42, "Background: Envoy vs. gRPC LB Policies"; A113 for normalized weights. Addresses are text,
"127.0.0.1:80" or "[::1]:80".
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct

WeightReading = Literal["raw", "A113", "envoy"]
"""An endpoint's weight: the product of the raw weights (A42), of shares in UQ1.31 (A113), or of
shares in double arithmetic (Envoy).
"""

_ONE: Final = 1 << 31  # 1 in A113's UQ1.31


class RingEndpoint(Struct, frozen=True):
    """An endpoint of an EDS resource.

    Clauses: A61-RING-01, A61-RING-02, A61-RING-03, A61-RING-04, A76-KEY-01, A76-KEY-02, A76-KEY-03,
    A76-KEY-04.

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

    Clauses: A42-LOC-10, A42-LOC-11.

    Attributes:
        name: sorts among other names as (region, zone, sub-zone) do.
        endpoints: those that may be used, in the order of the resource.
        weight: load_balancing_weight; the locality is left out when it is 0 or None (unset).
    """

    name: str
    endpoints: tuple[RingEndpoint, ...]
    weight: int | None = 1


class WeightedEndpoint(Struct, frozen=True, kw_only=True):
    """An endpoint that the ring_hash policy receives.

    `weight` is 1 or more; by Envoy's reading it is a share of 1.

    Clauses: A42-LOC-07.
    """

    address: str
    weight: int | float = 1
    locality: str = ""
    hash_key: str | None = None


def weights(
    localities: Sequence[RingLocality], reading: WeightReading
) -> tuple[WeightedEndpoint, ...]:
    """Return the endpoints of all localities of a priority, with the weights for its ring.

    All localities of a priority share a ring (A42, "Background: Envoy vs. gRPC LB Policies").

    Clauses: A42-LOC-01, A42-LOC-03, A42-LOC-07, A42-LOC-08, A42-LOC-09, A42-LOC-10, A42-LOC-11,
    A42-LOC-12, A113-WEIGHT-01, A113-WEIGHT-02, A113-WEIGHT-03.

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


def merged(endpoints: Iterable[WeightedEndpoint]) -> list[WeightedEndpoint]:
    """Return each address once, at its first occurrence, with the sum of its weights.

    Clauses: A42-RING-20.
    """
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
