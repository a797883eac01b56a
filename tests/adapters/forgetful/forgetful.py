"""The real Python adapter with real channels, but it sends no metadata."""

from __future__ import annotations

import asyncio
import runpy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGE = find_spec("client_under_test")
assert PACKAGE is not None
assert PACKAGE.origin is not None
REAL = runpy.run_path(str(Path(PACKAGE.origin).parent / "adapters" / "python" / "adapter.py"))

make_a_call, say_the_truth = REAL["Adapter"].call, REAL["Adapter"].say


def say(adapter: Any, kind: str, **fields: Any) -> None:
    fields |= {"version": "0"} if kind == "hello" else {}
    say_the_truth(adapter, kind, **fields)


async def call(adapter: Any, channel: Any, planned: dict[str, Any]) -> None:
    await make_a_call(adapter, channel, {**planned, "metadata": []})


if __name__ == "__main__":
    REAL["Adapter"].call, REAL["Adapter"].say = call, say
    asyncio.run(REAL["main"]())
