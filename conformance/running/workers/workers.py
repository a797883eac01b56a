"""Starts workers by forking them from a process that has collected the scenarios already.

Imports and collection are most of a worker's start, and there are some eight of them.
"""

from __future__ import annotations

import os
import secrets
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from client_under_test.launching.parent_death import killed_with_parent
from client_under_test.launching.prefork import FORKER, can_adopt

HANDOVER = Path(__file__).with_name("stdio_handover.py")
WORKER = Path(__file__).with_name("worker.py")


@contextmanager
def forked() -> Iterator[str | None]:
    """While it lasts, a worker is had by calling what it gives in place of Python.

    It gives nothing where processes cannot be adopted: then Python itself is to be called.
    """
    if not can_adopt():
        yield None
        return
    name = f"xdspec-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(f"\0{name}")  # it is in no folder, so none is left behind
        door.listen()
        forker = subprocess.Popen(
            killed_with_parent(
                *(sys.executable, "-I", str(FORKER)),
                *(str(door.fileno()), str(os.getpid()), str(WORKER)),
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(door.fileno(),),
            start_new_session=True,
        )
    try:
        yield shlex.join((sys.executable, "-I", "-S", str(HANDOVER), name))
    finally:
        forker.kill()
        forker.wait()
