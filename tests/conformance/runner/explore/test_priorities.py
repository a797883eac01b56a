"""Which priorities may be in use, and what judges make of it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from conformance.runner.explore.courses import Configuration, Listed, configurations, flaw
from conformance.runner.explore.drawing import course_of
from conformance.runner.explore.endpoint_states import Timeline
from conformance.runner.explore.judges import findings
from conformance.runner.explore.judges.evidence import Evidence
from conformance.runner.explore.judges.subscriptions import (
    judge_subscriptions,
    wrong_subscriptions,
)
from conformance.runner.explore.priorities import Priorities, policy_states
from conformance.runner.explore.record import GateChange, Judged, Observed, Version
from conformance.runner.explore.trees import Leaf, Tree
from tests.conformance.runner.explore.records import (
    CLIENT,
    arrival,
    calm,
    connection,
    observed,
    request,
    with_more,
)

Rows = tuple[tuple[float, str], ...]

TWO = Configuration((Listed(0), Listed(1, locality=1)), policy="round_robin", tree=Tree((0, 1)))
THREE = Configuration(
    (Listed(0), Listed(1, locality=1), Listed(2, locality=2)),
    policy="round_robin",
    tree=Tree((0, 1, 2)),
)
EMPTY = replace(TWO, endpoints=(Listed(1, locality=1),))
RING = replace(TWO, policy="ring_hash")

LETTERS = {"R": "READY", "I": "IDLE", "C": "CONNECTING", "F": "TRANSIENT_FAILURE"}


def states(letters: str) -> frozenset[Any]:
    """Return a set of states by their letters."""
    return frozenset(LETTERS[letter] for letter in letters)


def timeline(*rows: tuple[float, str]) -> Timeline:
    """Return a timeline: IDLE, and from each time on the states of these letters."""
    times, letters = zip((float("-inf"), "I"), *rows, strict=True)
    return Timeline(times, tuple(map(states, letters)), tuple(False for _ in times))


CHOICES: dict[str, tuple[Configuration, tuple[Rows, ...], tuple[str, ...]]] = {
    "the first is READY": (TWO, (((1, "R"),), ()), ("0",)),
    "the first has failed": (TWO, (((1, "F"),), ((2, "R"),)), ("1",)),
    "the first may have failed": (TWO, (((1, "RF"),), ((2, "R"),)), ("0", "1")),
    "an empty priority has failed": (EMPTY, ((), ((2, "R"),)), ("1",)),
    "the first connects within its timer": (
        TWO,
        (((1, "R"), (19, "C")), ((2, "R"),)),
        ("0",),
    ),
    "the timer may have ended": (TWO, (((1, "R"), (10.1, "C")), ((2, "R"),)), ("0", "1")),
    "the timer has ended": (TWO, (((1, "R"), (8, "C")), ((2, "R"),)), ("1",)),
    "it connects after a failure": (TWO, (((1, "F"), (19, "C")), ((2, "R"),)), ("1",)),
    "an IDLE ring_hash is used": (RING, ((), ((2, "R"),)), ("0",)),
    "round_robin is never IDLE": (TWO, (((1, "R"), (19, "I")), ((2, "R"),)), ("0",)),
    "all have failed": (TWO, (((1, "F"),), ((2, "F"),)), ("1 failed",)),
    "all have failed or connect": (
        TWO,
        (((1, "F"), (19, "C")), ((2, "F"),)),
        ("0 failed",),
    ),
    "all have had their time": (TWO, (((1, "C"),), ((2, "F"),)), ("0",)),
    "all have failed, and one may connect": (
        TWO,
        (((1, "F"), (19, "FC")), ((2, "F"),)),
        ("0 failed", "1 failed"),
    ),
    "the third is reached": (THREE, (((1, "F"),), ((2, "F"),), ((3, "R"),)), ("2",)),
    "the second returns": (THREE, (((1, "F"),), ((2, "R"),), ((3, "R"),)), ("1",)),
}


@pytest.mark.parametrize("name", CHOICES)
def test_chosen(name: str) -> None:
    configuration, rows, wanted = CHOICES[name]
    version = Version(configuration=configuration, sent=0.0, acked=0.1)
    lines = [timeline(*own) for own in rows]
    found = Priorities((version,), lines, Judged(follows=("A56",))).chosen(version, 20.0, 20.1)
    assert tuple(f"{c.index}{' failed' * c.has_failed}" for c in found) == wanted


@pytest.mark.parametrize(
    ("walk", "wanted"),
    [
        ("R F", "R"),
        ("RF F", "RF"),
        ("I F", "C"),
        ("F F", "F"),
        ("CF F", "CF"),
        ("", "F"),
    ],
)
def test_states_of_round_robin(walk: str, wanted: str) -> None:
    assert policy_states(TWO, [states(each) for each in walk.split()]) == states(wanted)


# Whole records: two priorities of one endpoint each, and the first one fails after 1 s.

TREE = Judged(
    follows=CLIENT.follows, key_format=CLIENT.key_format, backoff=CLIENT.backoff, failover=2.0
)


def fails(*more: Version) -> Observed:
    """Return a right client's record: the first priority serves, fails, and is tried."""
    seen = observed(
        client=TREE,
        versions=(Version(configuration=TWO, sent=0.0, acked=0.1), *more),
        connections=(
            replace(connection(1, 0, 0.2), closed=3.0, closed_by="gate"),
            *(connection(10 + n, 0, 3.01 + n / 2, "close") for n in range(10)),
            connection(2, 1, 3.02),
        ),
        arrivals=(arrival(0, 1, 0.21), arrival(1, 2, 5.0)),
        requests=(request("c0", 0, at=0.2), request("c1", 1, at=5.0)),
        calms=(),
    )
    return with_more(
        seen,
        gates=(
            GateChange(member=0, at=2.9, mode="close"),
            GateChange(member=0, at=3.0, what="kill"),
        ),
    )


