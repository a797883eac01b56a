"""What the resolver of a channel and what it finds out about clusters share."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from client_under_test.reference.clusters.aggregates import ClusterRules
from client_under_test.reference.resolving.dependency_rules import DependencyRules
from client_under_test.reference.resolving.listener_rules import ListenerRules
from client_under_test.reference.resolving.name_rules import NameRules
from client_under_test.reference.resolving.selector import RouteRules
from client_under_test.reference.transport.clock import Clock
from client_under_test.reference.transport.dns import Name, Result
from client_under_test.reference.transport.subchannels import BackoffDelay


@dataclass(frozen=True, kw_only=True)
class ResolverRules(RouteRules, ClusterRules, DependencyRules, ListenerRules, NameRules):
    """The rules for resolving a target."""


@dataclass(frozen=True, kw_only=True)
class ResolverContext:
    """What a channel's resolver and its clusters work with."""

    clock: Clock
    rules: ResolverRules
    rng: random.Random
    backoff_delay: BackoffDelay
    dns_min_interval: float

    def resolve(self, name: str, tell: Callable[[Result], None]) -> Name:
        """Begin to resolve a name by DNS."""
        return Name(
            name,
            clock=self.clock,
            min_interval=self.dns_min_interval,
            backoff_delay=self.backoff_delay,
            rng=self.rng,
            tell=tell,
            look_up=self.rules.look_up_addresses,
        )
