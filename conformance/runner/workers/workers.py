"""Starts workers by forking them from a process that has imported the scenarios already.

Imports are most of a worker's start, and there are some eight of them.
"""

from __future__ import annotations

import os
import secrets
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from client_under_test.launching.parent_death import killed_with_parent
from client_under_test.launching.zygotes import FORKER, can_adopt

HANDOVER = Path(__file__).with_name("stdio_handover.py")
WORKER = Path(__file__).with_name("worker.py")


def _deaf(*command: str) -> str:
    """Return a command for xdist that ignores the signals of the terminal.

    It is in the terminal's process group, and would die with a traceback. The suite's command gets
    the signal too, and ends the worker.
    """
    return shlex.join(("sh", "-c", 'trap "" HUP INT; exec "$0" "$@"', *command))


def _wait_for_each(told: int) -> None:
    """Wait for each process whose id arrives: the command did not start it, but is its parent."""
    with os.fdopen(told) as lines:
        for line in lines:
            threading.Thread(target=_wait_for, args=(int(line),), daemon=True).start()


def _wait_for(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


@contextmanager
def forked() -> Iterator[str]:
    """While it lasts, a worker is had by calling what it gives in place of Python.

    Where processes cannot be adopted that is Python itself.
    """
    if not can_adopt():
        yield _deaf(sys.executable)
        return
    name = f"xdspec-{secrets.token_hex(8)}"
    told, tell = os.pipe()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(f"\0{name}")  # it is in no folder, so none is left behind
        door.listen()
        forker = subprocess.Popen(
            killed_with_parent(
                *(sys.executable, "-I", str(FORKER)),
                *(f"{door.fileno()},{tell}", str(os.getpid()), str(WORKER)),
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(door.fileno(), tell),
            start_new_session=True,
        )
    os.close(tell)
    threading.Thread(target=_wait_for_each, args=(told,), daemon=True).start()
    try:
        yield _deaf(sys.executable, "-I", "-S", str(HANDOVER), name)
    finally:
        forker.kill()
        forker.wait()
