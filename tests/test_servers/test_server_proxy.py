"""The gate before another server, with plain TCP on both sides."""

import asyncio

import pytest

from test_servers import DeadlinePassed, FleetTrouble, Hold, Serve, ServerProxy, Stall


async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"well")
    writer.close()


async def test_a_held_connection_gets_through_in_the_end() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with ServerProxy.before(f"{host}:{port}", Hold()) as door:
        assert door.address != f"{host}:{port}"
        reader, writer = await asyncio.open_connection(*door.address.split(":"))
        assert (await door.attempted(deadline=5)).mode == Hold()
        reading = asyncio.create_task(reader.read())
        assert not (await asyncio.wait({reading}, timeout=0.1))[0]
        await door.set_mode(Serve())
        assert await reading == b"well"
        writer.close()
    server.close()
    await server.wait_closed()


async def test_nobody_came() -> None:
    async with ServerProxy.before("127.0.0.1:1", Stall()) as door:
        with pytest.raises(DeadlinePassed):
            await door.attempted(deadline=0.01)


async def knock_in_vain() -> None:
    async with ServerProxy.before("127.0.0.1:1", Serve()) as door:
        reader, writer = await asyncio.open_connection(*door.address.split(":"))
        assert await reader.read() == b""
        writer.close()


async def test_no_server_is_there() -> None:
    with pytest.raises(FleetTrouble, match="cannot reach"):
        await knock_in_vain()
