"""What a course has shown, as frozen values for judges; times are seconds since its start."""

from __future__ import annotations

from typing import Literal

import msgspec

from conformance.runner.explore.courses import Configuration, GateMode, Member
from conformance.spec.oracles.backoff import Backoff


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The client, as far as judges depend on it."""

    follows: tuple[str, ...] = ()
    """The editions that it declares."""
    key_format: str | None = None
    """The format of its ring keys, None if unknown: then no ring can be computed."""
    choices: dict[str, str] = {}
    """Its declared choices, by clause."""
    backoff: Backoff = Backoff()
    """Its connection backoff in this course."""
    failover: float = 10.0
    """Its failover timer in this course, in seconds (A56)."""
    reports_states: bool = True
    """True if the state of its channel was watched."""


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration that the control plane sent."""

    configuration: Configuration
    sent: float
    acked: float | None = None
    """When the suite had seen the ACK of all that changed; None: it never had."""


class GateChange(msgspec.Struct, frozen=True, kw_only=True):
    """An action on the gate of an endpoint."""

    member: Member
    at: float
    mode: GateMode | None = None
    what: Literal["", "kill", "go away"] = ""


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """A connection that the gate of an endpoint accepted."""

    member: Member
    id: int
    mode: GateMode
    """The mode of the gate at that time."""
    at: float
    closed: float | None = None
    closed_by: Literal["client", "gate", "backend"] | None = None


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A request that reached a backend."""

    member: Member
    connection: int
    at: float
    ended: float | None = None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the client made."""

    id: str
    metadata: tuple[tuple[str, str], ...]
    began: float
    ended: float | None = None
    """None: the client never reported the end."""
    status: str = ""
    details: str = ""
    member: Member | None = None
    """The endpoint whose backend received it; None: no backend did."""
    wait_for_ready: bool = False
    stays: bool = False
    """True for a stream that stays open until the suite cancels it."""
    cancelled: bool = False


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """A response of the control plane, and the client's first answer."""

    kind: str
    stream: int
    version: str
    nonce: str
    sent: float
    is_valid: bool = True
    answer: Literal["ACK", "NACK"] | None = None
    answered: float | None = None
    told: str = ""
    """The version that the answer names."""
    accepted: str = ""
    """The version of this kind that the client had accepted before, on any stream."""
    error: str = ""


class Repetition(msgspec.Struct, frozen=True, kw_only=True):
    """A discovery request that equals the one before it on its stream."""

    kind: str
    stream: int
    count: int
    """The number of equal requests in a row."""
    at: float


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which the control plane did not serve."""

    began: float
    ended: float | None = None


class Calm(msgspec.Struct, frozen=True, kw_only=True):
    """A wait until the client does what its configuration and the gates demand."""

    step: int
    """The number of the step, from 1; one more than there are for the calm at the end."""
    is_last: bool = False
    """True for the calm after all faults have ended."""
    began: float
    ended: float
    round_began: float
    """The start of the last round of requests."""
    round_ended: float
    rounds: int
    calls: tuple[str, ...]
    """The ids of the requests of the last round."""
    state: str | None = None
    """The state that the channel reported last; None: none, or it was not watched."""
    subscribed: dict[str, tuple[str, ...]] = {}
    """The names in the last request of each kind on the last stream."""
    expired: bool
    """True if the deadline ended the wait."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """What ended a course early."""

    verdict: str
    """`fail` if the client is the reason; else the course says nothing."""
    reason: str
    what: str
    at: float


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """All that a course has shown."""

    client: Judged
    addresses: tuple[str, ...]
    """The address of each endpoint."""
    versions: tuple[Version, ...] = ()
    gates: tuple[GateChange, ...] = ()
    connections: tuple[Connection, ...] = ()
    arrivals: tuple[Arrival, ...] = ()
    requests: tuple[Request, ...] = ()
    responses: tuple[Response, ...] = ()
    repetitions: tuple[Repetition, ...] = ()
    outages: tuple[Outage, ...] = ()
    calms: tuple[Calm, ...] = ()
    trouble: Trouble | None = None
    ended: float = 0.0
    lateness: float = 0.0
    """By how much the suite itself was late, at worst."""
    starved: float = 0.0
    """The seconds that the client waited for a processor."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that no right client shows."""

    judge: str
    """The rule that it breaks."""
    title: str
    """One line, without ports and times, by which findings are grouped."""
    expected: str
    observed: str
    at: float
    clause: str = ""
    """The clause that the rule belongs to, if it is one clause."""
