"""weighted_round_robin (A58): connections as round_robin has them, requests by reported load."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from statistics import fmean

from client_under_test.reference.policies.configs import WeightedRoundRobinConfig
from client_under_test.reference.policies.interface import (
    Complete,
    PickArgs,
    Picker,
    PickResult,
    Subchannel,
)
from client_under_test.reference.policies.ledger import Ledger
from client_under_test.reference.policies.round_robin import RoundRobin
from client_under_test.reference.policies.rules.policy_rules import PolicyRules

ENOUGH = 2
"""Endpoints with a weight; with fewer, all endpoints take turns."""


class Schedule:
    """Earliest deadline first: an endpoint's period is the inverse of its weight."""

    def __init__(self, weights: Sequence[float], rng: random.Random) -> None:
        self._periods = [1 / weight for weight in weights]
        self._deadlines = [
            (rng.random() * period, index) for index, period in enumerate(self._periods)
        ]
        heapq.heapify(self._deadlines)

    def next(self) -> int:
        """Return the index of the endpoint whose turn it is."""
        deadline, index = self._deadlines[0]
        heapq.heapreplace(self._deadlines, (deadline + self._periods[index], index))
        return index


class WeightedPicker:
    """Picks READY endpoints by their weights, which it reads once in each update period.

    Args:
        pickers: those of the endpoints.
        turns: the picker while fewer than two endpoints have a weight.
        config: the policy's.
        ledger: it knows what the backends reported.
        rules: those of the edition.
    """

    def __init__(
        self,
        pickers: tuple[Picker, ...],
        turns: Picker,
        config: WeightedRoundRobinConfig,
        ledger: Ledger,
        rules: PolicyRules,
    ) -> None:
        self._pickers = pickers
        self._turns = turns
        self._config = config
        self._ledger = ledger
        self._rules = rules
        self._schedule: Schedule | None = None
        self._due = 0.0

    def pick(self, args: PickArgs, /) -> PickResult:
        """Take the endpoint whose turn it is by the weights."""
        now = self._ledger.now()
        if now >= self._due:
            self._due = now + max(self._config.weight_update_period, self._rules.shortest_update)
            self._schedule = self._scheduled(args, now)
        if self._schedule is None:
            return self._turns.pick(args)
        return self._pickers[self._schedule.next()].pick(args)

    def _scheduled(self, args: PickArgs, now: float) -> Schedule | None:
        picked = [picker.pick(args) for picker in self._pickers]
        weights = [
            self._weight(result.subchannel, now) if isinstance(result, Complete) else 0.0
            for result in picked
        ]
        known = [weight for weight in weights if weight]
        if len(known) < ENOUGH:
            return None
        return Schedule([weight or fmean(known) for weight in weights], args.random)

    def _weight(self, subchannel: Subchannel, now: float) -> float:
        config, rules = self._config, self._rules
        load = self._ledger.load(subchannel)
        if load is None or config.enable_oob_load_report:
            return 0.0
        since = now - load.last
        if rules.is_expired(since, config.weight_expiration_period, config.blackout_period):
            self._ledger.forget_load(subchannel)
            return 0.0
        if rules.in_blackout(now - load.first, config.blackout_period):
            return 0.0
        penalty = rules.penalty_of_errors(load.metrics, config.error_utilization_penalty)
        return rules.weight(load.metrics.rps, rules.utilization(load.metrics) + penalty)


class WeightedRoundRobin(RoundRobin):
    """The policy. It reads the load that backends report with each call, and none out of band."""

    def _picker(self, ready: tuple[Picker, ...]) -> Picker:
        if not isinstance(self._config, WeightedRoundRobinConfig):
            raise TypeError(self._config)
        turns = super()._picker(ready)
        return WeightedPicker(ready, turns, self._config, self._tools.ledger, self._tools.rules)
