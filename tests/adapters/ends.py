"""The reference client's adapter, which ends otherwise than the contract says: `ends.py NAME`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable

from client_under_test.reference.adapter import main

_exit = os._exit


def exit_with_3(_: int) -> None:
    sys.stderr.write("a last word before the end\n")
    sys.stderr.flush()
    _exit(3)


def crash(_: int) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


ENDS: dict[str, Callable[[int], None]] = {"quitter": exit_with_3, "late-crasher": crash}

if __name__ == "__main__":
    os._exit = ENDS[sys.argv[1]]  # type: ignore[assignment]
    asyncio.run(main())
