"""The root: a child for each cluster in use, and stand-ins for clusters without data."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from client_under_test.reference.policies.configs import (
    ClusterManagerConfig,
    FailingConfig,
)
from client_under_test.reference.policies.family import Tools, below, take_reports
from client_under_test.reference.policies.graceful_switch import Switch
from client_under_test.reference.policies.interface import (
    Actions,
    Event,
    Fail,
    PickArgs,
    Picker,
    PickResult,
    QueuePicker,
    Report,
    RequestReresolution,
    Update,
    UpdateState,
)
from client_under_test.reference.values import HierarchicalPath, State, Status


class ClusterPicker(msgspec.Struct, frozen=True):
    """Leaves a request to the cluster that the config selector chose for it (A31)."""

    pickers: Mapping[str, Picker]

    def pick(self, args: PickArgs, /) -> PickResult:
        """Let the cluster decide."""
        picker = self.pickers.get(args.cluster)
        if picker is None:
            return Fail(Status.unavailable(f"cluster {args.cluster} is not in use"))
        return picker.pick(args)


class ClusterManager:
    """The policy. Endpoints come with the name of their cluster first in their paths."""

    def __init__(self, tools: Tools, place: HierarchicalPath = ()) -> None:
        self._tools = tools
        self._place = place
        self._children: dict[str, Switch] = {}
        self._reports: dict[str, Report] = {}
        self._told: dict[str, Update] = {}

    def update(self, update: Update) -> Actions:
        """Tell those clusters of which something changed."""
        config = update.config
        if not isinstance(config, ClusterManagerConfig):
            raise TypeError(config)
        endpoints = below(update.endpoints)
        actions: Actions = []
        for name in self._children.keys() - config.children.keys():
            actions += self._children.pop(name).close()
            del self._reports[name], self._told[name]
        for name, child in config.children.items():
            if name not in self._children:
                self._children[name] = Switch(self._tools, (*self._place, name))
                self._reports[name] = Report()
            told = Update(config=child, endpoints=tuple(endpoints.get(name, ())), note=update.note)
            if self._told.get(name) != told:
                self._told[name] = told
                actions += self._read(name, self._children[name].update(told))
        return [*actions, self._report()]

    def handle(self, event: Event) -> Actions:
        """Hand an event on to its cluster."""
        name = event.place[len(self._place)]
        if name not in self._children:
            return []
        before = self._reports[name]
        actions = self._read(name, self._children[name].handle(event))
        return actions if self._reports[name] is before else [*actions, self._report()]

    def exit_idle(self) -> Actions:
        """Have all clusters that are IDLE connect."""
        actions: Actions = []
        for name, child in self._children.items():
            actions += self._read(name, child.exit_idle())
        return [*actions, self._report()]

    def close(self) -> Actions:
        """Close all clusters."""
        actions = [action for child in self._children.values() for action in child.close()]
        self._children, self._reports, self._told = {}, {}, {}
        return actions

    def _read(self, name: str, actions: Actions) -> Actions:
        def heard(update: UpdateState) -> None:
            self._reports[name] = Report.of(update)

        return take_reports(actions, heard)

    def _report(self) -> UpdateState:
        states = {report.state for report in self._reports.values()}
        order = (State.READY, State.CONNECTING, State.IDLE)
        state = next((name for name in order if name in states), State.TRANSIENT_FAILURE)
        pickers = {name: report.picker for name, report in self._reports.items()}
        return UpdateState(state, ClusterPicker(pickers))


class Waiting:
    """CONNECTING until its config gives way to another."""

    def __init__(self, tools: Tools, _place: HierarchicalPath) -> None:
        self._tools = tools

    def update(self, _update: Update) -> Actions:
        """Report."""
        return [UpdateState(State.CONNECTING, QueuePicker())]

    def handle(self, _event: Event) -> Actions:
        """Do nothing."""
        return []

    def exit_idle(self) -> Actions:
        """Do nothing."""
        return []

    def close(self) -> Actions:
        """Do nothing."""
        return []


class Failing(Waiting):
    """TRANSIENT_FAILURE until its config gives way to another."""

    def update(self, update: Update) -> Actions:
        """Report."""
        if not isinstance(update.config, FailingConfig):
            raise TypeError(update.config)
        report = self._tools.rules.failed_cluster(update.config.status)
        return [RequestReresolution(), UpdateState(report.state, report.picker)]
