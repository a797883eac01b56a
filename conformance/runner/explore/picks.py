"""Compute every result that a request may have, from what its endpoints may be. Pure."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from math import prod
from typing import Final, Literal

import msgspec

from conformance.runner.explore.courses import HASHING, Configuration, Member
from conformance.runner.explore.endpoint_states import States
from conformance.runner.explore.record import Judged, Request
from conformance.spec.oracles.aggregated_state import aggregated_state
from conformance.spec.oracles.picker import PickerEdition, State, pick
from conformance.spec.oracles.request_hash import contributing, request_hash
from conformance.spec.oracles.ring.building import assembled, build, counted
from conformance.spec.oracles.ring.search import Ring
from conformance.spec.oracles.ring.sizes import RingConfig, dealings
from conformance.spec.oracles.ring.variants import CANDIDATES, RingVariant
from conformance.spec.oracles.ring.weights import (
    RingEndpoint,
    RingLocality,
    WeightedEndpoint,
    WeightReading,
    weights,
)

MOST_COMBINATIONS: Final = 4096
"""Combinations of states beyond which any result is accepted."""

COMBINING: Final = "A42-HASH-06"
"""The clause that leaves open how several hashes are combined."""


class PossibleResult(msgspec.Struct, frozen=True):
    """A result of a pick: `served` or `waiting` at an index of the walk, or `failed`."""

    kind: Literal["served", "waiting", "failed"]
    index: int = -1


def name_of(locality: int) -> str:
    """Return the name of a locality of a course."""
    return f"locality-{locality}"


def picker_of(client: Judged) -> PickerEdition:
    """Return whose picker the client declares."""
    return "A61" if {"A61", "A61-2023"} & {*client.follows} else "A42"


def weights_of(client: Judged) -> WeightReading:
    """Return how the client weighs endpoints according to its editions."""
    if "envoy" in client.follows:
        return "envoy"
    return "A113" if "A113" in client.follows else "raw"


@functools.lru_cache(maxsize=4096)
def possible_results(walk: tuple[States, ...], edition: PickerEdition) -> frozenset[PossibleResult]:
    """Return each result of a pick for some combination of the states along the walk."""
    if not walk:
        return frozenset({PossibleResult("failed")})
    if prod(map(len, walk)) > MOST_COMBINATIONS:
        everywhere = range(len(walk))
        return frozenset(
            (
                PossibleResult("failed"),
                *(PossibleResult("served", index) for index in everywhere),
                *(PossibleResult("waiting", index) for index in everywhere),
            )
        )
    return frozenset(_result(states, edition) for states in itertools.product(*walk))


def _result(states: Sequence[State], edition: PickerEdition) -> PossibleResult:
    picked = pick(states, edition)
    if picked.outcome == "complete":
        assert picked.endpoint is not None, "a complete pick has an endpoint"
        return PossibleResult("served", picked.endpoint)
    if picked.outcome == "fail":
        return PossibleResult("failed")
    deciding = next(i for i, state in enumerate(states) if state != "TRANSIENT_FAILURE")
    return PossibleResult("waiting", deciding)


def possible_aggregates(states: Sequence[States]) -> frozenset[State]:
    """Return each state that ring_hash may report for some combination of endpoint states."""
    if not states:
        return frozenset({"TRANSIENT_FAILURE"})
    if prod(map(len, states)) > MOST_COMBINATIONS:
        return frozenset({"READY", "IDLE", "CONNECTING", "TRANSIENT_FAILURE"})
    return frozenset(aggregated_state(each) for each in itertools.product(*states))


class Walks:
    """The orders in which requests of one client meet the endpoints of a configuration.

    Args:
        client: the client.
        addresses: the address of each endpoint.
    """

    def __init__(self, client: Judged, addresses: Sequence[str]) -> None:
        self._client = client
        self._members = {address: member for member, address in enumerate(addresses)}
        self._addresses = tuple(addresses)
        self._rings: dict[Configuration, tuple[Ring, ...]] = {}

    def rings(self, configuration: Configuration) -> tuple[Ring, ...]:
        """Return every ring that the client may have built for a configuration.

        There is none if no endpoint is usable, or if the format of the client's ring keys is
        unknown.
        """
        found = self._rings.get(configuration)
        if found is None:
            found = self._rings[configuration] = self._built(configuration)
        return found

    def _built(self, configuration: Configuration) -> tuple[Ring, ...]:
        if not configuration.used or self._client.key_format is None:
            return ()
        config = RingConfig(configuration.minimum, configuration.maximum)
        wanted = [
            candidate.variant
            for candidate in CANDIDATES
            if candidate.variant.key_format == self._client.key_format
            and candidate.weights == "raw"
        ]
        rings: dict[Ring, None] = {}
        for endpoints in self._weighed(configuration):
            for variant in wanted:
                rings[build(endpoints, config, variant)] = None
                if variant.allotment == "list":
                    rings |= dict.fromkeys(_dealt(endpoints, config, variant))
        return tuple(rings)

    def _weighed(self, configuration: Configuration) -> set[tuple[WeightedEndpoint, ...]]:
        """Return the endpoints of the ring with their weights.

        A share may be one of all endpoints of the locality, or of those that are used (A113).
        """
        reading = weights_of(self._client)
        used = {self._addresses[member] for member in configuration.members}
        found = set()
        for listed in (configuration.used, configuration.endpoints):
            places: dict[int, list[RingEndpoint]] = {}
            for endpoint in listed:
                address = self._addresses[endpoint.member]
                weight = 1 if endpoint.weight is None else endpoint.weight
                places.setdefault(endpoint.locality, []).append(RingEndpoint(address, weight))
            localities = tuple(
                RingLocality(name_of(number), tuple(endpoints), configuration.weight_of(number))
                for number, endpoints in places.items()
            )
            weighed = weights(localities, reading)
            found.add(tuple(each for each in weighed if each.address in used))
        return found

    def is_random(self, configuration: Configuration) -> bool:
        """Return whether the client draws a random hash for each request."""
        return configuration.hashing == "none"

    def orders(
        self, ring: Ring, configuration: Configuration, request: Request
    ) -> Iterator[tuple[Member, ...]]:
        """Yield each order in which the request may meet the endpoints of a ring."""
        value = self._hash(configuration, request)
        if value is not None:
            yield self._order(ring.preference(value))
            return
        yield from self.all_orders(ring)

    def all_orders(self, ring: Ring) -> tuple[tuple[Member, ...], ...]:
        """Return the order from each entry of a ring."""
        return tuple(dict.fromkeys(map(self._order, _preferences(ring))))

    def _hash(self, configuration: Configuration, request: Request) -> int | None:
        policies = HASHING[configuration.hashing]
        if configuration.hashing == "channel":
            return None
        counted_policies = contributing(policies, request.metadata, "A42")
        if len(counted_policies) > 1 and self._client.choices.get(COMBINING) != "Envoy's formula":
            return None
        return request_hash(policies, request.metadata, terminal="A42")

    def _order(self, addresses: Sequence[str]) -> tuple[Member, ...]:
        return tuple(self._members[address] for address in addresses)


def _dealt(
    endpoints: tuple[WeightedEndpoint, ...], config: RingConfig, variant: RingVariant
) -> Iterator[Ring]:
    """Yield the rings of all other orders in which entries may be dealt out."""
    entries, numbered_together = counted(endpoints, config, variant)
    if numbered_together:
        return
    for counts in dealings(endpoints, config, variant.sizing):
        dealt = tuple((address, name, counts[address]) for address, name, _ in entries)
        yield assembled(dealt, variant.search, numbered_together=False)


@functools.lru_cache(maxsize=64)
def _preferences(ring: Ring) -> tuple[tuple[str, ...], ...]:
    hashes = [(position - ring.shift) % 2**64 for position in ring.positions]
    return tuple(dict.fromkeys(ring.preference(value) for value in hashes))
