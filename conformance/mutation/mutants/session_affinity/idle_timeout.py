"""Mutants of the clauses in idle_timeout.toml."""

from __future__ import annotations

from typing import Final

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.session_rules import idle_timeout_is_accepted

VARIANT: Final = "session-affinity"


any_upstream_config = Mutant(
    clause="A75-SESSION-02",
    broken="an upstream_config of another type is ignored",
    xds={"upstream_config_is_accepted": lambda _type_url: True},
    variant=VARIANT,
)


any_idle_timeout = Mutant(
    clause="A75-SESSION-03",
    broken="an idle_timeout out of range is accepted",
    xds={"idle_timeout_is_accepted": lambda _seconds, _nanoseconds: True},
    variant=VARIANT,
)


any_nanoseconds = Mutant(
    clause="A75-SESSION-03",
    broken="the nanoseconds of an idle_timeout are not checked",
    xds={
        "idle_timeout_is_accepted": lambda seconds, _nanoseconds: idle_timeout_is_accepted(
            seconds, 0
        )
    },
    variant=VARIANT,
)
