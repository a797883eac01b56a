"""What follows from a root: order, cycles, depth, and what has to be asked for."""

from __future__ import annotations

from itertools import pairwise

import pytest

from conformance.spec.oracles.cluster_tree import (
    Aggregate,
    Cluster,
    Leaf,
    Refused,
    Tree,
    first_usable,
    joined,
    tree,
)

DNS = Leaf()


def made_of(**below: str) -> dict[str, Cluster]:
    """Aggregates by name; every other name that they list in small letters is a leaf of EDS."""
    clusters: dict[str, Cluster] = {
        name: Aggregate(tuple(children)) for name, children in below.items()
    }
    names = {name for children in below.values() for name in children if name.islower()}
    return {name: Leaf(service_name=name) for name in names} | clusters


def chain(names: int, last: Cluster = Leaf(service_name="leaf")) -> dict[str, Cluster]:  # noqa: B008
    """So many names one below the other, the leaf's among them; the first one is 0."""
    below = {str(n): Aggregate((str(n + 1),)) for n in range(names - 1)}
    return {**below, str(names - 1): last}


def lattice(levels: int, wide: int) -> dict[str, Cluster]:
    """A root, so many levels of so many aggregates that each name all of the next, and a leaf."""
    rows = [["0"], *([f"{n}-{m}" for m in range(wide)] for n in range(levels)), ["leaf"]]
    clusters: dict[str, Cluster] = {
        name: Aggregate(tuple(below)) for row, below in pairwise(rows) for name in row
    }
    return clusters | {"leaf": Leaf(service_name="leaf")}


@pytest.mark.parametrize(
    ("clusters", "leaves"),
    [
        pytest.param(made_of(A="bc"), "bc", id="as listed"),
        pytest.param(made_of(A="cb"), "cb", id="not sorted"),
        pytest.param(made_of(A="bC", C="de"), "bde", id="worked example"),
        pytest.param(made_of(A="Cb", C="de"), "deb", id="at its place"),
        pytest.param(made_of(A="bab"), "ba", id="listed twice"),
        pytest.param(made_of(A="bC", C="db"), "bd", id="met first above"),
        pytest.param(made_of(A="Cb", C="db"), "db", id="met first below"),
        pytest.param(made_of(A="BC", B="Dx", C="Dy", D="zb"), "zbxy", id="diamond"),
        pytest.param(made_of(A="BxA", B="Ay"), "yx", id="cycles beside leaves"),
        pytest.param(made_of(A="A"), "", id="made of itself"),
        pytest.param(made_of(A="bXc") | {"X": Refused()}, "bc", id="one refused"),
        pytest.param(made_of(A="bXc"), "bc", id="one missing"),
    ],
)
def test_leaves(clusters: dict[str, Cluster], leaves: str) -> None:
    assert tree("A", clusters).leaves == tuple(leaves)


def test_a_leaf_alone() -> None:
    assert tree("a", {"a": Leaf(service_name="s")}) == Tree(
        clusters=("a",), leaves=("a",), without=(), services=("s",), depth=1, has_cycle=False
    )


def test_what_is_asked_for() -> None:
    clusters = made_of(A="bCxd", C="be") | {"b": Leaf(service_name="d"), "e": DNS, "x": Refused()}
    found = tree("A", clusters)
    assert found.clusters == tuple("AbCexd")
    assert found.services == ("d",)  # of two clusters, and asked for once
    assert found.without == ("x",)
    assert tree("A", made_of(A="bX")).without == ("X",)


@pytest.mark.parametrize(
    ("clusters", "has_cycle"),
    [
        (made_of(A="bC", C="b"), False),
        (made_of(A="BC", B="D", C="D", D="e"), False),
        (made_of(A="A"), True),
        (made_of(A="bC", C="eA"), True),
        (made_of(A="bC", C="D", D="C"), True),
    ],
)
def test_cycles(clusters: dict[str, Cluster], *, has_cycle: bool) -> None:
    assert tree("A", clusters).has_cycle == has_cycle


@pytest.mark.parametrize(
    ("names", "fits"), [(1, "yes"), (16, "yes"), (17, "either"), (18, "no"), (1000, "no")]
)
def test_depth_of_a_chain(names: int, fits: str) -> None:
    found = tree("0", chain(names))
    assert (found.depth, found.fits, len(found.leaves)) == (names, fits, 1)


def test_the_deepest_way_counts() -> None:
    """Whichever is gone first: a leaf may be met near the root as well."""
    for order in ("bC", "Cb"):
        assert tree("A", made_of(A=order, C="D", D="b")).depth == 4
    assert tree("A", made_of(A="DB", B="C", C="D", D="e")).depth == 5


def test_many_ways_are_looked_at_once() -> None:
    found = tree("0", lattice(levels=14, wide=50))
    assert (found.leaves, found.depth, found.fits) == (("leaf",), 16, "yes")


ENDPOINTS = {"b": (("1", "2"), ("3",)), "d": (), "e": ((), ("4",)), "z": (("9",),)}


def test_priorities_in_a_row() -> None:
    clusters = made_of(A="bC", C="edf")
    assert joined("A", clusters, ENDPOINTS) == (("1", "2"), ("3",), (), ("4",))


@pytest.mark.parametrize(
    ("failed", "usable"), [("", "12"), ("1", "2"), ("12", "3"), ("123", "4"), ("1234", "")]
)
def test_who_serves(failed: str, usable: str) -> None:
    clusters = made_of(A="bC", C="ed")
    assert first_usable("A", clusters, ENDPOINTS, failed) == tuple(usable)
