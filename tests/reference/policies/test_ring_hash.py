"""ring_hash: its states, its picks and its own attempts, in both editions.

A hash "of" an endpoint is one that leads to it first; `order` says who comes next along the ring.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from client_under_test.reference.editions.editions import MODERN, SEED, SEED_2021, Rules, edition
from client_under_test.reference.policies.configs import RingHashConfig
from client_under_test.reference.policies.interface import (
    Complete,
    ConnectWanted,
    Fail,
    PickResult,
    Queue,
    Target,
)
from client_under_test.reference.policies.rules import ring
from client_under_test.reference.values import Endpoint, Locality

from .bench import CONNECTING, FAILED, IDLE, READY, Bench, endpoint

A42, A61 = SEED.rules, edition("seed+A61+A62").rules
BOTH = (pytest.param(A42, id="A42"), pytest.param(A61, id="A61"))
CONFIG = RingHashConfig(minimum=1024)
ADDRESSES = ("a:1", "b:1", "c:1", "d:1", "e:1")


def hash_for(addresses: tuple[str, ...], order: tuple[str, ...], rules: Rules = A42) -> int:
    """Find a hash whose walk over the ring of those endpoints begins in that order."""
    standing = ring.standings([endpoint(address) for address in addresses], rules)
    made = ring.build(standing, ring.Sizes(1024, 4096), rules)
    for start, request_hash in enumerate(made.hashes):
        walk = [addresses[owner] for owner in rules.endpoints_along_ring(made.owners, start)]
        if tuple(walk[: len(order)]) == order:
            return request_hash
    raise AssertionError(order)


def started(
    rules: Rules, addresses: tuple[str, ...] = ADDRESSES, config: RingHashConfig = CONFIG
) -> Bench:
    bench = Bench(config, rules)
    bench.update(addresses)
    return bench


# Starting, READY, lost.


@pytest.mark.parametrize("rules", BOTH)
def test_idle_until_picked_and_one_connection_for_one_hash(rules: Rules) -> None:
    bench = started(rules)
    assert bench.state is IDLE
    assert not bench.live
    request_hash = hash_for(ADDRESSES, ("c:1",))
    assert isinstance(bench.pick(request_hash), Queue)
    assert bench.attempts == ["c:1"]
    assert bench.state is CONNECTING
    assert bench.pick(request_hash) == Queue()
    bench.ready("c:1")
    assert bench.state is READY
    assert bench.served_by(request_hash) == "c:1"
    assert bench.attempts == ["c:1"]
    assert bench.reported == [IDLE, CONNECTING, READY]


@pytest.mark.parametrize("rules", BOTH)
def test_first_idle_is_waited_for_though_others_are_ready(rules: Rules) -> None:
    bench = started(rules)
    bench.pick(hash_for(ADDRESSES, ("a:1",)))
    bench.ready("a:1")
    assert isinstance(bench.pick(hash_for(ADDRESSES, ("b:1",))), Queue)
    assert bench.attempts == ["a:1", "b:1"]
    assert bench.state is READY


@pytest.mark.parametrize("rules", BOTH)
def test_lost_connection_is_idle_until_picked(rules: Rules) -> None:
    bench = started(rules)
    request_hash = hash_for(ADDRESSES, ("a:1",))
    bench.pick(request_hash)
    bench.ready("a:1")
    bench.lose("a:1")
    assert bench.state is IDLE
    assert bench.attempts == ["a:1"]
    assert isinstance(bench.pick(request_hash), Queue)
    assert bench.attempts == ["a:1", "a:1"]


# Failures.


def with_two_failed(
    rules: Rules, addresses: tuple[str, ...] = ADDRESSES
) -> tuple[Bench, int, list[str]]:
    """Fail the first and the second of some hash; the third is then under way, proactively."""
    bench = started(rules, addresses)
    order = ("a:1", "b:1", "c:1", "d:1")[: len(addresses)]
    request_hash = hash_for(addresses, order)
    bench.pick(request_hash)
    bench.fail("a:1")
    bench.pick(request_hash)
    if bench.states.get("b:1") is not CONNECTING:
        raise AssertionError(bench.states)
    bench.fail("b:1")
    return bench, request_hash, bench.take_attempts()


@pytest.mark.parametrize("rules", BOTH)
def test_one_failed_of_several_is_connecting_and_goes_on_proactively(rules: Rules) -> None:
    bench = started(rules)
    bench.pick(hash_for(ADDRESSES, ("b:1",)))
    bench.take_attempts()
    bench.fail("b:1")
    assert bench.state is CONNECTING
    assert len(bench.take_attempts()) == 1
    assert IDLE not in bench.reported[1:]


@pytest.mark.parametrize("rules", BOTH)
def test_second_is_waited_for(rules: Rules) -> None:
    bench = started(rules)
    request_hash = hash_for(ADDRESSES, ("a:1", "d:1"))
    bench.pick(request_hash)
    bench.fail("a:1")
    assert isinstance(bench.pick(request_hash), Queue)
    assert bench.states["d:1"] is CONNECTING
    bench.ready("d:1")
    assert bench.served_by(request_hash) == "d:1"


@pytest.mark.parametrize("rules", BOTH)
def test_two_failed_is_transient_failure(rules: Rules) -> None:
    bench, _, _ = with_two_failed(rules)
    assert bench.state is FAILED


def test_a42_two_failed_and_none_ready_fails_but_connects_the_next() -> None:
    bench, request_hash, _ = with_two_failed(A42)
    result = bench.picker.pick(bench.args(request_hash))
    assert isinstance(result, Fail)
    assert result.status.details == "a:1 failed"
    assert [target.key for target in result.connect[:2]] == ["a:1", "b:1"]


def test_a61_two_failed_waits_for_the_next() -> None:
    bench, request_hash, _ = with_two_failed(A61)
    assert isinstance(bench.pick(request_hash), Queue)
    bench.ready("c:1")
    assert bench.served_by(request_hash) == "c:1"


def behind_an_unready_third(rules: Rules) -> tuple[Bench, PickResult]:
    """The fourth of a hash is READY, the first two have failed, and the third is not READY."""
    bench = started(rules, ADDRESSES[:4])
    order = ("a:1", "b:1", "c:1", "d:1")
    request_hash = hash_for(ADDRESSES[:4], order)
    for address in ("d:1", "a:1"):
        bench.pick(hash_for(ADDRESSES[:4], (address,)))
    bench.ready("d:1")
    bench.fail("a:1")
    bench.pick(request_hash)
    bench.fail("b:1")
    bench.take_attempts()
    return bench, bench.pick(request_hash)


def test_a42_takes_the_ready_one_behind() -> None:
    bench, result = behind_an_unready_third(A42)
    assert isinstance(result, Complete)
    assert result.subchannel.address == "d:1"
    assert bench.take_attempts() == ["c:1"]


def test_a61_does_not_reach_the_ready_one_behind() -> None:
    bench, result = behind_an_unready_third(A61)
    assert isinstance(result, Queue)
    assert bench.take_attempts() == ["c:1"]


@pytest.mark.parametrize("rules", BOTH)
def test_all_failed_fails(rules: Rules) -> None:
    bench = started(rules, ADDRESSES[:2])
    bench.pick(hash_for(ADDRESSES[:2], ("a:1",)))
    bench.fail("a:1", "b:1")
    assert bench.state is FAILED
    result = bench.pick(hash_for(ADDRESSES[:2], ("b:1",)))
    assert isinstance(result, Fail)
    assert result.status.details == "b:1 failed"
    assert isinstance(rules.queue_wait_for_ready(result), Queue)


@pytest.mark.parametrize("rules", BOTH)
def test_only_endpoint_failed(rules: Rules) -> None:
    bench = started(rules, ("a:1",))
    bench.pick(1)
    bench.fail("a:1")
    assert bench.state is FAILED
    assert isinstance(bench.pick(1), Fail)
    bench.end_backoff("a:1")
    assert bench.attempts == ["a:1", "a:1"]
    assert bench.state is FAILED
    bench.ready("a:1")
    assert bench.state is READY
    assert bench.served_by(1) == "a:1"


# Retries: by picks (A42), by themselves (A61).


def one_ready_one_failed(rules: Rules) -> tuple[Bench, int]:
    bench = started(rules, ADDRESSES[:3])
    for address in ("a:1", "b:1"):
        bench.pick(hash_for(ADDRESSES[:3], (address,)))
    bench.ready("b:1")
    bench.fail("a:1")
    bench.take_attempts()
    return bench, hash_for(ADDRESSES[:3], ("a:1",))


def test_a42_sub_07_failed_stays_alone_until_picked() -> None:
    bench, _ = one_ready_one_failed(A42)
    bench.end_backoff("a:1")
    assert not bench.attempts
    bench.pick(hash_for(ADDRESSES[:3], ("a:1",)))
    assert bench.attempts[0] == "a:1"


def test_a42_pick_07_a_pick_during_the_backoff_is_remembered() -> None:
    bench, request_hash = one_ready_one_failed(A42)
    bench.pick(request_hash)
    assert "a:1" not in bench.take_attempts()
    bench.end_backoff("a:1")
    assert bench.take_attempts() == ["a:1"]
    bench.fail("a:1")
    bench.end_backoff("a:1")
    assert not bench.attempts


def test_a61_failed_is_tried_again_by_itself() -> None:
    bench, _ = one_ready_one_failed(A61)
    bench.end_backoff("a:1")
    assert bench.take_attempts() == ["a:1"]


@pytest.mark.parametrize("rules", BOTH)
def test_failure_sticks_while_tried_again(rules: Rules) -> None:
    bench, request_hash = one_ready_one_failed(rules)
    bench.pick(request_hash)
    bench.end_backoff("a:1")
    assert bench.states["a:1"] is CONNECTING
    result = bench.picker.pick(bench.args(request_hash))
    assert not (isinstance(result, Complete) and result.subchannel.address == "a:1")
    bench.ready("a:1")
    assert bench.served_by(request_hash) == "a:1"


# ProactiveAttempt attempts.


def test_a42_one_under_way_round_the_ring() -> None:
    bench = started(A42, ADDRESSES[:3])
    bench.pick(hash_for(ADDRESSES[:3], ("a:1",)))
    for _ in range(3):
        (address,) = [address for address, state in bench.states.items() if state is CONNECTING]
        bench.fail(address)
    assert sorted(bench.take_attempts()) == ["a:1", "b:1", "c:1"]
    assert list(bench.states.values()) == [FAILED] * 3
    order = list(bench.states)
    bench.end_backoff(order[1])
    assert not bench.attempts  # The turn is that of the first, whose backoff still runs.
    bench.end_backoff(order[0])
    assert bench.take_attempts() == [order[0]]
    bench.fail(order[0])
    assert bench.take_attempts() == [order[1]]


def test_a42_pro_07_what_was_wanted_proactively_is_given_up_at_ready() -> None:
    bench = started(A42, ADDRESSES[:2])
    bench.pick(hash_for(ADDRESSES[:2], ("a:1",)))
    bench.fail("a:1", "b:1")  # It is the turn of a:1, after its backoff.
    bench.tell(ConnectWanted(Target((), "b:1")))
    bench.end_backoff("b:1")
    bench.ready("b:1")
    assert bench.take_attempts() == ["a:1", "b:1", "b:1"]
    bench.end_backoff("a:1")
    assert not bench.attempts
    assert bench.state is READY


def test_a61_attempts_add_up() -> None:
    bench = started(A61, ADDRESSES[:3])
    bench.pick(hash_for(ADDRESSES[:3], ("a:1",)))
    bench.fail("a:1")
    (second,) = set(bench.take_attempts()) - {"a:1"}
    bench.end_backoff("a:1")
    assert bench.take_attempts() == ["a:1"]
    bench.fail(second)
    assert len(bench.take_attempts()) == 1
    assert list(bench.states.values()).count(CONNECTING) == 2


@pytest.mark.parametrize("rules", BOTH)
def test_attempts_resume_when_ready_is_removed(rules: Rules) -> None:
    addresses = ADDRESSES[:4]
    bench = started(rules, addresses)
    for address in ("a:1", "b:1", "c:1"):
        bench.pick(hash_for(addresses, (address,)))
    bench.ready("c:1")
    bench.fail("a:1", "b:1")
    bench.take_attempts()
    bench.update(["a:1", "b:1", "d:1"])
    assert bench.state is FAILED
    assert "c:1" not in bench.states
    if rules is A61:
        assert bench.take_attempts() == ["d:1"]
    else:
        bench.end_backoff("a:1", "b:1")
        assert len(bench.take_attempts()) == 1


# Updates.


@pytest.mark.parametrize("rules", BOTH)
def test_update_keeps_connections_and_new_ring_counts(rules: Rules) -> None:
    bench = started(rules, ("a:1", "b:1"))
    bench.pick(hash_for(("a:1", "b:1"), ("a:1",)))
    bench.ready("a:1")
    bench.update(["b:1", "c:1", endpoint("a:1", locality=Locality(zone="z"))])
    assert bench.attempts == ["a:1"]
    result = bench.pick(hash_for(("b:1", "c:1", "a:1"), ("a:1",)))
    assert isinstance(result, Complete)
    assert result.locality == Locality(zone="z")
    assert isinstance(bench.pick(hash_for(("b:1", "c:1", "a:1"), ("c:1",))), Queue)


@pytest.mark.parametrize("rules", BOTH)
def test_no_endpoints(rules: Rules) -> None:
    bench = started(rules)
    bench.pick(hash_for(ADDRESSES, ("a:1",)))
    bench.update([])
    assert bench.state is FAILED
    assert not bench.live
    assert isinstance(bench.pick(1), Fail)


def test_weights_do_not_make_two_of_one() -> None:
    bench = Bench(CONFIG, A42)
    bench.update([endpoint("a:1", weight=9), endpoint("b:1")])
    bench.pick(1)
    (first,) = bench.states
    bench.fail(first)
    assert bench.state is CONNECTING


def test_request_without_a_hash_fails() -> None:
    assert isinstance(started(A42).pick(None), Fail)


# A61 and A76.


def test_a61_endpoint_of_two_addresses() -> None:
    bench = Bench(CONFIG, A61)
    bench.update([Endpoint(addresses=("a:1", "a:2")), endpoint("b:1")])
    request_hash = hash_for(("a:1", "b:1"), ("a:1",))
    bench.pick(request_hash)
    bench.fail("a:1")
    assert bench.state is CONNECTING
    assert isinstance(bench.pick(request_hash), Queue)
    bench.ready("a:2")
    assert bench.served_by(request_hash) == "a:2"
    assert bench.attempts == ["a:1", "a:2"]


def header_bench() -> Bench:
    bench = Bench(RingHashConfig(request_hash_header="key"), MODERN.rules)
    bench.update(ADDRESSES)
    return bench


def test_a76_header_makes_the_hash() -> None:
    bench = header_bench()
    metadata = (("key", "v"), ("key", "w"))
    for address in ADDRESSES:
        bench.pick(metadata=(("key", f"{address}_0"),))
        bench.ready(address)
    assert bench.served_by(metadata=(("key", "c:1_0"),), request_hash=5) == "c:1"
    joined = bench.served_by(metadata=(("key", "v,w"),))
    assert bench.served_by(metadata=metadata) == joined


def test_a76_random_hash_takes_ready_and_connects_one() -> None:
    bench = header_bench()
    assert isinstance(bench.pick(), Queue)
    assert len(bench.attempts) == 1
    for _ in range(10):
        assert bench.pick() == Queue()
    assert len(bench.attempts) == 1
    bench.ready(bench.attempts[0])
    assert {bench.served_by() for _ in range(3)} == {bench.attempts[0]}


def test_a76_random_hash_fails_when_all_have() -> None:
    bench = Bench(RingHashConfig(request_hash_header="key"), MODERN.rules)
    bench.update(["a:1"])
    bench.pick()
    bench.fail("a:1")
    assert isinstance(bench.pick(), Fail)


def test_header_is_unknown_before_a76() -> None:
    bench = Bench(RingHashConfig(request_hash_header="key"), A42)
    bench.update(ADDRESSES)
    bench.pick(hash_for(ADDRESSES, ("b:1",)), metadata=(("key", "a:1_0"),))
    assert bench.attempts == ["b:1"]


def test_a76_key_changes_place_and_keeps_the_connection() -> None:
    bench = Bench(CONFIG, MODERN.rules)
    bench.update([endpoint("a:1", hash_key="k"), endpoint("b:1")])
    request_hash = hash_for(("k", "b:1"), ("k",))
    bench.pick(request_hash)
    bench.ready("a:1")
    bench.update([endpoint("a:1", hash_key="m"), endpoint("b:1")])
    assert bench.attempts == ["a:1"]
    assert bench.served_by(hash_for(("m", "b:1"), ("m",))) == "a:1"


def test_a_rule_can_be_broken_alone() -> None:
    broken = replace(A42, aggregated_state=lambda _states: READY)
    assert started(broken).state is READY
    assert SEED_2021.rules.aggregated_state is A42.aggregated_state
