"""A stock xDS interop client: its process, and the two services that steer it and ask it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import socket
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import grpc
from grpc import aio

from client_under_test.adapters.interop import stats_pb2

METHODS: Final = {
    "/grpc.testing.TestService/EmptyCall": ("EmptyCall", "EMPTY_CALL"),
    "/grpc.testing.TestService/UnaryCall": ("UnaryCall", "UNARY_CALL"),
}
"""What such a client can call: the name in its flags, and in its services."""

PARENT_DEATH: Final = Path(__file__).parents[2] / "launching" / "parent_death.py"

# The service is refused until the client has started; gRPC's own second between attempts is long.
CHANNEL_OPTIONS: Final = (
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 50),
    ("grpc.enable_http_proxy", 0),
)

LONGEST: Final = 3600  # seconds of a wait that the suite ends itself; Node counts them in 31 bits

WARMING: Final = 15
"""Seconds for a first call, whose result is ignored: on a virtual machine it takes long."""

LOOKS: Final = 4
"""Number of reads of the failed calls' statuses until they must be equal."""

DYING: Final = 2.0  # seconds from the end of its connections to that of its process, at most

STATUSES: Final = {code.value[0]: code.name for code in grpc.StatusCode}

Pairs = tuple[tuple[str, str], ...]
Made = tuple[str, str | None]
"""The result of a call: its status, and the backend that answered."""


class Unfit(Exception):
    """The program is no stock client, or cannot do what the suite requested; one sentence."""


class StockClient:
    """One process of the program, with one channel to one target.

    Args:
        command: the program and the arguments of the user's own.
        target: what its channel is for.
        rate: calls in a second.
    """

    def __init__(self, command: Sequence[str], target: str, rate: int) -> None:
        self._holder = socket.socket()  # reserves the port: bound, not listening
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._holder.bind(("127.0.0.1", 0))
        port = self._holder.getsockname()[1]
        flags = (f"--server={target}", f"--stats_port={port}", f"--qps={rate}", "--num_channels=1")
        self._command = (*command, *flags)
        self._services = aio.insecure_channel(f"ipv4:127.0.0.1:{port}", options=CHANNEL_OPTIONS)
        self._process: asyncio.subprocess.Process | None = None
        self._ending: asyncio.Task[int] | None = None
        self._kind = "UNARY_CALL"
        self._counted: dict[str, Counter[str]] = {}

    async def turn_to(self, path: str, metadata: Pairs, deadline: int) -> None:
        """Make the client send these calls, and no others, until the next configuration.

        Args:
            path: one of METHODS.
            metadata: of every call.
            deadline: whole seconds.

        Raises:
            Unfit: it is no stock client.
        """
        flag, self._kind = METHODS[path]
        if self._process is None:
            await self._start(flag, metadata)
            await self._served(1, at_most=WARMING)
            self._counted[self._kind] = await self._statuses()
        await self._configure([self._kind], metadata, deadline)

    async def made(self, count: int) -> list[Made]:
        """Return the results of `count` calls, in any order.

        The first call is skipped: in Java, a delayed thread may still send it with the previous
        configuration.
        """
        await self._served(1)
        made: list[Made] = [("OK", host) for host in await self._served(count)]
        if len(made) > count:
            raise Unfit(
                f"its stats service reported {len(made)} calls, but the bridge asked for {count}"
            )
        return made + [(status, None) for status in await self._failures(count - len(made))]

    async def rest(self) -> None:
        """Have it make no more calls."""
        await self._configure([], (), 0)

    async def end(self) -> None:
        """End the process."""
        if self._ending is not None:
            self._ending.remove_done_callback(_end_likewise)
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        await self._services.close()
        self._holder.close()

    async def _start(self, flag: str, metadata: Pairs) -> None:
        """Start the process: what it calls at first is what is wanted first, if flags can say so.

        Raises:
            Unfit: it cannot be started, or ends before its services answer.
        """
        said = [f"{flag}:{k}:{v}" for k, v in metadata if v and not {",", ":"} & set(k + v)]
        flags = (f"--rpc={flag}", *([f"--metadata={','.join(said)}"] if said else []))
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(PARENT_DEATH), str(os.getpid())),
            *(*self._command, *flags),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=sys.stderr,
        )
        ending = asyncio.create_task(self._process.wait())
        answering = asyncio.create_task(self._statuses(wait_for_ready=True))
        await asyncio.wait((ending, answering), return_when=asyncio.FIRST_COMPLETED)
        if ending.done():
            answering.cancel()
            raise Unfit(
                f"{shlex.join(self._command)} ended with {_ending(ending.result())} before its "
                "stats service answered: is it an xDS interop client?"
            )
        await answering
        self._ending = ending
        self._ending.add_done_callback(_end_likewise)

    async def _configure(self, types: Sequence[str], metadata: Pairs, deadline: int) -> None:
        request = stats_pb2.ClientConfigureRequest(types=types, timeout_sec=deadline)
        for kind in types:
            for key, value in metadata:
                request.metadata.add(type=kind, key=key, value=value)
        await self._ask("XdsUpdateClientConfigureService/Configure", request, None)

    async def _failures(self, count: int) -> list[str]:
        """Return the statuses of `count` failed calls.

        The service counts the statuses of all calls. If the counts of several statuses have grown,
        some calls may belong to the previous batch; then wait for a few more calls of this batch.
        """
        fresh: Counter[str] = Counter()
        for _ in range(LOOKS if count else 0):
            now = await self._statuses()
            fresh = (now - self._counted.get(self._kind, Counter())) or fresh
            self._counted[self._kind] = now
            if len(fresh) == 1:
                break
            await self._served(count)
        each = sorted(fresh.elements()) or ["UNKNOWN"]
        return [each[turn * len(each) // count] for turn in range(count)]

    async def _served(self, count: int, *, at_most: int = LONGEST) -> list[str]:
        """Return the backends that answered the next `count` calls, without the failed calls.

        Waits `at_most` seconds.
        """
        heard = await self._ask(
            "LoadBalancerStatsService/GetClientStats",
            stats_pb2.LoadBalancerStatsRequest(num_rpcs=count, timeout_sec=at_most),
            stats_pb2.LoadBalancerStatsResponse,
        )
        return list(Counter(heard.rpcs_by_peer).elements())

    async def _statuses(self, *, wait_for_ready: bool = False) -> Counter[str]:
        """How many calls have ended with each status that is not OK."""
        heard = await self._ask(
            "LoadBalancerStatsService/GetClientAccumulatedStats",
            stats_pb2.LoadBalancerAccumulatedStatsRequest(),
            stats_pb2.LoadBalancerAccumulatedStatsResponse,
            wait_for_ready=wait_for_ready,
        )
        result = heard.stats_per_method[self._kind].result
        return Counter({STATUSES[code]: n for code, n in result.items() if code})

    async def _ask(
        self, method: str, request: Any, answer: Any, *, wait_for_ready: bool = False
    ) -> Any:
        call: Any = self._services.unary_unary(
            f"/grpc.testing.{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString if answer else None,
        )
        try:
            return await call(request, wait_for_ready=wait_for_ready)
        except aio.AioRpcError as error:
            if self._ending is not None:  # if the process dies, its exit is the error to report
                await asyncio.wait([self._ending], timeout=DYING)
            raise Unfit(
                f"{method} of the stock client answers {error.code().name}: {error.details()}"
            ) from None


def _end_likewise(ending: asyncio.Task[int]) -> None:
    """Its end is the client's end: so it becomes this process's."""
    code = ending.result()
    if code < 0:
        with contextlib.suppress(OSError):  # nothing else can be done about SIGKILL
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"code {code}"
