"""The policy that the suite has registered: it picks an endpoint by its number (contract.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from client_under_test.reference.policies.configs import PickFirstConfig
from client_under_test.reference.policies.family import RegisteredConfig, Tools
from client_under_test.reference.policies.interface import Actions, Event, Policy, Update
from client_under_test.reference.policies.pick_first import PickFirst
from client_under_test.reference.policies.registry import BadConfig
from client_under_test.reference.values import Endpoint, HierarchicalPath

Tell = Callable[[int, Mapping[str, Any], tuple[Endpoint, ...]], None]
"""Receives each update: the instance's number, its config as received, all endpoints."""


class NumberConfig(RegisteredConfig, frozen=True, kw_only=True):
    """Whose calls go to the endpoint of that number. `fields`: all that the parser was given."""

    fields: Mapping[str, Any]
    endpoint: int
    tell: Tell
    numbers: Iterator[int]

    def make(self, tools: Tools, place: HierarchicalPath) -> Policy:
        """Make the next instance."""
        return _EndpointByNumber(tools, place, next(self.numbers))


def parser(
    name: str, numbers: Iterator[int], tell: Tell
) -> Callable[[Mapping[str, Any]], NumberConfig]:
    """Return the parser to register the policy with; `numbers` numbers the instances."""

    def parse(fields: Mapping[str, Any]) -> NumberConfig:
        endpoint = fields.get("endpoint", 0)
        is_number = isinstance(endpoint, int | float) and not isinstance(endpoint, bool)
        if not is_number or not endpoint >= 0 or endpoint % 1:
            raise BadConfig("endpoint", f"{endpoint!r} is no whole number from 0 on")
        return NumberConfig(
            name=name, fields=fields, endpoint=int(endpoint), tell=tell, numbers=numbers
        )

    return parse


class _EndpointByNumber:
    """Hands one endpoint to pick_first, whose state and picks it passes on."""

    def __init__(self, tools: Tools, place: HierarchicalPath, number: int) -> None:
        self._number: Final = number
        self._below = PickFirst(tools, place)

    def update(self, update: Update) -> Actions:
        """Tell of it first, then act."""
        config, endpoints = update.config, update.endpoints
        if not isinstance(config, NumberConfig):
            raise TypeError(config)
        config.tell(self._number, config.fields, endpoints)
        chosen = endpoints[config.endpoint % len(endpoints) :][:1] if endpoints else ()
        return self._below.update(
            msgspec.structs.replace(update, config=PickFirstConfig(), endpoints=chosen)
        )

    def handle(self, event: Event) -> Actions:
        """Hand it on."""
        return self._below.handle(event)

    def exit_idle(self) -> Actions:
        """Connect, if IDLE."""
        return self._below.exit_idle()

    def close(self) -> Actions:
        """Drop everything."""
        return self._below.close()
