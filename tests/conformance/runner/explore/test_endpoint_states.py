"""The states that an endpoint may have had, event by event."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from conformance.runner.explore.courses import Configuration, Listed
from conformance.runner.explore.endpoint_states import timelines
from conformance.runner.explore.picks import (
    PossibleResult,
    Walks,
    possible_aggregates,
    possible_results,
)
from conformance.runner.explore.record import GateChange, Version

from .records import ADDRESSES, CLIENT, LISTED, arrival, connection, observed, request

SERVED = {"connections": (connection(1, 0, 1.0),), "arrivals": (arrival(0, 1, 1.1),)}
LEFT = (
    Version(configuration=LISTED, sent=0.0, acked=0.1),
    Version(configuration=Configuration((Listed(1),)), sent=2.0, acked=2.1),
    Version(configuration=LISTED, sent=3.0, acked=3.1),
)

# What was seen of the first endpoint, and its states from 1 s before the time to the time.
STATES: dict[str, tuple[dict[str, Any], float, str]] = {
    "nothing": ({}, 5.0, "IDLE"),
    "an attempt that was just accepted": (
        {"connections": (connection(1, 0, 4.9),)},
        4.95,
        "IDLE CONNECTING READY",
    ),
    "a connection of some seconds": ({"connections": (connection(1, 0, 1.0),)}, 5.0, "READY"),
    "a request came": (SERVED, 5.0, "READY"),
    "a failed attempt": ({"connections": (connection(1, 0, 1.0, "close"),)}, 5.0, "FAILED"),
    "a silent gate": ({"connections": (connection(1, 0, 1.0, "hold"),)}, 5.0, "CONNECTING"),
    "a silent gate after a failure": (
        {"connections": (connection(1, 0, 1.0, "close"), connection(2, 0, 2.0, "hold"))},
        5.0,
        "FAILED",
    ),
    "a failure, then success": (
        {
            "connections": (connection(1, 0, 1.0, "close"), connection(2, 0, 2.0)),
            "arrivals": (arrival(0, 2, 2.1),),
        },
        5.0,
        "READY",
    ),
    "a lost connection": (
        {**SERVED, "connections": (connection(1, 0, 1.0, closed=2.0, closed_by="gate"),)},
        5.0,
        "IDLE",
    ),
    "a connection that was lost before a request": (
        {"connections": (connection(1, 0, 1.0, closed=1.2, closed_by="gate"),)},
        5.0,
        "IDLE FAILED",
    ),
    "a held attempt that is closed": (
        {
            "connections": (connection(1, 0, 1.0, "hold", closed=2.0, closed_by="gate"),),
            "gates": (GateChange(member=0, at=2.0, mode="close"),),
        },
        5.0,
        "FAILED",
    ),
    "a held attempt that is let through": (
        {
            "connections": (connection(1, 0, 1.0, "hold"),),
            "gates": (GateChange(member=0, at=2.0, mode="serve"),),
        },
        5.0,
        "CONNECTING READY",
    ),
    "a GOAWAY": (
        {**SERVED, "gates": (GateChange(member=0, at=2.0, what="go away"),)},
        5.0,
        "IDLE READY",
    ),
    "a GOAWAY, and the client leaves": (
        {
            **SERVED,
            "connections": (connection(1, 0, 1.0, closed=2.1, closed_by="client"),),
            "gates": (GateChange(member=0, at=2.0, what="go away"),),
        },
        5.0,
        "IDLE",
    ),
    "listed again": ({**SERVED, "versions": LEFT}, 5.0, "IDLE READY"),
    "failed, then listed again": (
        {"connections": (connection(1, 0, 1.0, "close"),), "versions": LEFT},
        5.0,
        "FAILED IDLE",
    ),
    "failed, then listed again after an empty list, and tried by a policy that was kept": (
        {
            "connections": (connection(1, 0, 1.0, "close"), connection(2, 0, 3.5, "close")),
            "versions": (
                Version(configuration=LISTED, sent=0.0, acked=0.1),
                Version(configuration=Configuration(()), sent=2.0, acked=2.1),
                Version(configuration=LISTED, sent=3.0, acked=3.1),
            ),
        },
        5.0,
        "FAILED IDLE",
    ),
    "an attempt that the client gave up": (
        {"connections": (connection(1, 0, 1.0, "hold", closed=2.0, closed_by="client"),)},
        5.0,
        "CONNECTING IDLE FAILED",
    ),
    "two connections, one of which is lost": (
        {
            "connections": (
                connection(1, 0, 1.0, closed=2.0, closed_by="gate"),
                connection(2, 0, 1.5),
            ),
            "arrivals": (arrival(0, 1, 1.1), arrival(0, 2, 1.6)),
        },
        5.0,
        "IDLE CONNECTING READY",
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_states(name: str) -> None:
    rows, at, wanted = STATES[name]
    empty: dict[str, Any] = dict.fromkeys(("connections", "arrivals", "requests", "calms"), ())
    first, *_ = timelines(observed(**(empty | rows)), proven_after=1.0)
    long = {"FAILED": "TRANSIENT_FAILURE"}
    assert first.within(at - 1.0, at) == {long.get(word, word) for word in wanted.split()}


def test_moments_of_a_timeline() -> None:
    first, *_ = timelines(observed(**SERVED, requests=(), calms=(), gates=()), proven_after=1.0)
    assert first.within(0.0, 0.5) == {"IDLE"}
    assert first.within(0.0, 1.05) == {"IDLE", "CONNECTING", "READY"}
    assert first.last_ready(1.05) == float("-inf")
    assert first.last_ready(9.0) == 9.0
    assert not first.hangs(0.0, 9.0)


def test_weights_of_localities_and_of_endpoints_that_are_not_used() -> None:
    configuration = Configuration(
        (Listed(0, 1), Listed(1, 2), Listed(2, 5, "DRAINING")), localities=(2,)
    )
    assert configuration.members == (0, 1)
    plain, shares = (
        Walks(replace(CLIENT, follows=follows), ADDRESSES).rings(configuration)
        for follows in (("A42",), ("A42", "A113"))
    )
    assert {len(ring) for ring in plain} == {33}
    assert {len(ring) for ring in shares} == {33, 34}


def test_two_policies_count_only_by_a_formula_that_the_client_declares() -> None:
    configuration = replace(LISTED, hashing="two")
    asked = request("r", 0, at=1.0, metadata=(("session", "a"), ("user", "b")))
    plain, declared = (
        Walks(replace(CLIENT, choices=choices), ADDRESSES)
        for choices in ({}, {"A42-HASH-06": "Envoy's formula"})
    )
    ring = plain.rings(configuration)[0]
    assert len(set(plain.orders(ring, configuration, asked))) > 1
    assert len(set(declared.orders(ring, configuration, asked))) == 1


def test_an_endpoint_that_moves_may_be_idle() -> None:
    moved = Configuration((Listed(0, locality=1), Listed(1), Listed(2)))
    versions = (
        Version(configuration=LISTED, sent=0.0, acked=0.1),
        Version(configuration=moved, sent=2.0, acked=2.1),
    )
    found = timelines(observed(versions=versions), proven_after=1.0)
    assert [line.within(4.0, 5.0) == {"READY"} for line in found] == [False, True, True]


def states(*words: str) -> tuple[frozenset[Any], ...]:
    long = {"FAILED": "TRANSIENT_FAILURE"}
    return tuple(frozenset(long.get(part, part) for part in word.split()) for word in words)


RESULTS = [
    ("A61", states("READY", "IDLE"), {("served", 0)}),
    ("A61", states("FAILED", "READY"), {("served", 1)}),
    ("A61", states("FAILED READY", "READY"), {("served", 0), ("served", 1)}),
    ("A61", states("FAILED", "FAILED", "IDLE"), {("waiting", 2)}),
    ("A61", states("FAILED", "FAILED"), {("failed", -1)}),
    ("A42", states("FAILED", "FAILED", "IDLE"), {("failed", -1)}),
    ("A42", states("FAILED", "FAILED", "IDLE", "READY"), {("served", 3)}),
    ("A42", states("FAILED", "CONNECTING"), {("waiting", 1)}),
    ("A42", (), {("failed", -1)}),
]


@pytest.mark.parametrize(("edition", "walk", "wanted"), RESULTS)
def test_results(edition: Any, walk: Any, wanted: set[tuple[str, int]]) -> None:
    found = possible_results(walk, edition)
    assert {(result.kind, result.index) for result in found} == wanted


def test_too_many_combinations_accept_everything() -> None:
    walk = states(*["READY IDLE FAILED"] * 9)
    assert PossibleResult("failed") in possible_results(walk, "A61")
    assert {PossibleResult("served", place) for place in range(9)} <= possible_results(walk, "A61")
    assert len(possible_aggregates(walk)) == 4


@pytest.mark.parametrize(
    ("walk", "wanted"),
    [
        (states("FAILED", "FAILED", "IDLE"), {"TRANSIENT_FAILURE"}),
        (states("FAILED", "IDLE"), {"CONNECTING"}),
        (states("IDLE READY"), {"IDLE", "READY"}),
        ((), {"TRANSIENT_FAILURE"}),
    ],
)
def test_aggregates(walk: Any, wanted: set[str]) -> None:
    assert possible_aggregates(walk) == wanted
