"""priority and its failover timer, above ring_hash and round_robin."""

from __future__ import annotations

import pytest

from client_under_test.reference.editions.editions import MODERN, SEED, Rules, edition
from client_under_test.reference.policies.configs import (
    PriorityChild,
    PriorityConfig,
    RingHashConfig,
    RoundRobinConfig,
)
from client_under_test.reference.policies.interface import Fail, PolicyConfig, Queue
from client_under_test.reference.policies.rules import failover
from client_under_test.reference.policies.rules.failover import ChildView, Make, Use
from client_under_test.reference.values import State

from .bench import CONNECTING, FAILED, IDLE, READY, Bench, endpoint

BOTH = (pytest.param(SEED.rules, id="seed"), pytest.param(MODERN.rules, id="modern"))
RING, TURNS = RingHashConfig(), RoundRobinConfig()


def configured(*names: str, policy: PolicyConfig = RING) -> PriorityConfig:
    children = {name: PriorityChild(policy) for name in names}
    return PriorityConfig(children=children, priorities=names)


def started(rules: Rules, policy: PolicyConfig = RING, priorities: int = 2) -> Bench:
    """Start with endpoints p0:1 and p0:2 in the first priority, and so on."""
    names = [f"p{number}" for number in range(priorities)]
    config = configured(*names, policy=policy)
    bench = Bench(config, rules)
    bench.update(
        [endpoint(f"{name}:{number}", path=(name,)) for name in names for number in (1, 2)]
    )
    return bench


# Rules by tables.


@pytest.mark.parametrize(
    ("children", "a42", "a56"),
    [
        ("?", Make(0), Make(0)),
        ("R ?", Use(0, settled=True), Use(0, settled=True)),
        ("I F", Use(0, settled=True), Use(0, settled=True)),
        ("C* ?", Use(0), Use(0)),
        ("C ?", Make(1), Make(1)),
        ("F ?", Make(1), Make(1)),
        ("F R", Use(1, settled=True), Use(1, settled=True)),
        ("C F R", Use(2, settled=True), Use(2, settled=True)),
        ("C C* ?", Use(1), Use(1)),
        ("F C F", Use(2), Use(1)),
        ("C C", Use(1), Use(0)),
        ("F F", Use(1), Use(1)),
    ],
)
def test_choice(children: str, a42: failover.Choice, a56: failover.Choice) -> None:
    letters = {"I": IDLE, "C": CONNECTING, "R": READY, "F": FAILED}
    views = [
        None if word == "?" else ChildView(letters[word[0]], timer_runs=word.endswith("*"))
        for word in children.split()
    ]
    assert failover.choose_priority(views) == a42
    assert failover.choose_priority_a56(views) == a56


@pytest.mark.parametrize(
    ("states", "begins"),
    [
        ([CONNECTING], [False]),  # From the start it has one already.
        ([IDLE, CONNECTING], [False, True]),
        ([READY, CONNECTING], [False, True]),
        ([IDLE, CONNECTING, CONNECTING], [False, True, False]),
        ([FAILED, CONNECTING], [False, False]),
        ([READY, FAILED, CONNECTING], [False, False, False]),
        ([FAILED, READY, CONNECTING], [False, False, True]),
        ([FAILED, CONNECTING, IDLE, CONNECTING], [False, False, False, True]),
    ],
)
def test_timer_begins(states: list[State], begins: list[bool]) -> None:
    before, settled = CONNECTING, IDLE
    for state, expected in zip(states, begins, strict=True):
        for runs in (False, True):
            assert failover.starts_failover_timer(before, state, settled, runs) is expected
        settled = failover.settled_state(settled, state)
        before = state


# The policy.


@pytest.mark.parametrize("rules", BOTH)
def test_idle_first_priority_has_no_timer(rules: Rules) -> None:
    bench = started(rules)
    assert bench.state is IDLE
    assert not bench.timers


@pytest.mark.parametrize("rules", BOTH)
def test_timer_begins_with_the_first_request_and_leads_on(rules: Rules) -> None:
    bench = started(rules)
    bench.pick(1)
    assert bench.state is CONNECTING
    timer = bench.fire("failover")
    assert timer.seconds == 10.0
    assert bench.state is IDLE
    assert isinstance(bench.pick(1), Queue)
    assert bench.attempts[1].startswith("p1")


@pytest.mark.parametrize("rules", BOTH)
def test_failover_at_once_when_two_have_failed(rules: Rules) -> None:
    bench = started(rules)
    bench.pick(1)
    first = bench.attempts[0]
    bench.fail(first)
    assert bench.running("failover") == 1
    bench.fail(bench.attempts[1])
    assert not bench.running("failover")
    assert bench.state is IDLE
    bench.pick(1)
    (second,) = (attempt for attempt in bench.attempts if attempt.startswith("p1"))
    bench.ready(second)
    assert bench.served_by(1) == second


@pytest.mark.parametrize("rules", BOTH)
def test_ready_ends_the_timer_and_lost_ready_starts_it_anew(rules: Rules) -> None:
    bench = started(rules)
    bench.pick(1)
    (first,) = bench.attempts
    bench.ready(first)
    assert not bench.timers
    bench.lose(first)
    assert not bench.timers
    bench.pick(1)
    assert bench.running("failover") == 1


