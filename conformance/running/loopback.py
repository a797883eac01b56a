"""Whether this machine has the network on which everything of a run meets: its own loopback."""

from __future__ import annotations

import socket

from conformance import timing

ADDRESS = "127.0.0.1"


class NoLoopback(Exception):
    """There is none; the text says so, and that it is nobody's fault but the machine's."""


def check() -> None:
    """See that a connection over loopback comes about.

    Raises:
        NoLoopback: it does not.
    """
    try:
        with socket.create_server((ADDRESS, 0)) as server:
            socket.create_connection(server.getsockname(), timeout=timing.LOOPBACK).close()
    except OSError as error:
        raise NoLoopback(
            f"this machine does not let the suite connect to itself at {ADDRESS} "
            f"({error.strerror or error}): in a container or namespace, have its interface `lo` up"
        ) from None
