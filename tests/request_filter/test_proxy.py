"""A hidden server and the proxy before it, with a client that speaks bare HTTP/2."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import h2.config
import h2.connection
import pytest

from conformance.runner import files
from request_filter import HiddenServer, Proxy
from request_filter.hidden_server import unused_name
from tests.request_filter.ended_server import end_by_itself, request

DEADLINE = 20.0

LATE = 0.1
"""Seconds in which a loop reads what a client has sent."""


class Served:
    """A server that answers each request with the address of its client."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.troubles: list[str] = []
        self.server = HiddenServer(self._make, self.troubles.append)
        self.proxy = Proxy(self.server, self.said.append)
        self.port = 0

    async def _make(self) -> Any:
        async def answer(_: bytes, context: Any) -> bytes:
            return self.proxy.client_of(context.peer()).encode()

        async def wait(_: bytes, __: Any) -> bytes:
            await asyncio.Event().wait()
            return b""

        class Handlers(grpc.GenericRpcHandler):
            def service(self, details: Any) -> Any:
                handler: Any = wait if details.method == "/wait" else answer
                return grpc.unary_unary_rpc_method_handler(handler)

        return grpc.aio.server(handlers=(Handlers(),))

    async def good_request(self, target: str = "") -> str:
        async with grpc.aio.insecure_channel(target or f"127.0.0.1:{self.port}") as channel:
            call: Any = channel.unary_unary("/any")
            said: bytes = await call(b"", timeout=DEADLINE, wait_for_ready=True)
            return said.decode()


@asynccontextmanager
async def served() -> AsyncIterator[Served]:
    it = Served()
    await it.server.start()
    it.port = await it.proxy.listen("127.0.0.1", 0)
    try:
        yield it
    finally:
        it.proxy.close()
        await it.server.stop()
        await it.proxy.end()


async def answer_to(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(DEADLINE):
        return await reader.read()


async def test_a_path_that_is_not_utf8_is_refused_and_the_next_request_served() -> None:
    async with served() as it:
        reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
        host, port = writer.get_extra_info("sockname")
        writer.write(request(b"/a/\xff"))
        assert b"the client sent a :path that is not UTF-8" in await answer_to(reader)
        writer.close()
        assert (await it.good_request()).startswith("ipv4:127.0.0.1:")
        why = "the client sent a :path that is not UTF-8"
        assert it.said == [f"closed the connection of ipv4:{host}:{port}: {why}"]
        assert not it.troubles


async def test_headers_that_are_cut_short_do_not_reach_the_server() -> None:
    """grpcio takes such a request when the connection ends."""
    async with served() as it:
        whole = request(b"/a/\xff")
        for cut in range(len(whole) // 2, len(whole) - 14):
            _, writer = await asyncio.open_connection("127.0.0.1", it.port)
            writer.write(whole[:cut])
            await writer.drain()
            writer.close()
            await it.good_request()
        assert not it.troubles


async def test_what_comes_before_the_server_is_reached_is_looked_at_too() -> None:
    async with served() as it:
        for _ in range(20):
            _, writer = await asyncio.open_connection("127.0.0.1", it.port)
            writer.write(request(b"/a/\xff"))
            await writer.drain()
            writer.close()
        await it.good_request()
        assert not it.troubles


async def test_a_server_that_ended_by_itself_is_told_of_and_replaced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As it would be by whatever the scanner does not know."""
    async with served() as it:
        await end_by_itself(it.server)
        await it.good_request()
        assert it.troubles == ["the gRPC server ended by itself; another one serves now"]
    caplog.clear()


async def test_a_probe_notices_a_server_that_ended_by_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with served() as it:
        await it.server.probe()
        assert not it.troubles
        await end_by_itself(it.server)
        await it.server.probe()
        assert it.troubles == ["the gRPC server ended by itself; another one serves now"]
        await it.good_request()
    await it.server.probe()
    assert len(it.troubles) == 1
    caplog.clear()


async def test_nobody_else_reaches_the_server_and_nothing_of_it_is_left() -> None:
    async with served() as it:
        folder = Path(it.server.path).parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == os.getuid()
    assert not folder.exists()


async def test_a_deep_temporary_folder_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    async with served() as it:
        await it.good_request()
    assert not list(deep.iterdir())


def test_names_are_not_used_twice_by_processes_that_were_forked() -> None:
    fork = multiprocessing.get_context("fork")
    with fork.Pool(2) as pool:
        names = [name for some in pool.map(_names, range(2), chunksize=1) for name in some]
    names += _names()
    assert len(set(names)) == len(names) == 60


def _names(_: int = 0) -> list[str]:
    return [unused_name()[0] for _ in range(20)]


async def test_a_run_removes_the_folder_of_a_process_that_was_killed() -> None:
    async with served() as it:
        folder = Path(it.server.path).parent
        assert files._OURS.fullmatch(folder.name)
        with pytest.raises(BlockingIOError):
            files._remove_if_left(folder)
        os.close(it.server._lock)
        files._remove_if_left(folder)
        assert not folder.exists()
        it.server._lock = os.open("/dev/null", os.O_RDONLY)


async def test_a_stop_ends_connections_and_calls() -> None:
    async with served() as it:
        reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
        writer.write(request(b"/wait"))
        assert await reader.read(1)
    assert await reader.read()
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", it.port)


async def test_a_client_that_reads_nothing_does_not_hold_up_a_stop() -> None:
    async with served() as it:
        _, writer = await asyncio.open_connection("127.0.0.1", it.port)
        writer.write(request(b"/any"))
        await it.good_request()
    writer.close()


async def test_nothing_is_read_before_the_server_is_reached_on_older_pythons_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python 3.11.2 begins to read from a transport that was paused in `connection_made`."""

    def begin_to_read(transport: Any, handle: int, callback: Any, *arguments: Any) -> None:
        transport._loop._add_reader(handle, callback, *arguments)

    monkeypatch.setattr(
        "asyncio.selector_events._SelectorSocketTransport._add_reader", begin_to_read
    )
    async with served() as proxy:
        reach, sent = proxy.server.connect, asyncio.Event()

        async def reach_late(*arguments: Any) -> Any:
            await sent.wait()
            return await reach(*arguments)

        monkeypatch.setattr(proxy.server, "connect", reach_late)
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        await writer.drain()
        asyncio.get_running_loop().call_later(LATE, sent.set)
        async with asyncio.timeout(DEADLINE):
            assert await reader.read(9)  # the server's settings, so it has read the client's
        writer.close()
