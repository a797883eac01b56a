"""Whatever ports the endpoints get, a scenario finds the rings and values that it needs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any, cast

import pytest

from conformance.judging.evidence import JudgedClient
from conformance.judging.ring_keys import RingKeys
from conformance.scenarios.hash_policy.header import content_types_differ
from conformance.scenarios.helpers.draws import FOR_FEW_ENTRIES, first_with, of_few_entries
from conformance.scenarios.helpers.localities import ranked
from conformance.scenarios.helpers.ring_order import LARGE, RingOrder
from conformance.scenarios.lb_policy_list.messages import LATER_MAXIMA, MAXIMUM_WEIGHTS
from conformance.scenarios.ring_hash.ring import orders_of_few
from conformance.spec.catalogue import load
from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.building import build_for
from conformance.spec.oracles.ring.values import NoSuchValueError
from conformance.spec.oracles.ring.variants import CANDIDATES
from conformance.world.checks import Checks
from conformance.world.header_values import HeaderValues
from conformance.xds_config.config import single_locality, weighted_locality
from conformance.xds_config.distinguishing import first_distinguished
from conformance.xds_config.policies import RingHash

KEYS = RingKeys(format="ip:port_i")
CLIENT = JudgedClient(name="c", version="1", variant=None, follows=("A42",), ring_keys=KEYS)


class Listener:
    """As much of an endpoint as a draw looks at."""

    def __init__(self, port: int) -> None:
        self.address = f"127.0.0.1:{port}"


class Drawing:
    """As much of a world as a draw uses."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.checks = Checks(load(), CLIENT)
        self.values = HeaderValues(self.rng, KEYS)

    def listeners(self, count: int) -> list[Any]:
        """Return listeners at odd ports, such as Linux gives them."""
        return [Listener(port) for port in self.rng.sample(range(32_769, 61_000, 2), count)]


def addresses(ports: Sequence[int]) -> list[str]:
    return [f"127.0.0.1:{port}" for port in ports]


def ports_in_the_order_of_buckets(count: int) -> list[int]:
    """Return ports whose order is that of the buckets of a table of 16, in a Java client."""
    step = 16 * 100
    return [32_768 + step * at + 1 + 2 * (8 * at // count) for at in range(count)]


def test_the_first_suitable_candidate_is_taken_and_none_is_an_error() -> None:
    assert first_with(lambda each: each > 1, [1, 2, 3], what="above 1") == 2
    with pytest.raises(NoSuchValueError, match="None of 3 candidates is above 3"):
        first_with(lambda each: each > 3, [1, 2, 3], what="above 3")


@pytest.mark.parametrize("seed", range(5))
def test_orders_of_few_entries_are_told_apart(seed: int) -> None:
    drawing = Drawing(seed)
    listed = [each.address for each in drawing.listeners(FOR_FEW_ENTRIES)]
    first_distinguished(of_few_entries(drawing.rng, listed), orders_of_few)


def test_ports_in_the_order_of_their_buckets_do_not_prevent_that() -> None:
    nine = ports_in_the_order_of_buckets(9)
    others = [port + 8 * 16 + 2 * (at * 5 % 8) for at, port in enumerate(nine[:5])]
    listed = of_few_entries(random.Random(1), addresses([*nine, *others]))
    first_distinguished(listed, orders_of_few)


def test_each_order_of_five_endpoints_occurs() -> None:
    drawing = Drawing(7)
    five = [each.address for each in drawing.listeners(5)]
    served = single_locality(five, policy=LARGE)
    built = build_for(served.ring_localities(), served.config())
    met = {built.preference(position) for position in built.positions}
    assert met == {*itertools.permutations(five)}


def test_a_request_has_the_wanted_order() -> None:
    drawing = Drawing(3)
    members = drawing.listeners(5)
    order = RingOrder(
        cast("Any", drawing), members, ranked(members).with_policy(LARGE), "{address}_{i}"
    )
    served = order.served
    built = build_for(served.ring_localities(), served.config())
    wanted = tuple(member.address for member in members)
    assert built.preference(xxh64(order.request["session"])) == wanted


def test_content_types_belong_to_two_endpoints_on_nearly_each_ring() -> None:
    drawing = Drawing(1)
    listed = [each.address for each in drawing.listeners(300)]
    samples = [drawing.rng.sample(listed, 256) for _ in range(20)]
    differ = [
        content_types_differ(single_locality(each), key_format="{address}_{i}") for each in samples
    ]
    assert sum(differ) > 15


@pytest.mark.parametrize("maximum", LATER_MAXIMA)
def test_a_later_maximum_is_the_size_of_the_ring(maximum: int) -> None:
    listed: dict[str, int | None] = dict(
        zip(addresses(range(4001, 4005)), MAXIMUM_WEIGHTS, strict=True)
    )
    served = weighted_locality(listed, policy=RingHash(minimum=8, maximum=maximum))
    sizes = {
        len(build_for(served.ring_localities(), served.config(), candidate).owners)
        for candidate in CANDIDATES
    }
    assert sizes == {maximum}
