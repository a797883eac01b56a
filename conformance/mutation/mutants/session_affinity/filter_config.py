"""Mutants of the clauses in filter_config.toml."""

from __future__ import annotations

from typing import Final

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.session_affinity import session_override

VARIANT: Final = "session-affinity"


any_state = Mutant(
    clause="A55-CONF-01",
    broken="a session_state of an unsupported type disables the filter",
    xds={"session_state_is_accepted": lambda _type_url: True},
    variant=VARIANT,
)


header_state = Mutant(
    clause="A55-CONF-01",
    broken="a HeaderBasedSessionState is accepted",
    xds={"session_state_is_accepted": lambda type_url: type_url.endswith("BasedSessionState")},
    variant=VARIANT,
)


nameless = Mutant(
    clause="A55-CONF-02",
    broken="a cookie without a name is accepted",
    xds={"cookie_name_is_accepted": lambda _name: True},
    variant=VARIANT,
)


negative_ttl = Mutant(
    clause="A55-CONF-03",
    broken="a negative ttl is accepted",
    xds={"cookie_ttl_is_accepted": lambda _seconds, _nanoseconds: True},
    variant=VARIANT,
)


negative_nanoseconds = Mutant(
    clause="A55-CONF-03",
    broken="negative nanoseconds of a ttl are accepted",
    xds={"cookie_ttl_is_accepted": lambda seconds, _nanoseconds: seconds >= 0},
    variant=VARIANT,
)


positive_ttl = Mutant(
    clause="A55-CONF-04",
    broken="a cookie without a positive ttl is rejected",
    xds={"cookie_ttl_is_accepted": lambda seconds, _nanoseconds: seconds > 0},
    variant=VARIANT,
)


of_the_listener = Mutant(
    clause="A55-CONF-05",
    broken="overrides are ignored",
    rules={"session_override": lambda _overrides, _name, top: top},
    variant=VARIANT,
)


never_disabled = Mutant(
    clause="A55-CONF-06",
    broken="an override that disables the filter is ignored",
    rules={
        "session_override": lambda overrides, name, top: next(
            (each[name] for each in overrides if each.get(name) is not None), top
        )
    },
    variant=VARIANT,
)


not_of_the_host = Mutant(
    clause="A55-CONF-07",
    broken="overrides of virtual hosts are ignored",
    rules={
        "session_override": lambda overrides, name, top: session_override(overrides[:-1], name, top)
    },
    variant=VARIANT,
)


of_the_host_first = Mutant(
    clause="A55-CONF-07",
    broken="the override of the virtual host comes before that of the route",
    rules={
        "session_override": lambda overrides, name, top: session_override(
            overrides[::-1], name, top
        )
    },
    variant=VARIANT,
)


overrides_unchecked = Mutant(
    clause="A55-CONF-08",
    broken="an override with an invalid cookie is accepted",
    xds={"checks_session_overrides": False},
    variant=VARIANT,
)
