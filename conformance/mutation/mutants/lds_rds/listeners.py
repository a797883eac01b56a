"""Mutants of the clauses in listeners.toml."""

from collections.abc import Callable, Sequence
from typing import Any

from envoy.config.route.v3 import route_pb2

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.resolving.listener_rules import Source, resource_or_status
from client_under_test.reference.values import Status
from client_under_test.reference.xds.ads import Absent, Outcome
from client_under_test.reference.xds.resources.values import Resource
from client_under_test.reference.xds.rules import requested_name

LISTENER, ROUTES = "Listener", "RouteConfiguration"


def source(is_kept: Callable[[Source, Source], bool]) -> dict[str, object]:
    """Return the rule of a client that keeps what it used before in some updates."""
    return {
        "routes_of_listener": lambda now, before: (
            now if before is None or not is_kept(now, before) else before
        )
    }


def is_name(routes: Source) -> bool:
    """Return whether a Listener names its routes."""
    return isinstance(routes, str)


first_inline_routes = Mutant(
    clause="A27-LDS-01",
    broken="an update of inline routes is ignored",
    rules=source(lambda now, before: not is_name(now) and not is_name(before)),
)


by_name_for_good = Mutant(
    clause="A27-LDS-02",
    broken="a client that subscribed to a RouteConfiguration uses no inline routes",
    rules=source(lambda now, before: not is_name(now) and is_name(before)),
)


inline_for_good = Mutant(
    clause="A27-LDS-02",
    broken="a client with inline routes subscribes to no RouteConfiguration",
    rules=source(lambda now, before: is_name(now) and not is_name(before)),
)


first_name_for_good = Mutant(
    clause="A27-LDS-03",
    broken="a client stays with the first RouteConfiguration that its Listener names",
    rules=source(lambda now, before: is_name(now) and is_name(before)),
)


never_left = Mutant(
    clause="A27-LDS-04",
    broken="the client never unsubscribes from a RouteConfiguration",
    rules={"unsubscribes_from_routes": lambda _name: False},
)


def last_route_asked_for() -> Callable[[str, Sequence[str]], Sequence[str]]:
    """Stay subscribed to the last RouteConfiguration."""
    last: list[Sequence[str]] = []

    def names(noun: str, wanted: Sequence[str]) -> Sequence[str]:
        if noun != ROUTES:
            return wanted
        if wanted:
            last[:] = [wanted]
        return last[0] if last else wanted

    return names


last_one_stays = Mutant(
    clause="A27-LDS-04",
    broken="the client does not unsubscribe from its only RouteConfiguration",
    xds={"names_to_request": last_route_asked_for()},
)


def taken(kind: str, change: Callable[[str], str]) -> dict[str, object]:
    """Return the rule of a client for which `change` makes names of a kind equal."""

    def taken_for(noun: str, name: str, wanted: Sequence[str]) -> str | None:
        if noun != kind:
            return requested_name(noun, name, wanted)
        return next((own for own in wanted if change(own) == change(name)), None)

    return {"requested_name": taken_for}


CHANGES: dict[str, Callable[[str], str]] = {
    "any": lambda _name: "",
    "case": str.casefold,
    "blank": str.strip,
    "beginning": lambda name: name[:4],
}


any_listener = Mutant(
    clause="A27-LDS-05",
    broken="each Listener of a response is used",
    xds=taken(LISTENER, CHANGES["any"]),
)


listeners_without_case = Mutant(
    clause="A27-LDS-05",
    broken="names of Listeners that differ only in case are equal",
    xds=taken(LISTENER, CHANGES["case"]),
)


listeners_without_blanks = Mutant(
    clause="A27-LDS-05",
    broken="spaces around the name of a Listener are ignored",
    xds=taken(LISTENER, CHANGES["blank"]),
)


any_routes = Mutant(
    clause="A27-RDS-01",
    broken="each RouteConfiguration of a response is used",
    xds=taken(ROUTES, CHANGES["any"]),
)


routes_without_case = Mutant(
    clause="A27-RDS-01",
    broken="names of RouteConfigurations that differ only in case are equal",
    xds=taken(ROUTES, CHANGES["case"]),
)


routes_by_their_beginning = Mutant(
    clause="A27-RDS-01",
    broken="names of RouteConfigurations with the same beginning are equal",
    xds=taken(ROUTES, CHANGES["beginning"]),
)


