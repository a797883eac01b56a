"""What moves, what may, and lists for which nothing else does."""

import itertools
import random
from collections.abc import Collection
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.spec.oracles.ring.building import build, build_for
from conformance.spec.oracles.ring.search import Ring
from conformance.spec.oracles.ring.sizes import RingConfig
from conformance.spec.oracles.ring.variants import CANDIDATES, Candidate, RingVariant
from conformance.spec.oracles.ring.weights import WeightedEndpoint
from conformance.spec.oracles.ring_movement import (
    Anchored,
    Move,
    anchored,
    moves,
    strays,
)

SPACE = 2**64

addresses = st.lists(
    st.integers(1, 65535).map(lambda port: f"127.0.0.1:{port}"),
    min_size=3,
    max_size=8,
    unique=True,
)


def stray_share(before: Ring, after: Ring, changed: Collection[str]) -> Fraction:
    """Return the exact part of all 2^64 hashes that stray from one ring to the other."""
    # An entry owns the hashes up to its own. So an arc starts right after an entry, or at the
    # lowest unsigned or signed hash.
    begins = {0, SPACE // 2}
    for ring in (before, after):
        begins.update((position - ring.shift + 1) % SPACE for position in ring.positions)
    arcs = itertools.pairwise((*sorted(begins), SPACE))
    strayed = sum(
        stop - start for start, stop in arcs if strays(moves(before, after, (start,)), changed)
    )
    return Fraction(strayed, SPACE)


def test_moves_and_strays_by_hand() -> None:
    quarter = SPACE // 4
    before = Ring(("a", "b"), (quarter, 3 * quarter), (0, 1), ("", ""), 0, wraps=True)
    after = Ring(
        ("a", "b", "c"), (quarter, 2 * quarter, 3 * quarter), (0, 2, 0), ("",) * 3, 0, wraps=True
    )
    moved = moves(before, after, [0, quarter, quarter + 1, 3 * quarter, 3 * quarter + 1])
    assert moved == (Move(quarter + 1, "b", "c"), Move(3 * quarter, "b", "a"))
    assert strays(moved, {"c"}) == (moved[1],)
    assert strays(moved, {"b", "c"}) == ()
    assert stray_share(before, after, {"c"}) == Fraction(1, 4)
    assert stray_share(before, after, {"a"}) == Fraction(1, 4)
    assert stray_share(before, after, {"b"}) == 0
    assert stray_share(before, before, ()) == 0


def test_a_rescaled_ring_strays() -> None:
    listed = tuple(WeightedEndpoint(address=f"127.0.0.1:{port}") for port in range(1, 5))
    with_all, without = build(listed, RingConfig(16)), build(listed[:3], RingConfig(16))
    assert stray_share(with_all, without, {listed[3].address}) > 0


def rings(choice: Anchored, candidate: Candidate) -> tuple[Ring, Ring]:
    full, rest = (
        build_for([choice.locality(changed=changed)], choice.config, candidate)
        for changed in (True, False)
    )
    return full, rest


@settings(max_examples=10)
@given(addresses)
def test_nothing_strays_on_an_anchored_ring(listed: list[str]) -> None:
    choice = anchored(listed)
    assert [each.address for each in choice.endpoints] == listed
    assert min(each.weight for each in choice.endpoints) == 1
    for candidate in CANDIDATES:
        if candidate.variant.key_format == "{address}{n}":
            continue
        full, rest = rings(choice, candidate)
        assert stray_share(full, rest, {choice.changed}) == 0
        assert stray_share(rest, full, {choice.changed}) == 0
        # And something moves at all.
        assert full.shares()[choice.changed] > Fraction(1, 100)


def test_numbering_over_all_endpoints_strays_on_an_anchored_ring() -> None:
    rng = random.Random(3)
    strayed = []
    for _ in range(10):
        choice = anchored([f"127.0.0.1:{rng.randrange(32768, 61000)}" for _ in range(4)])
        candidate = Candidate(RingVariant("{address}{n}", "keys"))
        strayed.append(stray_share(*rings(choice, candidate), {choice.changed}))
    assert any(strayed)


def test_too_few_addresses_for_an_anchor() -> None:
    with pytest.raises(ValueError, match="three addresses"):
        anchored(["a", "b"])
