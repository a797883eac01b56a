"""Header values that tell one ring from another."""

import random

from conformance.judging.ring_keys import RingKeys
from conformance.spec.oracles.distinguishing import SEVERAL, Way
from conformance.spec.oracles.request_hash import xxh64
from conformance.world.header_values import ENOUGH_TO_MAP, LENGTHS, HeaderValues
from conformance.xds_config.config import XdsConfig, weighted_locality
from conformance.xds_config.policies import RingHash
from conformance.xds_config.routes import SESSION

ASKING_FOR_5001 = {"127.0.0.1:1": 1, "127.0.0.1:2": 2500, "127.0.0.1:3": 2500}


def test_ring_of_another_size_shows_in_several_calls() -> None:
    """4,096 entries instead of 5,001 move a call in eleven: by lot none would show at times."""
    large = weighted_locality(dict(ASKING_FOR_5001), policy=RingHash(minimum=1)).with_ring_cap(
        16384
    )
    values = HeaderValues(random.Random(0), RingKeys(format="ip:port_i"))
    chosen = values.telling(large, apart_from=large.with_ring_cap(4096))[:-ENOUGH_TO_MAP]
    mapping, other = exact(large), exact(large.with_ring_cap(4096))
    hashes = [xxh64(each[SESSION]) for each in chosen]
    assert sum(mapping(each) != other(each) for each in hashes) >= SEVERAL


def test_values_of_all_lengths_are_distinct() -> None:
    """As many of each range of lengths, though there are few values of one character."""
    values = HeaderValues(random.Random(0), RingKeys(format="ip:port_i")).of_all_lengths(400)
    assert len(set(values)) == 400
    for least, most in LENGTHS:
        assert sum(least <= len(value) <= most for value in values) == 400 / len(LENGTHS)


def exact(served: XdsConfig) -> Way:
    return served.matches_ring(key_format="{address}_{i}", weights="raw", search="wrap").picks()[0]
