"""Does a program's imports once, and becomes its processes by forking.

    python -I zygote.py SOCKET PARENT (SCRIPT [ARGUMENT...] | -m PACKAGE)

Each message on the socket requests one process: JSON with its environment and its folder, and the
handles of its stdin, stdout and stderr. The response is its process id. The process is a child of
PARENT, which has made itself the reaper of its descendants, and dies with it. With a fourth handle,
the process is a guard, and its child is the program, whose id is written to the handle: see
`guard`. The server exits at the end of the socket.

A program of its own that runs on the client's Python: standard library only.
"""

import ctypes
import gc
import importlib.util
import json
import os
import runpy
import signal
import socket
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

PR_SET_PDEATHSIG = 1
LARGEST_MESSAGE = 1 << 18
HANDLES = 4
CREDENTIALS = struct.Struct("3i")  # of a peer: process, user, group
NOT_STARTED = 127
GUARD = Path(__file__).parents[1] / "supervision" / "supervisor.py"


def code_of(program: list[str]) -> tuple[CodeType, dict[str, Any]]:
    """Return the code that `python SCRIPT` or `python -m PACKAGE` runs, and its initial names."""
    if program[0] == "-m":
        spec = importlib.util.find_spec(f"{program[1]}.__main__")
        assert spec is not None, "the manifest names a package that is a program"
        loader: Any = spec.loader
        return loader.get_code(spec.name), {"__package__": program[1], "__file__": spec.origin}
    return compile(Path(program[0]).read_bytes(), program[0], "exec"), {"__file__": program[0]}


def main() -> None:
    """Do the imports, then fork at each request; in a child, run the program."""
    door_number, parent, *program = sys.argv[1:]
    code, names = code_of(program)
    keep = runpy.run_path(str(GUARD))["keep"]
    exec(code, {**names, "__name__": "__imports__"})  # noqa: S102 - as Python itself would
    gc.freeze()  # a collection in a child would copy what is shared
    with socket.socket(fileno=int(door_number)) as door:
        asked = fork_for_all(door, int(parent))
    if asked is not None:
        (stdin, stdout, stderr, *told), environment, folder = asked
        settle((stdin, stdout, stderr), environment, folder)
        for handle in told:
            keep(int(parent), handle)
        sys.argv = program[1:] if program[0] == "-m" else program
        exec(code, {**names, "__name__": "__main__"})  # noqa: S102


def fork_for_all(
    door: socket.socket, parent: int, tell: Iterable[int] = ()
) -> tuple[list[int], dict[str, str], str] | None:
    """Fork at each request. Return in a child, with the request, and at the end of the socket.

    Args:
        door: has the requests. If it listens, each connection of the same user may send some.
        parent: the parent of the children, which has to wait for them.
        tell: pipes to which each child's process id is written, one a line: `parent` reads it there
            if other processes send the requests.
    """
    for connection in connections(door):
        message, handles, _, _ = socket.recv_fds(connection, LARGEST_MESSAGE, HANDLES)
        if message and not (child := fork(parent)):
            return handles, *json.loads(message)
        for handle in handles:
            os.close(handle)
        if message:
            for handle in tell:
                os.write(handle, f"{child}\n".encode())
            connection.send(str(child).encode())
        elif connection is door:
            break
    return None


def connections(door: socket.socket) -> Iterator[socket.socket]:
    """Yield the sockets of requests: the socket itself, or each connection of the same user."""
    while not door.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        yield door
    while True:
        with door.accept()[0] as connection:
            if is_own(connection):
                yield connection


def is_own(connection: socket.socket) -> bool:
    """Return whether the same user is at the other end."""
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    _, user, _ = CREDENTIALS.unpack(told)
    return bool(user == os.getuid())


def fork(parent: int) -> int:
    """Fork a child of `parent`, this process's parent; return its pid, and 0 in the child.

    A process between the two dies at once, which leaves the child to the reaper.
    """
    told, tell = os.pipe()
    orphaned, hold = os.pipe()
    between = os.fork()
    if between == 0:
        if os.fork():
            os._exit(0)
        os.close(told)
        os.close(hold)
        os.setsid()
        os.write(tell, str(os.getpid()).encode())  # now that its group can be killed
        os.close(tell)
        os.read(orphaned, 1)  # ends when the process between is gone
        os.close(orphaned)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before it could be asked for
            os._exit(NOT_STARTED)
        return 0
    os.close(tell)
    os.waitpid(between, 0)
    child = int(os.read(told, 32))
    for handle in (told, orphaned, hold):
        os.close(handle)
    return child


def settle(handles: Iterable[int], environment: Mapping[str, str], folder: str) -> None:
    """Take on stdin, stdout and stderr, the environment and the folder."""
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)


if __name__ == "__main__":
    main()
