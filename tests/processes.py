"""What tests ask about processes."""

from __future__ import annotations

import os
import select

from client_under_test.launching.pidfd import pidfd_open

ENDING = 30.0
"""Seconds for the end of a process on a busy machine."""


def is_gone(pid: int) -> bool:
    """Whether a process has ended, or does so soon."""
    try:
        handle = pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], ENDING)[0])
    finally:
        os.close(handle)