listener_stays = Mutant(
    clause="A27-LDS-06",
    broken="a Listener that a response leaves out stays in use",
    xds={"omission_deletes": lambda noun: noun == "Cluster"},
)


listener_is_dropped = Mutant(
    clause="A27-LDS-06",
    broken="a deleted Listener is dropped, although A88 keeps it",
    xds={"deletion_removes": lambda _features: True},
    variant="data-errors",
)


def once(kind: str, counts: Callable[[Absent], bool]) -> dict[str, object]:
    """Return the rule of a client that fails for good after this absence of a resource."""
    lost: list[Absent] = []

    def known(noun: str, outcome: Outcome | None) -> Resource | Status | None:
        if noun == kind and isinstance(outcome, Absent) and counts(outcome):
            lost.append(outcome)
        return resource_or_status(noun, lost[0] if noun == kind and lost else outcome)

    return {"resource_or_status": known}


def waits(kind: str, counts: Callable[[Absent], bool]) -> dict[str, object]:
    """Return the rule of a client whose requests wait in this absence of a resource."""

    def known(noun: str, outcome: Outcome | None) -> Resource | Status | None:
        is_meant = noun == kind and isinstance(outcome, Absent) and counts(outcome)
        return resource_or_status(noun, None if is_meant else outcome)

    return {"resource_or_status": known}


def is_gone(absent: Absent) -> bool:
    """Return whether a resource does not exist."""
    return absent.is_gone


def is_bad(absent: Absent) -> bool:
    """Return whether a resource was rejected."""
    return not absent.is_gone


listener_gone_for_good = Mutant(
    clause="A27-LDS-07",
    broken="a Listener that did not exist is never used",
    rules=once(LISTENER, is_gone),
)


bad_listener_waited_for = Mutant(
    clause="A27-LDS-08",
    broken="requests wait if the first Listener is rejected",
    rules=waits(LISTENER, is_bad),
)


bad_listener_drops_the_good = Mutant(
    clause="A27-LDS-09",
    broken="a Listener is dropped when an update of it is rejected",
    xds={"rejection_removes": lambda noun, _features: noun == LISTENER},
)


missing_listener_waited_for = Mutant(
    clause="A27-LDS-10",
    broken="requests wait for a Listener that does not exist",
    rules=waits(LISTENER, is_gone),
)


bad_listener_for_good = Mutant(
    clause="A27-LDS-11",
    broken="after a rejected Listener no valid one is used",
    rules=once(LISTENER, is_bad),
)


bad_routes_waited_for = Mutant(
    clause="A27-RDS-02",
    broken="requests wait if the first RouteConfiguration is rejected",
    rules=waits(ROUTES, is_bad),
)


bad_routes_for_good = Mutant(
    clause="A27-RDS-03",
    broken="after a rejected RouteConfiguration no valid one is used",
    rules=once(ROUTES, is_bad),
)


bad_routes_drop_the_good = Mutant(
    clause="A27-RDS-04",
    broken="a RouteConfiguration is dropped when an update of it is rejected",
    xds={"rejection_removes": lambda noun, _features: noun == ROUTES},
)


def valid_routes(message: Any) -> Any:
    """Return a rejected RouteConfiguration without the routes that match nothing."""
    if not isinstance(message, route_pb2.RouteConfiguration):
        return None
    for host in message.virtual_hosts:
        valid = [route for route in host.routes if route.match.WhichOneof("path_specifier")]
        del host.routes[:]
        host.routes.extend(valid)
    return message


rest_of_bad_routes = Mutant(
    clause="A27-RDS-04",
    broken="the valid routes of a rejected RouteConfiguration are used",
    xds={"usable_part_of_rejected": valid_routes},
)


missing_routes_waited_for = Mutant(
    clause="A27-RDS-05",
    broken="requests wait for a RouteConfiguration that does not exist",
    rules=waits(ROUTES, is_gone),
)


routes_gone_for_good = Mutant(
    clause="A27-RDS-06",
    broken="a RouteConfiguration that did not exist is never used",
    rules=once(ROUTES, is_gone),
)


fails_until_the_routes_come = Mutant(
    clause="A74-CONFIG-08",
    broken="requests fail until the RouteConfiguration of a new name came",
    rules={"keeps_routes_until_others_come": False},
)
