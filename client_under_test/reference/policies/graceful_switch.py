"""A child whose policy may be replaced by another kind without a gap in service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from client_under_test.reference.policies.family import Tools
from client_under_test.reference.policies.interface import (
    Action,
    Actions,
    Event,
    Policy,
    PolicyConfig,
    Report,
    Update,
    UpdateState,
)
from client_under_test.reference.values import HierarchicalPath


class Switch:
    """A child whose policy may be replaced by another kind without a gap in service.

    A42-CDS-22, A42-CDS-23 (and A37, which has its children switched gracefully): the new policy
    takes over when it reports anything but CONNECTING, or when the old one is not READY.
    """

    def __init__(self, tools: Tools, place: HierarchicalPath) -> None:
        self._tools = tools
        self._place = place
        self._made = 0
        self._current: _Held | None = None
        self._pending: _Held | None = None

    def update(self, update: Update) -> Actions:
        """Update the policy if the config is for one like it; else make one that it is for."""
        newest = self._pending or self._current
        if newest is not None and self._takes(newest, update.config):
            newest.config = update.config
            return self._read(newest, newest.policy.update(update))
        actions: Actions = []
        if self._pending is not None:
            actions += self._pending.policy.close()
        self._made += 1
        place = (*self._place, str(self._made))
        held = _Held(update.config, place, self._tools.make(update.config, place), Report())
        if self._current is None:
            self._current = held
        else:
            self._pending = held
        return actions + self._read(held, held.policy.update(update))

    def _takes(self, held: _Held, config: PolicyConfig) -> bool:
        if type(held.config) is not type(config):
            return False
        return not self._tools.rules.needs_new_policy(held.config.instance, config.instance)

    def handle(self, event: Event) -> Actions:
        """Hand an event on to the policy in whose place it is."""
        for held in (self._current, self._pending):
            if held is not None and event.place[: len(held.place)] == held.place:
                return self._read(held, held.policy.handle(event))
        return []

    def exit_idle(self) -> Actions:
        """Connect, if IDLE."""
        newest = self._pending or self._current
        return [] if newest is None else self._read(newest, newest.policy.exit_idle())

    def close(self) -> Actions:
        """Close the policy, or both."""
        actions: Actions = []
        for held in (self._current, self._pending):
            if held is not None:
                actions += held.policy.close()
        self._current = self._pending = None
        return actions

    def _read(self, held: _Held, actions: Sequence[Action]) -> Actions:
        kept: Actions = []
        for action in actions:
            if not isinstance(action, UpdateState):
                kept.append(action)
                continue
            held.report = Report.of(action)
            if held is self._current:
                kept.append(action)
        return kept + self._take_over()

    def _take_over(self) -> Actions:
        if self._pending is None or self._current is None:
            return []
        rules = self._tools.rules
        if not rules.replaces_old_policy(self._pending.report.state, self._current.report.state):
            return []
        old, self._current, self._pending = self._current, self._pending, None
        report = rules.report_of_new_policy(self._current.report)
        return [UpdateState(report.state, report.picker), *old.policy.close()]


@dataclass(slots=True, eq=False)
class _Held:
    config: PolicyConfig
    place: HierarchicalPath
    policy: Policy
    report: Report
