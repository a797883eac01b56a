"""A channel: calls, each with its pick, over whatever the resolver and the policies make of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from client_under_test.reference.channel.balancer import Balancer, ChannelContext
from client_under_test.reference.policies.cluster_manager import ClusterManager
from client_under_test.reference.policies.family import Tools
from client_under_test.reference.policies.interface import (
    Account,
    Complete,
    Drop,
    Fail,
    PickArgs,
    Picker,
    Queue,
    QueuePicker,
    Update,
)
from client_under_test.reference.policies.ledger import Ledger
from client_under_test.reference.policies.rules.ring_picks import PickRules
from client_under_test.reference.resolving.resolver import Resolver, Sink
from client_under_test.reference.resolving.selector import NotNow, Selection, Selector
from client_under_test.reference.session_affinity import (
    Session,
    SessionRules,
    response_cookie,
)
from client_under_test.reference.transport.http2 import Header
from client_under_test.reference.transport.rpc import Rpc
from client_under_test.reference.values import BackendMetrics, Metadata, State, Status


@dataclass(frozen=True, kw_only=True)
class CallSpec:
    """A call to make. `deadline` is in seconds; a kept-open one is a stream that sends nothing."""

    path: str
    metadata: Metadata
    deadline: float | None
    wait_for_ready: bool
    kept_open: bool


class CallListener(Protocol):
    """Receives the events of a call; `finished` comes once, and last."""

    def opened(self, headers: Sequence[Header]) -> None:
        """Take the response headers."""

    def finished(self, status: Status) -> None:
        """Note the end of the call."""


class Call:
    """A call from its start to its status: waits for a selector, for a pick, for the server."""

    def __init__(self, channel: Channel, spec: CallSpec, listener: CallListener) -> None:
        self.spec: Final = spec
        self._channel = channel
        self._listener = listener
        self._cluster: str | None = None
        self._args: PickArgs | None = None
        self._session: Session | None = None
        self._hosts: tuple[str, ...] = ()
        self._account: Account | None = None
        self._rpc: Rpc | None = None
        self._is_over = False
        self._loop = asyncio.get_running_loop()
        self._ends_at: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        if spec.deadline is not None:  # the caller's own time, so not the specifications' clock
            self._ends_at = self._loop.time() + spec.deadline
            self._timer = self._loop.call_at(self._ends_at, self._on_deadline)

    def cancel(self) -> None:
        """Give it up."""
        self._give_up(Status("CANCELLED", "cancelled by the application"))

    def proceed(self, selector: Selector, picker: Picker) -> bool:
        """Choose route and hash, once; then be picked. True if the call goes on waiting."""
        if self._is_over:
            return False
        if self._args is None:
            choice = selector.select(self.spec.path, self.spec.metadata)
            if isinstance(choice, NotNow) and self.spec.wait_for_ready:
                return True
            if not isinstance(choice, Selection):
                self._finish(choice.status if isinstance(choice, NotNow) else choice)
                return False
            self._cluster = choice.cluster
            self._channel.hold(choice.cluster)
            self._session = choice.session
            sent = None if choice.session is None else choice.session.sent
            self._args = PickArgs(
                path=self.spec.path,
                cluster=choice.cluster,
                metadata=self.spec.metadata,
                request_hash=choice.request_hash,
                override_hosts=() if sent is None else sent.addresses,
                has_session=self._session is not None,
                random=self._channel.rng,
            )
        return self._pick(picker, self._args)

    def _pick(self, picker: Picker, args: PickArgs) -> bool:
        """Be picked, and sent or failed; true if the call goes on waiting for a picker."""
        result = picker.pick(args)
        if self.spec.wait_for_ready:
            result = self._channel.rules.queue_wait_for_ready(result)
        match result:
            case Complete():
                waits = not self._send(result)
            case Queue():
                waits = True
            case Fail(status):
                waits = False
                self._finish(status)
            case Drop(status):
                waits = False
                self._channel.ledger.dropped(result)
                self._finish(status)
        if not isinstance(result, Drop):
            self._channel.balancer.want(result.connect)
        return waits

    def _send(self, picked: Complete) -> bool:
        """Send it; false if the subchannel has lost its connection since its picker was made."""
        connection = self._channel.balancer.connection(picked.subchannel)
        if connection is None:
            return False
        if picked.account is not None:
            self._account = picked.account
            self._channel.ledger.started(picked.account)
        self._hosts = picked.hosts
        timeout = None if self._ends_at is None else max(self._ends_at - self._loop.time(), 0.0)
        self._rpc = Rpc(
            connection,
            authority=self._channel.authority,
            path=self.spec.path,
            metadata=self.spec.metadata,
            timeout=timeout,
            listener=self,
        )
        if not self.spec.kept_open:
            self._rpc.send(b"", end=True)
        if picked.ends_with is not None:
            self._give_up(picked.ends_with)
        return True

    def _on_deadline(self) -> None:
        waited = "for the response" if self._rpc is not None else "for a connection"
        self._give_up(Status("DEADLINE_EXCEEDED", f"the deadline passed while waiting {waited}"))

    def _give_up(self, status: Status) -> None:
        if not self._is_over:
            if self._rpc is not None:
                self._rpc.cancel()
            self._finish(status)

    def _finish(self, status: Status, metrics: BackendMetrics | None = None) -> None:
        if self._is_over:
            return
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._account is not None:
            self._channel.ledger.finished(self._account, status, metrics)
        if self._cluster is not None:
            self._channel.release(self._cluster)
        self._channel.forget(self)
        self._listener.finished(status)

    # What the RPC reports.

    def opened(self, headers: Sequence[Header]) -> None:
        """Pass them on, with the cookie of the session (A55)."""
        if self._session is not None and self._hosts:
            cookie = response_cookie(
                self._session, self._hosts, self._cluster or "", self._channel.cookies
            )
            headers = headers if cookie is None else [*headers, (b"set-cookie", cookie.encode())]
        self._listener.opened(headers)

    def message(self, data: bytes) -> None:
        """Ignore messages: the adapter does not need them."""

    def finished(self, status: Status, metrics: BackendMetrics | None = None) -> None:
        """Note that the server, or the loss of the connection, ended the call."""
        self._finish(status, metrics)


class Channel:
    """Calls to one target.

    Args:
        authority: the `:authority` of requests.
        resolve: makes the resolver, when one is first needed.
        tools: what the policies are made with.
        surroundings: what their wishes are carried out with.
        cookies: how cookies of sessions are set.
    """

    def __init__(
        self,
        authority: str,
        resolve: Callable[[Sink], Resolver],
        tools: Tools,
        surroundings: ChannelContext,
        cookies: SessionRules = SessionRules(),  # noqa: B008 - frozen
    ) -> None:
        self.cookies: Final = cookies
        self.authority: Final = authority
        self.rng: Final[random.Random] = tools.random
        self.rules: Final[PickRules] = tools.rules
        self.ledger: Final[Ledger] = tools.ledger
        self.balancer: Final = Balancer(
            ClusterManager(tools),
            surroundings,
            on_state=self._on_state,
            on_reresolution=self._on_reresolution,
        )
        self._resolve = resolve
        self._resolver: Resolver | None = None
        self._selector: Selector | None = None
        self._picker: Picker = QueuePicker()
        self._state = State.IDLE
        self._wants_to_connect = False
        self._watcher: Callable[[State], None] = _nobody
        self._calls: dict[Call, None] = {}
        self._waiting: dict[Call, None] = {}

    # What the application asks for.

    def start(self, spec: CallSpec, listener: CallListener) -> Call:
        """Start a call."""
        call = Call(self, spec, listener)
        self._calls[call] = None
        self._leave_idle()
        selector = self._selector
        if selector is None or call.proceed(selector, self._picker):
            self._waiting[call] = None
        return call

    def watch(self, watcher: Callable[[State], None]) -> None:
        """Be told the state, now and at each change; this does not make the channel connect."""
        self._watcher = watcher
        watcher(self._state)

    def connect(self) -> None:
        """Connect, if IDLE."""
        self._leave_idle()
        if self._selector is None:
            self._wants_to_connect = True
        elif self._state is State.IDLE:
            self.balancer.exit_idle()

    def close(self) -> None:
        """End all: calls are cancelled, connections closed."""
        self._watcher = _nobody
        for call in tuple(self._calls):
            call.cancel()
        if self._resolver is not None:
            self._resolver.close()
        self.balancer.close()

    def _leave_idle(self) -> None:
        if self._resolver is None:
            self._become(State.CONNECTING)
            self._resolver = self._resolve(self)

    # What calls need.

    def hold(self, cluster: str) -> None:
        """Keep a cluster for a call."""
        if self._resolver is not None:
            self._resolver.hold(cluster)

    def release(self, cluster: str) -> None:
        """Release a cluster that a call has kept."""
        if self._resolver is not None:
            self._resolver.release(cluster)

    def forget(self, call: Call) -> None:
        """Forget a call that has ended."""
        self._calls.pop(call, None)
        self._waiting.pop(call, None)

    # What the resolver and the policies report.

    def resolved(self, selector: Selector, update: Update) -> None:
        """Use these from now on."""
        self._selector = selector
        self.balancer.update(update)
        self._pick_waiting()
        if self._wants_to_connect:
            self._wants_to_connect = False
            if self._state is State.IDLE:
                self.balancer.exit_idle()

    def _on_reresolution(self) -> None:
        if self._resolver is not None:
            self._resolver.resolve_again()

    def _on_state(self, state: State, picker: Picker) -> None:
        self._picker = picker
        self._become(state)
        if self._selector is not None:
            self._pick_waiting()

    def _pick_waiting(self) -> None:
        """Pick again what waits, in the order in which it came."""
        waiting, self._waiting = self._waiting, {}
        selector = self._selector
        assert selector is not None, "asked for only then"
        for call in waiting:
            if call.proceed(selector, self._picker):
                self._waiting[call] = None

    def _become(self, state: State) -> None:
        if state is not self._state:
            self._state = state
            self._watcher(state)


def _nobody(_state: State) -> None:
    """Tells nobody."""
