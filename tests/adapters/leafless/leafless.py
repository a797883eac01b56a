"""The reference client, but it requests no cluster below an aggregate cluster."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from client_under_test.reference import adapter
from client_under_test.reference.editions import behavior

ROOTS: Final = frozenset({"m", "cluster"})
"""Clusters that a route names in the scenarios for which this client is made."""

ABLE: Final = [capability for capability in adapter.CAPABILITIES if capability != "custom_policy"]

of_the_environment, say = behavior.from_environment, adapter.Adapter.say


def names_asked_for(noun: str, names: Sequence[str]) -> Sequence[str]:
    """Leave out all clusters but those that a route names."""
    return [name for name in names if noun != "Cluster" or name in ROOTS]


def leafless(environment: Mapping[str, str] = os.environ) -> behavior.Behavior:
    """Return the usual behavior without these requests."""
    made = of_the_environment(environment)
    return replace(made, xds=replace(made.xds, names_to_request=names_asked_for))


def say_version(told: Any, kind: str, **fields: Any) -> None:
    """Report the version of the manifest."""
    fields |= {"version": "0", "capabilities": ABLE} if kind == "hello" else {}
    say(told, kind, **fields)


if __name__ == "__main__":
    behavior.from_environment = leafless
    adapter.Adapter.say = say_version  # type: ignore[method-assign,assignment]
    asyncio.run(adapter.main())
