"""Mutants of the clauses in override_host.toml."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.override_host import (
    HostChoice,
    choose_host,
    choose_host_a75,
    cookie_addresses,
)
from client_under_test.reference.session_affinity import Host, cookie_host
from client_under_test.reference.values import DRAINING, HEALTHY, UNKNOWN, Locality, State
from client_under_test.reference.xds.session_rules import override_host_status

VARIANT: Final = "session-affinity"


draining_for_all = Mutant(
    clause="A55-HOST-01",
    broken="the LB policy picks DRAINING endpoints",
    rules={"endpoints_for_child": tuple},
    variant=VARIANT,
)


draining_for_none = Mutant(
    clause="A55-HOST-02",
    broken="no session stays at a DRAINING endpoint",
    rules={
        "host_may_be_chosen": lambda health, statuses: health in statuses and health != DRAINING
    },
    variant=VARIANT,
)


draining_unlisted = Mutant(
    clause="A55-HOST-03",
    broken="sessions stay at a DRAINING endpoint, whatever override_host_status says",
    rules={"host_may_be_chosen": lambda health, statuses: health in statuses or health == DRAINING},
    variant=VARIANT,
)


draining_by_default = Mutant(
    clause="A55-HOST-03",
    broken="an unset override_host_status has DRAINING",
    xds={
        "override_host_status": lambda written: override_host_status(
            (UNKNOWN, HEALTHY, DRAINING) if written is None else written
        )
    },
    variant=VARIANT,
)


healthy_unlisted = Mutant(
    clause="A55-HOST-04",
    broken="sessions go to UNKNOWN and HEALTHY endpoints, whatever override_host_status says",
    rules={"host_may_be_chosen": lambda health, statuses: health in statuses or health != DRAINING},
    variant=VARIANT,
)


unknown_is_healthy = Mutant(
    clause="A55-HOST-04",
    broken="an UNKNOWN endpoint counts as HEALTHY",
    rules={
        "host_may_be_chosen": lambda health, statuses: (
            health in statuses or (health == UNKNOWN and HEALTHY in statuses)
        )
    },
    variant=VARIANT,
)


any_status = Mutant(
    clause="A55-HOST-05",
    broken="sessions stay at endpoints of any status in override_host_status",
    rules={
        "endpoints_for_child": lambda endpoints: tuple(
            each for each in endpoints if each.health in {UNKNOWN, HEALTHY}
        )
    },
    xds={
        "endpoint_is_used": lambda _health: True,
        "override_host_status": lambda written: frozenset(written or (UNKNOWN, HEALTHY)),
    },
    variant=VARIANT,
)


closed_while_draining = Mutant(
    clause="A55-HOST-06",
    broken="the connection to a DRAINING endpoint ends, and another one is made",
    rules={"keeps_connection": lambda _health, _was_used: False},
    variant=VARIANT,
)


removed_hosts = Mutant(
    clause="A55-HOST-07",
    broken="sessions stay at endpoints that EDS has removed",
    rules={
        "leaves_removed_hosts": False,
        "keeps_connection": lambda _health, _was_used: True,
    },
    variant=VARIANT,
)


idle_passed_over = Mutant(
    clause="A55-PICK-01",
    broken="the LB policy picks if the endpoint of a cookie is not connected",
    rules={
        "choose_host": lambda found: choose_host_a75(
            [each for each in found if each[1] not in {None, State.IDLE}]
        )
    },
    variant=VARIANT,
)


connecting_passed_over = Mutant(
    clause="A55-PICK-02",
    broken="the LB policy picks while the endpoint of a cookie connects",
    rules={
        "choose_host": lambda found: choose_host_a75(
            [each for each in found if each[1] is not State.CONNECTING]
        )
    },
    variant=VARIANT,
)


failed_waits = Mutant(
    clause="A55-PICK-03",
    broken="requests wait for an endpoint that has failed",
    rules={
        "choose_host": lambda found: (
            choose_host_a75(found) or (HostChoice(found[0][0], "wait") if found else None)
        )
    },
    variant=VARIANT,
)


without_locality = Mutant(
    clause="A55-PICK-04",
    broken="requests with a cookie count for a locality without a name",
    rules={"locality_for_load": lambda _locality: Locality()},
    variant=VARIANT,
)


within_the_priority = Mutant(
    clause="A75-SESSION-01",
    broken="sessions go to endpoints of the priority in use only",
    rules={"choose_host": choose_host},
    variant=VARIANT,
)


one_address = Mutant(
    clause="A61-SESSION-01",
    broken="a cookie has the used address of an endpoint only",
    rules={"cookie_addresses": cookie_addresses},
    variant=VARIANT,
)


def first_address(value: str) -> Host | None:
    """Read only the first address of a cookie."""
    host = cookie_host(value)
    return None if host is None else replace(host, addresses=host.addresses[:1])


first_address_of_cookie = Mutant(
    clause="A61-SESSION-02",
    broken="of the addresses in a cookie the first one counts",
    rules={"cookie_host": first_address},
    variant=VARIANT,
)
