"""weighted_target: children by weight; and wrr_locality, which makes its config (A42, A52)."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from itertools import accumulate

import msgspec

from client_under_test.reference.policies.configs import (
    WeightedChild,
    WeightedTargetConfig,
    WrrLocalityConfig,
)
from client_under_test.reference.policies.family import Tools, below, take_reports
from client_under_test.reference.policies.graceful_switch import Switch
from client_under_test.reference.policies.interface import (
    Actions,
    Event,
    FailPicker,
    PickArgs,
    Picker,
    PickResult,
    QueuePicker,
    Report,
    Update,
    UpdateState,
)
from client_under_test.reference.policies.rules.localities import LocalityRules
from client_under_test.reference.values import Endpoint, HierarchicalPath, State, Status


class WeightedPicker(msgspec.Struct, frozen=True):
    """A42-LOC-06: chooses a child at random, by weight. `sums` are the running sums of weights."""

    pickers: tuple[Picker, ...]
    sums: tuple[int, ...]

    def pick(self, args: PickArgs, /) -> PickResult:
        """Choose, and let the child decide."""
        drawn = args.random.randrange(self.sums[-1])
        return self.pickers[bisect.bisect_right(self.sums, drawn)].pick(args)


class WeightedTarget:
    """The policy: READY if any child is, else CONNECTING, else IDLE, else TRANSIENT_FAILURE."""

    def __init__(self, tools: Tools, place: HierarchicalPath) -> None:
        self._tools = tools
        self._place = place
        self._children: dict[str, Switch] = {}
        self._reports: dict[str, Report] = {}
        self._weights: dict[str, int] = {}
        self._note = ""

    def update(self, update: Update) -> Actions:
        """Take targets, and their endpoints by the first names of the paths."""
        config = update.config
        if not isinstance(config, WeightedTargetConfig):
            raise TypeError(config)
        self._note = update.note
        endpoints = below(update.endpoints)
        actions: Actions = []
        for name in self._children.keys() - config.targets.keys():
            actions += self._children.pop(name).close()
            del self._reports[name]
        self._weights = {name: target.weight for name, target in config.targets.items()}
        for name, target in config.targets.items():
            child = self._children.get(name)
            if child is None:
                child = self._children[name] = Switch(self._tools, (*self._place, name))
                self._reports[name] = Report()
            told = Update(
                config=target.config, endpoints=tuple(endpoints.get(name, ())), note=update.note
            )
            actions += self._read(name, child.update(told))
        return [*actions, self._report()]

    def handle(self, event: Event) -> Actions:
        """Hand an event on to its child."""
        name = event.place[len(self._place)]
        child = self._children.get(name)
        if child is None:
            return []
        before = self._reports[name]
        actions = self._read(name, child.handle(event))
        return actions if self._reports[name] is before else [*actions, self._report()]

    def exit_idle(self) -> Actions:
        """Have the children that are IDLE connect."""
        actions: Actions = []
        for name, child in self._children.items():
            actions += self._read(name, child.exit_idle())
        return [*actions, self._report()]

    def close(self) -> Actions:
        """Close all children."""
        actions = [action for child in self._children.values() for action in child.close()]
        self._children, self._reports = {}, {}
        return actions

    def _read(self, name: str, actions: Actions) -> Actions:
        def heard(update: UpdateState) -> None:
            self._reports[name] = Report.of(update)

        told = take_reports(actions, heard)
        child = self._children.get(name)
        if child is not None and not self._tools.rules.leaves_target_idle(
            self._reports[name].state
        ):
            told += take_reports(child.exit_idle(), heard)
        return told

    def _report(self) -> UpdateState:
        states = {report.state for report in self._reports.values()}
        if states:
            state = self._tools.rules.state_of_targets(states)
            names = [name for name, report in self._reports.items() if report.state is state]
            if state is State.IDLE and not self._tools.rules.picks_idle_targets:
                return UpdateState(state, QueuePicker())
            return UpdateState(state, self._picker(names))
        note = f" ({self._note})" if self._note else ""
        status = Status.unavailable(f"no localities{note}")
        return UpdateState(State.TRANSIENT_FAILURE, FailPicker(status))

    def _picker(self, names: Sequence[str]) -> Picker:
        pickers = tuple(self._reports[name].picker for name in names)
        if len(pickers) == 1:
            return pickers[0]
        return WeightedPicker(pickers, tuple(accumulate(self._weights[name] for name in names)))


class WrrLocality:
    """A52: weighted_target with a child of the configured policy for each locality."""

    def __init__(self, tools: Tools, place: HierarchicalPath) -> None:
        self._rules = tools.rules
        self._below = WeightedTarget(tools, place)

    def update(self, update: Update) -> Actions:
        """Take endpoints, whose localities become the targets."""
        if not isinstance(update.config, WrrLocalityConfig):
            raise TypeError(update.config)
        config, endpoints = by_locality(update.config, update.endpoints, self._rules)
        return self._below.update(Update(config=config, endpoints=endpoints, note=update.note))

    def handle(self, event: Event) -> Actions:
        """Hand an event on."""
        return self._below.handle(event)

    def exit_idle(self) -> Actions:
        """Have the localities that are IDLE connect."""
        return self._below.exit_idle()

    def close(self) -> Actions:
        """Close all localities."""
        return self._below.close()


def by_locality(
    config: WrrLocalityConfig, endpoints: Sequence[Endpoint], rules: LocalityRules
) -> tuple[WeightedTargetConfig, tuple[Endpoint, ...]]:
    """A52: return a target for each locality, with the locality weight of its first endpoint."""
    targets: dict[str, WeightedChild] = {}
    for endpoint in endpoints:
        name = rules.locality_target(endpoint.locality)
        if name not in targets:
            weight = rules.target_weight(name, endpoint.locality_weight)
            targets[name] = WeightedChild(weight, config.child)
    return WeightedTargetConfig(targets=targets), tuple(
        msgspec.structs.replace(endpoint, path=(rules.locality_target(endpoint.locality),))
        for endpoint in endpoints
    )
