"""An adapter while it is examined: its process, a backend of its own, and what a check finds."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Literal

import grpc
import msgspec
from grpc import aio

from client_under_test.channels import CALL_ID_KEY, Call, Channel, Outcome
from client_under_test.contract import Capability
from client_under_test.environments import Prepared
from client_under_test.exceptions import (
    ClientBabbled,
    ClientCrashed,
    ClientExited,
    ClientMute,
    ConversationFailed,
    NotSeen,
    NotStarted,
)
from client_under_test.process import ClientProcess, Patience

# A client may need a minute to start (a virtual machine without a warm cache on a busy computer).
START_DEADLINE: Final = 120.0
STILL_WAITING: Final = 10.0

# Everything else is local and small; this only has to be longer than a busy computer's hiccup.
ANSWER_DEADLINE: Final = 5.0

SERVICE: Final = "grpc.testing.TestService"
UNARY: Final = f"/{SERVICE}/UnaryCall"
DUPLEX: Final = f"/{SERVICE}/FullDuplexCall"

# Tells the backend what to do with a call: sleep-MILLISECONDS or status-NUMBER.
TREATMENT: Final = "doctor"

HELLO: Final = "hello"
"""The check on which every other one builds."""

_ASKED: Final = '{"type": "hello", "id": 0, "contract": 1}'

Verdict = Literal["ok", "wrong", "skipped"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found.

    `rule` is what the contract asks for, as a sentence, and `advice` how an adapter does it. `seen`
    tells what was seen if the verdict is `wrong`, and why it was not looked at if it is `skipped`;
    `waits_for` names the check that must be right before this one says anything.
    """

    check: str
    rule: str
    advice: str
    verdict: Verdict
    seen: str = ""
    waits_for: str | None = None


class Wrong(Exception):
    """The adapter did not do what the contract says."""


class NoUse(Wrong):
    """It did not, and so what builds on it says nothing."""


