"""Define how a run includes a user who has the world of its scenario."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

import pytest

from conformance.judging.evidence import Record
from conformance.world import World
from conformance.world.pending_calls import CallDriver


class Interaction(ABC):
    """A pytest plugin through which a user steers a scenario, or has its world at the end."""

    @property
    @abstractmethod
    def driver(self) -> CallDriver | None:
        """Return who makes calls in place of the adapter; None if the adapter makes all calls."""

    @abstractmethod
    def wants(self, knobs: Mapping[str, int]) -> None:
        """Note the settings that the scenario requests of a client."""

    @abstractmethod
    def at(self, world: World, decide: Callable[[], Record]) -> AbstractAsyncContextManager[None]:
        """Give the user a world for the length of a block.

        Args:
            world: the world of the scenario.
            decide: returns the record of what is decided so far.
        """

    @abstractmethod
    def signed(self, record: Record) -> Record:
        """Return the record with a note of who made the calls."""

    @abstractmethod
    async def keep_up(self, record: Record) -> None:
        """Report the decisions, and keep the world up until the user is done."""


def interaction_of(config: pytest.Config) -> Interaction | None:
    """Return the plugin through which a user takes part in this run, if one does."""
    plugins = config.pluginmanager.get_plugins()
    return next((plugin for plugin in plugins if isinstance(plugin, Interaction)), None)
