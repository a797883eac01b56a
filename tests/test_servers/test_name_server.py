"""A name server, asked over its sockets."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections.abc import AsyncIterator

import dns.asyncquery
import dns.message
import pytest

from test_servers import (
    DeadlinePassed,
    FleetTrouble,
    NameRecords,
    NameServer,
    PortForbidden,
    Question,
    ServerFailure,
    Silence,
)

WAIT = 5.0


@pytest.fixture
async def server() -> AsyncIterator[NameServer]:
    try:
        started = await NameServer.start({"one.test": NameRecords(("127.0.0.2",))})
    except PortForbidden as forbidden:
        pytest.skip(str(forbidden))
    yield started
    await started.stop()


async def addresses(server: NameServer, name: str = "one.test") -> list[str]:
    query = dns.message.make_query(name, "A")
    response = await dns.asyncquery.udp(query, server.host, timeout=WAIT)
    return [str(record) for answer in response.answer for record in answer]


async def test_answers_change(server: NameServer) -> None:
    assert await addresses(server) == ["127.0.0.2"]
    server.set("one.test", NameRecords(("127.0.0.3", "127.0.0.4")))
    assert await addresses(server) == ["127.0.0.3", "127.0.0.4"]
    server.set("one.test", ServerFailure())
    assert await addresses(server) == []
    assert [query.answer for query in server.queries] == [
        NameRecords(("127.0.0.2",)),
        NameRecords(("127.0.0.3", "127.0.0.4")),
        ServerFailure(),
    ]
    assert [query.at for query in server.queries] == sorted(query.at for query in server.queries)


async def test_over_tcp_what_does_not_fit(server: NameServer) -> None:
    server.set("one.test", NameRecords(("127.0.0.2",), is_truncated=True))
    query = dns.message.make_query("one.test", "A")
    response, fell_back = await dns.asyncquery.udp_with_fallback(query, server.host, timeout=WAIT)
    assert fell_back
    assert len(response.answer) == 1
    assert [lookup.transport for lookup in server.queries] == ["UDP", "TCP"]


async def test_a_connection_that_ends_early(server: NameServer) -> None:
    _, writer = await asyncio.open_connection(server.host, 53)
    writer.write(b"\0")
    writer.close()
    await writer.wait_closed()
    assert await addresses(server) == ["127.0.0.2"]


async def test_silence(server: NameServer) -> None:
    server.set("one.test", Silence())
    with pytest.raises(dns.exception.Timeout):
        await dns.asyncquery.udp(dns.message.make_query("one.test", "A"), server.host, timeout=0.1)
    (query,) = await server.asked(lambda _: True, deadline=WAIT)
    assert query.question == Question("one.test", "A")
    with pytest.raises(DeadlinePassed):
        await server.asked(lambda _: True, since=1, deadline=0.01)


async def test_who_asks_while_it_stops(server: NameServer) -> None:
    server.set("one.test", Silence())
    reader, writer = await asyncio.open_connection(server.host, 53)
    wire = dns.message.make_query("one.test", "A").to_wire()
    writer.write(struct.pack("!H", len(wire)) + wire)
    await server.asked(lambda query: query.transport == "TCP", deadline=WAIT)
    await server.stop()
    assert await asyncio.wait_for(reader.read(), WAIT) == b""
    writer.close()


async def test_many_worlds_have_one_each(server: NameServer) -> None:
    beside = await NameServer.start({"one.test": NameRecords(("127.0.0.9",))})
    assert beside.host != server.host
    assert await addresses(beside) == ["127.0.0.9"]
    await beside.stop()


async def test_an_address_that_is_taken_is_passed_over(server: NameServer) -> None:
    taken = [int(part) for part in server.host.split(".")[2:]]

    class Drawn(random.Random):
        def randrange(self, *_bounds: int) -> int:  # type: ignore[override]
            return taken.pop(0) if taken else random.randrange(1, 255)

    beside = await NameServer.start({}, Drawn())
    assert not taken
    assert beside.host != server.host
    await beside.stop()


async def test_who_may_not_have_the_port(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "create_datagram_endpoint", forbidden)
    with pytest.raises(PortForbidden, match=r"sysctl net\.ipv4\.ip_unprivileged_port_start=53"):
        await NameServer.start({})


async def test_a_machine_without_such_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("test_servers.name_server._NETWORK", "192.0")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("192.0.0.1", 0))
    except OSError:
        with pytest.raises(FleetTrouble):
            await NameServer.start({})
