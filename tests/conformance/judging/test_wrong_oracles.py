"""Scenarios can fail: the evidence of a run that passed, judged by oracles with one mistake each.

A right client under a wrong oracle looks like a wrong client under a right one.
"""

from __future__ import annotations

import itertools
import sys
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import xxhash

from conformance.judging import evidence
from conformance.judging.expectations import ring_mapping
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.spec.catalogue import load
from conformance.spec.oracles.ring import building, keys, sizes
from conformance.spec.oracles.ring.search import Ring
from conformance.spec.oracles.ring.sizes import RingConfig
from conformance.spec.oracles.ring.variants import Candidate
from conformance.spec.oracles.ring.weights import (
    RingLocality,
    WeightedEndpoint,
    WeightReading,
    weights,
)

CATALOGUE = load()

DEFAULT = "cluster.sizes[no-config]"
HEADER = "header.hash_of_the_value"
FLAT = "locality.one_ring_over_all_localities"
PRODUCTS = "locality.weight_of_locality_and_endpoint"
WEIGHTED = "ring.size[by-weight]"
SMALL = "ring.size[lightest-whole]"
SEARCH = "ring.search"
KEPT = (building.assembled, keys._numbered_so_far, ring_mapping._hash, sizes.dealings)
EVERY = (DEFAULT, HEADER, FLAT, PRODUCTS, WEIGHTED, SMALL, SEARCH)


@pytest.fixture(autouse=True)
def _built_anew() -> Iterator[None]:
    """Rings and hashes are kept: a wrong oracle may neither leave any to others nor find any."""
    for kept in KEPT:
        kept.cache_clear()
    yield
    for kept in KEPT:
        kept.cache_clear()


def folder_of(passing: Any, scenario: str) -> Path:
    return Path(passing.scenarios[scenario]["evidence"])


def judged(passing: Any, scenario: str) -> tuple[Decision, ...]:
    return evidence.judge(folder_of(passing, scenario), CATALOGUE)[1]


@pytest.mark.parametrize("scenario", EVERY)
async def test_the_right_oracle_gives_the_verdicts_of_the_run(passing: Any, scenario: str) -> None:
    record, decisions = evidence.judge(folder_of(passing, scenario), CATALOGUE)
    assert decisions == record.decisions
    assert decisions
    assert not {d.verdict for d in decisions} - {Verdict.PASS, Verdict.SEEN}


def other_seed(value: str | bytes) -> int:
    raw = value.encode() if isinstance(value, str) else value
    return xxhash.xxh64_intdigest(raw, seed=1)


Patch = Callable[[pytest.MonkeyPatch], None]


def wrong_hash_of_requests(patch: pytest.MonkeyPatch) -> None:
    module = sys.modules[
        "conformance.spec.oracles.request_hash"
    ]  # its package has a function so named
    patch.setattr(module, "xxh64", other_seed)


