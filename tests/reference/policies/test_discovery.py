"""Which clusters a cluster is made of: order, circles, depth, and what is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from client_under_test.reference.clusters import discovery
from client_under_test.reference.clusters.discovery import (
    Aggregate,
    Cluster,
    Leaf,
    Missing,
    discover,
)
from client_under_test.reference.editions.editions import MODERN, SEED, Rules, edition
from client_under_test.reference.policies.configs import RoundRobinConfig
from client_under_test.reference.values import Status

BOTH = (pytest.param(SEED.rules, id="seed"), pytest.param(MODERN.rules, id="modern"))
TURNS = RoundRobinConfig()
GONE = Status.unavailable("it does not exist")
REFUSED = Status.unavailable("a bad resource came")


def leaf(name: str, *, reported: bool = False) -> Leaf:
    return Leaf(name=name, policy=TURNS, reported=reported)


def aggregate(name: str, *clusters: str, reported: bool = False) -> Aggregate:
    return Aggregate(name=name, policy=TURNS, clusters=clusters, reported=reported)


def missing(name: str) -> Missing:
    return Missing(name=name, status=GONE)


def refused(name: str) -> Missing:
    return Missing(name=name, status=REFUSED, is_gone=False)


def known(*clusters: Cluster) -> dict[str, Cluster]:
    return {cluster.name: cluster for cluster in clusters}


def leaves(root: str, clusters: dict[str, Cluster], rules: Rules) -> list[str]:
    found = discover(root, clusters, rules)
    assert found.failure is None
    return [entry.name for entry in found.leaves]


@pytest.mark.parametrize("rules", BOTH)
def test_leaves_in_order_and_once(rules: Rules) -> None:
    clusters = known(
        aggregate("A", "B", "C"), leaf("B"), aggregate("C", "D", "B", "E"), leaf("D"), leaf("E")
    )
    found = discover("A", clusters, rules)
    assert [entry.name for entry in found.leaves] == ["B", "D", "E"]
    assert found.names == ("A", "B", "C", "D", "E")
    assert not found.waiting


@pytest.mark.parametrize("rules", BOTH)
def test_waits_for_what_is_not_known(rules: Rules) -> None:
    found = discover("A", known(aggregate("A", "B", "C"), leaf("B")), rules)
    assert found.waiting == {"C"}
    assert found.names == ("A", "B", "C")
    assert not found.leaves


@pytest.mark.parametrize(
    ("clusters", "seed", "a74"),
    [
        ([aggregate("A", "B", "C"), leaf("B"), missing("C")], GONE, ["B"]),
        ([aggregate("A", "B"), missing("B")], GONE, GONE),
        ([missing("A")], GONE, GONE),
        ([leaf("A")], ["A"], ["A"]),
    ],
)
def test_missing(
    clusters: list[Cluster], seed: list[str] | Status, a74: list[str] | Status
) -> None:
    for rules, expected in ((SEED.rules, seed), (edition("seed+A74").rules, a74)):
        found = discover("A", known(*clusters), rules)
        outcome = found.failure or [entry.name for entry in found.leaves]
        assert outcome == expected


def test_a74_all_missing() -> None:
    clusters = known(aggregate("A", "B", "C"), missing("B"), missing("C"))
    found = discover("A", clusters, edition("seed+A74").rules)
    assert found.failure is not None
    assert not found.leaves


@pytest.mark.parametrize(("depth", "fails"), [(16, False), (17, True)])
def test_depth(*, depth: int, fails: bool) -> None:
    chain = [aggregate(f"{level}", f"{level + 1}") for level in range(depth - 1)]
    found = discover("0", known(*chain, leaf(f"{depth - 1}")), SEED.rules)
    assert (found.failure is not None) is fails


def test_a_lattice_is_quick() -> None:
    lattice = [aggregate(f"{level}", *[f"{level + 1}"] * 30) for level in range(15)]
    assert leaves("0", known(*lattice, leaf("15")), SEED.rules) == ["15"]


def test_the_deepest_way_counts() -> None:
    """A cluster that is met near the root is looked into again further down."""
    chain = [aggregate(f"{level}", f"{level + 1}") for level in range(1, 16)]
    clusters = known(aggregate("0", "10", "1"), *chain, leaf("16"))
    assert discover("0", clusters, SEED.rules).failure is not None


@pytest.mark.parametrize("rules", BOTH)
@pytest.mark.parametrize("listed", [("A", "B"), ("B", "A"), ("B", "C", "A"), ("C", "B", "B")])
def test_in_a_circle_the_leaves_beside_it_count(rules: Rules, listed: tuple[str, ...]) -> None:
    clusters = known(aggregate("A", *listed), leaf("B"), aggregate("C", "A", "B"))
    assert leaves("A", clusters, rules) == ["B"]


@pytest.mark.parametrize("rules", BOTH)
@pytest.mark.parametrize("listed", [("A",), ("C",), ("C", "A")])
def test_a_circle_without_a_leaf_fails(rules: Rules, listed: tuple[str, ...]) -> None:
    found = discover("A", known(aggregate("A", *listed), aggregate("C", "A")), rules)
    assert found.failure == Status.unavailable("cluster A has no leaf clusters")


def test_a_circle_that_is_followed_is_too_deep() -> None:
    rules = replace(SEED.rules, is_cycle=discovery.circles_are_followed)
    found = discover("A", known(aggregate("A", "B", "A"), leaf("B")), rules)
    assert found.failure is not None
    assert "deep" in found.failure.details


def test_a_chain_of_a_thousand_is_watched_as_far_as_the_limit() -> None:
    chain = known(*(aggregate(f"{level}", f"{level + 1}") for level in range(1000)))
    assert len(discover("0", chain, SEED.rules).names) == 16


@pytest.mark.parametrize("trouble", [refused, missing])
@pytest.mark.parametrize("in_force", [False, True])
def test_a37_an_error_leaves_what_is_in_force(trouble: object, *, in_force: bool) -> None:
    assert callable(trouble)
    clusters = known(aggregate("A", "B", "C"), leaf("B"), trouble("C"))
    found = discover("A", clusters, SEED.rules, in_force=in_force)
    stays = trouble is refused and in_force
    assert found.stays is stays
    assert (found.failure is None) is stays
    assert not found.leaves


def test_a37_what_does_not_exist_fails_whatever_else_is_wrong() -> None:
    clusters = known(aggregate("A", "B", "C"), refused("B"), missing("C"))
    assert discover("A", clusters, SEED.rules, in_force=True).failure == GONE


@pytest.mark.parametrize("in_force", [False, True])
def test_a74_an_error_is_passed_over_too(*, in_force: bool) -> None:
    clusters = known(aggregate("A", "B", "C"), leaf("B"), refused("C"))
    found = discover("A", clusters, edition("seed+A74").rules, in_force=in_force)
    assert [entry.name for entry in found.leaves] == ["B"]


def test_another_order() -> None:
    rules = replace(SEED.rules, leaf_order=lambda _root, met, _known: met[::-1])
    clusters = known(aggregate("A", "B", "C"), leaf("B"), leaf("C"))
    assert leaves("A", clusters, rules) == ["C", "B"]


def test_whose_load_is_reported() -> None:
    clusters = known(aggregate("A", "B", "C", reported=True), leaf("B", reported=True), leaf("C"))
    assert [entry.reported for entry in discover("A", clusters, SEED.rules).leaves] == [True, False]
    (alone,) = discover("B", clusters, SEED.rules).leaves
    assert alone.reported
