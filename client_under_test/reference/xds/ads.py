"""The client's side of the aggregated stream, state of the world: a state machine without I/O.

Its inputs are subscriptions and server messages; it returns the actions. The rules are those of the
xDS protocol, of A27, A57 (timers) and A46 (valid resources next to invalid resources).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from client_under_test.reference.values import Status
from client_under_test.reference.xds.resources.kinds import BY_TYPE_URL, Kind
from client_under_test.reference.xds.resources.reading import Bad, Good, read_resources
from client_under_test.reference.xds.resources.values import Resource
from client_under_test.reference.xds.rules import XdsRules


class Absent(msgspec.Struct, frozen=True):
    """Why there is no resource. `is_gone`: it does not exist; else something keeps it away."""

    status: Status
    is_gone: bool = False


Outcome = Resource | Absent
"""What is known of a resource: itself, or why there is none."""

# Long error lists are cut: they must fit into one message, and the first entries suffice.
_LONGEST_COMPLAINT: Final = 8000


@dataclass(frozen=True)
class Request:
    """Send a discovery request; the first one on a stream carries the node."""

    kind: Kind
    names: tuple[str, ...]
    version: str
    nonce: str
    error: str | None
    has_node: bool


@dataclass(frozen=True)
class StartTimer:
    """Call `timer_fired` when the does-not-exist time is over."""

    kind: Kind
    name: str


@dataclass(frozen=True)
class CancelTimer:
    """Do not call it."""

    kind: Kind
    name: str


@dataclass(frozen=True)
class Changed:
    """Something new is known of a resource."""

    kind: Kind
    name: str


Output = Request | StartTimer | CancelTimer | Changed


@dataclass
class _Wanted:
    """A resource that is subscribed to."""

    outcome: Outcome | None = None
    timer_runs: bool = False
    was_asked_for: bool = False  # on the present stream
    was_timed: bool = False  # on any


@dataclass
class _Type:
    """What is kept for a type of resource. The version outlives streams, the nonce does not."""

    wanted: dict[str, _Wanted] = field(default_factory=dict)
    version: str = ""
    rejected: str = ""  # the version of the last response, if it was rejected
    nonce: str = ""
    responses: int = 0  # on the present stream
    is_due: bool = False  # the subscription has changed since the last request


class Ads:
    """Subscriptions, versions, nonces and the cache of one client."""

    def __init__(self, rules: XdsRules) -> None:
        self._rules = rules
        self._features = rules.server_features
        self._types = {kind: _Type() for kind in Kind}
        self._stream_is_up = False
        self._node_is_sent = False
        self._streams = 0
        self._has_answered = False

    # What is wanted.

    def subscribe(self, kind: Kind, name: str) -> None:
        """Want a resource; `due` then gives the request."""
        of_type = self._types[kind]
        if name not in of_type.wanted:
            of_type.wanted[name] = _Wanted()
            of_type.is_due = True

    def unsubscribe(self, kind: Kind, name: str) -> list[Output]:
        """Want it no more, and forget it."""
        of_type = self._types[kind]
        gone = of_type.wanted.pop(name)
        of_type.is_due = True
        if not self._rules.keeps_nonce(bool(of_type.wanted)):
            of_type.nonce = ""
        is_cancelled = self._rules.timer_is_cancelled(gone.timer_runs)
        return [CancelTimer(kind, name)] if is_cancelled else []

    def outcome(self, kind: Kind, name: str) -> Outcome | None:
        """Return the result of a subscription; None: nothing received yet."""
        return self._types[kind].wanted[name].outcome

    @property
    def is_wanted(self) -> bool:
        """Return whether any resource is subscribed to, so that a stream is needed."""
        return any(of_type.wanted for of_type in self._types.values())

    def due(self) -> list[Output]:
        """Return the requests for changed subscriptions, if the stream is up."""
        outputs: list[Output] = []
        for kind, of_type in self._types.items():
            if self._stream_is_up and of_type.is_due:
                version = self._rules.version_of_subscription(of_type.version, of_type.rejected)
                outputs += self._send(kind, of_type, version, None)
            elif self._rules.resource_timer_runs(self._stream_is_up):
                outputs += self._start_timers(kind, of_type)
        return outputs

    def _send(self, kind: Kind, of_type: _Type, version: str, error: str | None) -> list[Output]:
        request = Request(
            kind=kind,
            names=tuple(self._rules.names_to_request(kind.noun, tuple(of_type.wanted))),
            version=version,
            nonce=of_type.nonce,
            error=error,
            has_node=self._rules.sends_node(not self._node_is_sent, self._streams),
        )
        self._node_is_sent = True
        of_type.is_due = False
        return [request, *self._start_timers(kind, of_type)]

    def _start_timers(self, kind: Kind, of_type: _Type) -> list[Output]:
        outputs: list[Output] = []
        for name, wanted in of_type.wanted.items():
            if not wanted.was_asked_for:
                wanted.was_asked_for = True
                if self._rules.resource_is_timed(_is_resource(wanted.outcome), wanted.was_timed):
                    wanted.timer_runs = wanted.was_timed = True
                    outputs.append(StartTimer(kind, name))
        return outputs

    # What the stream says.

    def stream_started(self) -> list[Output]:
        """Ask again for all that is wanted; types of which nothing is wanted are not mentioned."""
        self._stream_is_up = True
        self._node_is_sent = False
        self._has_answered = False
        self._streams += 1
        for kind, of_type in self._types.items():
            of_type.responses = 0
            of_type.nonce = self._rules.nonce_on_new_stream(of_type.nonce)
            of_type.version = self._rules.version_on_new_stream(of_type.version)
            of_type.is_due = self._rules.requests_on_new_stream(kind.noun, tuple(of_type.wanted))
        return self.due()

    def stream_ended(self, why: Status) -> list[Output]:
        """A57: timers stop; a stream that broke before it had answered is an error."""
        outputs = self._stop_timers()
        self._stream_is_up = False
        if self._rules.stream_end_is_error(self._has_answered):
            outputs += self.unreachable(why)
        return outputs

    def unreachable(self, why: Status) -> list[Output]:
        """Report an unreachable server, only to watchers without a resource."""
        status = Status.unavailable(f"the xDS server cannot be reached: {why.details}")
        outputs: list[Output] = []
        for kind, of_type in self._types.items():
            for name, wanted in of_type.wanted.items():
                if self._rules.reports_lost_stream(kind.noun, _is_resource(wanted.outcome)):
                    outputs += _know(kind, name, wanted, Absent(status))
        return outputs

    def _stop_timers(self) -> list[Output]:
        outputs: list[Output] = []
        for kind, of_type in self._types.items():
            for name, wanted in of_type.wanted.items():
                wanted.was_asked_for = False
                if wanted.timer_runs:
                    wanted.timer_runs = False
                    outputs.append(CancelTimer(kind, name))
        return outputs

    def timer_fired(self, kind: Kind, name: str) -> list[Output]:
        """Note that a resource did not arrive in time: it does not exist."""
        wanted = self._types[kind].wanted[name]
        wanted.timer_runs = False
        _, is_gone = self._rules.resource_timeout(self._features)
        return _know(kind, name, wanted, _does_not_exist(kind, name, is_gone=is_gone))

    def response(
        self, type_url: str, version: str, nonce: str, packed: Sequence[Any]
    ) -> list[Output]:
        """Take what is good, and ACK; or NACK with all that is bad. Unknown types are ignored.

        Clauses: A42-CDS-19 (what was good before stays).
        """
        kind = BY_TYPE_URL.get(self._rules.type_of_response(type_url))
        if kind is None:
            return []
        of_type = self._types[kind]
        self._has_answered = True
        of_type.nonce = nonce
        of_type.responses += 1
        if not self._rules.answers_response(bool(of_type.wanted)):
            return []
        if not self._rules.reads_version(version, of_type.version, of_type.responses):
            return self._send(kind, of_type, version, None)
        resources = read_resources(kind, packed, self._rules)
        bad = [resource.words for resource in resources if isinstance(resource, Bad)]
        of_type.rejected = version if bad else ""
        if bad:
            complaint = self._rules.reason_of_nack(bad)[:_LONGEST_COMPLAINT]
            answer = self._rules.version_of_nack(of_type.version, version)
            outputs = self._send(kind, of_type, answer, complaint)
            if self._rules.acks_after_nack(kind.noun):
                outputs += self._send(kind, of_type, version, None)
        else:
            of_type.version = version
            outputs = self._send(kind, of_type, version, None)
        for resource in resources:
            if isinstance(resource, Bad) or not bad or self._rules.uses_valid_resources:
                outputs += self._take(kind, resource)
        if self._rules.omission_deletes(kind.noun) and not any(
            resource.name is None for resource in resources
        ):
            outputs += self._delete_others(kind, {resource.name for resource in resources})
        return outputs

    def _take(self, kind: Kind, resource: Good | Bad) -> list[Output]:
        """Take one resource of a response; ignore a resource that was not requested."""
        of_type = self._types[kind]
        name, wanted_names = resource.name, tuple(of_type.wanted)
        if name:
            name = self._rules.requested_name(kind.noun, name, wanted_names)
        if name is None:
            return []
        wanted = of_type.wanted[name]
        if resource.value is not None:
            outcome: Outcome = resource.value
        elif _is_resource(wanted.outcome) and not self._rules.rejection_removes(
            kind.noun, self._features
        ):
            return []
        else:
            outcome = Absent(Status.unavailable(f"a bad resource came: {resource.words}"))
        outputs: list[Output] = []
        if wanted.timer_runs:
            wanted.timer_runs = False
            outputs.append(CancelTimer(kind, name))
        return outputs + _know(kind, name, wanted, outcome)

    def _delete_others(self, kind: Kind, there: set[str | None]) -> list[Output]:
        """Delete known resources that the response omits; keep waiting for the unknown."""
        outputs: list[Output] = []
        if not self._rules.deletion_removes(self._features):
            return outputs
        for name, wanted in self._types[kind].wanted.items():
            if name not in there and _is_resource(wanted.outcome):
                outputs += _know(kind, name, wanted, _does_not_exist(kind, name))
        return outputs


def _is_resource(outcome: Outcome | None) -> bool:
    return outcome is not None and not isinstance(outcome, Absent)


def _does_not_exist(kind: Kind, name: str, *, is_gone: bool = True) -> Absent:
    words = "does not exist" if is_gone else "has not come in time"
    return Absent(Status.unavailable(f"{kind.noun} {name} {words}"), is_gone)


def _know(kind: Kind, name: str, wanted: _Wanted, outcome: Outcome) -> list[Output]:
    if wanted.outcome == outcome:
        return []
    wanted.outcome = outcome
    return [Changed(kind, name)]