def wrong_hash_of_entries(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(keys, "xxh64", other_seed)


def a_few_entries_more(patch: pytest.MonkeyPatch) -> None:
    right = RingConfig.sizes

    def wrong(config: RingConfig) -> tuple[int, int]:
        minimum, maximum = right(config)
        return minimum + minimum // 10 + 4, maximum

    patch.setattr(RingConfig, "sizes", wrong)


def another_default(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sizes, "DEFAULT_MINIMUM", 512)


class RingOfEachLocality:
    """Takes turns among the localities, as a weighted target above several rings does."""

    def __init__(self, rings: Sequence[Ring]) -> None:
        self._turns = itertools.cycle(rings)

    def pick(self, value: int, failed: Collection[str] = ()) -> str:
        return next(self._turns).pick(value, failed)


def a_ring_for_each_locality(patch: pytest.MonkeyPatch) -> None:
    right = building.build_for

    def wrong(
        localities: Sequence[RingLocality],
        config: RingConfig,
        candidate: Candidate,
    ) -> RingOfEachLocality:
        return RingOfEachLocality([right([place], config, candidate) for place in localities])

    for user in (building, ring_mapping):
        patch.setattr(user, "build_for", wrong)
    patch.setattr(ring_mapping, "fits_otherwise", lambda *_ring, **_failed: False)
    for pattern in ("rule_of", "trait_of"):  # they ask more of a ring than where a hash is mapped
        patch.setattr(ring_mapping, pattern, lambda *_calls, **_rings: "")


def no_wrap(patch: pytest.MonkeyPatch) -> None:
    def wrong(self: Ring, value: int) -> int:
        return min(bisect_left(self.positions, value), len(self) - 1)

    patch.setattr(Ring, "index", wrong)


def backwards(patch: pytest.MonkeyPatch) -> None:
    right = Ring.index
    patch.setattr(Ring, "index", lambda self, value: right(self, value) - 1)


def swapped_weights(patch: pytest.MonkeyPatch) -> None:
    right = weights

    def wrong(
        localities: Sequence[RingLocality], reading: WeightReading
    ) -> tuple[WeightedEndpoint, ...]:
        flat = right(localities, reading)
        return tuple(
            WeightedEndpoint(address=endpoint.address, weight=other.weight)
            for endpoint, other in zip(flat, reversed(flat), strict=True)
        )

    for user in (building, ring_mapping):
        patch.setattr(user, "weights", wrong)


def weights_ignored(patch: pytest.MonkeyPatch) -> None:
    right = weights

    def wrong(
        localities: Sequence[RingLocality], reading: WeightReading
    ) -> tuple[WeightedEndpoint, ...]:
        return tuple(
            WeightedEndpoint(address=endpoint.address) for endpoint in right(localities, reading)
        )

    for user in (building, ring_mapping):
        patch.setattr(user, "weights", wrong)


# Not every mistake shows everywhere. SMALL has so few entries that ports decide whether some of
# them show.
@pytest.mark.parametrize(
    ("mistake", "failing"),
    [
        (wrong_hash_of_requests, (DEFAULT, HEADER, FLAT, PRODUCTS, WEIGHTED, SMALL)),
        (wrong_hash_of_entries, (DEFAULT, HEADER, FLAT, PRODUCTS, WEIGHTED, SMALL)),
        (a_few_entries_more, (DEFAULT, HEADER, FLAT, PRODUCTS, WEIGHTED)),
        (another_default, (DEFAULT, FLAT, PRODUCTS)),
        (a_ring_for_each_locality, (FLAT, PRODUCTS)),
        (backwards, (DEFAULT, HEADER, FLAT, PRODUCTS, WEIGHTED)),
        (swapped_weights, (PRODUCTS, WEIGHTED, SMALL)),
        (weights_ignored, (PRODUCTS, WEIGHTED, SMALL)),
    ],
)
async def test_a_wrong_oracle_fails_the_client(
    passing: Any, mistake: Patch, failing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    for scenario in failing:
        failed = [d for d in judged(passing, scenario) if d.verdict is Verdict.FAIL]
        assert failed, scenario
        assert {d.reason for d in failed} == {Reason.DEVIATES}
        assert all(d.saw and d.wanted and d.oracle for d in failed)
        assert {d.editions_consistent for d in failed} == {()}


@pytest.mark.parametrize(
    ("mistake", "untouched"),
    [
        (another_default, (HEADER, WEIGHTED, SMALL)),
        (a_ring_for_each_locality, (DEFAULT, HEADER, WEIGHTED, SMALL)),
        (swapped_weights, (DEFAULT, HEADER, FLAT)),
    ],
)
async def test_a_mistake_fails_nothing_else(
    passing: Any, mistake: Patch, untouched: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    for scenario in untouched:
        assert {d.verdict for d in judged(passing, scenario)} == {Verdict.PASS}, scenario


async def test_a_choice_of_another_name_fails_who_states_it(
    passing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a ring with one entry for each endpoint, the last and the first are never the same.

    The client states where its search ends (A42-RING-14); the direction is no choice (A42-RING-13).
    """
    before = [d.choices for d in judged(passing, SEARCH)]
    assert ("none of the known",) not in before
    no_wrap(monkeypatch)
    decisions = judged(passing, SEARCH)
    assert [(d.clause, d.verdict, d.reason) for d in decisions] == [
        ("A42-RING-13", Verdict.FAIL, Reason.DEVIATES),
        ("A42-RING-14", Verdict.FAIL, Reason.STATED),
    ]
    assert decisions[1].choices == ("none of the known",)


async def test_one_call_elsewhere_is_enough(passing: Any, tmp_path: Path) -> None:
    """No oracle is changed here, but what was seen."""
    folder = folder_of(passing, WEIGHTED)
    record = evidence.read(folder)
    first = record.checks[0].seen.calls[0]  # type: ignore[union-attr]
    others = {call.endpoint for call in record.checks[0].seen.calls} - {first.endpoint}  # type: ignore[union-attr]
    text = (folder / evidence.FILE).read_text()
    told = f'"endpoint": "{first.endpoint}"'
    assert told in text
    spoiled = text.replace(told, f'"endpoint": "{min(map(str, others))}"', 1)
    (tmp_path / evidence.FILE).write_text(spoiled)
    decisions = evidence.judge(tmp_path, CATALOGUE)[1]
    assert Verdict.FAIL in {d.verdict for d in decisions}
