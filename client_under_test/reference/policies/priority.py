"""priority: the first of several policies that works (A42, A56). Its rules are in failover.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from client_under_test.reference.policies.configs import PriorityConfig
from client_under_test.reference.policies.family import Tools, below
from client_under_test.reference.policies.graceful_switch import Switch
from client_under_test.reference.policies.interface import (
    Action,
    Actions,
    CancelTimer,
    Event,
    FailPicker,
    Report,
    RequestReresolution,
    StartTimer,
    Timer,
    TimerFired,
    Update,
    UpdateState,
)
from client_under_test.reference.policies.rules.failover import ChildView, Make, Use
from client_under_test.reference.values import Endpoint, HierarchicalPath, State, Status

_FAILOVER = "failover"
_RETENTION = "retention"


@dataclass(slots=True, eq=False)
class _Child:
    """A priority whose policy has been made.

    `settled`: the last of READY, IDLE and TRANSIENT_FAILURE that it reported, as if IDLE before.
    """

    policy: Switch
    report: Report = field(default_factory=Report)
    settled: State = State.IDLE
    failover: Timer | None = None
    retention: Timer | None = None


class Priority:
    """The policy. A place below it begins with the name of a child."""

    def __init__(self, tools: Tools, place: HierarchicalPath) -> None:
        self._tools = tools
        self._place = place
        self._config = PriorityConfig(children={}, priorities=())
        self._endpoints: dict[str, list[Endpoint]] = {}
        self._note = ""
        self._children: dict[str, _Child] = {}
        self._used: str | None = None
        self._reported: UpdateState | None = None

    def update(self, update: Update) -> Actions:
        """A56: tell all children that exist, and only then choose."""
        if not isinstance(update.config, PriorityConfig):
            raise TypeError(update.config)
        self._config = update.config
        self._note = update.note
        self._endpoints = below(update.endpoints)
        actions: Actions = []
        for name, child in self._children.items():
            if name in self._config.priorities:
                if self._tools.rules.priority_takes_updates(name == self._used):
                    actions += self._tell(name, child)
            else:
                actions += self._deactivate(child)
        return actions + self._choose()

    def handle(self, event: Event) -> Actions:
        """Take a timer, or hand an event on to its child."""
        if isinstance(event, TimerFired) and event.place == self._place:
            return self._fired(event.timer)
        name = event.place[len(self._place)]
        child = self._children.get(name)
        if child is None:
            return []
        before = child.report
        actions = self._read(name, child, child.policy.handle(event))
        return actions if child.report is before else actions + self._choose()

    def exit_idle(self) -> Actions:
        """Have the priority that is in use connect."""
        if self._used not in self._children:
            return []
        child = self._children[self._used]
        return self._read(self._used, child, child.policy.exit_idle()) + self._choose()

    def close(self) -> Actions:
        """Close all children."""
        return [action for name in tuple(self._children) for action in self._remove(name)]

    # Children.

    def _tell(self, name: str, child: _Child) -> Actions:
        told = Update(
            config=self._config.children[name].config,
            endpoints=tuple(self._endpoints.get(name, ())),
            note=self._note,
        )
        return self._read(name, child, child.policy.update(told))

    def _make(self, name: str) -> Actions:
        """Make a policy, and start its failover timer.

        Clauses: A42-FAIL-03, A42-FAIL-04.
        """
        child = self._children[name] = _Child(Switch(self._tools, (*self._place, name)))
        return self._begin_failover(child) + self._tell(name, child)

    def _remove(self, name: str) -> Actions:
        child = self._children.pop(name)
        timers = [timer for timer in (child.failover, child.retention) if timer is not None]
        return [*(CancelTimer(timer) for timer in timers), *child.policy.close()]

    def _read(self, name: str, child: _Child, actions: Sequence[Action]) -> Actions:
        kept: Actions = []
        for action in actions:
            if isinstance(action, UpdateState):
                kept += self._heard(child, action)
            elif not (isinstance(action, RequestReresolution) and self._ignores(name)):
                kept.append(action)
        return kept

    def _ignores(self, name: str) -> bool:
        """A37, Priority Policy Reresolution Handling: EDS children do not have DNS asked again."""
        child = self._config.children.get(name)
        return child is None or child.ignore_reresolution

    def _heard(self, child: _Child, update: UpdateState) -> Actions:
        """Apply a report to the failover timer.

        Clauses: A42-FAIL-05, A42-FAIL-06, A42-FAIL-07, A42-FAIL-08, A42-FAIL-09,
        A42-FAIL-13.
        """
        rules = self._tools.rules
        before, child.report = child.report, Report.of(update)
        begins = rules.starts_failover_timer(
            before.state, update.state, child.settled, child.failover is not None
        )
        child.settled = rules.settled_state(child.settled, update.state)
        if begins:
            return self._end_failover(child) + self._begin_failover(child)
        return self._end_failover(child) if rules.stops_failover_timer(update.state) else []

    # Timers.

    def _begin_failover(self, child: _Child) -> Actions:
        child.failover = Timer(self._place, self._tools.rules.failover_seconds, _FAILOVER)
        return [StartTimer(child.failover)]

    def _end_failover(self, child: _Child) -> Actions:
        timer, child.failover = child.failover, None
        return [] if timer is None else [CancelTimer(timer)]

    def _deactivate(self, child: _Child) -> Actions:
        """A56: a child that is not needed is kept for a quarter of an hour."""
        if child.retention is not None:
            return []
        child.retention = Timer(self._place, self._tools.rules.retention_seconds, _RETENTION)
        return [StartTimer(child.retention)]

    def _reactivate(self, child: _Child) -> Actions:
        timer, child.retention = child.retention, None
        return [] if timer is None else [CancelTimer(timer)]

    def _fired(self, timer: Timer) -> Actions:
        for name, child in self._children.items():
            if child.failover is timer:
                child.failover = None
                return self._choose()
            if child.retention is timer:
                child.retention = None
                return self._remove(name)
        return []

    # The choice.

    def _choose(self) -> Actions:
        """Choose, making children until the choice is one that is made.

        A42-FAIL-12: its picker becomes that of the policy, so waiting requests go where it leads.

        Clauses: A42-FAIL-01, A42-FAIL-02, A42-FAIL-03, A42-FAIL-04, A42-FAIL-10, A42-FAIL-11.
        """
        names = self._config.priorities
        if not names:
            status = Status.unavailable("no priorities" + (f" ({self._note})" * bool(self._note)))
            return [UpdateState(State.TRANSIENT_FAILURE, FailPicker(status))]
        actions: Actions = []
        views = [self._view(name) for name in names]
        while isinstance(choice := self._tools.rules.choose_priority(views), Make):
            actions += self._make(names[choice.index])
            views[choice.index] = self._view(names[choice.index])  # the others are as they were
        return actions + self._use(choice)

    def _view(self, name: str) -> ChildView | None:
        child = self._children.get(name)
        if child is None:
            return None
        return ChildView(child.report.state, timer_runs=child.failover is not None)

    def _use(self, choice: Use) -> Actions:
        names = self._config.priorities
        actions: Actions = []
        for index, name in enumerate(names):
            if index <= choice.index or not choice.settled:
                child = self._children.get(name)
                actions += [] if child is None else self._reactivate(child)
            elif name in self._children:
                actions += self._deactivate(self._children[name])
        self._used = names[choice.index]
        report = self._children[self._used].report
        update = UpdateState(report.state, report.picker)
        if self._reported is not None and update == self._reported:
            return actions
        self._reported = update
        return [*actions, update]
