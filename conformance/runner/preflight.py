"""Check that this machine can carry a run: its loopback, and enough threads."""

from __future__ import annotations

import socket
import threading
from typing import Final

from conformance import timing

ADDRESS: Final = "127.0.0.1"

THREADS: Final = 32
"""Processes and threads at once that a scenario is given: a worker, the control plane's and the
fleet's gRPC, a client and its guard. A run of three scenarios at once had 50 with the reference
client, 80 sufficed, and 40 did not: each start that is refused then looks like a broken adapter."""

MOST: Final = 1024
"""That are tried, whatever --jobs says."""


class Unfit(Exception):
    """The machine cannot carry a run; the message says why."""


def check(jobs: int) -> None:
    """See that a connection over loopback comes about, and that threads can be had.

    Args:
        jobs: scenarios at once.

    Raises:
        Unfit: one of these is not so.
    """
    _check_loopback()
    _check_threads(jobs)


def _check_loopback() -> None:
    try:
        with socket.create_server((ADDRESS, 0)) as server:
            socket.create_connection(server.getsockname(), timeout=timing.LOOPBACK).close()
    except OSError as error:
        raise Unfit(
            f"this machine does not let the suite connect to itself at {ADDRESS} "
            f"({error.strerror or error}): in a container or namespace, have its interface `lo` up"
        ) from None


def _check_threads(jobs: int) -> None:
    """Start all threads for a moment: only this detects every limit, also that of a container."""
    wanted = min(jobs * THREADS, MOST)
    over, started = threading.Event(), list[threading.Thread]()
    try:
        for _ in range(wanted):
            thread = threading.Thread(target=over.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:
        raise Unfit(
            f"this machine allows {len(started)} more processes and threads, but {jobs} "
            f"scenarios at once need {wanted}: raise the limit (`ulimit -u`, "
            "or that of the container), or lower --jobs"
        ) from None
    finally:
        over.set()
        for thread in started:
            thread.join()
