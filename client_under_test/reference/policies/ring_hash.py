"""ring_hash: the state machine around the ring (A42, A61).

The rules are elsewhere: the ring in ring.py, states and proactive attempts in ring_states.py, picks
in ring_picks.py. This module passes updates, states and pickers on; it does not depend on xDS
(A42-CONF-08).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from client_under_test.reference.policies.configs import PickFirstConfig, RingHashConfig
from client_under_test.reference.policies.family import Tools
from client_under_test.reference.policies.interface import (
    Action,
    Actions,
    ConnectWanted,
    Event,
    FailPicker,
    Picker,
    QueuePicker,
    Report,
    RequestReresolution,
    Target,
    Update,
    UpdateState,
)
from client_under_test.reference.policies.pick_first import PickFirst
from client_under_test.reference.policies.rules import ring
from client_under_test.reference.policies.rules.ring_picks import Candidate, RingPicker
from client_under_test.reference.policies.rules.ring_states import Prospect
from client_under_test.reference.values import Endpoint, HierarchicalPath, State, Status

_NO_ATTEMPT = FailPicker(Status.unavailable("no attempt was made"))


@dataclass(slots=True, eq=False)
class _Member:
    """An endpoint. Its policy is made when a connection is first wanted (A61-SUB-02, A42-SUB-01).

    `counted` is its state as ring_hash sees it, `report` what its policy said last. A connection
    may be wanted by a pick or proactively while its backoff runs; it is made when that is over.
    """

    endpoint: Endpoint
    policy: PickFirst | None = None
    counted: State = State.IDLE
    report: Report = field(default_factory=lambda: Report(State.IDLE, QueuePicker()))
    failure: Picker = _NO_ATTEMPT
    wanted_by_pick: bool = False
    wanted_proactively: bool = False
    candidate: Candidate | None = None  # as of its last report

    @property
    def under_way(self) -> bool:
        """Return whether an attempt is in progress, or will start when the backoff ends."""
        wanted = self.wanted_by_pick or self.wanted_proactively
        return wanted or self.report.state is State.CONNECTING

    @property
    def picker(self) -> Picker:
        """Where its requests go; while it counts as failed, to the last failure."""
        failed = self.counted is State.TRANSIENT_FAILURE
        return self.failure if failed else self.report.picker


class RingHash:
    """The policy."""

    def __init__(self, tools: Tools, place: HierarchicalPath) -> None:
        self._tools = tools
        self._place = place
        self._endpoints: Sequence[Endpoint] = ()
        self._members: dict[str, _Member] = {}
        self._config = RingHashConfig()
        self._standing: tuple[ring.Standing, ...] = ()
        self._ring = ring.Ring((), ())
        self._order: tuple[str, ...] = ()
        self._last_failed: str | None = None
        self._failed_now: str | None = None  # in the change that is being answered
        self._note = ""

    def update(self, update: Update) -> Actions:
        """Make a new ring and a new picker for a new list or config.

        Clauses: A42-RING-18, A42-RING-19, A42-PICK-23, A42-CDS-24.
        """
        if not isinstance(update.config, RingHashConfig):
            raise TypeError(update.config)
        self._note = update.note
        rules = self._tools.rules
        self._endpoints = rules.ring_endpoints(self._endpoints, update.endpoints)
        standing = ring.standings(self._endpoints, rules)
        config = update.config
        if (standing, config) != (self._standing, self._config):
            sizes = ring.Sizes(config.minimum, config.maximum)
            self._ring = ring.build(
                standing, rules.capped_sizes(sizes, self._tools.ring_cap), rules
            )
            self._standing, self._config = standing, config
            self._order = ring.ring_order(self._ring, standing)
        actions = self._take_members(self._endpoints)
        if not standing:
            actions.append(RequestReresolution())
        return actions + self._settle()

    def handle(self, event: Event) -> Actions:
        """Connect what a pick asks for, or hand an event on to its endpoint."""
        if isinstance(event, ConnectWanted) and event.place == self._place:
            key = event.target.key
            if key not in self._members:
                return []
            self._members[key].wanted_by_pick = True
            return self._connect(key) + self._settle()
        key = event.place[len(self._place)]
        member = self._members.get(key)
        if member is None or member.policy is None:
            return []
        before = member.report
        actions = self._read(key, member.policy.handle(event))
        return actions if member.report is before else actions + self._settle()

    def exit_idle(self) -> Actions:
        """Do nothing: only requests have it connect (A42-PRO-01)."""
        return []

    def close(self) -> Actions:
        """Close all endpoints."""
        return [action for key in tuple(self._members) for action in self._remove(key)]

    # Endpoints.

    def _take_members(self, endpoints: Sequence[Endpoint]) -> Actions:
        """Keep the connection and state of each remaining endpoint; remove the others.

        Clauses: A42-SUB-14, A42-AGG-14.
        """
        identity = self._tools.rules.endpoint_identity
        listed: dict[str, Endpoint] = {}
        standing = {endpoint.identity for endpoint in self._standing}
        for endpoint in endpoints:
            if identity(endpoint) in standing:
                listed.setdefault(identity(endpoint), endpoint)
        actions: Actions = []
        for key in self._members.keys() - listed.keys():
            actions += self._remove(key)
        for key, endpoint in listed.items():
            member = self._members.setdefault(key, _Member(endpoint))
            if member.endpoint != endpoint:
                member.endpoint = endpoint
                actions += self._tell(key)
        return actions

    def _remove(self, key: str) -> Actions:
        policy = self._members.pop(key).policy
        return [] if policy is None else policy.close()

    def _tell(self, key: str) -> Actions:
        member = self._members[key]
        if member.policy is None:
            return []
        told = Update(config=PickFirstConfig(), endpoints=(member.endpoint,))
        return self._read(key, member.policy.update(told))

    def _connect(self, key: str) -> Actions:
        """Connect an endpoint now, or when its backoff is over.

        Clauses: A42-SUB-02, A42-PRO-08.
        """
        member = self._members[key]
        if member.policy is None:
            sticks = self._tools.rules.ring_endpoints_retry
            member.policy = PickFirst(self._tools, (*self._place, key), sticks=sticks, is_leaf=True)
            return self._tell(key)
        return self._read(key, member.policy.exit_idle())

    def _read(self, key: str, actions: Sequence[Action]) -> Actions:
        """Take what the policy of an endpoint reports."""
        member = self._members[key]
        kept: Actions = []
        for action in actions:
            if not isinstance(action, UpdateState):
                kept.append(action)
                continue
            member.report = Report.of(action)
            member.candidate = None
            counted = self._tools.rules.counted_state(member.counted, action.state)
            if State.TRANSIENT_FAILURE is counted is not member.counted:
                self._failed_now = key
            member.counted = counted
            if action.state is State.TRANSIENT_FAILURE:
                member.failure = action.picker
                self._last_failed = key
            if action.state in {State.CONNECTING, State.READY}:
                member.wanted_by_pick = member.wanted_proactively = False
        # A42-PICK-07, A42-PICK-14, A42-PICK-19: the backoff is over, and a connection was wanted.
        wanted = member.wanted_by_pick or member.wanted_proactively
        if wanted and member.report.state is State.IDLE:
            kept += self._connect(key)
        return kept

    # The policy as a whole.

    def _settle(self) -> Actions:
        """A42-RING-22: after any change, connect proactively if needed, and make a new picker."""
        actions = self._connect_proactively()
        self._failed_now = None
        aggregated = self._aggregated()
        if aggregated is State.READY:
            for member in self._members.values():
                member.wanted_proactively = False  # A42-PRO-07
        return [*actions, UpdateState(aggregated, self._picker())]

    def _aggregated(self) -> State:
        return self._tools.rules.aggregated_state(
            [member.counted for member in self._members.values()]
        )

    def _connect_proactively(self) -> Actions:
        """At most one endpoint, after each change.

        Clauses: A42-PRO-01, A42-PRO-02, A42-PRO-03, A42-PRO-04, A42-PRO-05, A42-PRO-06,
        A42-PRO-07, A42-PRO-08, A42-PRO-09, A42-PRO-10, A42-PRO-11, A61-PRO-01, A61-PRO-02,
        A61-PRO-03.
        """
        prospects = [
            Prospect(
                identity=key,
                counted=self._members[key].counted,
                under_way=self._members[key].under_way,
                failed_now=key == self._failed_now,
            )
            for key in self._order
        ]
        key = self._tools.rules.proactive_attempt(self._aggregated(), prospects, self._last_failed)
        if key is None:
            return []
        self._members[key].wanted_proactively = True
        return self._connect(key)

    def _picker(self) -> Picker:
        if not self._members:
            note = f" ({self._note})" if self._note else ""
            return FailPicker(Status.unavailable(f"no endpoints{note}"))
        candidates = tuple(self._candidate(member.identity) for member in self._standing)
        return RingPicker(
            ring=self._ring,
            candidates=candidates,
            header=self._config.request_hash_header,
            one_is_connecting=any(candidate.state is State.CONNECTING for candidate in candidates),
            rules=self._tools.rules,
        )

    def _candidate(self, key: str) -> Candidate:
        member = self._members[key]
        if member.candidate is None:
            target = Target(self._place, key)
            member.candidate = Candidate(state=member.counted, picker=member.picker, target=target)
        return member.candidate
