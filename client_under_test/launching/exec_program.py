"""Execute a program in a process that `zygote.py` has forked.

The program then needs no Python of its own for its guard: starting one takes 20 ms of processor
time. Arguments: the size limit in bytes of each file that the program writes, and its command.
"""

import os
import resource
import sys

NOT_STARTED = 127
"""As a shell says it: the command was not found or cannot be run."""


def main() -> None:
    """Limit the files, and become the program."""
    largest, *command = sys.argv[1:]
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if hard == resource.RLIM_INFINITY or hard > int(largest):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest), hard))
    try:
        os.execvp(command[0], command)  # noqa: S606 - the point of it
    except OSError as trouble:
        sys.stderr.write(f"{command[0]}: {trouble.strerror}\n")
        sys.stderr.flush()
        os._exit(NOT_STARTED)


if __name__ == "__main__":
    main()
