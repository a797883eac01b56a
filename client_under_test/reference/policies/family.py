"""What policies with children share: making them, handing events down, reading what they report."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from client_under_test.reference.policies.interface import (
    Action,
    Actions,
    Endpoint,
    Event,
    Picker,
    Place,
    Policy,
    PolicyConfig,
    QueuePicker,
    State,
    Update,
    UpdateState,
)
from client_under_test.reference.policies.ledger import Ledger

if TYPE_CHECKING:
    from client_under_test.reference.editions import Rules

PolicyMaker = Callable[["Tools", Place], Policy]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What every policy of a channel is made with.

    `ring_cap` is A42's local cap for ring sizes (A42-CONF-03); `makers` knows the policy for each
    class of config.
    """

    rules: Rules
    random: random.Random
    ledger: Ledger
    ring_cap: int
    makers: Mapping[type[PolicyConfig], PolicyMaker]

    def make(self, config: PolicyConfig, place: Place) -> Policy:
        """Make the policy that a config is for."""
        return self.makers[type(config)](self, place)


@dataclass(slots=True)
class Report:
    """The state and picker that a policy has reported last; before the first, as if CONNECTING."""

    state: State = State.CONNECTING
    picker: Picker = QueuePicker()  # noqa: RUF009  # It is frozen.

    @classmethod
    def of(cls, update: UpdateState) -> Report:
        """Make the report that an action is."""
        return cls(update.state, update.picker)


class Switch:
    """A child whose policy may be replaced by another kind without a gap in service.

    A42-CDS-22, A42-CDS-23 (and A37, which has its children switched gracefully): the new policy
    takes over when it reports anything but CONNECTING, or when the old one is not READY.
    """

    def __init__(self, tools: Tools, place: Place) -> None:
        self._tools = tools
        self._place = place
        self._made = 0
        self._current: _Held | None = None
        self._pending: _Held | None = None

    def update(self, update: Update) -> Actions:
        """Update the policy if it is of the kind of the config; else make one that is."""
        newest = self._pending or self._current
        if newest is not None and newest.kind is type(update.config):
            return self._read(newest, newest.policy.update(update))
        actions: Actions = []
        if self._pending is not None:
            actions += self._pending.policy.close()
        self._made += 1
        place = (*self._place, str(self._made))
        held = _Held(type(update.config), place, self._tools.make(update.config, place), Report())
        if self._current is None:
            self._current = held
        else:
            self._pending = held
        return actions + self._read(held, held.policy.update(update))

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
        waits = self._pending.report.state is State.CONNECTING
        if waits and self._current.report.state is State.READY:
            return []
        old, self._current, self._pending = self._current, self._pending, None
        report = self._current.report
        return [UpdateState(report.state, report.picker), *old.policy.close()]


@dataclass(slots=True, eq=False)
class _Held:
    kind: type[PolicyConfig]
    place: Place
    policy: Policy
    report: Report


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
