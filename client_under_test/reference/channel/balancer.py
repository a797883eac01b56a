"""Runs a tree of policies: carries out what they ask for, and tells them what comes of it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from client_under_test.reference.policies.interface import (
    Action,
    Actions,
    CancelTimer,
    Connect,
    ConnectWanted,
    CreateSubchannel,
    DropSubchannel,
    Event,
    Picker,
    Policy,
    RequestReresolution,
    StartTimer,
    Subchannel,
    SubchannelChanged,
    Target,
    Timer,
    TimerFired,
    Update,
    UpdateState,
)
from client_under_test.reference.transport.clock import Clock
from client_under_test.reference.transport.clock import Timer as RunningTimer
from client_under_test.reference.transport.http2 import Connection
from client_under_test.reference.transport.subchannels import BackoffDelay, LiveSubchannel
from client_under_test.reference.values import State, Status


@dataclass(frozen=True, kw_only=True)
class ChannelContext:
    """What subchannels and timers of a channel are made with."""

    clock: Clock
    backoff_delay: BackoffDelay
    connect_timeout: float
    rng: random.Random
    sharing_key: Callable[[Subchannel], object]
    """Those that this gives the same for have one connection."""


class Balancer:
    """The shell around the root policy of a channel.

    Args:
        root: the policy.
        surroundings: what its wishes are carried out with.
        on_state: receives each state and picker that the root reports.
        on_reresolution: called when the policies request re-resolution.
    """

    def __init__(
        self,
        root: Policy,
        surroundings: ChannelContext,
        *,
        on_state: Callable[[State, Picker], None],
        on_reresolution: Callable[[], None],
    ) -> None:
        self._root = root
        self._surroundings = surroundings
        self._on_state = on_state
        self._on_reresolution = on_reresolution
        self._subchannels: dict[Subchannel, LiveSubchannel] = {}
        self._sharing: dict[object, list[Subchannel]] = {}
        self._timers: dict[Timer, RunningTimer] = {}
        self._events: deque[Event] = deque()
        self._is_busy = False

    def update(self, update: Update) -> None:
        """Give the root a new config and list of endpoints."""
        self._run(lambda: self._root.update(update))

    def exit_idle(self) -> None:
        """Have IDLE policies connect."""
        self._run(self._root.exit_idle)

    def want(self, targets: Iterable[Target]) -> None:
        """Pass on what a pick wants connected."""
        for target in targets:
            self._tell(ConnectWanted(target))

    def connection(self, subchannel: Subchannel) -> Connection | None:
        """Return the connection of a subchannel, if it is READY at this moment."""
        live = self._subchannels.get(subchannel)
        return None if live is None else live.connection

    def close(self) -> None:
        """End all connections and timers; no callback follows."""
        self._run(self._root.close)
        for live in self._subchannels.values():
            live.close()
        for timer in self._timers.values():
            timer.cancel()
        self._subchannels.clear()
        self._sharing.clear()
        self._timers.clear()

    # Events that occur while an event is handled are queued, and handled afterwards.

    def _tell(self, event: Event) -> None:
        self._events.append(event)
        if not self._is_busy:
            self._run(list)

    def _run(self, first: Callable[[], Actions]) -> None:
        assert not self._is_busy, "only events come from within"
        self._is_busy = True
        try:
            self._carry_out(first())
            while self._events:
                self._carry_out(self._root.handle(self._events.popleft()))
        finally:
            self._is_busy = False

    def _carry_out(self, actions: Actions) -> None:
        for action in actions:
            self._do(action)

    def _do(self, action: Action) -> None:
        match action:
            case UpdateState(state, picker):
                self._on_state(state, picker)
            case CreateSubchannel(subchannel):
                self._create(subchannel)
            case Connect(subchannel):
                if subchannel in self._subchannels:
                    self._subchannels[subchannel].connect()
            case DropSubchannel(subchannel):
                self._drop(subchannel)
            case StartTimer(timer):
                self._timers[timer] = self._surroundings.clock.call_later(
                    timer.seconds, lambda: self._on_timer(timer)
                )
            case CancelTimer(timer):
                if timer in self._timers:
                    self._timers.pop(timer).cancel()
            case RequestReresolution():
                self._on_reresolution()

    def _create(self, subchannel: Subchannel) -> None:
        sharing = self._sharing.setdefault(self._surroundings.sharing_key(subchannel), [])
        live = self._subchannels[sharing[0]] if sharing else self._make(subchannel.address, sharing)
        sharing.append(subchannel)
        self._subchannels[subchannel] = live
        if live.state is not State.IDLE:  # as the policy believes
            self._tell(SubchannelChanged(subchannel, live.state, live.failure))

    def _drop(self, subchannel: Subchannel) -> None:
        live = self._subchannels.pop(subchannel)
        key = self._surroundings.sharing_key(subchannel)
        self._sharing[key].remove(subchannel)
        if not self._sharing[key]:
            del self._sharing[key]
            live.close()

    def _make(self, address: str, sharing: Sequence[Subchannel]) -> LiveSubchannel:
        def on_change(state: State, status: Status | None) -> None:
            for subchannel in tuple(sharing):
                self._tell(SubchannelChanged(subchannel, state, status))

        return LiveSubchannel(
            address,
            clock=self._surroundings.clock,
            backoff_delay=self._surroundings.backoff_delay,
            connect_timeout=self._surroundings.connect_timeout,
            rng=self._surroundings.rng,
            on_change=on_change,
        )

    def _on_timer(self, timer: Timer) -> None:
        if self._timers.pop(timer, None) is not None:
            self._tell(TimerFired(timer))
