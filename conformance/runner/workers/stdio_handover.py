"""Hand stdin, stdout and stderr over to a forked worker, and end.

    python -I -S stdio_handover.py NAME [arguments of Python]

xdist starts a worker by calling Python; the suite has it call this program instead. If no process
listens at NAME, it executes Python with the arguments. It uses little of the standard library only.
"""

import json
import os
import socket
import sys

ANSWER_BYTES = 64


def main() -> None:
    """Hand over, or become."""
    name, *arguments = sys.argv[1:]
    message = json.dumps([dict(os.environ), os.getcwd()]).encode()  # noqa: PTH109 - pathlib takes its time
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(f"\0{name}")
            socket.send_fds(connection, [message], [0, 1, 2])
            handed_over = connection.recv(ANSWER_BYTES)
    except OSError:
        handed_over = b""
    if not handed_over:
        os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606 - the point of it


if __name__ == "__main__":
    main()
