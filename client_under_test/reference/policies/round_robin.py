"""round_robin: a connection to every endpoint, requests in turn to those that are READY."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from client_under_test.reference.policies.configs import PickFirstConfig
from client_under_test.reference.policies.family import Tools
from client_under_test.reference.policies.interface import (
    Action,
    Actions,
    Event,
    FailPicker,
    PickArgs,
    Picker,
    PickResult,
    PolicyConfig,
    QueuePicker,
    Report,
    RequestReresolution,
    Update,
    UpdateState,
)
from client_under_test.reference.policies.pick_first import PickFirst
from client_under_test.reference.values import Endpoint, HierarchicalPath, State, Status


class TurnPicker(msgspec.Struct, frozen=True):
    """Each READY endpoint in turn, whatever the request carries.

    Clauses: A42-CDS-02, A42-HASH-19.
    """

    pickers: tuple[Picker, ...]
    turns: Iterator[int]

    def pick(self, args: PickArgs, /) -> PickResult:
        """Take the next turn."""
        return self.pickers[next(self.turns)].pick(args)


@dataclass(slots=True, eq=False)
class _Member:
    policy: PickFirst
    endpoint: Endpoint
    report: Report = field(default_factory=Report)


class RoundRobin:
    """The policy. IDLE endpoints are connected at once; failed ones stay so until READY."""

    def __init__(self, tools: Tools, place: HierarchicalPath) -> None:
        self._tools = tools
        self._place = place
        self._config: PolicyConfig | None = None
        self._members: dict[str, _Member] = {}
        self._note = ""

    def update(self, update: Update) -> Actions:
        """Take a list of endpoints; those that stay keep their connections."""
        self._note = update.note
        self._config = update.config
        identity = self._tools.rules.endpoint_identity
        listed = {identity(endpoint): endpoint for endpoint in update.endpoints}
        actions: Actions = []
        for key in self._members.keys() - listed.keys():
            actions += self._members.pop(key).policy.close()
        for key, endpoint in listed.items():
            member = self._members.get(key)
            if member is None:
                member = _Member(
                    PickFirst(self._tools, (*self._place, key), is_leaf=True), endpoint
                )
                self._members[key] = member
            elif member.endpoint == endpoint:
                continue
            member.endpoint = endpoint
            told = Update(config=PickFirstConfig(), endpoints=(endpoint,))
            actions += self._read(member, member.policy.update(told))
        self._members = {key: self._members[key] for key in listed}
        if not listed:
            actions.append(RequestReresolution())
        return [*actions, self._report()]

    def handle(self, event: Event) -> Actions:
        """Hand an event on to its endpoint."""
        member = self._members.get(event.place[len(self._place)])
        if member is None:
            return []
        before = member.report
        actions = self._read(member, member.policy.handle(event))
        return actions if member.report is before else [*actions, self._report()]

    def exit_idle(self) -> Actions:
        """Do nothing: it is never IDLE."""
        return []

    def close(self) -> Actions:
        """Close all endpoints."""
        actions = [action for member in self._members.values() for action in member.policy.close()]
        self._members = {}
        return actions

    def _read(self, member: _Member, actions: list[Action]) -> Actions:
        reported = [action for action in actions if isinstance(action, UpdateState)]
        for report in reported:
            failed = member.report.state is State.TRANSIENT_FAILURE
            if not failed or report.state in {State.READY, State.TRANSIENT_FAILURE}:
                member.report = Report.of(report)
        kept: Actions = [action for action in actions if not isinstance(action, UpdateState)]
        if reported and reported[-1].state is State.IDLE:
            kept += self._read(member, member.policy.exit_idle())
        return kept

    def _picker(self, ready: tuple[Picker, ...]) -> Picker:
        return TurnPicker(
            ready, self._tools.rules.round_robin_order(len(ready), self._tools.random)
        )

    def _report(self) -> UpdateState:
        reports = [member.report for member in self._members.values()]
        ready = tuple(report.picker for report in reports if report.state is State.READY)
        if ready:
            return UpdateState(State.READY, self._picker(ready))
        if any(report.state is not State.TRANSIENT_FAILURE for report in reports):
            return UpdateState(State.CONNECTING, QueuePicker())
        if reports:
            return UpdateState(State.TRANSIENT_FAILURE, reports[-1].picker)
        note = f" ({self._note})" if self._note else ""
        status = Status.unavailable(f"no endpoints{note}")
        return UpdateState(State.TRANSIENT_FAILURE, FailPicker(status))
