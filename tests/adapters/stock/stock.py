"""A stock xDS interop client in miniature, on grpcio: its flags, its two services, one misdeed.

python stock.py [--misdeed=NAME] --server=TARGET --stats_port=PORT --qps=N --rpc=... --metadata=...
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from typing import Any

import grpc
from grpc import aio

from client_under_test.adapters.interop import stats_pb2

EMPTY, UNARY = (
    stats_pb2.ClientConfigureRequest.EMPTY_CALL,
    stats_pb2.ClientConfigureRequest.UNARY_CALL,
)
NAMES = {EMPTY: "EmptyCall", UNARY: "UnaryCall"}
KINDS = {name: kind for kind, name in NAMES.items()}
DEFAULT_TIMEOUT = 20


class Watcher:
    """The next so many calls."""

    def __init__(self, first: int, count: int) -> None:
        self.calls = range(first, first + count)
        self.peers: Counter[str] = Counter()
        self.missing = count
        self.over = asyncio.Event()

    def take(self, number: int, hostname: str | None) -> None:
        if number in self.calls:
            self.peers.update([hostname] if hostname else [])
            self.missing -= 1
            if not self.missing:
                self.over.set()


class Stock:
    """The client."""

    def __init__(self, flags: dict[str, str]) -> None:
        self.flags = flags
        self.channel = aio.insecure_channel(flags["server"], [("grpc.enable_retries", 0)])
        self.types = [KINDS[name] for name in flags["rpc"].split(",")]
        self.timeout = DEFAULT_TIMEOUT
        self.metadata = [
            (KINDS[kind], key, value)
            for pair in flags.get("metadata", "").split(",")
            if pair
            for kind, key, value in [pair.split(":")]
        ]
        self.made = 0
        self.hosts: set[str] = {"127.0.0.1:1"}
        self.watchers: set[Watcher] = set()
        self.results: dict[Any, Counter[int]] = {kind: Counter() for kind in NAMES}
        self.under_way: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        while True:
            for kind in self.types:
                self.made += 1
                task = asyncio.create_task(self.call(self.made, kind))
                self.under_way.add(task)
                task.add_done_callback(self.under_way.discard)
            await asyncio.sleep(1 / int(self.flags["qps"]))

    async def call(self, number: int, kind: Any) -> None:
        call: Any = self.channel.unary_unary(f"/grpc.testing.TestService/{NAMES[kind]}")
        metadata = tuple(
            (key, value) for call_kind, key, value in self.metadata if call_kind == kind
        )
        code, hostname = grpc.StatusCode.OK, None
        made = call(b"", metadata=metadata, timeout=self.timeout)
        try:
            await made
            hostname = (await made.initial_metadata())["hostname"]
            self.hosts.add(hostname)
        except aio.AioRpcError as error:
            code = error.code()
        self.results[kind][code.value[0]] += 1
        if hostname and self.flags.get("misdeed") == "lies":
            hostname = max(self.hosts - {hostname})
        for watcher in self.watchers:
            watcher.take(number, hostname)

    async def configure(self, request: Any, _: Any) -> Any:
        if self.flags.get("misdeed") == "dies":
            os.kill(os.getpid(), signal.SIGABRT)
        self.types = list(request.types)
        self.metadata = [(entry.type, entry.key, entry.value) for entry in request.metadata]
        self.timeout = request.timeout_sec or DEFAULT_TIMEOUT
        return stats_pb2.LoadBalancerStatsRequest()  # as empty as the real response

    async def stats(self, request: Any, _: Any) -> Any:
        watcher = Watcher(self.made + 1, request.num_rpcs)
        self.watchers.add(watcher)
        try:
            async with asyncio.timeout(request.timeout_sec):
                await watcher.over.wait()
        except TimeoutError:
            pass
        self.watchers.discard(watcher)
        failures = request.num_rpcs - watcher.peers.total()
        return stats_pb2.LoadBalancerStatsResponse(
            rpcs_by_peer=watcher.peers, num_failures=failures
        )

    async def accumulated(self, _request: Any, _: Any) -> Any:
        response = stats_pb2.LoadBalancerAccumulatedStatsResponse()
        for kind, name in ((EMPTY, "EMPTY_CALL"), (UNARY, "UNARY_CALL")):
            response.stats_per_method[name].result.update(self.results[kind])
        return response

    def services(self) -> list[grpc.GenericRpcHandler]:
        served: dict[str, dict[str, tuple[Any, Any]]] = {
            "XdsUpdateClientConfigureService": {
                "Configure": (self.configure, stats_pb2.ClientConfigureRequest)
            },
            "LoadBalancerStatsService": {
                "GetClientStats": (self.stats, stats_pb2.LoadBalancerStatsRequest),
                "GetClientAccumulatedStats": (
                    self.accumulated,
                    stats_pb2.LoadBalancerAccumulatedStatsRequest,
                ),
            },
        }
        if self.flags.get("misdeed") == "cannot be configured":
            del served["XdsUpdateClientConfigureService"]
        return [
            grpc.method_handlers_generic_handler(
                f"grpc.testing.{service}",
                {
                    name: grpc.unary_unary_rpc_method_handler(
                        act,
                        request_deserializer=kind.FromString,
                        response_serializer=lambda message: message.SerializeToString(),
                    )
                    for name, (act, kind) in methods.items()
                },
            )
            for service, methods in served.items()
        ]


async def main() -> None:
    flags = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[1:])
    print("Greeting: Hello world", flush=True)  # noqa: T201 - as some of them print
    if flags.get("misdeed") == "does not start":
        sys.exit("Unknown argument: qps")
    stock = Stock(flags)
    server = aio.server(options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers(stock.services())
    server.add_insecure_port(f"127.0.0.1:{flags['stats_port']}")
    await server.start()
    await stock.run()


if __name__ == "__main__":
    asyncio.run(main())
