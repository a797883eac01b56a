"""Whatever happens in whatever order: trees of policies under seeded random events."""

from __future__ import annotations

import random

import pytest

from client_under_test.reference.clusters.aggregates import (
    LeafEndpoints,
    LocalityEndpoints,
    PriorityNames,
    found_by_dns,
    make_update,
)
from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.editions.editions import MODERN, SEED, SEED_2021, Rules, edition
from client_under_test.reference.policies.configs import RingHashConfig, RoundRobinConfig
from client_under_test.reference.policies.interface import Complete, Update
from client_under_test.reference.values import Endpoint, Locality

from .bench import CONNECTING, FAILED, IDLE, READY, Bench

POLICIES = (
    RingHashConfig(minimum=16),
    RingHashConfig(minimum=8, request_hash_header="k"),
    RoundRobinConfig(),
)


class Course:
    """A cluster whose resources and endpoints do what the dice say."""

    def __init__(self, rules: Rules, seed: int) -> None:
        self.dice = random.Random(seed)
        self.rules = rules
        self.names = PriorityNames()
        update = self.resources()
        self.bench = Bench(update.config, rules, seed=seed)
        self.bench.take(self.bench.policy.update(update))

    def resources(self) -> Update:
        leaves = [(self.leaf("L0"), self.found()), (self.leaf("L1"), self.found())]
        if self.dice.random() < 0.5:
            addresses = [f"d:{number}" for number in range(self.dice.randrange(3))]
            dns = Leaf(name="D", policy=self.dice.choice(POLICIES), dns_name="d:1")
            leaves.append((dns, found_by_dns(addresses, self.rules)))
        names = tuple(leaf.name for leaf, _ in leaves)
        aggregate = Aggregate(name="A", policy=self.dice.choice(POLICIES), clusters=names)
        return make_update("A", aggregate, leaves, self.names, self.rules)

    def leaf(self, name: str) -> Leaf:
        return Leaf(name=name, policy=self.dice.choice(POLICIES), reported=True)

    def found(self) -> LeafEndpoints:
        priorities = []
        for _ in range(self.dice.randrange(1, 3)):
            numbers = self.dice.sample(range(9), self.dice.randrange(4))
            endpoints = tuple(
                Endpoint(addresses=(f"e:{number}", f"f:{number}")[: self.dice.randrange(1, 3)])
                for number in numbers
            )
            zone = Locality(zone=self.dice.choice("xyz"))
            listed = LocalityEndpoints(locality=zone, weight=2, endpoints=endpoints)
            priorities.append((listed,))
        return LeafEndpoints(priorities=tuple(priorities))

    def step(self) -> None:
        bench = self.bench
        kind = self.dice.random()
        if kind < 0.05:
            bench.take(bench.policy.update(self.resources()))
        elif kind < 0.15 and bench.timers:
            bench.fire(self.dice.choice(bench.timers).purpose)
        elif kind < 0.2:
            bench.take(bench.policy.exit_idle())
        elif kind < 0.5:
            bench.pick(self.dice.getrandbits(64))
        else:
            self.change_one()

    def change_one(self) -> None:
        following = {CONNECTING: (READY, FAILED, FAILED), READY: (IDLE,), FAILED: (IDLE,)}
        moving = [live for live, state in self.bench.live.items() if state is not IDLE]
        if moving:
            subchannel = self.dice.choice(moving)
            state = self.dice.choice(following[self.bench.live[subchannel]])
            self.bench.change(subchannel, state)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(version.rules, id=version.name)
        for version in (SEED, SEED_2021, edition("seed+A61"), edition("seed+A62"), MODERN)
    ],
)
def test_any_course(rules: Rules, seed: int) -> None:
    course = Course(rules, seed)
    for _ in range(400):
        course.step()
        assert course.bench.state is not None
        result = course.bench.picker.pick(course.bench.args(course.dice.getrandbits(64)))
        if isinstance(result, Complete):
            # A picker leads only to subchannels that are there and READY.
            assert course.bench.live[result.subchannel] is READY
    course.bench.take(course.bench.policy.close())
    assert not course.bench.live
    assert not course.bench.timers
