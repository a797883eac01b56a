"""A gate before a server that is none of the fleet's, such as a control plane."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from test_servers.exceptions import FleetTrouble
from test_servers.ledger import Attempt, Ledger
from test_servers.modes import Mode
from test_servers.proxy import Proxy, host_port

__all__ = ["ServerProxy"]

_HOST = "127.0.0.1"


class ServerProxy:
    """Connections to a server of this machine, which go as the gate's mode says.

    Attributes:
        address: Where clients find the server instead of its own address.
    """

    def __init__(self, mode: Mode) -> None:
        self.address = ""
        self._ledger = Ledger()
        self._troubles: list[str] = []
        self._port = 0
        self._gate = Proxy("door", mode, self._ledger, self._connect, self._troubles.append)

    @classmethod
    @asynccontextmanager
    async def before(cls, address: str, mode: Mode) -> AsyncIterator["ServerProxy"]:
        """Run a proxy for the length of the block.

        Args:
            address: The server's address, such as "127.0.0.1:40123".
            mode: The initial mode for connections.

        Raises:
            FleetTrouble: The server could not be reached.
        """
        door = cls(mode)
        door._port = int(address.rpartition(":")[2])
        door.address = host_port(_HOST, await door._gate.open(_HOST, 0))
        try:
            yield door
        finally:
            await door._gate.close()
        if door._troubles:
            raise FleetTrouble("; ".join(door._troubles))

    async def set_mode(self, mode: Mode) -> None:
        """Change how connections are treated from now on, including held connections."""
        await self._gate.set_mode(mode)

    async def attempted(self, *, deadline: float) -> Attempt:
        """Wait for the first connection.

        Raises:
            DeadlinePassed: None came within `deadline` seconds.
        """
        first, *_ = await self._ledger.wait_attempts(lambda _: True, deadline=deadline)
        return first

    async def _connect(
        self, make: Callable[[], asyncio.BaseProtocol], _connection: int
    ) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(make, _HOST, self._port)
        return transport
