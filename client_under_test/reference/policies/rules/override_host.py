"""Which endpoint the cookie of a request leads to, as rules of xds_override_host (A55, A75)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from client_under_test.reference.values import DRAINING, Endpoint, Locality, State


class HostChoice(msgspec.Struct, frozen=True):
    """What becomes of a request with a cookie: sent to an address, or queued until it connects."""

    address: str
    action: Literal["send", "connect", "wait"]


_ACTIONS: Final[tuple[tuple[State | None, Literal["send", "connect", "wait"]], ...]] = (
    (State.READY, "send"),
    (State.IDLE, "connect"),
    (State.CONNECTING, "wait"),
    (None, "connect"),
)


def choose_host_a75(found: Sequence[tuple[str, State | None]]) -> HostChoice | None:
    """A75: connect the host of a cookie even if the child policy has no subchannel to it.

    Clauses: A55-COOKIE-05, A55-PICK-01, A55-PICK-02, A55-PICK-03, A75-SESSION-01, A61-SESSION-02.

    Args:
        found: by address of the cookie, in its order: the state; None if there is no subchannel.
    """
    for wanted, action in _ACTIONS:
        for address, state in found:
            if state is wanted:
                return HostChoice(address, action)
    return None


def choose_host(found: Sequence[tuple[str, State | None]]) -> HostChoice | None:
    """A55: return what becomes of a request; None: the child policy picks."""
    return choose_host_a75([each for each in found if each[1] is not None])


def host_may_be_chosen(health: int, statuses: frozenset[int]) -> bool:
    """Return whether the health of an endpoint is in override_host_status.

    Clauses: A55-HOST-02, A55-HOST-03, A55-HOST-04.
    """
    return health in statuses


def endpoints_for_child(endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
    """Return the endpoints for the child policy (A55-HOST-01)."""
    return tuple(endpoint for endpoint in endpoints if endpoint.health != DRAINING)


def keeps_connection(health: int, _was_used: bool) -> bool:  # noqa: FBT001 - a state
    """A55: keep a connection that the child policy drops if the endpoint is DRAINING."""
    return health == DRAINING


def keeps_connection_a75(health: int, was_used: bool) -> bool:  # noqa: FBT001 - a state
    """A75: keep a connection that the child policy drops if a session has used it (A55-HOST-06)."""
    return was_used or health == DRAINING


def locality_for_load(locality: Locality) -> Locality:
    """Return the locality for which a request with a cookie counts (A55-PICK-04)."""
    return locality


def cookie_addresses(address: str, _addresses: Sequence[str]) -> tuple[str, ...]:
    """A55: a cookie has the used address of an endpoint."""
    return (address,)


def cookie_addresses_a61(address: str, addresses: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses of an endpoint as its cookie lists them (A61-SESSION-01)."""
    return (address, *(other for other in addresses if other != address))


@dataclass(frozen=True, kw_only=True)
class OverrideHostRules:
    """The rules of xds_override_host."""

    choose_host: Callable[[Sequence[tuple[str, State | None]]], HostChoice | None] = choose_host
    host_may_be_chosen: Callable[[int, frozenset[int]], bool] = host_may_be_chosen
    endpoints_for_child: Callable[[Sequence[Endpoint]], tuple[Endpoint, ...]] = endpoints_for_child
    leaves_removed_hosts: bool = True
    """A55-HOST-07: whether cookies lead to listed endpoints only."""
    keeps_connection: Callable[[int, bool], bool] = keeps_connection
    """Takes the health of the endpoint, and whether a session has used it."""
    locality_for_load: Callable[[Locality], Locality] = locality_for_load
    """Takes the locality of the endpoint of a cookie."""
    cookie_addresses: Callable[[str, Sequence[str]], tuple[str, ...]] = cookie_addresses
    """Takes the used address of an endpoint, and all of them."""
