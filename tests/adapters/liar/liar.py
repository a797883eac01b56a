"""The real Python adapter with real channels; only what it reports of calls is made up.

As `liar.py denier` it makes up that calls failed, which had gone well.
"""

from __future__ import annotations

import asyncio
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGE = find_spec("client_under_test")
assert PACKAGE is not None
assert PACKAGE.origin is not None
REAL = runpy.run_path(str(Path(PACKAGE.origin).parent / "adapters" / "python" / "adapter.py"))

say_the_truth = REAL["Adapter"].say
answered: set[str] = {"127.0.0.1:1"}


def say(adapter: Any, kind: str, **fields: Any) -> None:
    if kind == "hello":
        fields |= {"version": "0"}
    if kind == "finished" and "denier" in sys.argv:
        if fields["status"] == "OK":
            fields |= {"status": "UNAVAILABLE", "details": "no connection", "hostname": None}
    elif kind == "finished":
        truth = fields["hostname"]
        answered.update([truth] if truth else [])
        fields |= {"status": "OK", "details": "", "hostname": max(answered - {truth})}
    say_the_truth(adapter, kind, **fields)


if __name__ == "__main__":
    REAL["Adapter"].say = say
    asyncio.run(REAL["main"]())
