"""pick_first: one connection, to the first address that takes it (A62, A61).

Also the leaf below each endpoint of round_robin and ring_hash, where the endpoint has the one
address of A42's subchannel or the several of A61.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from client_under_test.reference.policies.configs import PickFirstConfig
from client_under_test.reference.policies.family import Tools
from client_under_test.reference.policies.interface import (
    Actions,
    CancelTimer,
    Complete,
    Connect,
    ConnectWanted,
    CreateSubchannel,
    DropSubchannel,
    Event,
    FailPicker,
    HealthChanged,
    PickArgs,
    Picker,
    PickResult,
    QueuePicker,
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
from client_under_test.reference.values import Endpoint, HierarchicalPath, Locality, State, Status


class OnePicker(msgspec.Struct, frozen=True):
    """Sends every request to one subchannel."""

    subchannel: Subchannel
    locality: Locality

    def pick(self, _args: PickArgs, /) -> PickResult:
        """Complete."""
        return Complete(self.subchannel, self.locality)


@dataclass(slots=True, eq=False)
class _Try:
    """An address: its subchannel, and whether an attempt at it has failed in this pass.

    `is_known_failed` and `failed_early`: whether it had failed before the pass, and in the pass
    before its turn. `is_healthy`: whether no policy above has ejected it.
    """

    subchannel: Subchannel
    locality: Locality
    state: State = State.IDLE
    failed: bool = False
    is_known_failed: bool = False
    failed_early: bool = False
    is_healthy: bool = True


class PickFirst:
    """The policy.

    A pass tries the addresses in order; when each has failed, the policy has. What comes then goes
    by `sticks`: it tries again whenever a backoff is over and stays in TRANSIENT_FAILURE until it
    is READY (A62), or it becomes IDLE when a backoff is over. `is_leaf`: whether it is the leaf
    of an endpoint, below another policy; then its selected address must be healthy (A61).
    """

    def __init__(
        self,
        tools: Tools,
        place: HierarchicalPath,
        *,
        sticks: bool | None = None,
        is_leaf: bool = False,
    ) -> None:
        self._heeds_health = tools.rules.health_counts(is_petiole=is_leaf)
        self._tools = tools
        self._place = place
        self._sticks = tools.rules.pick_first_sticks if sticks is None else sticks
        self._endpoints: tuple[tuple[str, Locality], ...] = ()
        self._tries: dict[str, _Try] = {}
        self._selected: _Try | None = None
        self._passing = False
        self._position = 0
        self._timer: Timer | None = None
        self._failures = 0
        self._state: State | None = None
        self._status = Status.unavailable("no attempt was made")

    def update(self, update: Update) -> Actions:
        """Take a list of endpoints; start a pass, unless connected to one of them, or IDLE."""
        endpoints = list(update.endpoints)
        if isinstance(update.config, PickFirstConfig) and update.config.shuffle:
            endpoints = self._tools.rules.shuffle_endpoints(endpoints, self._tools.random)
        listed = dict(flattened(endpoints))
        tried = self._tools.rules.addresses_to_try(tuple(listed))
        self._endpoints = tuple((address, listed[address]) for address in tried)
        if not self._endpoints:
            note = f" ({update.note})" if update.note else ""
            self._status = Status.unavailable(f"no addresses{note}")
            actions = [*self._stop_timer(), *self._drop(()), RequestReresolution()]
            self._passing = False
            return actions + self._report(State.TRANSIENT_FAILURE, FailPicker(self._status))
        addresses = dict(self._endpoints)
        if self._selected is not None and self._selected.subchannel.address in addresses:
            self._selected.locality = addresses[self._selected.subchannel.address]
            return self._report_ready(self._selected)
        if self._state is State.IDLE:
            return self._drop(addresses)
        return self._drop(addresses) + self._start_pass()

    def handle(self, event: Event) -> Actions:
        """Take a change of a subchannel, the timer of a pass, or a wish to connect."""
        match event:
            case ConnectWanted():
                return self.exit_idle()
            case TimerFired():
                return self._next_beside(event.timer)
            case SubchannelChanged() | HealthChanged():
                tried = self._tries.get(event.subchannel.address)
                if tried is None or tried.subchannel is not event.subchannel:
                    return []
                if isinstance(event, SubchannelChanged):
                    return self._changed(tried, event)
                return self._health_changed(tried, is_healthy=event.is_healthy)

    def _health_changed(self, tried: _Try, *, is_healthy: bool) -> Actions:
        tried.is_healthy = is_healthy
        if tried is not self._selected:
            return []
        if self._tools.rules.reconnects_ejected and not is_healthy:
            return [*self._drop(()), *self._start_pass()]
        return self._report_ready(tried)

    def exit_idle(self) -> Actions:
        """Start a pass, if IDLE."""
        return self._start_pass() if self._state is State.IDLE else []

    def close(self) -> Actions:
        """Drop everything."""
        self._state = None
        return [*self._stop_timer(), *self._drop(())]

    # Changes of subchannels.

    def _changed(self, tried: _Try, event: SubchannelChanged) -> Actions:
        tried.state = event.state
        match event.state:
            case State.READY:
                return self._select(tried)
            case State.TRANSIENT_FAILURE:
                self._status = event.status or self._status
                return self._failed(tried)
            case State.IDLE:
                return self._idle(tried)
            case State.CONNECTING:
                return []

    def _select(self, tried: _Try) -> Actions:
        """A61: the first that connects is it; the others are dropped, attempts and all."""
        self._passing = False
        self._selected = tried
        actions = [*self._stop_timer(), *self._drop((tried.subchannel.address,))]
        return self._report_ready(tried) + actions

    def _failed(self, tried: _Try) -> Actions:
        tried.failed = True
        tried.failed_early = tried.failed_early or (self._passing and self._is_yet_to_come(tried))
        if not self._passing:
            self._failures += 1
            if self._failures < len(self._tries):
                return []
            self._failures = 0
            return [RequestReresolution(), *self._report_failure()]
        if not self._is_latest(tried):
            return self._end_pass_if_all_failed()
        return [*self._stop_timer(), *self._attempt(self._position + 1)]

    def _idle(self, tried: _Try) -> Actions:
        if tried is self._selected:
            # A42-SUB-11, A42-SUB-12, A42-SUB-13: a lost connection is not renewed proactively.
            self._selected = None
            target = Target(self._place)
            return [RequestReresolution(), *self._report(State.IDLE, QueuePicker((target,)))]
        if self._passing:
            return []
        if self._sticks:
            return self._retry(tried)  # A62; A42-SUB-07 (A61)
        if self._state is not State.TRANSIENT_FAILURE:
            return []
        return self._report(State.IDLE, QueuePicker((Target(self._place),)))

    # A pass.

    def _start_pass(self) -> Actions:
        actions = self._stop_timer()
        before = self._tries
        self._tries = {}
        for address, locality in self._endpoints:
            tried = before.get(address)
            if tried is None:
                tried = _Try(Subchannel(self._place, address), locality)
                actions.append(CreateSubchannel(tried.subchannel))
            tried.failed, tried.locality = False, locality
            tried.is_known_failed = tried.state is State.TRANSIENT_FAILURE
            tried.failed_early = False
            self._tries[address] = tried
        self._passing = True
        self._failures = 0
        return actions + self._report(State.CONNECTING, QueuePicker()) + self._attempt(0)

    def _attempt(self, position: int) -> Actions:
        """A61: try the address of that position, or the next that is not in its backoff.

        Clauses: A61-RING-03.
        """
        tries = list(self._tries.values())
        while position < len(tries) and tries[position].state is State.TRANSIENT_FAILURE:
            tries[position].failed = True
            position += 1
        self._position = position
        if position >= len(tries):
            return self._end_pass_if_all_failed()
        actions: Actions = []
        if tries[position].state is State.IDLE:
            actions += self._connect(tries[position])
        delay = self._tools.rules.attempt_delay
        if delay is not None and position + 1 < len(tries):
            self._timer = Timer(self._place, delay, "the next address")
            actions.append(StartTimer(self._timer))
        return actions

    def _next_beside(self, timer: Timer) -> Actions:
        if timer is not self._timer:
            return []
        self._timer = None
        return self._attempt(self._position + 1)

    def _is_yet_to_come(self, tried: _Try) -> bool:
        return any(attempt is tried for attempt in list(self._tries.values())[self._position + 1 :])

    def _is_latest(self, tried: _Try) -> bool:
        tries = list(self._tries.values())
        return self._position < len(tries) and tries[self._position] is tried

    def _end_pass_if_all_failed(self) -> Actions:
        """A61-SUB-01: an endpoint has failed when an attempt at each of its addresses has."""
        if not all(tried.failed for tried in self._tries.values()):
            return []
        self._passing = False
        actions: Actions = [RequestReresolution(), *self._report_failure()]
        if self._sticks:
            for tried in self._tries.values():
                actions += self._retry(tried) if tried.state is State.IDLE else []
        return actions

    def _retry(self, tried: _Try) -> Actions:
        """A62-RETRY-01: try an address again after all have failed."""
        position = list(self._tries).index(tried.subchannel.address)
        return (
            self._connect(tried)
            if self._tools.rules.retries_address(position, len(self._tries))
            else []
        )

    def _connect(self, tried: _Try) -> Actions:
        """A62-RETRY-01: try an address."""
        wanted = self._tools.rules.tries_address(tried.is_known_failed, tried.failed_early)
        return [Connect(tried.subchannel)] if wanted else []

    # What is kept and reported.

    def _drop(self, kept: Sequence[str] | dict[str, Locality]) -> Actions:
        gone = [address for address in self._tries if address not in kept]
        dropped = [self._tries.pop(address) for address in gone]
        if self._selected in dropped:
            self._selected = None
        return [DropSubchannel(tried.subchannel) for tried in dropped]

    def _stop_timer(self) -> Actions:
        timer, self._timer = self._timer, None
        return [] if timer is None else [CancelTimer(timer)]

    def _report_ready(self, tried: _Try) -> Actions:
        """Report READY, unless the address is ejected and that counts here."""
        if self._heeds_health and not tried.is_healthy:
            failure = Status.unavailable(f"{tried.subchannel.address} is ejected as an outlier")
            return self._report(State.TRANSIENT_FAILURE, FailPicker(failure))
        return self._report(State.READY, OnePicker(tried.subchannel, tried.locality))

    def _report_failure(self) -> Actions:
        return self._report(State.TRANSIENT_FAILURE, FailPicker(self._status))

    def _report(self, state: State, picker: Picker) -> Actions:
        failed = self._state is State.TRANSIENT_FAILURE
        if self._sticks and failed and state is State.CONNECTING:
            return []  # A62
        self._state = state
        return [UpdateState(state, picker)]


def flattened(endpoints: Sequence[Endpoint]) -> tuple[tuple[str, Locality], ...]:
    """A61: all addresses in their order, families taking turns beginning with the first's.

    Each address once, with the locality of its endpoint.
    """
    localities: dict[str, Locality] = {}
    for endpoint in endpoints:
        for address in endpoint.addresses:
            localities.setdefault(address, endpoint.locality)
    families: dict[bool, list[str]] = {}
    for address in localities:
        families.setdefault(address.startswith("["), []).append(address)
    first, *others = families.values() or [[]]
    second = others[0] if others else []
    turns = [endpoint for pair in zip(first, second, strict=False) for endpoint in pair]
    shorter = min(len(first), len(second))
    return tuple((turn, localities[turn]) for turn in (*turns, *first[shorter:], *second[shorter:]))
