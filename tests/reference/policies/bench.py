"""A bench for policies: does to them what a shell would, and shows what they asked for."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence

from client_under_test.reference.editions.editions import Rules
from client_under_test.reference.policies import registry
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
    PickArgs,
    Picker,
    PickResult,
    PolicyConfig,
    RequestReresolution,
    StartTimer,
    Subchannel,
    SubchannelChanged,
    Timer,
    TimerFired,
    Update,
    UpdateState,
)
from client_under_test.reference.policies.ledger import Ledger
from client_under_test.reference.values import Endpoint, State, Status

IDLE, CONNECTING, READY, FAILED = (
    State.IDLE,
    State.CONNECTING,
    State.READY,
    State.TRANSIENT_FAILURE,
)


def tools(rules: Rules, *, seed: int = 1, ring_cap: int = 4096) -> Tools:
    return registry.tools(
        rules, random=random.Random(seed), ledger=Ledger(rules), ring_cap=ring_cap
    )


def endpoint(address: str, **attributes: object) -> Endpoint:
    return Endpoint(addresses=(address,), **attributes)  # type: ignore[arg-type]


class Bench:
    """One policy; subchannels are told by their addresses, and connect only when asked to."""

    def __init__(self, config: PolicyConfig, rules: Rules, *, seed: int = 1) -> None:
        self.tools = tools(rules, seed=seed)
        self.policy = self.tools.make(config, ())
        self.config = config
        self.live: dict[Subchannel, State] = {}
        self.timers: list[Timer] = []
        self.state: State | None = None
        self.picker: Picker = FailPicker(Status("INTERNAL", "no picker yet"))
        self.reported: list[State] = []
        self.attempts: list[str] = []
        self.reresolutions = 0
        self.events: deque[Event] = deque()
        self.busy = False

    # What the policy is told.

    def update(
        self, endpoints: Sequence[Endpoint | str], config: PolicyConfig | None = None
    ) -> None:
        self.config = config or self.config
        listed = tuple(endpoint(item) if isinstance(item, str) else item for item in endpoints)
        self.take(self.policy.update(Update(config=self.config, endpoints=listed)))

    def tell(self, event: Event) -> None:
        self.events.append(event)
        self._work()

    def change(self, subchannel: Subchannel, state: State) -> None:
        failed = state is State.TRANSIENT_FAILURE
        status = Status.unavailable(f"{subchannel.address} failed") if failed else None
        self.live[subchannel] = state
        self.tell(SubchannelChanged(subchannel, state, status))

    def fail(self, *addresses: str) -> None:
        self._all_from(CONNECTING, FAILED, addresses)

    def ready(self, *addresses: str) -> None:
        self._all_from(CONNECTING, READY, addresses)

    def end_backoff(self, *addresses: str) -> None:
        self._all_from(FAILED, IDLE, addresses)

    def lose(self, *addresses: str) -> None:
        self._all_from(READY, IDLE, addresses)

    def _all_from(self, before: State, after: State, addresses: Sequence[str]) -> None:
        for address in addresses:
            (subchannel,) = (
                subchannel for subchannel in self.live if subchannel.address == address
            )
            assert self.live[subchannel] is before
            self.change(subchannel, after)

    def fire(self, purpose: str) -> Timer:
        timer = next(pending for pending in self.timers if pending.purpose == purpose)
        self.timers.remove(timer)
        self.tell(TimerFired(timer))
        return timer

    # What it asks for.

    def take(self, actions: Actions) -> None:
        assert not self.busy
        self._do(actions)
        self._work()

    def _work(self) -> None:
        while self.events and not self.busy:
            event = self.events.popleft()
            if not isinstance(event, SubchannelChanged) or event.subchannel in self.live:
                self._do(self.policy.handle(event))

    def _do(self, actions: Actions) -> None:
        self.busy = True
        for action in actions:
            match action:
                case CreateSubchannel(subchannel):
                    assert subchannel not in self.live
                    self.live[subchannel] = IDLE
                case Connect(subchannel):
                    assert self.live[subchannel] is IDLE
                    self.attempts.append(subchannel.address)
                    self.change(subchannel, CONNECTING)
                case DropSubchannel(subchannel):
                    del self.live[subchannel]
                case StartTimer(timer):
                    self.timers.append(timer)
                case CancelTimer(timer):
                    self.timers.remove(timer)
                case UpdateState(state, picker):
                    self.state, self.picker = state, picker
                    self.reported.append(state)
                case RequestReresolution():
                    self.reresolutions += 1
        self.busy = False

    # What is there.

    @property
    def states(self) -> dict[str, State]:
        return {subchannel.address: state for subchannel, state in self.live.items()}

    def running(self, purpose: str) -> int:
        return sum(timer.purpose == purpose for timer in self.timers)

    def take_attempts(self) -> list[str]:
        taken, self.attempts = self.attempts, []
        return taken

    # Picks.

    def args(self, request_hash: int | None = None, **others: object) -> PickArgs:
        return PickArgs(path="/test", request_hash=request_hash, random=self.tools.random, **others)  # type: ignore[arg-type]

    def pick(self, request_hash: int | None = None, **others: object) -> PickResult:
        result = self.picker.pick(self.args(request_hash, **others))
        for target in getattr(result, "connect", ()):
            self.tell(ConnectWanted(target))
        return result

    def served_by(self, request_hash: int | None = None, **others: object) -> str:
        result = self.pick(request_hash, **others)
        assert isinstance(result, Complete), result
        return result.subchannel.address
