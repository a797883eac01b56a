"""Starts workers by forking them from a process that has imported the scenarios already.

Imports are most of a worker's start, and there are some eight of them. The command imports the
scenarios for itself, too, so it forks that process, and nothing is imported twice.
"""

from __future__ import annotations

import gc
import os
import platform
import secrets
import shlex
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from client_under_test.launching.parent_death import die_with, limit_files
from client_under_test.launching.zygote import fork_for_all, settle
from client_under_test.launching.zygotes import can_adopt

HANDOVER = Path(__file__).with_name("stdio_handover.py")


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


def _is_alone() -> bool:
    """Return whether this process has one thread, so that a fork of it is whole.

    A lock that another thread holds would stay locked for good.
    """
    with suppress(OSError):
        return len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208 - the number is all
    return False


@contextmanager
def forked() -> Iterator[str]:
    """While it lasts, a worker is had by calling what it gives in place of Python.

    Where processes cannot be adopted, or this one has threads, that is Python itself.
    """
    if not (can_adopt() and _is_alone()):
        yield _deaf(sys.executable)
        return
    _import_for_workers()
    name = f"xdspec-{secrets.token_hex(8)}"
    told, tell = os.pipe()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(f"\0{name}")  # it is in no folder, so none is left behind
        door.listen()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # or each worker would write it, too
        parent = os.getpid()
        if not (forker := os.fork()):
            os.close(told)
            _fork_workers(door, tell, parent)
    os.close(tell)
    threading.Thread(target=_wait_for_each, args=(told,), daemon=True).start()
    try:
        yield _deaf(sys.executable, "-I", "-S", str(HANDOVER), name)
    finally:
        with suppress(ProcessLookupError):
            os.kill(forker, signal.SIGKILL)
        os.waitpid(forker, 0)


def _import_for_workers() -> None:
    """Import what workers need, all scenarios among it."""
    import conformance.runner.run  # noqa: F401, PLC0415 - with all that a worker has of xdist
    from conformance.runner.collection import import_scenarios  # noqa: PLC0415

    import_scenarios()
    platform.platform()  # xdist asks for it in each worker, and it starts a process once


def _fork_workers(door: socket.socket, tell: int, parent: int) -> NoReturn:
    """Fork a worker at each request, until the parent ends; in a worker, be it."""
    try:
        os.setsid()
        die_with(parent)
        limit_files()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
        os.close(nowhere)
        gc.freeze()  # a collection in a worker would copy what is shared
        if asked := fork_for_all(door, parent, [tell]):
            handles, environment, folder = asked
            os.close(tell)
            door.close()
            settle(handles, environment, folder)
            sys.stdin, sys.stdout, sys.stderr = (
                os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
            )
            # What xdist has Python do: the program is a line of stdin, from the command by a pipe.
            exec(eval(sys.stdin.readline()), {"__name__": "__main__"})  # noqa: S102, S307
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        os._exit(0)  # everything is reported, and a regular exit would take time
