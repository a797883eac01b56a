"""The inputs and actions of policies: plain values, no sockets, no clock.

A policy is a state machine. It receives an `Update` or an `Event` and returns `Actions`. Its parent
reads them; the shell reads those of the root. The shell keeps these promises:

1. It carries out actions in order. Their events follow later, never during the call that returned
   the actions.
2. A subchannel has one address and is IDLE when made. `Connect` counts only while it is IDLE and
   makes it CONNECTING; then it is READY, or TRANSIENT_FAILURE for the time of its backoff, after
   which it is IDLE again. A lost connection makes it IDLE. The policy receives each change as a
   `SubchannelChanged`. Nothing but `Connect` makes a subchannel connect.
3. `DropSubchannel` forgets a subchannel: an attempt is given up, a connection is closed when its
   last call has ended, and the policy receives no further event of the subchannel.
4. A `Timer` fires once, its seconds after `StartTimer`, unless `CancelTimer` came first.
5. The targets in the `connect` of a pick go to the policy as `ConnectWanted` after the pick.
6. A call that was queued is picked again with each new picker of the root, with equal `PickArgs`.
7. If a `Complete` has an `Account`, the shell notifies the ledger when the call starts (right after
   the pick) and when it ends. It also notifies the ledger of each `Drop`.

Each policy has a place: the names on the path from the root. The policy's subchannels, timers and
targets carry it. A parent passes each event to the child whose place the event carries.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Protocol

import msgspec

from client_under_test.reference.values import (
    Endpoint,
    HierarchicalPath,
    Locality,
    Metadata,
    State,
    Status,
)

# What is balanced.


class PolicyConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The config of a policy; its class selects the policy."""

    @property
    def instance(self) -> object:
        """A key of the policy instance: a config with another key needs another instance."""
        return type(self)


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """A new config and list of endpoints. `note` is the reason for an empty list, if known."""

    config: PolicyConfig
    endpoints: tuple[Endpoint, ...] = ()
    note: str = ""


# Objects that policies make. They compare by identity: two with equal fields differ.


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Subchannel:
    """One address to which a policy may want to be connected."""

    place: HierarchicalPath
    address: str


@dataclass(frozen=True, eq=False, slots=True)
class Timer:
    """A timer of a policy, in seconds."""

    place: HierarchicalPath
    seconds: float
    purpose: str


class Target(msgspec.Struct, frozen=True):
    """An endpoint that a picker wants connected: the one with this key in the policy at `place`."""

    place: HierarchicalPath
    key: str = ""


# Events.


class SubchannelChanged(msgspec.Struct, frozen=True):
    """A subchannel changed its state; `status` is the error of a failure."""

    subchannel: Subchannel
    state: State
    status: Status | None = None

    @property
    def place(self) -> HierarchicalPath:
        """The policy that made the subchannel."""
        return self.subchannel.place


class TimerFired(msgspec.Struct, frozen=True):
    """The seconds of a timer are over."""

    timer: Timer

    @property
    def place(self) -> HierarchicalPath:
        """The policy that started the timer."""
        return self.timer.place


class ConnectWanted(msgspec.Struct, frozen=True):
    """A pick came upon something that it wants connected."""

    target: Target

    @property
    def place(self) -> HierarchicalPath:
        """The policy that made the picker."""
        return self.target.place


class HealthChanged(msgspec.Struct, frozen=True):
    """A policy above has ejected a subchannel, or ended its ejection (A61).

    The subchannel keeps its connection. The shell sends no such event.
    """

    subchannel: Subchannel
    is_healthy: bool

    @property
    def place(self) -> HierarchicalPath:
        """The policy that made the subchannel."""
        return self.subchannel.place


Event = SubchannelChanged | TimerFired | ConnectWanted | HealthChanged


# Actions.


class CreateSubchannel(msgspec.Struct, frozen=True):
    """Begin to keep a subchannel, IDLE."""

    subchannel: Subchannel


class Connect(msgspec.Struct, frozen=True):
    """Connect a subchannel, if it is IDLE."""

    subchannel: Subchannel


class DropSubchannel(msgspec.Struct, frozen=True):
    """Forget a subchannel."""

    subchannel: Subchannel


class StartTimer(msgspec.Struct, frozen=True):
    """Tell the policy when the seconds of the timer are over."""

    timer: Timer


