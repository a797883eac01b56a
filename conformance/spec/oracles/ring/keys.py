"""Compute the keys of ring entries and their hashes.

A42, "Ring Construction", gives address and entry number as an example only. A76 adds hash keys.
"""

import functools
import ipaddress
from typing import Final, Literal

from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.weights import WeightedEndpoint

KeyFormat = Literal["{address}_{i}", "/{address}_{i}", "[/{address}]_{i}", "{address}{n}"]
"""The text that is hashed for an entry; `i` counts an endpoint's entries, `n` those of the ring.

In order: C-core, Envoy, Node and current Go; Java; Java up to 1.59; Go up to 1.53.
"""

KEY_FORMATS: Final[dict[str, KeyFormat]] = {
    "ip:port_i": "{address}_{i}",
    "/ip:port_i": "/{address}_{i}",
    "[/ip:port]_i": "[/{address}]_{i}",
    "ip:porti": "{address}{n}",
}
"""The key formats by their names in manifests and reports."""


def beginning(endpoint: WeightedEndpoint, key_format: KeyFormat) -> str:
    """Return an entry's key without its number.

    Clauses: A42-RING-03, A61-RING-02, A61-RING-04, A76-KEY-01, A76-KEY-02, A76-KEY-03, A76-KEY-04,
    A76-KEY-06, A76-KEY-07.
    """
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


def numbered(name: str, count: int) -> tuple[list[str], list[int]]:
    """Return at least `count` keys with this prefix, numbered from 0, and their hashes.

    Clauses: A42-RING-04, A76-KEY-05.
    """
    keys, hashes = _numbered_so_far(name)
    more = [f"{name}{number}" for number in range(len(keys), count)]
    keys += more
    hashes += map(xxh64, more)
    return keys, hashes


@functools.lru_cache(maxsize=64)
def _numbered_so_far(name: str) -> tuple[list[str], list[int]]:  # noqa: ARG001 - the cache's key
    """Return lists for the caller to extend: rings of equal endpoints share their keys."""
    return [], []


def _in_full(address: str) -> str:
    """Return the address as Java (from 14) writes it: an IPv6 host with all eight groups."""
    host, _, port = address.rpartition(":")
    if not host.startswith("["):
        return address
    groups = ipaddress.IPv6Address(host[1:-1]).exploded.split(":")
    return f"[{':'.join(f'{int(group, 16):x}' for group in groups)}]:{port}"
