"""Policies that a client has registered as the suite asked, and the updates they are given."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

import msgspec

from client_under_test.contract.exceptions import NotSeen
from client_under_test.contract.messages import Answer, PolicyUpdate
from client_under_test.launching.protocol import StdioProtocol


class Updated(msgspec.Struct, frozen=True, kw_only=True):
    """What an instance of the policy was given, as the adapter says.

    `config` is JSON text; an endpoint is the tuple of its addresses.
    """

    instance: int
    config: str
    endpoints: tuple[tuple[str, ...], ...]
    at: float

    def value(self) -> Any:
        """Return the config as a JSON value whose numbers are doubles, as in a protobuf Struct.

        Raises:
            ValueError: the text is no JSON.
        """
        return json.loads(self.config, parse_int=float)


class RegisteredPolicy:
    """A policy in the client's registry."""

    def __init__(self, dialogue: StdioProtocol, number: int, name: str) -> None:
        self.name: Final = name
        self._dialogue = dialogue
        self._updates: list[Updated] = []
        dialogue.listen_to_policy(number, self._take)

    @property
    def updates(self) -> tuple[Updated, ...]:
        """The updates so far, oldest first."""
        return tuple(self._updates)

    async def updated(
        self, fits: Callable[[Updated], bool], *, deadline: float, since: int = 0
    ) -> Updated:
        """Wait for the first update that fits, from index `since` of `updates` on.

        Raises:
            NotSeen: none came within `deadline` seconds.
            ConversationFailed: as it says.
        """

        def first() -> Updated | None:
            return next((update for update in self._updates[since:] if fits(update)), None)

        try:
            async with asyncio.timeout(deadline):
                await self._dialogue.until(lambda: first() is not None)
        except TimeoutError:
            raise NotSeen(
                f"no such update of {self.name} came within {deadline:g} s, "
                f"but {len(self._updates) - since} others"
            ) from None
        found = first()
        assert found is not None, "waited for"
        return found

    def _take(self, answer: Answer) -> None:
        if isinstance(answer, PolicyUpdate):
            self._updates.append(
                Updated(
                    instance=answer.instance,
                    config=answer.config,
                    endpoints=answer.endpoints,
                    at=self._dialogue.clock.to_suite(answer.at),
                )
            )
