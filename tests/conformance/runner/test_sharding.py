"""Who has which scenarios of a run that several machines share."""

from __future__ import annotations

import random

import pytest

from conformance.judging.declaration import Declaration
from conformance.runner.collection import scenarios
from conformance.runner.sharding import Shard, parsed, plan_of, recorded, shares

CLAIMS = {
    "a.long": Declaration(clauses=("X",), seconds=8.0),
    "a.waits": Declaration(clauses=("X",), seconds=10.0, waits=True),
    "a.waits_too": Declaration(clauses=("X",), seconds=9.0, waits=True),
    "b.middle": Declaration(clauses=("X",), seconds=5.0),
    "b.short": Declaration(clauses=("X",), seconds=1.0),
    "c.asks_nothing": Declaration(clauses=("X",), seconds=0.0),
}


@pytest.mark.parametrize(
    ("text", "shard"),
    [
        ("1/1", Shard(1, 1)),
        ("2/4", Shard(2, 4)),
        ("1000/1000", Shard(1000, 1000)),
        *(
            (text, None)
            for text in ("0/4", "5/4", "1/0", "1/1001", "1", "/", "1/4 ", "-1/4", "²/4")
        ),
    ],
)
def test_what_is_a_shard(text: str, shard: Shard | None) -> None:
    assert parsed(text) == shard
    assert shard is None or str(shard) == text


def test_the_longest_first_and_what_waits_by_itself() -> None:
    assert shares(CLAIMS, {}, 2) == (
        ("a.long", "a.waits_too"),
        ("a.waits", "b.middle", "b.short", "c.asks_nothing"),
    )


def test_what_is_recorded_counts_more_than_what_is_declared() -> None:
    seconds = {"b.short": 30.0, "c.asks_nothing": 30.0, "gone": 1.0}
    first, second = shares(CLAIMS, seconds, 2)
    assert first == ("a.waits_too", "b.short")
    assert {"a.long", "b.middle", "c.asks_nothing"} < {*second}


@pytest.mark.parametrize("of", [1, 2, 3, 7, 1000])
def test_each_has_its_own_and_all_have_all(of: int) -> None:
    dealt_out = shares(CLAIMS, {}, of)
    assert len(dealt_out) == of
    assert sorted(name for pile in dealt_out for name in pile) == sorted(CLAIMS)


def test_the_order_of_collection_is_nothing() -> None:
    names = list(CLAIMS)
    random.Random(1).shuffle(names)
    again = shares({name: CLAIMS[name] for name in names}, {}, 3)
    assert again == shares(CLAIMS, {}, 3)
    assert plan_of(again) == plan_of(map(reversed, shares(CLAIMS, {}, 3)))
    assert plan_of(again) != plan_of(shares(CLAIMS, {}, 2))


def test_the_table_of_the_suite_makes_shards_of_one_length() -> None:
    """By its own numbers: none is longer than another by more than a scenario."""
    there = scenarios()
    seconds = {name: recorded().get(name, scenario.seconds) for name, scenario in there.items()}
    assert len(there.keys() & recorded().keys()) > len(there) / 2, "run ci/durations"
    for waits in (False, True):
        takes = [
            sum(seconds[name] for name in pile if there[name].waits is waits)
            for pile in shares(there, recorded(), 4)
        ]
        longest = max(seconds[name] for name, scenario in there.items() if scenario.waits is waits)
        assert max(takes) - min(takes) <= longest
