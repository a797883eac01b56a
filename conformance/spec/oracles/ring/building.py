"""Build rings of weighted endpoints by every algorithm that a known client uses.

A42, "Ring Construction": a ring's entries are sorted by hash (A42-RING-01, A42-RING-02) and depend
on the current list only (A42-RING-15, A42-RING-16, A42-RING-17, A42-RING-18, A42-RING-19).
"""

import functools
import itertools
from collections.abc import Collection, Iterable, Sequence

from conformance.spec.oracles.ring.keys import beginning, numbered
from conformance.spec.oracles.ring.search import SPACE, Ring, Search
from conformance.spec.oracles.ring.sizes import RingConfig, dealings, entry_counts
from conformance.spec.oracles.ring.variants import CANDIDATES, Candidate, RingVariant
from conformance.spec.oracles.ring.weights import RingLocality, WeightedEndpoint, merged, weights


def build(
    endpoints: tuple[WeightedEndpoint, ...],
    config: RingConfig,
    variant: RingVariant = RingVariant(),  # noqa: B008 - frozen
) -> Ring:
    """Build the ring of a list of endpoints; equal rings are one object, from a cache.

    An address that is listed more than once has the sum of its weights.

    Raises:
        ValueError: there is no endpoint, or the config is invalid.
    """
    entries, numbered_together = counted(endpoints, config, variant)
    return assembled(entries, variant.search, numbered_together=numbered_together)


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
    """Return the candidates that agree with every observation (a hash and its address).

    All endpoints but the failed were READY.

    Candidates that build the same ring are all returned; they do if every count is whole. An empty
    result means that the suite does not know the client's algorithm, which A42 allows.
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


def fits_otherwise(
    observed: Sequence[tuple[int, str]],
    localities: Sequence[RingLocality],
    config: RingConfig,
    candidate: Candidate,
    *,
    failed: Collection[str] = (),
) -> bool:
    """Return whether a candidate agrees with some other order of allotting fractional counts.

    The order need not be a known one. Return False if entries are numbered over the whole ring,
    because another order then has other keys.

    Clauses: A42-RING-10.
    """
    variant = candidate.variant
    endpoints = weights(localities, candidate.weights)
    entries, numbered_together = counted(endpoints, config, variant)
    if numbered_together:
        return False
    for counts in dealings(endpoints, config, variant.sizing):
        dealt = tuple((address, name, counts[address]) for address, name, _ in entries)
        ring = assembled(dealt, variant.search, numbered_together=False)
        if all(ring.pick(value, failed) == address for value, address in observed):
            return True
    return False


def counted(
    endpoints: tuple[WeightedEndpoint, ...], config: RingConfig, variant: RingVariant
) -> tuple[tuple[tuple[str, str, int], ...], bool]:
    """Return each endpoint's address, key prefix and entry count, and whether numbers are shared.

    Numbers are shared if one number runs over the entries of all endpoints.
    """
    counts = entry_counts(endpoints, config, variant.allotment, variant.sizing)
    names = {each.address: beginning(each, variant.key_format) for each in merged(endpoints)}
    if variant.key_format == "{address}{n}":
        return tuple((address, names[address], count) for address, count in counts.items()), True
    return tuple((address, name, counts[address]) for address, name in names.items()), False


@functools.lru_cache(maxsize=64)
def assembled(
    endpoints: tuple[tuple[str, str, int], ...], search: Search, *, numbered_together: bool
) -> Ring:
    """Build a ring from the address, key prefix and entry count of each endpoint."""
    hashes: list[int] = []
    owners: list[int] = []
    keys: list[str] = []
    for owner, (_, name, count) in enumerate(endpoints):
        first = len(keys) if numbered_together else 0
        texts, hashed = numbered(name, first + count)
        keys += texts[first : first + count]
        hashes += hashed[first : first + count]
        owners += itertools.repeat(owner, count)
    shift = SPACE // 2 if search == "signed" else 0
    positions = [(each + shift) % SPACE for each in hashes] if shift else hashes
    order = sorted(range(len(keys)), key=positions.__getitem__)
    return Ring(
        addresses=tuple(address for address, _, _ in endpoints),
        positions=tuple([positions[index] for index in order]),
        owners=tuple([owners[index] for index in order]),
        keys=tuple([keys[index] for index in order]),
        shift=shift,
        wraps=search == "wrap",
    )
