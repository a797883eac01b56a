"""How a client names the entries of its rings: what is stated, and what calls tell. Pure."""

from __future__ import annotations

from bisect import bisect_left

import pytest
import xxhash

from conformance.judging import ring_keys
from conformance.judging.observations import Call, Calls
from conformance.judging.ring_keys import RingKeys
from conformance.mutation.results import declared_mutants
from conformance.spec.catalogue import load
from conformance.spec.oracles.ring.building import build_for
from conformance.spec.oracles.ring.keys import KEY_FORMATS
from conformance.spec.oracles.ring.variants import Candidate, RingVariant
from conformance.xds_config.config import XdsConfig, single_locality
from conformance.xds_config.policies import RingHash

PLACES = tuple(f"127.0.0.1:{port}" for port in (34101, 34102, 34103, 34104))
FOUR = single_locality(PLACES, policy=RingHash(minimum=1024, maximum=1024))
VALUES = tuple(f"value-{number}" for number in range(24))


def xxh64(value: str) -> int:
    return xxhash.xxh64_intdigest(value.encode())


def calls(where: dict[str, str]) -> Calls:
    return Calls(
        tuple(
            Call(
                id=value,
                channel="channel-1",
                path="/s/m",
                metadata=(("session", value),),
                status="OK",
                endpoint=endpoint,
            )
            for value, endpoint in where.items()
        )
    )


def calls_of(served: XdsConfig, written: str, *, further: int = 0) -> Calls:
    """Of a client with these keys, which goes so many entries too far."""
    variant = RingVariant(key_format=KEY_FORMATS[written])
    ring = build_for(served.ring_localities(), served.config(), Candidate(variant))
    hits = {value: bisect_left(ring.positions, xxh64(value)) + further for value in VALUES}
    return calls(
        {value: ring.addresses[ring.owners[hit % len(ring)]] for value, hit in hits.items()}
    )


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        (None, None),
        ("ip:port_i", RingKeys(format="ip:port_i")),
        ("unknown", RingKeys(note="client.toml says so")),
    ],
)
def test_what_a_manifest_states(written: str | None, keys: RingKeys | None) -> None:
    assert ring_keys.stated(written) == keys


@pytest.mark.parametrize("written", KEY_FORMATS)
def test_a_known_format_is_found(written: str) -> None:
    found = ring_keys.found(FOUR.matches_ring(), calls_of(FOUR, written))
    assert found == RingKeys(format=written, is_found=True)
    assert found.known == KEY_FORMATS[written]


def test_none_that_is_known_is_told_with_an_example() -> None:
    found = ring_keys.found(FOUR.matches_ring(), calls_of(FOUR, "ip:port_i", further=1))
    assert found.known is None
    assert not found.is_found
    assert found.note.startswith("none that is known fits: on a plain ring ")
    assert "of 24 calls went elsewhere" in found.note


def test_several_formats_that_fit_tell_nothing() -> None:
    config = single_locality(PLACES[:1])
    found = ring_keys.found(config.matches_ring(), calls(dict.fromkeys(VALUES, PLACES[0])))
    assert found.known is None
    assert found.note == "several known formats fit the calls on a plain ring"


def test_calls_that_failed_tell_nothing() -> None:
    failed = Call(id="x", channel="c", path="/s/m", metadata=(), status="UNAVAILABLE")
    found = ring_keys.found(FOUR.matches_ring(), Calls((failed,)))
    assert found.known is None
    assert "1 of 1 calls did not succeed" in found.note


def test_whoever_goes_one_entry_too_far_is_excused_by_its_arcs_only_where_nothing_is_known() -> (
    None
):
    shifted = calls_of(FOUR, "ip:port_i", further=1)
    assert RingKeys().bind(FOUR.matches_ring()).finding(shifted).holds
    assert not RingKeys(format="ip:port_i").bind(FOUR.matches_ring()).finding(shifted).holds


def test_mutants_report_choices_that_the_catalogue_knows() -> None:
    rows = load()
    for mutant in declared_mutants():
        if rows[mutant.clause].choices:
            assert mutant.reports in {*rows[mutant.clause].choices, "none of the known"}, mutant.id
