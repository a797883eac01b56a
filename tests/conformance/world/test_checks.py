"""What a scenario puts before the judge; nothing runs here."""

from __future__ import annotations

import msgspec
import pytest

from conformance.judging.aborts import ResourceRejected, RingUnknown, Unsupported
from conformance.judging.evidence import JudgedClient
from conformance.judging.expectations import AllServedBy, EndsWith, MatchesRing
from conformance.judging.observations import Calls
from conformance.judging.ring_keys import RingKeys
from conformance.judging.verdicts import Cause
from conformance.spec.catalogue import load
from conformance.spec.oracles.ring.keys import KEY_FORMATS
from conformance.world.checks import Checks
from conformance.xds_config.config import single_locality

NOTHING = Calls(())
MAPPING = single_locality(("127.0.0.1:1", "127.0.0.1:2")).matches_ring()
MUST, REWORDED, FREE = "A42-RING-05", "A42-PRO-11", "A42-RING-14"


def bench(*follows: str, keys: RingKeys | None = None) -> Checks:
    judged = JudgedClient(name="one", version="1", variant=None, follows=follows)
    return Checks(load(), msgspec.structs.replace(judged, ring_keys=keys or RingKeys()))


def test_one_expectation_is_that_of_the_first_wording() -> None:
    asked = bench("A42")
    asked.check(MUST, NOTHING, EndsWith("OK"))
    (check,) = asked.checks
    assert check.expected == {"A42-2021": EndsWith("OK")}


def test_what_envoy_does_not_have_is_demanded_of_it_in_vain() -> None:
    bench("A37").require("A37-TREE-02")
    bench("A42", "envoy").require("A37-TREE-08")
    with pytest.raises(Unsupported, match="nested aggregates"):
        bench("A42", "envoy").require("A37-TREE-02")


def test_one_expectation_holds_for_envoys_words_too() -> None:
    asked = bench("envoy")
    asked.check("A32-CB-01", NOTHING, EndsWith("OK"))
    (check,) = asked.checks
    assert check.expected == {"A32": EndsWith("OK"), "envoy": EndsWith("OK")}


@pytest.mark.parametrize(
    ("keys", "key_format", "by_arcs"),
    [
        (RingKeys(format="ip:port_i"), KEY_FORMATS["ip:port_i"], False),
        (RingKeys(note="client.toml says so"), None, True),
    ],
)
def test_a_ring_binds_by_what_is_known_of_its_keys(
    keys: RingKeys,
    key_format: object,
    by_arcs: bool,  # noqa: FBT001
) -> None:
    asked = bench("A42", keys=keys)
    asked.check(MUST, NOTHING, MAPPING)
    asked.check(FREE, NOTHING, {"the first entry": MAPPING})
    bound, free = (next(iter(check.expected.values())) for check in asked.checks)
    assert isinstance(bound, MatchesRing)
    assert (bound.key_format, bound.by_arcs) == (key_format, by_arcs)
    assert free == MAPPING  # nobody fails a choice, so the format does not matter


def test_a_choice_that_the_row_does_not_name() -> None:
    with pytest.raises(ValueError, match="the catalogue has"):
        bench("A42").check(FREE, NOTHING, {"the third entry": MAPPING})


@pytest.mark.parametrize(
    ("follows", "own"),
    [(("A42",), "A42"), (("A42", "A61-2023"), "A61-2023"), (("A42", "A61"), "A61"), ((), "A42")],
)
def test_own(follows: tuple[str, ...], own: str) -> None:
    asked = bench(*follows)
    expected = asked.by_edition(REWORDED, lambda edition: AllServedBy((edition,)))
    assert asked.own(REWORDED, expected) == AllServedBy((own,))


def test_a_format_that_nobody_knows() -> None:
    with pytest.raises(RingUnknown, match=r"client\.toml says so"):
        _ = bench(keys=RingKeys(note="client.toml says so")).key_format
    refused = RingKeys(note="it refused", refusal=Cause(resource="CLUSTER", words="no"))
    with pytest.raises(ResourceRejected, match="it refused"):
        _ = bench(keys=refused).key_format
    assert bench(keys=RingKeys(format="ip:port_i")).key_format == KEY_FORMATS["ip:port_i"]
