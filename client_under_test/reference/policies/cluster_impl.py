"""xds_cluster_impl: what holds for a whole cluster (A37, A42). Its rules are in gatekeeping.py."""

from __future__ import annotations

import msgspec

from client_under_test.reference.policies.configs import ClusterImplConfig, ClusterResolverConfig
from client_under_test.reference.policies.family import Tools
from client_under_test.reference.policies.graceful_switch import Switch
from client_under_test.reference.policies.interface import (
    Account,
    Actions,
    Complete,
    Drop,
    Event,
    PickArgs,
    Picker,
    PickResult,
    Queue,
    QueuePicker,
    Update,
    UpdateState,
)
from client_under_test.reference.values import HierarchicalPath, State


class ClusterPicker(msgspec.Struct, frozen=True):
    """Drops, breaks the circuit, or lets the child pick and says what the call counts for."""

    child: Picker
    config: ClusterImplConfig
    account: Account
    tools: Tools

    def pick(self, args: PickArgs, /) -> PickResult:
        """Decide on one request."""
        rules = self.tools.rules
        drops = self.config.drops if rules.draws_drop(args) else ()
        category = rules.drop_category(drops, args.random)
        if category is not None:
            return Drop(rules.status_of_drop(category), self.account, category)
        in_flight = self.tools.ledger.in_flight(self.account)
        is_open = rules.circuit_is_open(in_flight, self.config.max_requests)
        if is_open and not rules.sends_beyond_limit:
            return Drop(rules.status_of_drop(None), self.account)
        result = self.child.pick(args)
        if isinstance(result, Queue):
            self.tools.ledger.waits(self.account)
        if not isinstance(result, Complete):
            return result
        # It counts for the locality of the endpoint that was picked:
        # A42-LOAD-01, A42-LOAD-02, A42-LOAD-05, A42-LOAD-09, A42-LOAD-10.
        account = msgspec.structs.replace(
            self.account, locality=result.locality, subchannel=result.subchannel
        )
        ends_with = rules.status_of_drop(None) if is_open else None
        return msgspec.structs.replace(result, account=account, ends_with=ends_with)


class ClusterImpl:
    """The policy. It reports the state of its child."""

    def __init__(self, tools: Tools, place: HierarchicalPath) -> None:
        self._tools = tools
        self._place = place
        self._child = Switch(tools, place)
        self._config: ClusterImplConfig | None = None
        self._below = UpdateState(State.CONNECTING, QueuePicker())

    def update(self, update: Update) -> Actions:
        """Take new limits, for the picker that is there as well, and tell the child."""
        if not isinstance(update.config, ClusterImplConfig):
            raise TypeError(update.config)
        self._config = update.config
        told = Update(config=update.config.child, endpoints=update.endpoints, note=update.note)
        actions = self._read(self._child.update(told))
        if any(isinstance(action, UpdateState) for action in actions):
            return actions
        return [*actions, self._wrapped(self._config)]

    def handle(self, event: Event) -> Actions:
        """Hand an event on."""
        return self._read(self._child.handle(event))

    def exit_idle(self) -> Actions:
        """Have the child connect, if IDLE."""
        return self._read(self._child.exit_idle())

    def close(self) -> Actions:
        """Close the child."""
        return self._child.close()

    def _read(self, actions: Actions) -> Actions:
        kept: Actions = []
        for action in actions:
            if isinstance(action, UpdateState) and self._config is not None:
                self._below = action
                kept.append(self._wrapped(self._config))
            else:
                kept.append(action)
        return kept

    def _wrapped(self, config: ClusterImplConfig) -> UpdateState:
        account = Account(
            cluster=config.cluster,
            service_name=config.service_name,
            reported=config.reported,
            metrics=config.metrics,
            channel=self._tools.channel,
            policy=self._place,
            max_requests=config.max_requests,
        )
        picker = ClusterPicker(self._below.picker, config, account, self._tools)
        return UpdateState(self._below.state, picker)


class ClusterResolver:
    """A37: xds_cluster_resolver, whose work of finding endpoints is done where updates are made.

    What is left of it is that it is another instance when the list of leaves is another.
    """

    def __init__(self, tools: Tools, place: HierarchicalPath) -> None:
        self._child = Switch(tools, place)

    def update(self, update: Update) -> Actions:
        """Tell the child."""
        if not isinstance(update.config, ClusterResolverConfig):
            raise TypeError(update.config)
        return self._child.update(msgspec.structs.replace(update, config=update.config.child))

    def handle(self, event: Event) -> Actions:
        """Hand an event on."""
        return self._child.handle(event)

    def exit_idle(self) -> Actions:
        """Have the child connect, if IDLE."""
        return self._child.exit_idle()

    def close(self) -> Actions:
        """Close the child."""
        return self._child.close()
