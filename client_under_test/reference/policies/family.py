"""What policies with children share: making them, handing events down, reading what they report."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from client_under_test.reference.policies.interface import (
    Action,
    Actions,
    Policy,
    PolicyConfig,
    UpdateState,
)
from client_under_test.reference.policies.ledger import Ledger
from client_under_test.reference.policies.rules.policy_rules import PolicyRules
from client_under_test.reference.values import Endpoint, HierarchicalPath

PolicyMaker = Callable[["Tools", HierarchicalPath], Policy]


class RegisteredConfig(PolicyConfig, frozen=True, kw_only=True):
    """The config of a policy that the application has registered, which says how it is made (A52).

    Two of them are for the same policy if they have the same class and `name`.
    """

    name: str

    @property
    def instance(self) -> object:
        """The class and the registered name: another name needs another instance."""
        return type(self), self.name

    def make(self, tools: Tools, place: HierarchicalPath) -> Policy:
        """Make the policy."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What every policy of a channel is made with.

    `ring_cap` is A42's local cap for ring sizes (A42-CONF-03); `channel` is its number in the
    process; `makers` knows the policy for each class of config.
    """

    rules: PolicyRules
    random: random.Random
    ledger: Ledger
    ring_cap: int
    channel: int
    makers: Mapping[type[PolicyConfig], PolicyMaker]

    def make(self, config: PolicyConfig, place: HierarchicalPath) -> Policy:
        """Make the policy that a config is for."""
        if isinstance(config, RegisteredConfig):
            return config.make(self, place)
        return self.makers[type(config)](self, place)


def below(endpoints: Sequence[Endpoint]) -> dict[str, list[Endpoint]]:
    """Sort endpoints by the first name of their paths, which is then taken off (A56)."""
    sorted_out: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        if endpoint.path:
            name, *path = endpoint.path
            taken_off = msgspec.structs.replace(endpoint, path=tuple(path))
            sorted_out.setdefault(name, []).append(taken_off)
    return sorted_out


def take_reports(actions: Sequence[Action], heard: Callable[[UpdateState], None]) -> Actions:
    """Let a parent hear what a child reports, and keep the child's other actions."""
    kept: Actions = []
    for action in actions:
        if isinstance(action, UpdateState):
            heard(action)
        else:
            kept.append(action)
    return kept
