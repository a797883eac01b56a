"""How this process of the reference client behaves: an edition, or a mutant of one.

`XDSPEC_REFERENCE_EDITION` names the edition (`seed`, `seed-2021`, `modern`, ...). A mutant is a
function from a `Behavior` to another one; `XDSPEC_REFERENCE_MUTANT` names it as `module:function`,
and the module is one that the process can import.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, cast

from client_under_test.reference.editions.editions import Rules, edition
from client_under_test.reference.xds.rules import XdsRules

EDITION_VARIABLE: Final = "XDSPEC_REFERENCE_EDITION"
MUTANT_VARIABLE: Final = "XDSPEC_REFERENCE_MUTANT"
DEFAULT_EDITION: Final = "modern"


@dataclass(frozen=True)
class Behavior:
    """All rules: of balancing, and of xDS."""

    rules: Rules
    xds: XdsRules


def of_edition(name: str) -> Behavior:
    """Return the rules of an edition.

    Raises:
        NoSuchEdition: there is none of that name.
    """
    rules = edition(name).rules
    shared = {field.name for field in fields(XdsRules)} & {field.name for field in fields(Rules)}
    return Behavior(rules, XdsRules(**{name: getattr(rules, name) for name in shared}))


def from_environment(environment: Mapping[str, str] = os.environ) -> Behavior:
    """Return the behavior that the environment selects.

    Raises:
        NoSuchEdition: there is none of that name.
        ImportError, AttributeError: there is no such mutant.
    """
    conduct = of_edition(environment.get(EDITION_VARIABLE, DEFAULT_EDITION))
    mutant = environment.get(MUTANT_VARIABLE)
    if not mutant:
        return conduct
    module, _, function = mutant.partition(":")
    return cast("Behavior", getattr(importlib.import_module(module), function)(conduct))
