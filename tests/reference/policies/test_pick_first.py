"""pick_first, alone: before and after A62 and A61."""

from __future__ import annotations

import pytest

from client_under_test.reference.editions.editions import Rules, edition
from client_under_test.reference.policies.configs import PickFirstConfig
from client_under_test.reference.policies.interface import Fail, Queue
from client_under_test.reference.policies.pick_first import flattened
from client_under_test.reference.values import Endpoint, Locality

from .bench import CONNECTING, FAILED, IDLE, READY, Bench, endpoint

SEED = edition("seed").rules
STICKY = edition("seed+A62").rules
EYEBALLS = edition("seed+A61+A62").rules
BOTH = (pytest.param(SEED, id="seed"), pytest.param(EYEBALLS, id="A61"))


def started(rules: Rules, *addresses: str) -> Bench:
    bench = Bench(PickFirstConfig(), rules)
    bench.update([Endpoint(addresses=addresses)])
    return bench


@pytest.mark.parametrize("rules", BOTH)
def test_connects_at_once_to_the_first_address(rules: Rules) -> None:
    bench = started(rules, "a", "b")
    assert bench.attempts == ["a"]
    assert bench.state is CONNECTING
    assert bench.pick() == Queue()
    bench.ready("a")
    assert bench.state is READY
    assert bench.served_by() == "a"
    assert set(bench.states) == {"a"}


@pytest.mark.parametrize("rules", BOTH)
def test_next_address_after_a_failure_and_failure_after_the_last(rules: Rules) -> None:
    bench = started(rules, "a", "b")
    bench.fail("a")
    assert bench.attempts == ["a", "b"]
    assert bench.state is CONNECTING
    bench.fail("b")
    assert bench.state is FAILED
    result = bench.pick()
    assert isinstance(result, Fail)
    assert result.status.details == "b failed"
    assert bench.reresolutions == 1


def test_a61_next_address_beside_a_slow_one() -> None:
    bench = started(EYEBALLS, "a", "b", "c")
    assert bench.fire("the next address").seconds == 0.25
    assert bench.attempts == ["a", "b"]
    bench.fail("b")
    assert bench.attempts == ["a", "b", "c"]
    assert not bench.timers
    bench.fail("c")
    assert bench.state is CONNECTING  # A61-SUB-01: the first attempt is still open.
    bench.ready("a")
    assert bench.state is READY
    assert set(bench.states) == {"a"}


def test_a61_the_first_that_connects_ends_the_pass() -> None:
    bench = started(EYEBALLS, "a", "b", "c")
    bench.fire("the next address")
    bench.ready("b")
    assert set(bench.states) == {"b"}
    assert not bench.timers
    assert bench.served_by() == "b"


def test_one_by_one_before_a61() -> None:
    assert not started(SEED, "a", "b").timers


def test_idle_after_backoff_before_a62() -> None:
    bench = started(SEED, "a")
    bench.fail("a")
    bench.end_backoff("a")
    assert bench.state is IDLE
    assert bench.attempts == ["a"]
    assert bench.pick().__class__ is Queue
    assert bench.attempts == ["a", "a"]
    assert bench.state is CONNECTING


def test_a62_failure_sticks_and_tries_go_on() -> None:
    bench = started(STICKY, "a", "b")
    bench.fail("a", "b")
    bench.end_backoff("a")
    assert bench.take_attempts() == ["a", "b", "a"]
    bench.end_backoff("b")
    assert bench.take_attempts() == ["b"]
    assert bench.state is FAILED
    bench.fail("b")
    assert bench.reresolutions == 1
    bench.fail("a")
    assert bench.reresolutions == 2
    bench.end_backoff("b")
    bench.ready("b")
    assert bench.state is READY
    assert bench.reported == [CONNECTING, FAILED, FAILED, READY]


def test_a62_backoff_that_ended_during_the_pass() -> None:
    bench = started(STICKY, "a", "b")
    bench.fail("a")
    bench.end_backoff("a")
    bench.fail("b")
    assert bench.take_attempts() == ["a", "b", "a"]


@pytest.mark.parametrize("rules", BOTH)
def test_lost_connection_is_idle_until_asked(rules: Rules) -> None:
    bench = started(rules, "a", "b")
    bench.ready("a")
    bench.lose("a")
    assert bench.state is IDLE
    assert bench.take_attempts() == ["a"]
    assert bench.pick().__class__ is Queue
    assert bench.take_attempts() == ["a"]
    bench.fail("a")
    assert bench.take_attempts() == ["b"]


@pytest.mark.parametrize("rules", BOTH)
def test_connection_kept_if_its_address_stays(rules: Rules) -> None:
    bench = started(rules, "a")
    bench.ready("a")
    bench.update([endpoint("b"), endpoint("a", locality=Locality(zone="z"))])
    assert bench.attempts == ["a"]
    assert bench.state is READY
    result = bench.pick()
    assert getattr(result, "locality", None) == Locality(zone="z")
    bench.update(["b"])
    assert bench.state is CONNECTING
    assert set(bench.states) == {"b"}


def test_no_addresses() -> None:
    bench = started(SEED, "a")
    bench.update([])
    assert bench.state is FAILED
    assert not bench.live
    assert bench.reresolutions == 1
    bench.update(["b"])
    assert bench.state is CONNECTING


def test_a61_in_backoff_counts_as_tried_after_an_update() -> None:
    bench = started(EYEBALLS, "a", "b")
    bench.fail("a")
    bench.update([Endpoint(addresses=("a", "b", "c"))])
    bench.fail("b")
    assert bench.attempts == ["a", "b", "c"]


def test_shuffle_mixes_endpoints() -> None:
    firsts = set()
    for seed in range(20):
        bench = Bench(PickFirstConfig(shuffle=True), STICKY, seed=seed)
        bench.update(["a", "b", "c"])
        firsts.add(bench.attempts[0])
    assert firsts == {"a", "b", "c"}


def test_a113_shuffle_goes_by_weight() -> None:
    firsts = []
    for seed in range(200):
        bench = Bench(PickFirstConfig(shuffle=True), edition("seed+A113").rules, seed=seed)
        bench.update([endpoint("light"), endpoint("heavy", weight=9)])
        firsts.append(bench.attempts[0])
    assert 160 < firsts.count("heavy") < 195


def test_close_leaves_nothing() -> None:
    bench = started(EYEBALLS, "a", "b")
    bench.take(bench.policy.close())
    assert not bench.live
    assert not bench.timers


@pytest.mark.parametrize(
    ("endpoints", "flat"),
    [
        ([("a:1", "b:1"), ("c:1",)], "a:1 b:1 c:1"),
        ([("a:1", "b:1", "[::1]:1")], "a:1 [::1]:1 b:1"),
        ([("[::1]:1", "[::2]:1"), ("a:1",)], "[::1]:1 a:1 [::2]:1"),
        ([("a:1",), ("a:1", "b:1")], "a:1 b:1"),
        ([], ""),
    ],
)
def test_flattened(endpoints: list[tuple[str, ...]], flat: str) -> None:
    listed = [Endpoint(addresses=addresses) for addresses in endpoints]
    assert " ".join(address for address, _ in flattened(listed)) == flat