class CancelTimer(msgspec.Struct, frozen=True):
    """Do not fire that timer."""

    timer: Timer


class RequestReresolution(msgspec.Struct, frozen=True):
    """Ask for fresh addresses, where they come from a resolver."""


class UpdateState(msgspec.Struct, frozen=True):
    """The state of the policy and the picker to use from now on."""

    state: State
    picker: Picker


Action = (
    CreateSubchannel
    | Connect
    | DropSubchannel
    | StartTimer
    | CancelTimer
    | RequestReresolution
    | UpdateState
)
Actions = list[Action]


# Picks.


class PickArgs(msgspec.Struct, frozen=True, kw_only=True):
    """One request, as pickers see it.

    `cluster` and `request_hash` were made by the config selector, once for the request; `metadata`
    has lower-case names. `override_hosts` are the addresses of the request's cookie (A55), and
    `has_session` says whether the filter for cookies processes it. `random` is where all chance
    comes from.
    """

    path: str
    cluster: str = ""
    metadata: Metadata = ()
    request_hash: int | None = None
    override_hosts: tuple[str, ...] = ()
    has_session: bool = False
    random: random.Random


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What a call counts for: a cluster and service name (circuit breaking), a locality (load).

    `channel` and `policy` tell which of the cluster's policies in the process has picked,
    `max_requests` which limit it had, and `metrics` what it wants reported of backends' own (A85).
    """

    cluster: str
    service_name: str
    reported: bool
    locality: Locality = Locality()
    channel: int = 0
    policy: HierarchicalPath = ()
    max_requests: int = 0
    metrics: tuple[str, ...] = ()
    subchannel: Subchannel | None = None


class Complete(msgspec.Struct, frozen=True):
    """Send the request on this subchannel; if that has lost its connection meanwhile, queue it.

    `locality` is that of the endpoint as it is listed now.
    """

    subchannel: Subchannel
    locality: Locality = Locality()
    connect: tuple[Target, ...] = ()
    account: Account | None = None
    ends_with: Status | None = None
    """With which it ends as soon as it is sent: none of a right client does."""
    hosts: tuple[str, ...] = ()
    """A55: the addresses for the cookie, the used one first; none: no policy for cookies is
    there."""


class Queue(msgspec.Struct, frozen=True):
    """Pick again with the next picker."""

    connect: tuple[Target, ...] = ()


class Fail(msgspec.Struct, frozen=True):
    """Fail the request, unless it asked to wait for readiness (by the rule `wait_for_ready`)."""

    status: Status
    connect: tuple[Target, ...] = ()


class Drop(msgspec.Struct, frozen=True):
    """Fail the request even if it asked to wait. No category: it met the circuit breaker."""

    status: Status
    account: Account
    category: str | None = None


PickResult = Complete | Queue | Fail | Drop


class Picker(Protocol):
    """Where requests go while the policy is in one state; pure but for turns and counters."""

    def pick(self, args: PickArgs, /) -> PickResult:
        """Decide on one request."""
        ...


class Policy(Protocol):
    """A load balancing policy. It has reported nothing before its first update."""

    def update(self, update: Update, /) -> Actions:
        """Take a new config of its own class, and new endpoints."""
        ...

    def handle(self, event: Event, /) -> Actions:
        """Take an event whose place begins with this policy's; ignore what is long gone."""
        ...

    def exit_idle(self) -> Actions:
        """Connect, if IDLE."""
        ...

    def close(self) -> Actions:
        """Drop all subchannels and cancel all timers; nothing comes after."""
        ...


class QueuePicker(msgspec.Struct, frozen=True):
    """Queues every request, and has `connect` connected."""

    connect: tuple[Target, ...] = ()

    def pick(self, _args: PickArgs, /) -> PickResult:
        """Queue."""
        return Queue(self.connect)


class FailPicker(msgspec.Struct, frozen=True):
    """Fails every request."""

    status: Status

    def pick(self, _args: PickArgs, /) -> PickResult:
        """Fail."""
        return Fail(self.status)


@dataclass(slots=True)
class Report:
    """The state and picker that a policy has reported last; before the first, as if CONNECTING."""

    state: State = State.CONNECTING
    picker: Picker = QueuePicker()  # noqa: RUF009  # It is frozen.

    @classmethod
    def of(cls, update: UpdateState) -> Report:
        """Make the report that an action is."""
        return cls(update.state, update.picker)
