"""xds_override_host_experimental: requests with a cookie go to its host (A55, A75)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from client_under_test.reference.policies.configs import OverrideHostConfig
from client_under_test.reference.policies.family import Tools
from client_under_test.reference.policies.graceful_switch import Switch
from client_under_test.reference.policies.interface import (
    Action,
    Actions,
    Complete,
    Connect,
    ConnectWanted,
    CreateSubchannel,
    DropSubchannel,
    Event,
    PickArgs,
    Picker,
    PickResult,
    Queue,
    QueuePicker,
    Subchannel,
    SubchannelChanged,
    Target,
    Update,
    UpdateState,
)
from client_under_test.reference.policies.rules.override_host import OverrideHostRules
from client_under_test.reference.values import Endpoint, HierarchicalPath, State


@dataclass(slots=True, eq=False)
class _Entry:
    """An address of the list, with the subchannel to it, of the child policy or of this one."""

    endpoint: Endpoint
    hosts: tuple[str, ...]
    subchannel: Subchannel | None = None
    state: State = State.IDLE
    is_owned: bool = False
    was_used: bool = False


class OverrideHostPicker(msgspec.Struct, frozen=True):
    """Picks the host of the cookie, or lets the child pick and says which host it was."""

    child: Picker
    entries: Mapping[str, _Entry]
    statuses: frozenset[int]
    place: HierarchicalPath
    rules: OverrideHostRules

    def pick(self, args: PickArgs, /) -> PickResult:
        """Decide on one request."""
        found = [
            (address, entry.state if entry.subchannel is not None else None)
            for address in args.override_hosts
            if (entry := self.entries.get(address)) is not None
            and self.rules.host_may_be_chosen(entry.endpoint.health, self.statuses)
        ]
        choice = self.rules.choose_host(found)
        if choice is None:
            return self._by_child(args)
        if choice.action == "wait":
            return Queue()
        entry = self.entries[choice.address]
        if choice.action == "connect" or entry.subchannel is None:
            return Queue((Target(self.place, choice.address),))
        entry.was_used = True
        locality = self.rules.locality_for_load(entry.endpoint.locality)
        return Complete(entry.subchannel, locality, hosts=entry.hosts)

    def _by_child(self, args: PickArgs) -> PickResult:
        result = self.child.pick(args)
        if not isinstance(result, Complete):
            return result
        entry = self.entries.get(result.subchannel.address)
        if entry is None:
            return result
        entry.was_used = entry.was_used or args.has_session
        return msgspec.structs.replace(result, hosts=entry.hosts)


class OverrideHost:
    """The policy. It reports the state of its child."""

    def __init__(self, tools: Tools, place: HierarchicalPath) -> None:
        self._tools = tools
        self._place = place
        self._child = Switch(tools, place)
        self._statuses: frozenset[int] = frozenset()
        self._entries: dict[str, _Entry] = {}
        self._below = UpdateState(State.CONNECTING, QueuePicker())

    def update(self, update: Update) -> Actions:
        """Take a list of endpoints; the child gets those that are not DRAINING."""
        if not isinstance(update.config, OverrideHostConfig):
            raise TypeError(update.config)
        self._statuses = update.config.statuses
        actions = self._take_list(update.endpoints)
        told = Update(
            config=update.config.child,
            endpoints=self._tools.rules.endpoints_for_child(update.endpoints),
            note=update.note,
        )
        actions += self._read(self._child.update(told))
        return [*actions, self._report()]

    def _take_list(self, endpoints: tuple[Endpoint, ...]) -> Actions:
        """Update the map of addresses; close the connections of this policy to removed ones."""
        rules = self._tools.rules
        before, self._entries = self._entries, {}
        for endpoint in endpoints:
            for address in endpoint.addresses:
                hosts = rules.cookie_addresses(address, endpoint.addresses)
                entry = before.pop(address, None) or _Entry(endpoint, hosts)
                entry.endpoint, entry.hosts = endpoint, hosts
                self._entries[address] = entry
        if not rules.leaves_removed_hosts:
            self._entries |= before
            return []
        return [
            DropSubchannel(entry.subchannel)
            for entry in before.values()
            if entry.is_owned and entry.subchannel is not None
        ]

    def handle(self, event: Event) -> Actions:
        """Note the states of subchannels; hand on what is the child's."""
        if isinstance(event, ConnectWanted) and event.place == self._place:
            return self._connect(event.target.key)
        entry = self._entry_of(event)
        if entry is None or not isinstance(event, SubchannelChanged):
            return self._read(self._child.handle(event))
        entry.state = event.state
        actions = [] if entry.is_owned else self._read(self._child.handle(event))
        return [*actions, self._report()]

    def _entry_of(self, event: Event) -> _Entry | None:
        if not isinstance(event, SubchannelChanged):
            return None
        entry = self._entries.get(event.subchannel.address)
        is_it = entry is not None and entry.subchannel is event.subchannel
        return entry if is_it else None

    def _connect(self, address: str) -> Actions:
        """Connect the host of a cookie; make a subchannel for it if the child has none (A75)."""
        entry = self._entries.get(address)
        if entry is None:
            return []
        if entry.subchannel is not None:
            return [Connect(entry.subchannel)]
        entry.subchannel = Subchannel(self._place, address)
        entry.state, entry.is_owned = State.IDLE, True
        return [CreateSubchannel(entry.subchannel), Connect(entry.subchannel), self._report()]

    def exit_idle(self) -> Actions:
        """Have the child connect, if IDLE."""
        return self._read(self._child.exit_idle())

    def close(self) -> Actions:
        """Close the child, and the connections of this policy."""
        owned = [
            DropSubchannel(entry.subchannel)
            for entry in self._entries.values()
            if entry.is_owned and entry.subchannel is not None
        ]
        self._entries = {}
        return [*self._child.close(), *owned]

    def _read(self, actions: Actions) -> Actions:
        kept: Actions = []
        for action in actions:
            match action:
                case UpdateState():
                    self._below = action
                    kept.append(self._report())
                case CreateSubchannel(subchannel):
                    kept += [action, *self._created(subchannel)]
                case DropSubchannel(subchannel):
                    kept += self._dropped(action, subchannel)
                case _:
                    kept.append(action)
        return kept

    def _created(self, subchannel: Subchannel) -> Actions:
        """Use the child's subchannel in place of one of this policy."""
        entry = self._entries.get(subchannel.address)
        if entry is None:
            return []
        own = entry.subchannel if entry.is_owned else None
        entry.subchannel, entry.state, entry.is_owned = subchannel, State.IDLE, False
        return [] if own is None else [DropSubchannel(own)]

    def _dropped(self, action: Action, subchannel: Subchannel) -> Actions:
        """Keep a subchannel that the child drops, if a session needs it."""
        entry = self._entries.get(subchannel.address)
        if entry is None or entry.subchannel is not subchannel:
            return [action]
        health = entry.endpoint.health
        is_chosen = self._tools.rules.host_may_be_chosen(health, self._statuses)
        if is_chosen and self._tools.rules.keeps_connection(health, entry.was_used):
            entry.is_owned = True
            return []
        entry.subchannel, entry.state = None, State.IDLE
        return [action]

    def _report(self) -> UpdateState:
        picker = OverrideHostPicker(
            self._below.picker, self._entries, self._statuses, self._place, self._tools.rules
        )
        return UpdateState(self._below.state, picker)
