"""A handle of a process, which tells when it ends (Linux 5.3)."""

from __future__ import annotations

import ctypes
import os
from typing import Final

_NUMBER: Final = 434
"""The number of the system call, on every architecture that Python supports."""


def pidfd_open(pid: int) -> int:
    """Return a file descriptor that becomes readable when the process ends.

    A Python that was built to run on an older Linux, as those are that come as one archive, lacks
    the function of `os`, though the system that it runs on has it.

    Raises:
        ProcessLookupError: there is no such process.
        OSError: the system has no such handles.
    """
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(pid)
    return _call(pid)


def _call(pid: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    handle = int(libc.syscall(_NUMBER, pid, 0))
    if handle < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return handle
