"""Describe ways of building a ring, and calls that a ring maps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from conformance.judging.call_patterns import MappedCall
from conformance.judging.expectations.finding import headers_of
from conformance.judging.observations import Call
from conformance.spec.oracles.request_hash import (
    HashPolicy,
    HeaderPolicy,
    header_values,
    rewrite,
)
from conformance.spec.oracles.ring.variants import Candidate

MET_TWICE: Final = "calls with one expected hash reached two endpoints"


def met_twice(mapped: Iterable[MappedCall], policies: tuple[HashPolicy, ...]) -> str:
    """Describe calls of one hash at two endpoints, which no ring allows; empty if there are none.

    Calls with equal metadata come first: the client picks by more than the hash.
    """
    by_hash: dict[int, list[MappedCall]] = {}
    for call in mapped:
        by_hash.setdefault(call.hash, []).append(call)
    pairs = [
        (first, other)
        for first, *others in by_hash.values()
        for other in others
        if first.observed != other.observed
    ]
    equal = [(first, other) for first, other in pairs if first.call.metadata == other.call.metadata]
    for first, other in (*equal, *pairs):
        same = ", although their headers are equal" if equal else ""
        return (
            f"{MET_TWICE}: {described(first, policies)} reached {first.observed}, "
            f"{described(other, policies)} reached {other.observed}{same}"
        )
    return ""


def described(mapped: MappedCall, policies: Iterable[HashPolicy]) -> str:
    """Name a call, with what it sent and the hash that the ring expects."""
    rewritten = _rewritten(mapped.call, policies)
    return (
        f"{mapped.call.id} ({headers_of(mapped.call)}{rewritten}, expected hash "
        f"{mapped.hash:#018x})"
    )


def _rewritten(call: Call, policies: Iterable[HashPolicy]) -> str:
    """Describe the rewritten header values that the client must hash."""
    pairs = (
        (value, rewrite(value, policy.regex, policy.substitution))
        for policy in policies
        if isinstance(policy, HeaderPolicy) and policy.regex is not None
        for value in header_values(call.metadata, policy.name, policy.several)
    )
    return "".join(
        f", must be rewritten to '{rewritten}'" for value, rewritten in pairs if value != rewritten
    )


def named(candidate: Candidate, order: str = "") -> str:
    """Describe a way of building the ring."""
    variant = candidate.variant
    return (
        f"entry keys {variant.key_format}; fractional entry counts rounded "
        f"{order or ORDERS[variant.allotment]}; {SEARCHES[variant.search]}; "
        f"{SIZES[variant.sizing]}; {WEIGHTS[candidate.weights]}"
    )


ORDERS: Final[dict[str, str]] = {
    "list": "in the order of the list",
    "localities": "in the order of the names of localities",
    "keys": "in the order of the keys",
    "buckets": "in the order of a Java hash table",
}
SEARCHES: Final[dict[str, str]] = {
    "wrap": "a hash beyond the last entry goes to the first",
    "signed": "hashes compare as signed numbers and beyond the last entry go to the last",
    "clamp": "a hash beyond the last entry goes to the last",
}
SIZES: Final[dict[str, str]] = {
    "at least": "the ring has at least the minimum size",
    "above": "the ring has more than the minimum size",
}
WEIGHTS: Final[dict[str, str]] = {
    "raw": "weights multiplied (A42)",
    "A113": "weights as fixed-point shares (A113)",
    "envoy": "weights as floating-point shares (Envoy)",
}
