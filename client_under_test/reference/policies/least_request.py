"""least_request_experimental (A48): connections as round_robin has them, requests to the idlest."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from client_under_test.reference.policies.configs import LeastRequestConfig
from client_under_test.reference.policies.interface import Complete, PickArgs, Picker, PickResult
from client_under_test.reference.policies.ledger import Ledger
from client_under_test.reference.policies.round_robin import RoundRobin


class LeastRequestPicker(msgspec.Struct, frozen=True):
    """Picks the least loaded of some random READY endpoints, drawn with replacement."""

    pickers: tuple[Picker, ...]
    choice_count: int
    ledger: Ledger
    chosen: Callable[[list[int], random.Random], int]

    def pick(self, args: PickArgs, /) -> PickResult:
        """Ask each that is drawn, and take one by how many requests they have in flight."""
        drawn = [args.random.choice(self.pickers).pick(args) for _ in range(self.choice_count)]
        running = [
            self.ledger.running(candidate.subchannel) if isinstance(candidate, Complete) else 0
            for candidate in drawn
        ]
        return drawn[self.chosen(running, args.random)]


class LeastRequest(RoundRobin):
    """The policy."""

    def _picker(self, ready: tuple[Picker, ...]) -> Picker:
        if not isinstance(self._config, LeastRequestConfig):
            raise TypeError(self._config)
        chosen = self._tools.rules.least_loaded
        return LeastRequestPicker(ready, self._config.choice_count, self._tools.ledger, chosen)
