"""The state of one aggregated discovery stream (state of the world), without any I/O.

Rules of this file:

* All that decides what a response carries, and what a request means, is here; the shell only moves
  messages and tells the time.
* A stream is fed with requests (`receive`) and asked what is due (`respond`). It never sends what
  would tell the client nothing: a type is due when a subscribed resource is one that the client
  has not got in this version or, where absence means deletion, when one that it has got is gone.
* The first request that carries a nonce answers the response that brought this nonce: an ACK, or a
  NACK when it has an error. Any later request with it only changes the subscription.
* Where absence means deletion, what an unanswered response carried stays in those that follow while
  it exists, wanted or not: the client may have let go of it and asked for it again by requests that
  are under way, have it from that response by then, and take what is right for the request between
  for its end.
* Resources that the client did not request go out only along with requested ones, and only if the
  script says so.
* A later request with the newest nonce that changes nothing, after a response of the type above (of
  clusters above endpoints, of listeners above routes), asks for all of it once more: so does Envoy
  for the endpoints of a cluster that has changed, which it does not use before they come (xDS
  protocol, "Resource warming").
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from fake_control_plane.kinds import Kind
from fake_control_plane.snapshot import Packed, Resource, Snapshot

WILDCARD: Final = "*"

# Responses of a type that a client may leave unanswered; of those before them nothing is known any
# more, as of a server that runs for days.
_MOST_UNANSWERED: Final = 1000

ABOVE: Final = {Kind.ENDPOINTS: Kind.CLUSTER, Kind.ROUTE: Kind.LISTENER}
"""The type whose resources name those of another."""


class AckOrNack(enum.Enum):
    """What a request says about an earlier response."""

    ACK = "ack"
    NACK = "nack"


class Subscription(msgspec.Struct, frozen=True):
    """What a stream wants of one type."""

    names: frozenset[str] = frozenset()
    wildcard: bool = False
    # True if the client has ever named a resource. Before that, an empty list is the old form of
    # the wildcard; afterwards, it ends all subscriptions.
    named: bool = False

    def after(self, kind: Kind, names: Iterable[str]) -> Subscription:
        """Return the subscription after a request with these resource names."""
        listed = frozenset(names)
        if not kind.is_complete:
            return Subscription(names=listed)
        named = self.named or bool(listed)
        return Subscription(
            names=listed - {WILDCARD}, wildcard=WILDCARD in listed or not named, named=named
        )

    def covers(self, name: str) -> bool:
        """Return whether the client subscribes to a resource of this name."""
        return self.wildcard or name in self.names

    @property
    def entries(self) -> frozenset[str]:
        """The names, with the wildcard as one of them."""
        return self.names | {WILDCARD} if self.wildcard else self.names


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """What a request meant."""

    kind: Kind | None
    answer: AckOrNack | None
    answered_version: str
    """The version of the response that is answered; empty without an answer."""
    stale: bool
    """Set if the nonce is not that of the newest response of the type."""
    subscribed: tuple[str, ...]
    unsubscribed: tuple[str, ...]


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """A response to be sent."""

    type_url: str
    version: str
    nonce: str
    resources: tuple[Packed, ...]
    fault: str = ""
    """The fault that made it, in words; empty for a response as the protocol wants it."""


class AdsStream:
    """One stream: its subscriptions, what the client was sent, and what it has yet to answer.

    Args:
        label: Begins each nonce, so that no two streams share one.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._sent_responses = 0
        self._types: dict[Kind, _TypeState] = {}

    def receive(
        self,
        *,
        type_url: str,
        names: Collection[str] = (),
        nonce: str = "",
        rejects: bool = False,
    ) -> Received:
        """Take in a request.

        Args:
            type_url: The type it is about; of an unknown type nothing is remembered.
            names: Its resource names.
            nonce: Its response nonce.
            rejects: Whether it has an error detail.
        """
        kind = Kind.of_type_url(type_url)
        if kind is None:
            return Received(
                kind=None,
                answer=None,
                answered_version="",
                stale=False,
                subscribed=tuple(names),
                unsubscribed=(),
            )
        state = self._types.setdefault(kind, _TypeState())
        version = state.unanswered.pop(nonce, None)
        state.processed(nonce)
        before, state.subscription = state.subscription, state.subscription.after(kind, names)
        # What is no longer subscribed to is forgotten by the client, so it is due again if it is
        # asked for again.
        state.sent = {
            name: sent for name, sent in state.sent.items() if state.subscription.covers(name)
        }
        answer = None if version is None else AckOrNack.NACK if rejects else AckOrNack.ACK
        is_newest = bool(state.nonces) and nonce == state.nonces[-1]
        if answer is None and is_newest and state.subscription == before and self._is_below(kind):
            state.sent.clear()
        return Received(
            kind=kind,
            answer=answer,
            answered_version=version or "",
            stale=bool(state.nonces) and not is_newest,
            subscribed=tuple(sorted(state.subscription.entries - before.entries)),
            unsubscribed=tuple(sorted(before.entries - state.subscription.entries)),
        )

    def is_due(self, kind: Kind, snapshot: Snapshot) -> bool:
        """Return whether a response of this type is due."""
        return self._due(kind, snapshot) is not None

    def respond(self, kind: Kind, snapshot: Snapshot, *, unasked: bool = False) -> Outgoing | None:
        """Return the response that is due for this type, and note it as sent; None if none is due.

        Args:
            kind: The type.
            snapshot: What there is.
            unasked: Whether the response also contains resources that the client did not request,
                in the order in which the script set them. They alone make no response due.
        """
        due = self._due(kind, snapshot)
        if due is None:
            return None
        sent = {resource.name: resource.version for resource in due}
        state = self._types[kind]
        carried = frozenset(sent)
        if kind.is_complete:
            state.sent = sent
            carried |= state.unprocessed & snapshot.of(kind).keys()
        else:
            state.sent |= sent
        covers = state.subscription.covers
        outgoing = self._note(
            kind,
            snapshot.version_info(kind),
            tuple(
                resource.packed
                for name, resource in snapshot.of(kind).items()
                if name in carried or (unasked and not covers(name))
            ),
        )
        state.carried[outgoing.nonce] = carried
        return outgoing

    def subscribed(self, kind: Kind, snapshot: Snapshot) -> tuple[Resource, ...] | None:
        """Return the subscribed resources that exist; None if the type was never requested."""
        state = self._types.get(kind)
        if state is None:
            return None
        covers = state.subscription.covers
        return tuple(resource for name, resource in snapshot.of(kind).items() if covers(name))

    def earlier_nonce(self, kind: Kind) -> str | None:
        """Return the nonce before the newest of a type, or the newest if it is the only one."""
        state = self._types.get(kind)
        return state.nonces[0] if state is not None and state.nonces else None

    def disturb(
        self,
        kind: Kind,
        *,
        version: str,
        resources: tuple[Packed, ...],
        fault: str,
        nonce: str | None = None,
    ) -> Outgoing:
        """Return a response that violates the protocol; note it, to recognize its answer.

        Args:
            kind: The type of the response.
            version: Its version.
            resources: What it carries.
            fault: What is wrong with it, in words.
            nonce: Its nonce, or None for a fresh one.
        """
        return self._note(kind, version, resources, fault=fault, nonce=nonce)

    def forget(self, type_url: str, nonce: str) -> None:
        """Forget a response that was not sent after all."""
        kind = Kind.of_type_url(type_url)
        state = self._types.get(kind) if kind is not None else None
        if state is not None:
            state.unanswered.pop(nonce, None)
            state.carried.pop(nonce, None)

    def _is_below(self, kind: Kind) -> bool:
        """Return whether the server sent the type above after the newest response of this type."""
        above = self._types.get(ABOVE[kind]) if kind in ABOVE else None
        return above is not None and above.newest > self._types[kind].newest

    def _due(self, kind: Kind, snapshot: Snapshot) -> tuple[Resource, ...] | None:
        wanted = self.subscribed(kind, snapshot)
        if wanted is None:
            return None
        state = self._types[kind]
        fresh = tuple(r for r in wanted if state.sent.get(r.name) != r.version)
        if not kind.is_complete:
            return fresh or None
        gone = state.sent.keys() - {resource.name for resource in wanted}
        # A wildcard client waits for the first response, even one that says that there is nothing.
        first = state.subscription.wildcard and not state.nonces and snapshot.version(kind) > 0
        return wanted if fresh or gone or first else None

    def _note(
        self,
        kind: Kind,
        version: str,
        resources: tuple[Packed, ...],
        *,
        fault: str = "",
        nonce: str | None = None,
    ) -> Outgoing:
        self._sent_responses += 1
        if nonce is None:
            nonce = f"{self._label}.{self._sent_responses}"
        state = self._types.setdefault(kind, _TypeState())
        state.newest = self._sent_responses
        state.nonces.append(nonce)
        state.unanswered[nonce] = version
        if len(state.unanswered) > _MOST_UNANSWERED:
            forgotten = next(iter(state.unanswered))
            del state.unanswered[forgotten]
            state.carried.pop(forgotten, None)
        return Outgoing(
            type_url=kind.type_url, version=version, nonce=nonce, resources=resources, fault=fault
        )


class _TypeState:
    """What a stream remembers about one type."""

    def __init__(self) -> None:
        self.subscription = Subscription()
        self.sent: dict[str, int] = {}
        self.nonces: deque[str] = deque(maxlen=2)  # the newest last
        self.newest = 0  # the number of the newest response, of all of the stream
        self.unanswered: dict[str, str] = {}
        # The names in each response, by its nonce, that the client may not have got yet.
        self.carried: dict[str, frozenset[str]] = {}

    @property
    def unprocessed(self) -> frozenset[str]:
        """All names in responses that the client may not have got yet."""
        return frozenset[str]().union(*self.carried.values())

    def processed(self, nonce: str) -> None:
        """Forget a response that is answered, and those before it: a client may answer the last."""
        if nonce in self.carried:
            nonces = list(self.carried)
            for earlier in nonces[: nonces.index(nonce) + 1]:
                del self.carried[earlier]
