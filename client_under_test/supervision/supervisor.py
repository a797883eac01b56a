"""Starts a command, and ends all that it has started when it is over.

    python -I -S guard.py PARENT TOLD LARGEST COMMAND...

The command is the child of this process, at the head of a session and group of its own; its number
is written to the file descriptor TOLD, unless that is -1. On Linux this process is the reaper of
all that descends from the command: so what has a session of its own is found below it, and what has
lost its parent, too. All that is below is killed, and nothing else is, when the command has ended,
when PARENT dies, or by SIGTERM. Then this process ends as the command did: by the same code, or the
same signal.

A program of its own and not a preexec_fn: Python code between fork and exec does not mix with the
threads and fork handlers of gRPC in the suite's process. Standard library only, and little of it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

HEEDED = (signal.SIGCHLD, signal.SIGTERM)

# As a shell says it: the command was not found or cannot be run.
NOT_STARTED = 127


def guarded(*command: str, told: int = -1, largest: int = -1) -> tuple[str, ...]:
    """Return a command that runs the given command and leaves no process behind when it ends.

    Args:
        command: what to start.
        told: the file descriptor to write the process id to; -1: none.
        largest: the size limit in bytes of each file that it writes; -1: no limit.
    """
    own = (sys.executable, "-I", "-S", __file__, str(os.getpid()), str(told), str(largest))
    return (*own, *command)


def main() -> None:
    """Guard, and in the child: become."""
    parent, told, largest = map(int, sys.argv[1:4])
    command = sys.argv[4:]
    keep(parent, told)
    limit_files(largest)
    try:
        os.execvp(command[0], command)  # noqa: S606 - the point of it
    except OSError as trouble:
        sys.stderr.write(f"{command[0]}: {trouble.strerror}\n")
        sys.stderr.flush()
        os._exit(NOT_STARTED)


def keep(parent: int, told: int) -> None:
    """Return in a child of this process, which guards it from now on.

    The child has this process's pipes, and its number is written to `told`.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HEEDED)
    own = os.getpid()
    die_with(parent, signal.SIGTERM)
    control(PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child:
        close(0, 1, 2, told)  # else a pipe would stay open that the command has closed
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        end_like(guard(child))
    os.setsid()
    die_with(own, signal.SIGKILL)
    if told >= 0:
        os.write(told, str(os.getpid()).encode())  # now that it is the number of a group
        os.close(told)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def guard(child: int) -> int:
    """Wait until the child ends or must be ended, then end the rest; return the exit status."""
    if sys.platform != "linux":
        return guard_group(child)
    while not has_ended(child):
        if signal.sigwait(HEEDED) == signal.SIGTERM:
            break
    kill_group(child)  # its pid is not reused before it is reaped
    _, status = os.waitpid(child, 0)
    with suppress(ChildProcessError):  # there is none any more
        while True:
            ended, _ = os.waitpid(-1, os.WNOHANG)
            if not ended:
                # What is further down becomes a child when those between have died.
                for stray in children():
                    os.kill(stray, signal.SIGKILL)
                os.waitpid(-1, 0)
    return status


def guard_group(child: int) -> int:
    """Guard a child on systems without reapers: processes that left the group stay.

    Returns:
        The exit status.
    """
    while signal.sigwait(HEEDED) != signal.SIGTERM:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            kill_group(child)
            return status
    kill_group(child)
    return os.waitpid(child, 0)[1]


def kill_group(child: int) -> None:
    """Kill the child and those that have stayed with it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ProcessLookupError):  # it has no group yet, if it has just begun
        os.kill(child, signal.SIGKILL)


def has_ended(child: int) -> bool:
    """Return whether the child has ended, without reaping it; reap all other ended processes."""
    while status := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if status.si_pid == child:
            return True
        os.waitpid(status.si_pid, 0)
    return False


def children() -> Iterator[int]:
    """Return the children of this process. No pid is reused before its process is waited for."""
    own = os.getpid()
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to load
        with suppress(OSError, ValueError):
            pid = int(name)
            with open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123
                if int(stat.read().rpartition(b")")[2].split()[1]) == own:
                    yield pid


def end_like(status: int) -> None:
    """End as a child did."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it has left one already, if any
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def die_with(parent: int, number: int) -> None:
    """Have the kernel send this signal when the parent dies; end now if it has."""
    control(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(NOT_STARTED)


def control(what: int, value: int) -> None:
    """Tell the kernel something of this process, where there is a way."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


def limit_files(largest: int) -> None:
    """Have no file grow beyond this: who writes without end must not fill the disk."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if largest >= 0 and (hard == resource.RLIM_INFINITY or hard > largest):
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))


def close(*handles: int) -> None:
    """Close what is open of these."""
    for handle in handles:
        with suppress(OSError):
            os.close(handle)


if __name__ == "__main__":
    main()