@pytest.mark.parametrize("rules", BOTH)
def test_failback_at_once_and_the_lower_one_is_kept_for_a_while(rules: Rules) -> None:
    bench = started(rules, TURNS)
    bench.fire("failover")
    bench.ready("p1:1", "p1:2")
    assert bench.state is READY
    bench.ready("p0:1")
    assert bench.served_by() == "p0:1"
    assert bench.running("retention") == 1
    assert {"p1:1", "p1:2"} <= set(bench.states)
    bench.lose("p0:1")
    bench.fail("p0:1", "p0:2")
    assert not bench.running("retention")
    assert bench.served_by().startswith("p1")


@pytest.mark.parametrize("rules", BOTH)
def test_retention_ends(rules: Rules) -> None:
    bench = started(rules, TURNS)
    bench.fire("failover")
    bench.ready("p0:1")
    assert bench.fire("retention").seconds == 900
    assert set(bench.states) == {"p0:1", "p0:2"}
    assert not bench.timers


@pytest.mark.parametrize("rules", BOTH)
def test_each_stalled_priority_takes_its_time(rules: Rules) -> None:
    bench = started(rules, TURNS, priorities=3)
    bench.fire("failover")
    assert bench.running("failover") == 1
    assert not any(attempt.startswith("p2") for attempt in bench.attempts)
    bench.fire("failover")
    bench.ready("p2:1")
    assert bench.served_by() == "p2:1"


def test_all_given_up_and_one_connecting() -> None:
    bench = started(edition("seed+A56").rules, TURNS)
    bench.fire("failover")
    bench.fail("p1:1", "p1:2")
    assert bench.state is CONNECTING
    assert bench.pick() == Queue()


@pytest.mark.parametrize("rules", BOTH)
def test_all_failed(rules: Rules) -> None:
    bench = started(rules, TURNS)
    bench.fail("p0:1", "p0:2", "p1:1", "p1:2")
    assert bench.state is FAILED
    result = bench.pick()
    assert isinstance(result, Fail)
    assert result.status.details.startswith("p1:2")


@pytest.mark.parametrize("rules", BOTH)
def test_no_timer_after_failure(rules: Rules) -> None:
    bench = started(rules)
    bench.pick(1)
    bench.fail(*bench.attempts)
    bench.fail(bench.attempts[1])
    kept = bench.attempts[0]
    bench.pick(1)
    lower = bench.attempts[-1]
    bench.ready(lower)
    # An update takes one of the failed ones away: CONNECTING again, but no time for it.
    addresses = {"p0": (kept, "p0:3"), "p1": ("p1:1", "p1:2")}
    bench.update(
        [endpoint(address, path=(name,)) for name in addresses for address in addresses[name]]
    )
    assert not bench.running("failover")
    assert bench.served_by(1) == lower


@pytest.mark.parametrize("rules", BOTH)
def test_child_that_is_no_longer_configured(rules: Rules) -> None:
    bench = started(rules, TURNS)
    bench.ready("p0:1")
    bench.update([endpoint("p1:1", path=("p1",))], configured("p1", policy=TURNS))
    assert bench.running("retention") == 1
    assert bench.state is CONNECTING
    bench.ready("p1:1")
    assert bench.served_by() == "p1:1"
    bench.fire("retention")
    assert set(bench.states) == {"p1:1"}


def test_no_priorities() -> None:
    bench = Bench(configured(), SEED.rules)
    bench.update([])
    assert bench.state is FAILED
    assert isinstance(bench.pick(), Fail)


@pytest.mark.parametrize(("ignores", "heard"), [(True, 0), (False, 1)])
def test_a37_reresolution(*, ignores: bool, heard: int) -> None:
    children = {"p": PriorityChild(TURNS, ignore_reresolution=ignores)}
    bench = Bench(PriorityConfig(children=children, priorities=("p",)), SEED.rules)
    bench.update([endpoint("a", path=("p",))])
    bench.fail("a")
    assert bench.reresolutions == heard


@pytest.mark.parametrize("rules", BOTH)
def test_change_of_policy_without_a_gap(rules: Rules) -> None:
    bench = started(rules, TURNS, priorities=1)
    bench.ready("p0:1")
    bench.update([endpoint("p0:1x", path=("p0",))], configured("p0", policy=RoundRobinConfig()))
    bench.ready("p0:1x")
    bench.update([endpoint("n:1", path=("p0",))], configured("p0", policy=RING))
    assert bench.state is IDLE
    bench.pick(1)
    bench.ready("n:1")
    bench.update([endpoint("m:1", path=("p0",))], configured("p0", policy=TURNS))
    assert bench.served_by(1) == "n:1"
    bench.ready("m:1")
    assert bench.served_by(1) == "m:1"
    assert set(bench.states) == {"m:1"}


@pytest.mark.parametrize("rules", BOTH)
def test_close_leaves_nothing(rules: Rules) -> None:
    bench = started(rules, TURNS)
    bench.fire("failover")
    bench.ready("p0:1")
    bench.take(bench.policy.close())
    assert not bench.live
    assert not bench.timers
