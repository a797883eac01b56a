"""Runs a command as root of a user namespace in which no more of them can be made.

    python3 ci/without_namespaces.py COMMAND...

`unshare` could map all users only with newuidmap, which a machine need not have. Needs root, whose
process outside writes the maps. Uses the standard library only.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

CLONE_NEWUSER = 0x10000000
MAP = "0 0 65536\n"
"""All users and groups that the cells use, each as itself."""


def inside(words: list[str], unshared: int, mapped: int) -> None:
    """Enter the namespace, wait for its maps, and become the command."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER):
        number = ctypes.get_errno()
        sys.exit(f"ci/matrix: no user namespace can be made: {os.strerror(number)}")
    os.write(unshared, b"1")
    os.read(mapped, 1)
    Path("/proc/sys/user/max_user_namespaces").write_text("0", "ascii")
    os.execvp(words[0], words)  # noqa: S606 - what this is for


def main(words: list[str]) -> int:
    """Run the command; return its exit code."""
    is_unshared, unshared = os.pipe()
    is_mapped, mapped = os.pipe()
    child = os.fork()
    if not child:
        os.close(is_unshared)
        inside(words, unshared, is_mapped)
    os.close(unshared)
    if os.read(is_unshared, 1):
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{child}/{name}").write_text(MAP, "ascii")
        os.write(mapped, b"1")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
