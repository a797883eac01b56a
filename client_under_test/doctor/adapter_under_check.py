"""An adapter while it is examined: its process, and channels and calls to the doctor's backend."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from client_under_test.contract.exceptions import ConversationFailed
from client_under_test.contract.messages import Capability
from client_under_test.doctor.backend import TREATMENT, UNARY, Backend
from client_under_test.doctor.deadlines import ANSWER_DEADLINE, START_DEADLINE, STILL_WAITING
from client_under_test.doctor.exchange import Exchange
from client_under_test.environments import Prepared
from client_under_test.launching.channels import Call, Channel, Outcome
from client_under_test.launching.process import ClientProcess, Patience


class AdapterUnderCheck:
    """The adapter's process while it is examined; one that breaks is replaced for the next check.

    Args:
        prepared: the adapter.
        folder: gets its stderr, and what else a check needs.
        backend: what its channels lead to.
        say: hears that it is still waited for.
    """

    def __init__(
        self, prepared: Prepared, folder: Path, backend: Backend, say: Callable[[str], None]
    ) -> None:
        self.prepared = prepared
        self.backend = backend
        self.folder = folder
        self.exchange = Exchange()
        self.library = ""
        """The name of the library in the last hello."""
        self._patience = Patience(every=STILL_WAITING, say=say)
        self._process: ClientProcess | None = None
        self._channel: Channel | None = None  # the last one
        self._numbers = itertools.count()

    @property
    def is_running(self) -> bool:
        """Return whether the process is running."""
        return self._process is not None

    async def replaced(self, within: Sequence[str]) -> None:
        """Have another process from now on, started behind this command, as of `private_names`."""
        await self.end()
        await self.process(within)

    async def process(self, within: Sequence[str] = ()) -> ClientProcess:
        """Return the process; start it if it is not running."""
        if self._process is None:
            self._process = await ClientProcess.start(
                self.prepared,
                stderr_path=self.folder / f"stderr-{next(self._numbers)}",
                deadline=START_DEADLINE,
                within=within,
                patience=self._patience,
                as_stated=False,  # a check of its own
            )
            self._process.dialogue.log = self.exchange
            self.library = self._process.hello.name
        return self._process

    async def end(self) -> None:
        """Leave no process."""
        if self._process is not None:
            process, self._process, self._channel = self._process, None, None
            await process.close(deadline=0)

    async def is_deaf(self) -> bool:
        """Return whether the adapter reads no request while its calls run.

        It is asked for half the deadline: later its calls may have ended by their own deadline.
        """
        if self._process is None or not self._process.dialogue.has_calls:
            return False
        try:
            async with asyncio.timeout(ANSWER_DEADLINE / 2):
                await self._process.dialogue.say_hello()
        except TimeoutError:
            return True
        except ConversationFailed:
            return False
        return False

    @property
    def deadline(self) -> float:
        """Seconds for calls to end; a stock client is started for them."""
        return ANSWER_DEADLINE if self.is_able("metadata") else START_DEADLINE

    def is_able(self, capability: Capability) -> bool:
        """Return whether the manifest declares a capability."""
        return capability in self.prepared.client.manifest.capabilities

    async def channel(
        self, address: str | None = None, service_config: str | None = None
    ) -> Channel:
        """Open a new channel for one check."""
        if self._channel is not None and not self.is_able("channels"):
            await self._channel.close(deadline=ANSWER_DEADLINE)
        target = f"dns:///{address or self.backend.address}"
        process = await self.process()
        self._channel = await process.open_channel(
            target, deadline=ANSWER_DEADLINE, service_config=service_config
        )
        return self._channel

    def call(self, treatment: str = "", **how: Any) -> Call:
        """Return a unary call to the backend."""
        metadata = (*how.pop("metadata", ()), (TREATMENT, treatment))
        described = {"path": UNARY, "deadline": ANSWER_DEADLINE, "metadata": metadata, **how}
        return Call(id=f"call-{next(self._numbers)}", **described)

    async def outcome(self, call: Call, address: str | None = None) -> Outcome:
        """Return the outcome of one call on a new channel."""
        channel = await self.channel(address)
        (outcome,) = await (await channel.start_calls([call])).finished(deadline=self.deadline)
        return outcome
