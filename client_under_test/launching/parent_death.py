"""Becomes the command that follows, and is killed when the process that started it dies.

    python -I -S parent_death.py PARENT COMMAND...

A program of its own and not a preexec_fn: Python code between fork and exec does not mix with the
threads and fork handlers of gRPC in the suite's process. Standard library only, and little of it.
"""

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1

# What is forked from it must not fill the disk: its writes fail from here on.
LARGEST_FILE = 1 << 30

# As a shell says it: the command was not found or cannot be run.
NOT_STARTED = 127


def killed_with_parent(*command: str) -> tuple[str, ...]:
    """Return a command that runs this command and is killed when the starting thread ends."""
    return (sys.executable, "-I", "-S", __file__, str(os.getpid()), *command)


def die_with(parent: int) -> None:
    """Have this process killed when its parent dies, and end it if that has happened.

    Args:
        parent: the process that started it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before it could be asked for
        sys.exit(NOT_STARTED)


def limit_files() -> None:
    """Limit the size of the files that this process and its children write."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if hard == resource.RLIM_INFINITY or hard > LARGEST_FILE:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, hard))


def main() -> None:
    """Ask for the signal at the parent's death, limit, become."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    die_with(parent)
    limit_files()
    try:
        os.execvp(command[0], command)  # noqa: S606 - the point of it
    except OSError as trouble:
        sys.stderr.write(f"{command[0]}: {trouble.strerror}\n")
        sys.exit(NOT_STARTED)


if __name__ == "__main__":
    main()
