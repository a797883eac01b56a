"""The reference client in a place where no name is known, as in a chroot without /etc/hosts."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any

from client_under_test.reference.adapter import main

known = socket.getaddrinfo


def of_numbers_alone(host: Any, *more: Any, **kinds: Any) -> Any:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise socket.gaierror(socket.EAI_NONAME, "no name is known here") from None
    return known(host, *more, **kinds)


if __name__ == "__main__":
    socket.getaddrinfo = of_numbers_alone
    asyncio.run(main())
