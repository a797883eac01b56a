"""Rules of how names are looked up."""

from __future__ import annotations

import asyncio
import random
import socket
from typing import Final

from client_under_test.contract.exceptions import ConversationFailed, NoOwnHosts, NotSeen
from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.check import check
from client_under_test.doctor.requirements import MissingCapability
from client_under_test.launching.private_names import with_private_names, write_private_names

# A name that is in the table of hosts of one process alone.
_NAME: Final = "doctor.xdspec.test"

# One that is in none, and as it stands in a query.
_UNKNOWN: Final = "unknown.xdspec.test"
_WIRE: Final = b"\x07unknown\x06xdspec\x04test\x00"

_NO_SUCH_NAME: Final = b"\x81\x83"


@check(
    "host-names",
    rule="names are looked up in the hosts table that the adapter's process sees",
    advice="",  # who does not is not wrong
    after="unary",
)
async def _host_names(adapter: AdapterUnderCheck) -> None:
    """In this way a run gives names to a process, for LOGICAL_DNS. It may be unable to see them."""
    address, _, port = adapter.backend.address.rpartition(":")
    try:
        names = write_private_names(adapter.folder / "names", {_NAME: (address,)})
        await adapter.replaced(await asyncio.to_thread(with_private_names, names))
        outcome = await adapter.outcome(adapter.call(), f"{_NAME}:{port}")
        became = "" if outcome.status == "OK" else f"{outcome.status} ({outcome.details})"
    except NoOwnHosts as lacking:
        raise MissingCapability(str(lacking)) from None
    except (ConversationFailed, NotSeen) as failure:
        became = f"{failure}"
    await adapter.end()
    if became:
        raise MissingCapability(
            f"a call to {_NAME}, which is in /etc/hosts, ended with {became}. Scenarios that need "
            "such names will be skipped. Start the client so that it reads the /etc/hosts of its "
            "adapter: copy that file into the client's chroot or container"
        )


@check(
    "name-server",
    rule="names in no table are looked up at the name server of the process",
    advice="",  # a client that does not is skipped, not wrong
    after="unary",
)
async def _name_server(adapter: AdapterUnderCheck) -> None:
    """Serve NXDOMAIN for every name: the check is only whether the client queries the server."""
    loop = asyncio.get_running_loop()
    host = f"127.53.{random.randrange(256)}.{random.randrange(1, 255)}"
    try:
        listening, server = await loop.create_datagram_endpoint(
            _Asked, (host, 53), family=socket.AF_INET
        )
    except OSError as trouble:
        raise MissingCapability(f"cannot listen at {host}:53 as a name server: {trouble}") from None
    became = "no query came"
    try:
        names = write_private_names(adapter.folder / "served", {}, server=host)
        await adapter.replaced(await asyncio.to_thread(with_private_names, names))
        outcome = await adapter.outcome(adapter.call(), f"{_UNKNOWN}:9")
        became = f"{outcome.status} ({outcome.details})"
    except NoOwnHosts as lacking:
        raise MissingCapability(str(lacking)) from None
    except (ConversationFailed, NotSeen) as failure:
        became = f"{failure}"
    finally:
        listening.close()
    await adapter.end()
    if not server.was_asked:
        raise MissingCapability(
            f"a call to {_UNKNOWN} ended without a query to the name server of its process: "
            f"{became}. Scenarios with names will be skipped. Start the client so that it reads "
            "the /etc/resolv.conf and /etc/nsswitch.conf of its adapter: copy these files into the "
            "client's chroot or container"
        )


class _Asked(asyncio.DatagramProtocol):
    """Answers each query by itself, marked as an answer of no such name (RFC 1035, 4.1.1)."""

    def __init__(self) -> None:
        self.was_asked = False

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.was_asked |= _WIRE in data.lower()
        self._transport.sendto(data[:2] + _NO_SUCH_NAME + data[4:], addr)


CHECKS: Final = (_host_names, _name_server)