RIGHT: dict[str, Observed] = {
    "the next priority is used": fails(),
    "it is in use at calm": with_more(fails(), calms=(calm("c1", at=5.0, expired=True),)),
    "an endpoint of a removed priority may be tried": with_more(
        fails(Version(configuration=replace(TWO, endpoints=(Listed(1),)), sent=5.5, acked=5.6)),
        connections=(connection(40, 0, 8.5, "close"),),
    ),
}

WRONG: dict[str, tuple[Observed, set[str]]] = {
    "a lower priority is used although the first serves": (
        with_more(
            fails(),
            requests=(request("c2", 1, at=1.7),),
            connections=(connection(3, 1, 1.6),),
            arrivals=(arrival(1, 3, 1.7),),
        ),
        {"requests", "attempts"},
    ),
    "a lower priority is connected although the first serves": (
        with_more(fails(), connections=(connection(3, 1, 1.0),)),
        {"attempts"},
    ),
    "a request fails although the second priority serves": (
        with_more(
            fails(),
            requests=(request("c2", 1, at=6.5, member=None, status="UNAVAILABLE"),),
        ),
        {"requests"},
    ),
    "at calm, requests fail although the second priority serves": (
        with_more(
            fails(),
            requests=(request("c2", 1, at=6.5, member=None, status="UNAVAILABLE"),),
            calms=(calm("c2", at=6.5, expired=True),),
        ),
        {"requests", "calm"},
    ),
    "the channel reports the failure of the first priority": (
        with_more(fails(), calms=(calm("c1", at=5.0, state="TRANSIENT_FAILURE", expired=True),)),
        {"state"},
    ),
    "the failed priority is not tried": (
        with_more(
            fails(),
            gates=(GateChange(member=0, at=8.6, mode="serve"),),
            requests=(request("c2", 1, at=9.4),),
            arrivals=(arrival(1, 2, 9.4),),
            calms=(calm("c2", at=9.3, ended=9.9, round_began=9.4, expired=True),),
        ),
        {"liveness"},
    ),
}


LEAVES = Configuration(
    (Listed(0), Listed(1, locality=1), Listed(2, locality=2)),
    policy="round_robin",
    tree=Tree((0, 0, 1), (Leaf(1), Leaf(0, "LOGICAL_DNS")), (0, 1, 1)),
)


def test_priorities_of_leaves() -> None:
    assert [part.members for part in LEAVES.by_priority] == [(1,), (2,), (0,)]
    assert LEAVES.tree.flaw == ""
    without = replace(LEAVES, tree=replace(LEAVES.tree, leaves=(Leaf(0),)))
    assert without.members == (0,)


@pytest.mark.parametrize(
    ("tree", "flaw"),
    [
        (Tree((0, 2)), "gaps"),
        (Tree((0, 1), (Leaf(0),), (0, 1)), ""),
        (Tree((0, 1), (Leaf(0), Leaf(1)), (0, 1)), "gaps"),
        (Tree((0, 0), (Leaf(0), Leaf(0)), (0, 1)), "twice"),
        (Tree((0, 0), (Leaf(2),), (0, 1)), "no locality"),
        (Tree((0, 0), (Leaf(0),), (0,)), "no leaf"),
    ],
)
def test_flaw_of_tree(tree: Tree, flaw: str) -> None:
    assert flaw in tree.flaw
    assert bool(tree.flaw) == bool(flaw)


@pytest.mark.parametrize(
    ("clusters", "endpoints", "wrong"),
    [
        (("cluster", "leaf-0", "leaf-1"), ("leaf-1",), ()),
        (("cluster", "leaf-1"), ("leaf-1",), ("CLUSTER",)),
        (("cluster", "leaf-0", "leaf-1"), ("leaf-0", "leaf-1"), ("ENDPOINTS",)),
    ],
)
def test_subscriptions(
    clusters: tuple[str, ...], endpoints: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    seen = observed(
        versions=(Version(configuration=LEAVES, sent=0.0, acked=0.1),),
        calms=(
            calm(
                at=9.0,
                expired=True,
                subscribed={"CLUSTER": clusters, "ENDPOINTS": endpoints},
            ),
        ),
    )
    assert wrong_subscriptions(Evidence(seen), seen.calms[0]) == wrong
    titles = [each.title for each in judge_subscriptions(Evidence(seen))]
    assert len(titles) == len(wrong)


def test_drawn_courses_can_run() -> None:
    found = [course_of("tree", number) for number in range(1, 30)]
    assert [flaw(course) for course in found] == [""] * len(found)
    kinds = {leaf.kind for each in found for c in configurations(each) for leaf in c.tree.leaves}
    assert kinds == {"EDS", "LOGICAL_DNS"}


@pytest.mark.parametrize("name", RIGHT)
def test_right_record(name: str) -> None:
    assert findings(RIGHT[name]) == ()


@pytest.mark.parametrize("name", WRONG)
def test_wrong_record(name: str) -> None:
    seen, judges = WRONG[name]
    assert {finding.judge for finding in findings(seen)} == judges
