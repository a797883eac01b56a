"""Which routes a channel uses: those that its Listener holds, or a RouteConfiguration (A27)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from client_under_test.reference.values import Status
from client_under_test.reference.xds.ads import Absent, Outcome
from client_under_test.reference.xds.resources.values import Resource, RouteConfiguration

Source = str | RouteConfiguration
"""What a Listener says about its routes: their name, or themselves."""


def routes_of_listener(now: Source, _before: Source | None) -> Source:
    """A27: use what the newest version of the Listener says.

    Clauses: A27-LDS-01, A27-LDS-02, A27-LDS-03.
    """
    return now


def resource_or_status(_noun: str, outcome: Outcome | None) -> Resource | Status | None:
    """Fail requests while a resource is missing or invalid; None: wait for it.

    Clauses: A27-LDS-07, A27-LDS-08, A27-LDS-10, A27-LDS-11, A27-RDS-02, A27-RDS-03, A27-RDS-05,
    A27-RDS-06.
    """
    return outcome.status if isinstance(outcome, Absent) else outcome


def unsubscribes_from_routes(_name: str) -> bool:
    """Unsubscribe from a RouteConfiguration that the Listener does not name any more.

    Clauses: A27-LDS-04.
    """
    return True


@dataclass(frozen=True, kw_only=True)
class ListenerRules:
    """The rules for following a Listener to its routes."""

    routes_of_listener: Callable[[Source, Source | None], Source] = routes_of_listener
    """Takes what the Listener says about its routes, and what was used before; None: nothing."""
    resource_or_status: Callable[[str, Outcome | None], Resource | Status | None] = (
        resource_or_status
    )
    """Takes the short name of a message, and what is known of the resource."""
    unsubscribes_from_routes: Callable[[str], bool] = unsubscribes_from_routes
    """Takes the name of a RouteConfiguration that the Listener does not name any more."""
    keeps_routes_until_others_come: bool = True
    """A74-CONFIG-08: whether routes stay in use until the RouteConfiguration of a new name came."""