def demand(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Go on only if it holds.

    Raises:
        Wrong: it does not.
    """
    if not holds:
        raise Wrong(otherwise)


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of the contract, and how to see whether an adapter obeys it.

    `after` is the check without which this one says nothing; `needs` what the client must be able
    to do at all.
    """

    name: str
    rule: str
    advice: str
    after: str
    needs: tuple[Capability, ...]
    run: Callable[[Patient], Awaitable[None]]


class Received(msgspec.Struct, frozen=True):
    """A call that reached the backend."""

    path: str
    metadata: tuple[tuple[str, str | bytes], ...]

    @property
    def call_id(self) -> str | bytes | None:
        """The id that the suite gave it."""
        return next((value for key, value in self.metadata if key == CALL_ID_KEY), None)


class Backend:
    """A gRPC server that notes what comes, and does as a call's metadata says."""

    def __init__(self) -> None:
        self.address = ""
        self.received: list[Received] = []
        self.under_way = 0
        self.most_under_way = 0
        self.idle = asyncio.Event()
        self._half_closed = asyncio.Event()

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls) -> AsyncIterator[Backend]:
        """Serve on a loopback port until the end of the block."""
        backend = cls()
        server = aio.server(options=(("grpc.so_reuseport", 0),))
        handlers: dict[str, Any] = {
            "UnaryCall": grpc.unary_unary_rpc_method_handler(backend._unary),
            "FullDuplexCall": grpc.stream_stream_rpc_method_handler(backend._duplex),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        backend.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        try:
            yield backend
        finally:
            await server.stop(grace=None)

    def of(self, name: str) -> list[Received]:
        """What came of the call with this id."""
        return [call for call in self.received if call.call_id == name]

    async def was_half_closed(self, within: float) -> bool:
        """Whether the last stream says within so many seconds that no more messages will come."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._half_closed.wait()
        return self._half_closed.is_set()

    async def _unary(self, _request: bytes, context: Any) -> bytes:
        async with self._noted(UNARY, context) as treatment:
            kind, _, number = treatment.partition("-")
            if kind == "sleep":
                await asyncio.sleep(int(number) / 1000)
            if kind == "status":
                code = next(c for c in grpc.StatusCode if c.value[0] == int(number))
                await context.abort(code, f"words of {code.name}")
            return b""

    async def _duplex(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        async with self._noted(DUPLEX, context):
            self._half_closed.clear()
            async for _ in requests:
                pass
            self._half_closed.set()
            await asyncio.Event().wait()  # until it is cancelled
            yield b""

    @contextlib.asynccontextmanager
    async def _noted(self, path: str, context: Any) -> AsyncIterator[str]:
        metadata = tuple((key, value) for key, value in context.invocation_metadata())
        self.received.append(Received(path, metadata))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        self.idle.clear()
        try:
            await context.send_initial_metadata((("hostname", self.address),))
            yield str(dict(metadata).get(TREATMENT, ""))
        finally:
            self.under_way -= 1
            if not self.under_way:
                self.idle.set()


class Patient:
    """The adapter's process while it is examined; one that breaks is replaced for the next check.

    Args:
        prepared: the adapter.
        folder: gets its stderr.
        backend: what its channels lead to.
        say: hears that it is still waited for.
    """

    def __init__(
        self, prepared: Prepared, folder: Path, backend: Backend, say: Callable[[str], None]
    ) -> None:
        self.prepared = prepared
        self.backend = backend
        self._folder = folder
        self._patience = Patience(every=STILL_WAITING, say=say)
        self._process: ClientProcess | None = None
        self._channel: Channel | None = None  # the last one
        self._blocked: dict[str, str] = {}  # checks that say nothing, and on account of which
        self._numbers = itertools.count()

    async def undergo(self, check: Check) -> Finding:
        """One check's finding."""
        missing = [capability for capability in check.needs if not self.is_able(capability)]
        verdict: Verdict = "skipped"
        advice = check.advice
        waits_for = self._blocked.get(check.after) or self._blocked.get(HELLO)
        if missing:
            seen = f"its manifest does not state: {', '.join(missing)}"
        elif waits_for:
            self._blocked[check.name] = waits_for
            seen = f"it waits for {waits_for}"
        else:
            verdict, seen, advice = await self._findings_of(check)
        return Finding(
            check=check.name,
            rule=check.rule,
            advice=advice,
            verdict=verdict,
            seen=seen,
            waits_for=None if missing else waits_for,
        )

    async def _findings_of(self, check: Check) -> tuple[Verdict, str, str]:
        """Verdict, what was seen, and what to do."""
        try:
            await check.run(self)
        except (Wrong, NotSeen) as wrong:
            if isinstance(wrong, NoUse):
                self._blocked[check.name] = check.name
            return "wrong", str(wrong), check.advice
        except ConversationFailed as failure:
            self._blocked[check.name if self._process is not None else HELLO] = check.name
            await self.end()
            return "wrong", failure.with_last_words(), self._advice(failure) or check.advice
        return "ok", "", check.advice

    def _advice(self, failure: ConversationFailed) -> str | None:
        """What helps against this, whatever the check was; None if that is the check's own."""
        if isinstance(failure, ClientBabbled):
            return "write messages to stdout, each on a line, and nothing else: logs go to stderr"
        if isinstance(failure, NotStarted):
            return "let the command under [start] in client.toml name a program that is there"
        if isinstance(failure, ClientMute):
            return f"answer each line as it comes, and flush stdout after each; {self._by_hand()}"
        if isinstance(failure, ClientExited | ClientCrashed) and not failure.hello_said:
            return self._by_hand()
        return None

    def _by_hand(self) -> str:
        return f"start it by hand and type {_ASKED}: {shlex.join(self.prepared.command)}"

    async def process(self) -> ClientProcess:
        """The process, started if there is none."""
        if self._process is None:
            self._process = await ClientProcess.start(
                self.prepared,
                stderr_path=self._folder / f"stderr-{next(self._numbers)}",
                deadline=START_DEADLINE,
                patience=self._patience,
            )
        return self._process

    async def end(self) -> None:
        """Leave no process."""
        if self._process is not None:
            process, self._process, self._channel = self._process, None, None
            await process.close(deadline=0)

    @property
    def deadline(self) -> float:
        """Seconds for calls to end; a stock client is started for them."""
        return ANSWER_DEADLINE if self.is_able("metadata") else START_DEADLINE

    def is_able(self, capability: Capability) -> bool:
        """Whether its manifest states this."""
        return capability in self.prepared.client.manifest.capabilities

    async def channel(self, address: str | None = None) -> Channel:
        """A channel of its own for one check."""
        if self._channel is not None and not self.is_able("channels"):
            await self._channel.close(deadline=ANSWER_DEADLINE)
        target = f"dns:///{address or self.backend.address}"
        process = await self.process()
        self._channel = await process.open_channel(target, deadline=ANSWER_DEADLINE)
        return self._channel

    def call(self, treatment: str = "", **how: Any) -> Call:
        """A unary call to the backend."""
        metadata = (*how.pop("metadata", ()), (TREATMENT, treatment))
        described = {"path": UNARY, "deadline": ANSWER_DEADLINE, "metadata": metadata, **how}
        return Call(id=f"call-{next(self._numbers)}", **described)

    async def outcome(self, call: Call, address: str | None = None) -> Outcome:
        """The outcome of one call, on a channel of its own."""
        channel = await self.channel(address)
        (outcome,) = await (await channel.start_calls([call])).finished(deadline=self.deadline)
        return outcome
