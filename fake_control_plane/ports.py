"""A port that stays reserved for this process while its server is stopped."""

from __future__ import annotations

import socket

from fake_control_plane.exceptions import PortTaken


class Reservation:
    """A bound socket that never listens, beside which a server may listen and stop at will.

    SO_REUSEADDR lets gRPC's listening socket, which has it too, bind the same address; two
    listening sockets would still conflict, so another process cannot take the port unnoticed.

    Args:
        host: An IP address or a name of this machine.
        port: 0 to choose a free one.

    Raises:
        PortTaken: another server listens there, or the address is not this machine's.
    """

    def __init__(self, host: str, port: int) -> None:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            self._socket = socket.socket(family, kind, protocol)
        except (OSError, UnicodeError, OverflowError) as trouble:
            raise PortTaken(f"Cannot use {host}:{port}: {_reason(trouble)}.") from trouble
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(address)
        except OSError as trouble:
            self._socket.close()
            raise PortTaken(f"Cannot listen on {host}:{port}: {_reason(trouble)}.") from trouble
        self._is_ipv6 = family == socket.AF_INET6

    @property
    def host(self) -> str:
        """The IP address."""
        host: str = self._socket.getsockname()[0]
        return host

    @property
    def port(self) -> int:
        """The port."""
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def address(self) -> str:
        """The address as gRPC targets have it: "127.0.0.1:1234" or "[::1]:1234"."""
        return f"[{self.host}]:{self.port}" if self._is_ipv6 else f"{self.host}:{self.port}"

    def close(self) -> None:
        """Give the port up."""
        self._socket.close()


def _reason(trouble: Exception) -> str:
    return getattr(trouble, "strerror", None) or str(trouble)
