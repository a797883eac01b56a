"""round_robin, and the localities above it."""

from __future__ import annotations

from collections import Counter

import pytest

from client_under_test.reference.editions.editions import MODERN, SEED, Rules
from client_under_test.reference.policies.configs import RoundRobinConfig, WrrLocalityConfig
from client_under_test.reference.policies.interface import Fail
from client_under_test.reference.policies.weighted_target import by_locality
from client_under_test.reference.values import Locality

from .bench import CONNECTING, FAILED, READY, Bench, endpoint

BOTH = (pytest.param(SEED.rules, id="seed"), pytest.param(MODERN.rules, id="modern"))
NEAR, FAR = Locality(zone="near"), Locality(zone="far")


@pytest.mark.parametrize("rules", BOTH)
def test_connects_all_and_takes_turns(rules: Rules) -> None:
    bench = Bench(RoundRobinConfig(), rules)
    bench.update(["a", "b", "c"])
    assert bench.attempts == ["a", "b", "c"]
    assert bench.state is CONNECTING
    bench.ready("a", "b", "c")
    assert bench.state is READY
    turns = [bench.served_by(request_hash=7) for _ in range(9)]
    assert Counter(turns) == {"a": 3, "b": 3, "c": 3}
    assert turns[:3] == turns[3:6]


@pytest.mark.parametrize("rules", BOTH)
def test_failed_until_ready_and_always_trying(rules: Rules) -> None:
    bench = Bench(RoundRobinConfig(), rules)
    bench.update(["a", "b"])
    bench.fail("a")
    assert bench.state is CONNECTING
    bench.fail("b")
    assert bench.state is FAILED
    bench.end_backoff("a", "b")
    assert bench.attempts == ["a", "b", "a", "b"]
    assert bench.state is FAILED
    assert isinstance(bench.pick(), Fail)
    bench.ready("b")
    assert bench.state is READY
    assert bench.served_by() == "b"
    bench.lose("b")
    assert bench.attempts == ["a", "b", "a", "b", "b"]
    assert bench.state is CONNECTING


@pytest.mark.parametrize("rules", BOTH)
def test_update_keeps_those_that_stay(rules: Rules) -> None:
    bench = Bench(RoundRobinConfig(), rules)
    bench.update(["a", "b"])
    bench.ready("a", "b")
    bench.update(["b", "c"])
    assert bench.attempts == ["a", "b", "c"]
    assert set(bench.states) == {"b", "c"}
    assert {bench.served_by() for _ in range(4)} == {"b"}


@pytest.mark.parametrize("rules", BOTH)
def test_no_endpoints(rules: Rules) -> None:
    bench = Bench(RoundRobinConfig(), rules)
    bench.update([])
    assert bench.state is FAILED
    assert isinstance(bench.pick(), Fail)


def test_a52_localities_by_weight_and_turns_within() -> None:
    bench = Bench(WrrLocalityConfig(child=RoundRobinConfig()), SEED.rules)
    bench.update(
        [
            endpoint("a", locality=NEAR, locality_weight=3),
            endpoint("b", locality=NEAR, locality_weight=3),
            endpoint("c", locality=FAR, locality_weight=1),
        ]
    )
    bench.ready("a", "b", "c")
    counts = Counter(bench.served_by() for _ in range(4000))
    assert 2800 < counts["a"] + counts["b"] < 3200
    assert abs(counts["a"] - counts["b"]) <= 1


def test_localities_that_are_not_ready_are_passed_over() -> None:
    bench = Bench(WrrLocalityConfig(child=RoundRobinConfig()), SEED.rules)
    bench.update([endpoint("a", locality=NEAR), endpoint("b", locality=FAR)])
    bench.ready("b")
    assert bench.state is READY
    assert {bench.served_by() for _ in range(20)} == {"b"}
    bench.fail("a")
    assert bench.state is READY
    bench.update([endpoint("a", locality=NEAR)])
    assert bench.state is FAILED
    assert set(bench.states) == {"a"}


def test_a52_the_first_weight_of_a_locality_counts() -> None:
    endpoints = (
        endpoint("a", locality=NEAR, locality_weight=3),
        endpoint("b", locality=NEAR, locality_weight=5),
    )
    config, placed = by_locality(
        WrrLocalityConfig(child=RoundRobinConfig()), endpoints, MODERN.rules
    )
    (name,) = config.targets
    assert config.targets[name].weight == 3
    assert {placed_endpoint.path for placed_endpoint in placed} == {(name,)}
