"""Calls and answers for tests of expectations."""

from __future__ import annotations

import itertools
import random
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import xxhash

from conformance.judging.expectations import (
    Expectation,
)
from conformance.judging.observations import Call, Calls
from conformance.judging.ring_keys import RingKeys
from conformance.xds_config.config import XdsConfig, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash

A, B, C, D = (f"127.0.0.1:{port}" for port in (34101, 34102, 34103, 34104))
PLACES = (A, B, C, D)
RNG = random.Random("expectations")
VALUES = tuple(f"{RNG.getrandbits(48):012x}" for _ in range(300))


def at(*endpoints: str, channel: str = "channel-1", path: str = "/s/m") -> Calls:
    """Calls that succeeded, each with a session of its own, at these endpoints."""
    return Calls(
        tuple(
            Call(
                id=f"call-{number}",
                channel=channel,
                path=path,
                metadata=(("session", VALUES[number % len(VALUES)]),),
                status="OK",
                endpoint=endpoint,
            )
            for number, endpoint in enumerate(endpoints)
        )
    )


# The ring: clients with faults of every kind, built here by other code than the oracle's.


@dataclass(frozen=True, kw_only=True)
class Client:
    """How a client builds and searches its ring; the defaults are right."""

    seed: int = 0
    key: Callable[[str, int], str] = lambda address, number: f"{address}_{number}"
    default_minimum: int = 1024
    cap: int = 4096
    caps_maximum: bool = True
    a_ring_for_each_locality: bool = False
    weigh: Callable[[int, int], int] = lambda endpoint, locality: endpoint * locality
    more: int = 0
    lightest_has_more: int = 0
    backwards: bool = False
    wraps: bool = True

    def ring(self, weights: list[tuple[str, int]], policy: RingHash) -> list[tuple[int, str]]:
        least = self.default_minimum if policy.minimum is None else policy.minimum
        most = 8 * 1024 * 1024 if policy.maximum is None else policy.maximum
        least = min(least, self.cap)
        most = min(most, self.cap) if self.caps_maximum else most
        total = sum(weight for _, weight in weights)
        lightest = min(weight for _, weight in weights) / total
        whole = ceil(lightest * least) + self.lightest_has_more
        scale = min(whole / lightest, most) + self.more
        entries: list[tuple[int, str]] = []
        running, given = 0.0, 0
        for address, weight in weights:
            running += scale * (weight / total)
            number = 0
            while given < running:
                entries.append((self.hash(self.key(address, number)), address))
                number, given = number + 1, given + 1
        return sorted(entries)

    def hash(self, text: str) -> int:
        return xxhash.xxh64_intdigest(text.encode(), seed=self.seed)

    def rings(self, served: XdsConfig) -> list[list[tuple[int, str]]]:
        policy = served.get_cluster().policy
        assert isinstance(policy, RingHash)
        listed = [
            [(e.address, self.weigh(e.weight or 1, place.weight)) for e in place.endpoints]
            for place in served.get_cluster().localities
            if place.weight
        ]
        if not self.a_ring_for_each_locality:
            listed = [list(itertools.chain.from_iterable(listed))]
        return [self.ring(weights, policy) for weights in listed]

    def pick(self, entries: list[tuple[int, str]], value: str) -> str:
        index = bisect_left(entries, (self.hash(value), ""))
        if self.backwards:
            return entries[index - 1][1]
        if index == len(entries):
            index = 0 if self.wraps else -1
        return entries[index][1]

    def calls(self, served: XdsConfig, count: int = len(VALUES)) -> Calls:
        rings = itertools.cycle(self.rings(served))
        return at(*(self.pick(next(rings), value) for value in VALUES[:count]))


RIGHT = Client()
KNOWN = RingKeys(format="ip:port_i")
STRANGE = Client(key=lambda address, number: f"{number}@{address}")
FOUR = one_cluster((Locality(tuple(map(Endpoint, PLACES))),), policy=RingHash(minimum=200))
TWO_LOCALITIES = one_cluster(
    (
        Locality((Endpoint(A, 2), Endpoint(B, 1)), name="one", weight=3),
        Locality((Endpoint(C, 3), Endpoint(D, 1)), name="two", weight=2),
    ),
    policy=RingHash(minimum=200),
)


# A key format that nobody knows is no deviation: the arcs are judged.


def by_census(served: XdsConfig) -> Expectation:
    return RingKeys().bind(served.matches_ring())
